// Moving a slider asks the server for the figures of the new policy and puts them in their places.
import { draw } from "./charts.js";
import { showEvening } from "./replay.js";

const WAIT_MS = 150;
const form = document.querySelector("[data-form]");
const getPolicy = form.querySelector("[data-policy]");
const results = document.querySelector("[data-results]");
const state = { draw: form.dataset.draw, charts: {}, asked: null, timer: 0, width: 0 };

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function slider(name) {
  return form.querySelector(`[data-for="${name}"]`);
}

function query() {
  const chosen = new URLSearchParams(new FormData(form));
  chosen.set("draw", state.draw);
  return chosen.toString();
}

function later() {
  clearTimeout(state.timer);
  state.timer = setTimeout(update, WAIT_MS);
}

// --- what the server says, in its places --------------------------------------------------------

function fillRow(cells) {
  const row = document.createElement("tr");
  const head = element("th", "", cells[0]);
  head.scope = "row";
  row.append(head, ...cells.slice(1).map((cell) => element("td", "number", cell)));
  return row;
}

function fill(shown) {
  for (const [name, sentence] of Object.entries(shown.sentences)) {
    const place = document.querySelector(`[data-sentence="${name}"]`);
    if (place) place.textContent = sentence;
  }
  for (const [name, rows] of Object.entries(shown.tables)) {
    document.querySelector(`[data-table="${name}"] tbody`).replaceChildren(...rows.map(fillRow));
  }
  for (const [name, sentences] of Object.entries(shown.lists)) {
    const items = sentences.map((sentence) => element("li", "", sentence));
    document.querySelector(`[data-list="${name}"]`).replaceChildren(...items);
  }
}

function fillForm(figures) {
  for (const [name, place] of Object.entries(figures.places)) {
    const range = slider(name);
    if (range.dataset.steps.split(" ")[range.value] !== figures.fields[name]) range.value = place;
    range.setAttribute("aria-valuetext", figures.fields[name]);
    if (document.activeElement?.id !== name) form.elements[name].value = figures.fields[name];
  }
}

function complain(...sentences) {
  const lines = sentences.map((sentence, n) => element("p", n ? "small faint" : "problem small", sentence));
  form.querySelector("[data-problem]").replaceChildren(...lines);
}

async function drawCharts() {
  for (const [name, spec] of Object.entries(state.charts)) {
    await draw(document.querySelector(`[data-chart="${name}"]`), spec);
  }
}

// --- asking -------------------------------------------------------------------------------------

async function ask(address, signal) {
  const answer = await fetch(address, { signal });
  const values = await answer.json();
  if (!answer.ok) throw new Error(values.detail, { cause: "refused" });
  return values;
}

// A wrong address has a page too: that of the policy it is shown with, and what was typed stays to be put right.
async function begin() {
  if (form.querySelector("[data-problem]").childElementCount) await update(form.dataset.shown);
  else await update();
}

async function update(shown) {
  clearTimeout(state.timer);
  state.asked?.abort();
  state.asked = new AbortController();
  const { signal } = state.asked;
  const chosen = shown ?? query();
  getPolicy.disabled = true;
  results.setAttribute("aria-busy", "true");
  try {
    const asked = ["figures", "evening"].map((name) => ask(`/workbench/${name}.json?${chosen}`, signal));
    const [figures, evening] = await Promise.all(asked);
    fill(figures);
    fill(evening);
    if (!shown) {
      fillForm(figures);
      complain();
      history.replaceState(null, "", `/workbench?${figures.query}`);
      getPolicy.disabled = false;
    }
    showEvening(evening);
    state.charts = figures.charts;
    await drawCharts();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.cause === "refused") complain(error.message, form.dataset.stale);
    else complain(form.dataset.unreachable);
  }
  if (!signal.aborted) results.removeAttribute("aria-busy");
}

// --- what a person does -------------------------------------------------------------------------

for (const range of form.querySelectorAll("[data-for]")) {
  range.hidden = false;
  range.addEventListener("input", () => {
    const value = range.dataset.steps.split(" ")[range.value];
    form.elements[range.dataset.for].value = value;
    range.setAttribute("aria-valuetext", value);
    later();
  });
}
form.querySelector("[data-show]").hidden = true;
getPolicy.classList.remove("quiet");
// The file is made of what the form says: whatever is touched, it waits until that is known to be a policy.
form.addEventListener("input", () => { getPolicy.disabled = true; });
form.addEventListener("change", (event) => {
  // Another law has other choices and charts: that is another page.
  if (event.target.name === "law") location.assign(`/workbench?${query()}`);
  else if (event.target.type !== "range") later();
});
document.querySelector("#cutoff").addEventListener("change", later);
form.addEventListener("submit", (event) => {
  if (event.submitter === getPolicy) return;
  event.preventDefault();
  if (event.submitter?.name === "draw") state.draw = String((Number(state.draw) % 999) + 1);
  update();
});
new ResizeObserver(() => {
  if (Math.abs(results.clientWidth - state.width) < 8) return;
  const isFirst = state.width === 0;
  state.width = results.clientWidth;
  if (!isFirst) drawCharts();
}).observe(results);
begin();
