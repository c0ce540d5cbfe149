// A countdown to the release. From then on the page asks what became of the post and puts it in its place.
// It is never loaded again: somebody may be writing. It asks at public moments alone, the post's own.
import { localTimes, longWords } from "./times.js";

const FIRST_MS = 1000;
const LONGEST_MS = 60000;
let wait = FIRST_MS;
let asking = 0;

function state() {
  return document.querySelector("[data-state]");
}

function isOver() {
  return state().dataset.state !== "waiting";
}

function showTime() {
  const due = new Date(state().dataset.due).getTime();
  const line = document.querySelector("[data-countdown]");
  if (Number.isNaN(due) || !line) return;
  const left = (due - Date.now()) / 1000;
  line.hidden = left <= 0;
  line.textContent = `${line.dataset.text}: ${longWords(left)}`;
  if (left > 0) return;
  document.querySelector("[data-before]").hidden = true;
  document.querySelector("[data-after]").hidden = false;
  if (!asking) askLater();
}

function askLater() {
  asking = setTimeout(ask, wait);
  wait = Math.min(2 * wait, LONGEST_MS);
}

async function ask() {
  asking = 0;
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (answer.ok) patch(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The server is away: what is shown stays true.
  }
  const due = new Date(state().dataset.due).getTime();
  // In doubt there is no moment to wait for, and it is tried again all the same.
  if (!isOver() && !asking && (Number.isNaN(due) || due <= Date.now())) askLater();
}

// What the server says now, in its place; a form that is there already is left alone.
function patch(page) {
  const [now, next] = [state(), page.querySelector("[data-state]")];
  if (next.dataset.state !== now.dataset.state || next.dataset.due !== now.dataset.due) {
    wait = FIRST_MS;
    now.replaceChildren(...next.childNodes);
    Object.assign(now.dataset, { state: next.dataset.state, due: next.dataset.due });
    localTimes(now);
    document.querySelector("h1 + .good")?.remove();
  }
  patchForm(page.querySelector("[data-edit]"));
}

function patchForm(next) {
  const form = document.querySelector("[data-edit]");
  if (!form || next) {
    if (!form && next) document.querySelector("main > p:last-of-type").before(next);
    return;
  }
  const words = form.querySelector("textarea");
  if (words.value === words.defaultValue && document.activeElement !== words) {
    form.remove();
    return;
  }
  form.querySelector("[data-too-late]").hidden = false;
  for (const button of form.querySelectorAll("button")) button.disabled = true;
}

localTimes(document);
showTime();
if (!isOver()) setInterval(showTime, 500);
if (!isOver() && !state().dataset.due) askLater();
