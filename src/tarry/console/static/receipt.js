// A countdown to the release; when it is over the page is loaded again and says what happened.
import { localTimes, longWords } from "./times.js";

localTimes(document);
const line = document.querySelector("[data-countdown]");
const until = line ? new Date(line.dataset.until).getTime() : NaN;
const latest = new Date(document.querySelector("[data-latest]")?.dataset.latest || line?.dataset.until || "").getTime();

function tick() {
  const left = (until - Date.now()) / 1000;
  line.hidden = left <= 0;
  line.textContent = `${line.dataset.text}: ${longWords(left)}`;
  // Looked at again a little after each moment at which it may appear.
  const due = [until, latest].some((moment) => Math.abs(Date.now() - moment - 3000) < 500);
  if (due) location.reload();
}

if (!Number.isNaN(until)) {
  tick();
  setInterval(tick, 1000);
}
