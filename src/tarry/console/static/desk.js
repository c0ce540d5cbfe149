// The desk works without this: it asks before what cannot be undone, and keeps the health lines fresh.
import { localTimes } from "./times.js";

const REFRESH_MS = 30000;

// --- asking first ---------------------------------------------------------------------------------

const dialog = document.querySelector("[data-dialog]");
let asked = null;

function ask(event) {
  if (event.target === asked) { // it was answered with yes
    asked = null;
    return;
  }
  event.preventDefault();
  asked = event.target;
  dialog.querySelector("p").textContent = asked.dataset.sure;
  dialog.returnValue = "";
  dialog.showModal();
}

if (dialog?.showModal) {
  for (const form of document.querySelectorAll("form[data-sure]")) form.addEventListener("submit", ask);
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") asked.requestSubmit();
    else asked = null;
  });
}

// --- health -----------------------------------------------------------------------------------------

const box = document.querySelector("[data-health]");

function show(lines) {
  const rows = lines.map((line) => {
    const row = document.createElement("div");
    const label = document.createElement("dt");
    const words = document.createElement("dd");
    row.className = `health-${line.state}`;
    label.textContent = line.label;
    words.textContent = line.words;
    if (line.at) {
      const time = document.createElement("time");
      time.dateTime = line.at;
      time.dataset.short = "";
      words.append(" ", time);
    }
    row.append(label, words);
    return row;
  });
  box.replaceChildren(...rows);
  localTimes(box);
}

function showOverall(line) {
  const place = document.querySelector("[data-overall]");
  place.className = `${line.state} overall`;
  place.querySelector("strong").textContent = line.label;
  place.querySelector("span").textContent = line.words;
}

// Only while somebody looks, and never again once the session is over.
async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(box.dataset.health, { redirect: "manual" });
    if (answer.ok) {
      const { overall, lines } = await answer.json();
      showOverall(overall);
      show(lines);
    }
    else if (answer.type === "opaqueredirect") clearInterval(timer);
  } catch {
    // The server is away: the lines stay as they were.
  }
}

localTimes(document);
const timer = box ? setInterval(refresh, REFRESH_MS) : null;
