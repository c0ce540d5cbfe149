// The receipt lives without being loaded again: somebody may be writing. It counts down, asks what became of the
// post, and puts the answer in its place. It asks at public moments alone: at whole minutes while two moments are
// possible, and at the post's own ones. A calendar file is made here, and only if somebody asks for it.
import { forgetSent } from "./draft.js";
import { localTimes, longWords } from "./times.js";

const FIRST_MS = 1000;
const LONGEST_MS = 60000;
const MINUTE_MS = 60000;
let wait = FIRST_MS;
let asking = 0;

function state() {
  return document.querySelector("[data-state]");
}

function isOver() {
  return state().dataset.state !== "waiting";
}

function showTime() {
  showNow();
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

function showNow() {
  const place = document.querySelector("[data-timeline]");
  if (!place) return;
  const [begins, ends] = [new Date(place.dataset.begins).getTime(), new Date(place.dataset.ends).getTime()];
  const now = Math.min(1000, Math.max(0, (1000 * (Date.now() - begins)) / (ends - begins)));
  place.querySelector("svg .now").setAttribute("d", `M${now} 4V36`);
  place.querySelector("svg .over").setAttribute("d", `M0 20H${now}`);
}

function askLater() {
  asking = setTimeout(ask, wait);
  wait = Math.min(2 * wait, LONGEST_MS);
}

function askAtMinutes() {
  if (isOver() || !state().dataset.open) return;
  setTimeout(() => ask().then(askAtMinutes), MINUTE_MS - (Date.now() % MINUTE_MS));
}

async function ask() {
  clearTimeout(asking);
  asking = 0;
  try {
    const answer = await fetch(location.pathname + location.search, { cache: "no-store" });
    if (answer.ok) patch(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The server is away: what is shown stays true.
  }
  const due = new Date(state().dataset.due).getTime();
  // In doubt there is no moment to wait for, and it is tried again all the same.
  if (!isOver() && !asking && (state().dataset.due ? due <= Date.now() : true)) askLater();
}

// What the server says now, in its place; a form that is there already is left alone.
function patch(page) {
  const [now, next] = [state(), page.querySelector("[data-state]")];
  const names = ["state", "due", "open"];
  if (names.some((name) => next.dataset[name] !== now.dataset[name])) {
    wait = FIRST_MS;
    now.replaceChildren(...next.childNodes);
    for (const name of names) now.dataset[name] = next.dataset[name];
    localTimes(now);
    showTime();
    document.querySelector("h1 + .good")?.remove();
  }
  if (!page.querySelector("[data-calendar]")) document.querySelector("[data-calendar]")?.remove();
  patchForm(page.querySelector("[data-edit]"));
}

function patchForm(next) {
  const form = document.querySelector("[data-edit]");
  if (!form || next) {
    if (!form && next) document.querySelector("[data-back]").before(next);
    return;
  }
  const words = form.querySelector("textarea");
  if (words.value === words.defaultValue && document.activeElement !== words) {
    form.remove();
    return;
  }
  form.querySelector("[data-too-late]").hidden = false;
  form.querySelector(".withdraw")?.remove();
  for (const button of form.querySelectorAll("button")) button.disabled = true;
}

// --- a calendar file -------------------------------------------------------------------------------

function stamp(time) {
  return new Date(time.dateTime).toISOString().replace(/[-:]|\.\d+/g, "");
}

// The one or two moments and a title; no other time, not even that of its making.
function calendar(times, title) {
  const first = stamp(times[0]);
  return [
    "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//-//-//EN", "BEGIN:VEVENT", `UID:${crypto.randomUUID?.() ?? randomId()}`,
    `DTSTAMP:${first}`, `DTSTART:${first}`, `DTEND:${stamp(times.at(-1))}`, `SUMMARY:${title}`,
    "END:VEVENT", "END:VCALENDAR", "",
  ].join("\r\n");
}

// Over plain http browsers have no randomUUID.
function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function saveCalendar() {
  const { title, file } = document.querySelector("[data-calendar]").dataset;
  const text = calendar([...document.querySelectorAll("[data-before] time")], title);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/calendar" }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), MINUTE_MS);
}

const box = document.querySelector("[data-calendar]");
if (box) {
  box.hidden = false;
  box.querySelector("button").addEventListener("click", saveCalendar);
}
forgetSent();
localTimes(document);
showTime();
if (!isOver()) setInterval(showTime, 500);
if (!isOver() && !state().dataset.due) askLater();
askAtMinutes();
