// A file can be dropped as well as chosen; a page that waits looks again by itself.
import { localTimes } from "./times.js";

localTimes(document);
const form = document.querySelector("[data-upload]");
const watched = document.querySelector("[data-watch]");
const trade = document.querySelector("[data-frontier]");
const LOOK_MS = 700;

function prepare() {
  const input = form.querySelector("input[type=file]");
  const drop = form.querySelector("[data-drop]");
  const problem = form.querySelector("[data-problem]");
  const status = form.querySelector("[data-status]");

  function check() {
    const isTooLarge = input.files.length > 0 && input.files[0].size > Number(form.dataset.most);
    problem.hidden = !isTooLarge;
    problem.textContent = isTooLarge ? form.dataset.tooLarge : "";
    return !isTooLarge;
  }

  input.addEventListener("change", check);
  form.addEventListener("submit", (event) => {
    if (!check()) {
      event.preventDefault();
      return;
    }
    form.querySelector("button").disabled = true;
    status.textContent = form.dataset.uploading;
  });
  // A file that misses its place is not opened instead of the page.
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, () => drop.classList.add("over"));
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length > 0) {
      input.files = event.dataTransfer.files;
      check();
    }
  });
  // Back from the next page: the button works again.
  window.addEventListener("pageshow", () => {
    form.querySelector("button").disabled = false;
    status.textContent = "";
  });
}

async function look() {
  const line = watched.querySelector("[data-line]");
  const bar = watched.querySelector("progress");
  let status;
  try {
    const answer = await fetch(watched.dataset.watch, { headers: { Accept: "application/json" } });
    status = answer.redirected || !answer.ok ? { state: "gone" } : await answer.json();
  } catch {
    status = null; // the server may be back in a moment
  }
  if (status !== null && status.state !== watched.dataset.state) {
    location.reload();
    return;
  }
  if (status !== null) {
    if (line.textContent !== status.line) line.textContent = status.line; // said once to those who listen
    if (status.part === null) bar.removeAttribute("value");
    else bar.value = status.part;
  }
  setTimeout(look, LOOK_MS);
}

// What is under the pointer is said below the picture; a policy can be chosen in it.
function explore() {
  const svg = trade.querySelector("svg");
  const says = trade.parentElement.querySelector("p[data-says]");
  const marks = [...svg.querySelectorAll("[data-says]")];
  const reach = 26; // units of the picture

  function nearest(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const away = (mark) => Math.hypot(mark.dataset.x - place.x, mark.dataset.y - place.y);
    const near = marks.reduce((one, other) => (away(other) < away(one) ? other : one));
    return away(near) <= reach ? near : null;
  }

  function show(mark) {
    for (const each of marks) each.classList.toggle("near", each === mark);
    svg.classList.toggle("choice", mark !== null && "to" in mark.dataset);
    const words = mark === null ? says.dataset.still : mark.dataset.says;
    if (says.textContent !== words) says.textContent = words;
  }

  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("click", (event) => {
    const mark = nearest(event);
    if (mark !== null && "to" in mark.dataset) location.href = mark.dataset.to;
  });
  const choice = trade.closest(".trade").querySelector("select");
  choice.addEventListener("change", () => choice.form.requestSubmit());
}

if (trade) explore();
if (form) prepare();
if (watched) setTimeout(look, LOOK_MS);
