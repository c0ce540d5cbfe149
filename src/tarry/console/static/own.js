// Moments in the reader's own time zone. Nothing moves by itself: looking again is loading the page again.
import { localTimes } from "./times.js";

localTimes(document);
