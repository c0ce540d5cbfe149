// While a slider moves the page moves with it, computed here; when the hand lets go the server answers exactly.
import { move, picture, showBaseline } from "./drawing.js";
import { about, parseDuration, share } from "./durations.js";
import { begin } from "./observer.js";
import { keepTrades, preview, shapeAt } from "./preview.js";

const WAIT_MS = 350;
const form = document.querySelector("[data-form]");
const getPolicy = form.querySelector("[data-policy]");
const results = document.querySelector("[data-results]");
const strip = document.querySelector("[data-strip]");
const cutoff = document.querySelector("#cutoff");
const acts = JSON.parse(form.dataset.acts).map(([person, thread, lane, at]) => ({ person, thread, lane, at }));
const state = { draw: form.dataset.draw, exact: null, grid: null, asked: null, timer: 0, baseline: null, hand: false, isDot: false };

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function ranges() {
  return [...form.querySelectorAll("[data-for]")];
}

function stepsOf(range) {
  return range.dataset.steps.split(" ");
}

function fields() {
  const chosen = Object.fromEntries(new FormData(form));
  const stops = form.querySelector(`[data-for="${chosen.law === "season" ? "total" : "epsilon"}"]`);
  return { ...chosen, draw: state.draw, stops: stepsOf(stops) };
}

function query() {
  const chosen = new URLSearchParams(new FormData(form));
  chosen.set("draw", state.draw);
  return chosen.toString();
}

// --- the strip ------------------------------------------------------------------------------------

function figuresOf(facts) {
  const none = strip.dataset.none;
  return {
    mean: about(facts.waits.batched[1]),
    longest: about(facts.waits.batched[2]),
    right: share(facts.delayed.person, none),
    pair: share(facts.delayed.pair, none),
    without: share(facts.without.person, none),
  };
}

function changeOf(name, facts) {
  const { baseline } = state;
  if (!baseline) return "";
  const kinds = { mean: (one) => one.waits.batched[1], longest: (one) => one.waits.batched[2],
    right: (one) => one.delayed.person, pair: (one) => one.delayed.pair, without: (one) => one.without.person };
  const [now, then] = [kinds[name](facts), kinds[name](baseline)];
  if (now === null || then === null) return "";
  const isWait = name === "mean" || name === "longest";
  const words = isWait ? about(Math.abs(now - then)) : strip.dataset.points.replace("{points}", Math.round(100 * Math.abs(now - then)));
  if (isWait ? Math.abs(now - then) < 1 : Math.round(100 * Math.abs(now - then)) === 0) return strip.dataset.same;
  return strip.dataset.pinned.replace("{change}", `${now > then ? "+" : "−"}${words}`);
}

function showStrip(facts, kind) {
  for (const [name, words] of Object.entries(figuresOf(facts))) {
    strip.querySelector(`[data-figure="${name}"]`).textContent = words;
    strip.querySelector(`[data-change="${name}"]`).textContent = changeOf(name, facts);
  }
  const spread = share(facts.delayed.spread, "");
  strip.querySelector("[data-spread-words]").textContent = strip.dataset.spread.replace("{spread}", spread);
  mark(kind);
}

// Whether what is shown is the server's exact answer, a preview of it, or neither of the two yet.
function mark(kind) {
  strip.dataset.state = kind;
  strip.querySelector("[data-state-words]").textContent = strip.dataset[kind];
  results.toggleAttribute("data-preview", kind !== "exact");
}

// --- a preview, at once -------------------------------------------------------------------------

function known() {
  return { ...state.exact, acts };
}

function showPreview() {
  getPolicy.disabled = true;
  const chosen = fields();
  const facts = preview(chosen, state.grid, known());
  if (!facts) {
    mark("waiting");
    return;
  }
  showStrip(facts, "preview");
  move(facts, { draw: Number(state.draw), cutoff: parseDuration(chosen.cutoff), gap: parseDuration(chosen.gap), suspects: Number(chosen.suspects) });
  showIdle(facts.weight_counts);
}

function showIdle(counts) {
  const place = form.querySelector("[data-slider=weight]");
  if (!place) return;
  place.querySelector("[data-for]").disabled = !counts;
  const hint = place.querySelector("[data-hint]");
  hint.textContent = counts ? hint.dataset.hint : hint.dataset.idleHint;
}

// Stops that the other choices rule out, shaded on the track.
function isForbidden(name, value, chosen) {
  const [gap, window] = [parseDuration(chosen.gap), parseDuration(chosen.window)];
  if (name === "gap") return parseDuration(value) <= window;
  if (name === "window") return gap <= parseDuration(value);
  if (!["pairs", "total", "delta"].includes(name) || !state.grid) return false;
  return shapeAt(state.grid, { ...chosen, [name]: value }) === null;
}

function showForbidden() {
  const chosen = fields();
  for (const range of ranges()) {
    const stops = stepsOf(range);
    const places = stops.flatMap((value, place) => (isForbidden(range.dataset.for, value, chosen) ? [place] : []));
    const shade = range.parentElement.querySelector("[data-forbidden]");
    shade.hidden = !places.length;
    if (places.length) {
      const last = stops.length - 1;
      const from = places[0] === 0 ? 0 : (places[0] - 0.5) / last;
      const to = places.at(-1) === last ? 1 : (places.at(-1) + 0.5) / last;
      shade.style.left = `${100 * from}%`;
      shade.style.width = `${100 * (to - from)}%`;
    }
    const hint = document.getElementById(`${range.dataset.for}-hint`);
    if (range.dataset.for !== "weight") hint.textContent = hint.dataset.hint + (places.length ? ` ${hint.dataset.forbiddenHint}` : "");
  }
}

// --- the exact answer, in its places --------------------------------------------------------------

function fillRow(cells) {
  const row = document.createElement("tr");
  const head = element("th", "", cells[0]);
  head.scope = "row";
  row.append(head, ...cells.slice(1).map((cell) => element("td", "number", cell)));
  return row;
}

function fill(answer) {
  for (const [name, sentence] of Object.entries(answer.sentences)) {
    const place = document.querySelector(`[data-sentence="${name}"]`);
    if (place) place.textContent = sentence;
  }
  for (const [name, rows] of Object.entries(answer.tables)) {
    document.querySelector(`[data-table="${name}"] tbody`)?.replaceChildren(...rows.map(fillRow));
  }
  for (const [name, sentences] of Object.entries(answer.lists)) {
    const items = sentences.map((sentence) => element("li", "", sentence));
    document.querySelector(`[data-list="${name}"]`).replaceChildren(...items);
  }
  for (const [name, svg] of Object.entries(answer.charts)) {
    const drawn = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
    document.querySelector(`[data-picture="${name}"]`).replaceChildren(drawn);
  }
  document.querySelector("[data-command]").textContent = answer.command;
}

function fillForm(answer) {
  for (const [name, place] of Object.entries(answer.places)) {
    const range = form.querySelector(`[data-for="${name}"]`);
    if (stepsOf(range)[range.value] !== answer.fields[name]) range.value = place;
    range.setAttribute("aria-valuetext", answer.fields[name]);
    if (document.activeElement?.id !== name) form.elements[name].value = answer.fields[name];
  }
  for (const name of ["suspects", "cutoff"]) form.elements[name].value = answer.fields[name];
  state.draw = answer.fields.draw;
  document.querySelector("[data-again]").value = String((Number(state.draw) % 100) + 1);
}

function learn(facts, chosen) {
  keepTrades(chosen, facts.trades);
  state.exact = { ...facts, season: JSON.stringify([chosen.pairs, chosen.total, chosen.delta]) };
}

function showExact(answer) {
  learn(answer.facts, answer.fields);
  fill(answer);
  fillForm(answer);
  showStrip(answer.facts, "exact");
  showBaseline(state.baseline);
  showIdle(answer.facts.weight_counts);
  showForbidden();
  getPolicy.disabled = false;
}

function complain(...sentences) {
  const lines = sentences.map((sentence, n) => element("p", n ? "small faint" : "problem small", sentence));
  form.querySelector("[data-problem]").replaceChildren(...lines);
}

async function ask(address, signal) {
  const answer = await fetch(address, { signal });
  const values = await answer.json();
  if (!answer.ok) throw new Error(values.detail, { cause: "refused" });
  return values;
}

// Each answer is one step that Back undoes; `isBack` is such a step itself.
async function update({ isBack = false } = {}) {
  clearTimeout(state.timer);
  state.asked?.abort();
  state.asked = new AbortController();
  const { signal } = state.asked;
  getPolicy.disabled = true;
  results.setAttribute("aria-busy", "true");
  try {
    const answer = await ask(`/workbench/figures.json?${query()}${lockedAxes()}`, signal);
    complain();
    const address = `/workbench?${answer.query}`;
    if (!isBack && location.pathname + location.search !== address) history.pushState(null, "", address);
    showExact(answer);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.cause === "refused") complain(error.message, form.dataset.stale);
    else complain(form.dataset.unreachable);
    mark("waiting");
  }
  if (!signal.aborted) results.removeAttribute("aria-busy");
}

function later() {
  clearTimeout(state.timer);
  state.timer = setTimeout(update, WAIT_MS);
}

// What was computed before the last answer came is not shown over it.
function touched() {
  state.asked?.abort();
  results.removeAttribute("aria-busy");
  showPreview();
  showForbidden();
  if (!state.hand) later();
}

function lockedAxes() {
  if (!document.querySelector("[data-lock]").checked) return "";
  const ends = ["frontier", "laws", "evening"].map((name) => `${name}:${picture(name).svg.dataset.range}`);
  return `&axes=${ends.join(",")}`;
}

// --- what a person does -------------------------------------------------------------------------

for (const range of ranges()) {
  range.addEventListener("input", () => {
    const value = stepsOf(range)[range.value];
    form.elements[range.dataset.for].value = value;
    range.setAttribute("aria-valuetext", value);
    touched();
  });
  range.addEventListener("pointerdown", () => { state.hand = true; });
}
function letGo() {
  if (!state.hand) return;
  state.hand = false;
  state.isDot = false;
  if (strip.dataset.state !== "exact") update();
}
for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, letGo);

form.querySelector("[data-show]").hidden = true;
getPolicy.classList.remove("quiet");
form.addEventListener("input", (event) => {
  // The file is made of what the form says: whatever is touched, it waits until that is known to be a policy.
  if (event.target.type === "text" || event.target.type === "number") touched();
});
form.addEventListener("change", (event) => {
  // Another law has other choices: that is another page.
  if (event.target.name === "law") location.assign(`/workbench?${query()}`);
  else if (event.target.type !== "range") later();
});
cutoff.addEventListener("change", touched);
form.addEventListener("submit", (event) => {
  if (event.submitter === getPolicy) return;
  event.preventDefault();
  if (event.submitter?.name === "draw") state.draw = event.submitter.value;
  update();
});
for (const side of document.querySelectorAll("input[name=side]")) {
  side.addEventListener("change", () => { if (strip.dataset.state === "preview") showPreview(); });
}
window.addEventListener("popstate", () => {
  const chosen = new URLSearchParams(location.search);
  if ((chosen.get("law") ?? "pair") !== fields().law) {
    location.reload();
    return;
  }
  for (const control of [...form.elements]) {
    if (control.name && control.type !== "radio" && chosen.has(control.name)) control.value = chosen.get(control.name);
  }
  state.draw = chosen.get("draw") ?? "1";
  update({ isBack: true });
});

// --- the dot of the first picture, a slider of its own for a pointer --------------------------------

document.querySelector("[data-picture=frontier]").addEventListener("pointerdown", (event) => {
  if (event.target.dataset?.mark !== "here") return;
  event.preventDefault();
  state.hand = true;
  state.isDot = true;
});
window.addEventListener("pointermove", (event) => {
  if (state.isDot) dragTo(picture("frontier"), event);
});

function dragTo(chart, event) {
  const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.svg.getScreenCTM().inverse());
  const distance = (stop) => Math.hypot(stop.cx.baseVal.value - place.x, stop.cy.baseVal.value - place.y);
  const stops = [...chart.svg.querySelectorAll(".stop")].sort((one, other) => distance(one) - distance(other));
  const range = form.querySelector(`[data-for="${state.exact.budget}"]`);
  const at = stops.length ? stepsOf(range).indexOf(stops[0].dataset.value) : -1;
  if (at < 0 || at === Number(range.value)) return;
  range.value = at;
  range.dispatchEvent(new Event("input", { bubbles: true }));
}

// --- pinning, copying, beginning --------------------------------------------------------------------

document.querySelector("[data-pin]").addEventListener("click", (event) => {
  state.baseline = state.baseline ? null : state.exact;
  event.target.setAttribute("aria-pressed", String(Boolean(state.baseline)));
  event.target.textContent = state.baseline ? strip.dataset.wordsUnpin : strip.dataset.wordsPin;
  showBaseline(state.baseline);
  if (strip.dataset.state === "exact") showStrip(state.exact, "exact");
  else showPreview();
});

const copies = {
  link: async () => location.href,
  command: async () => document.querySelector("[data-command]").textContent,
  toml: async () => {
    const answer = await fetch(`/workbench/policy.toml?${query()}`);
    if (!answer.ok) throw new Error("refused");
    return answer.text();
  },
};
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const told = document.querySelector("[data-copied]");
    try {
      await navigator.clipboard.writeText(await copies[button.dataset.copy]());
      told.textContent = told.dataset.done;
    } catch {
      told.textContent = told.dataset.failed;
    }
  });
}

begin(JSON.parse(form.dataset.acts));
learn(JSON.parse(form.dataset.facts), Object.fromEntries(new URLSearchParams(form.dataset.shown)));
showIdle(state.exact.weight_counts);
const isWrong = form.querySelector("[data-problem]").childElementCount > 0;
getPolicy.disabled = isWrong;
mark(isWrong ? "waiting" : "exact");
// So that Back, too, finds an address with every choice in it.
if (!isWrong) history.replaceState(null, "", `/workbench?${form.dataset.shown}`);
// Without the grid the preview of a season waits for the server.
fetch(form.dataset.seasons).then((answer) => answer.json()).then((grid) => { state.grid = grid; }).catch(() => {}).finally(() => {
  showForbidden();
  document.documentElement.dataset.live = "";
});
