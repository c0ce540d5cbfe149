// The made-up evening: dots where acts appear, lines where the attacker guesses, counted as time goes by.
const SVG = "http://www.w3.org/2000/svg";
const SIZE = { left: 46, right: 12, top: 4, bottom: 26, lane: 13, band: 7 };
const WHOLE_S = 24; // a whole evening takes so long at ordinary speed
const STEPS_S = [600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000, 2592000, 8640000];
const root = document.querySelector("[data-replay]");
const find = (name) => root.querySelector(`[data-${name}]`);
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const state = { evening: null, sides: [], now: Infinity, end: 1, playing: false, last: 0, frame: 0, timer: 0 };

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function timeOf(after) {
  const minute = Math.floor((state.evening.start_s + after) / 60);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(Math.floor(minute / 60) % 24)}:${two(minute % 60)}`;
}

function dayOf(after) {
  return root.dataset.day.replace("{day}", 1 + Math.floor((state.evening.start_s + after) / 86400));
}

function clock(after) {
  return state.evening.start_s + after < 86400 ? timeOf(after) : `${dayOf(after)}, ${timeOf(after)}`;
}

// --- drawing ------------------------------------------------------------------------------------

function lanesOf(evening) {
  const lanes = [];
  for (const act of evening.acts) lanes[act.lane] = act.person;
  return lanes;
}

function places(lanes) {
  let y = SIZE.top - SIZE.band;
  return lanes.map((person, lane) => {
    y += lane === 0 || lanes[lane - 1] !== person ? SIZE.band + SIZE.lane : SIZE.lane;
    return y - SIZE.lane / 2;
  });
}

function drawBands(svg, evening, lanes, ys, width) {
  evening.people.forEach((name, person) => {
    const mine = ys.filter((_, lane) => lanes[lane] === person);
    if (!mine.length) return;
    const [top, bottom] = [mine[0] - SIZE.lane / 2, mine.at(-1) + SIZE.lane / 2];
    svg.append(shape("rect", { class: "band", x: 0, y: top, width, height: bottom - top, rx: 4 }));
    svg.append(shape("text", { class: "name", x: 6, y: (top + bottom) / 2 + 4 }, name));
    for (const y of mine) svg.append(shape("line", { class: "lane", x1: SIZE.left, x2: width - SIZE.right, y1: y, y2: y }));
  });
}

function drawAxis(svg, end, x, bottom) {
  const wide = x(end) - x(0);
  const step = STEPS_S.find((one) => (wide * one) / end >= 62) ?? STEPS_S.at(-1);
  for (let at = 0; at <= end; at += step) {
    svg.append(shape("line", { class: "tick", x1: x(at), x2: x(at), y1: bottom, y2: bottom + 5 }));
    svg.append(shape("text", { class: "time", x: x(at), y: bottom + 18 }, step < 86400 ? timeOf(at) : dayOf(at)));
  }
}

// A right guess is a solid line, a wrong one dashed with a cross: colour only repeats it.
function drawGuess(from, to, isRight, edge) {
  const kind = isRight ? "right" : "wrong";
  const far = (8 + Math.abs(to.y - from.y) * 0.12) * (Math.max(from.x, to.x) > edge - 40 ? -1 : 1);
  const turn = { x: (from.x + to.x) / 2 + far, y: (from.y + to.y) / 2 };
  const middle = { x: (from.x + to.x) / 4 + turn.x / 2, y: (from.y + to.y) / 4 + turn.y / 2 };
  const group = shape("g", { class: `claim ${kind}` });
  const arc = `M${from.x} ${from.y}Q${turn.x} ${turn.y} ${to.x} ${to.y}`;
  group.append(shape("path", { class: `guess ${kind}`, d: arc }));
  if (!isRight) group.append(shape("path", { class: "mark", d: `M${middle.x - 3} ${middle.y - 3}l6 6m0-6l-6 6` }));
  return group;
}

function build(name) {
  const { evening } = state;
  const { at, guesses } = evening.sides[name];
  const panel = root.querySelector(`[data-side="${name}"]`);
  const stage = panel.querySelector("[data-stage]");
  const width = Math.max(260, Math.floor(stage.clientWidth || panel.clientWidth));
  const lanes = lanesOf(evening);
  const ys = places(lanes);
  const bottom = ys.at(-1) + SIZE.lane / 2 + 3;
  const end = Math.max(...at);
  const x = (second) => SIZE.left + ((width - SIZE.left - SIZE.right) * Math.min(second, end)) / end;
  const svg = shape("svg", { width, height: bottom + SIZE.bottom, viewBox: `0 0 ${width} ${bottom + SIZE.bottom}` });
  const point = (act) => ({ x: x(at[act]), y: ys[evening.acts[act].lane] });
  drawBands(svg, evening, lanes, ys, width);
  drawAxis(svg, end, x, bottom);
  const claims = guesses.map(([first, second, isRight]) => ({
    at: at[second], isRight, drawn: drawGuess(point(first), point(second), isRight, width),
  }));
  const acts = at.map((when, act) => {
    const { x: cx, y: cy } = point(act);
    return { at: when, drawn: shape("circle", { class: "act", cx, cy, r: 3.5 }) };
  });
  const hand = shape("line", { class: "hand", y1: 0, y2: bottom });
  svg.append(...claims.map((one) => one.drawn), ...acts.map((one) => one.drawn), hand);
  stage.replaceChildren(svg);
  return { panel, claims, acts, hand, x, end };
}

// --- the moment that is shown -------------------------------------------------------------------

function count(side) {
  const made = side.claims.filter((one) => one.at <= state.now);
  const right = made.filter((one) => one.isRight).length;
  return { right, wrong: made.length - right };
}

function inWords({ right, wrong }) {
  return root.dataset.counts.replace("{right}", right).replace("{wrong}", wrong);
}

function show() {
  for (const side of state.sides) {
    for (const one of [...side.claims, ...side.acts]) one.drawn.classList.toggle("seen", one.at <= state.now);
    const isOver = state.now >= side.end;
    side.hand.setAttribute("x1", side.x(state.now));
    side.hand.setAttribute("x2", side.x(state.now));
    side.hand.classList.toggle("seen", !isOver);
    const { right, wrong } = count(side);
    const share = right + wrong ? `${Math.round((100 * right) / (right + wrong))} %` : root.dataset.none;
    side.panel.querySelector("[data-precision]").textContent = share;
    side.panel.querySelector("[data-count]").textContent = inWords({ right, wrong });
  }
  const scrubber = find("scrubber");
  scrubber.value = Math.round((1000 * state.now) / state.end);
  scrubber.setAttribute("aria-valuetext", sentence());
  find("now").textContent = clock(state.now);
}

function sentence() {
  const [without, delayed] = state.sides.map((side) => inWords(count(side)));
  return root.dataset.clock.replace("{time}", clock(state.now)).replace("{without}", without).replace("{delayed}", delayed);
}

function go(to) {
  state.now = Math.max(0, Math.min(to, state.end));
  show();
  if (state.now >= state.end && state.playing) pause();
}

function nextMoment() {
  const later = state.sides.flatMap((side) => side.acts.map((act) => act.at)).filter((at) => at > state.now);
  return later.length ? Math.min(...later) : state.end;
}

// --- moving -------------------------------------------------------------------------------------

function speed() {
  return Number(find("speed").value);
}

function moveOn(at) {
  const gone = Math.min(0.25, (at - state.last) / 1000);
  state.last = at;
  go(state.now + (gone * speed() * state.end) / WHOLE_S);
  if (state.playing) state.frame = requestAnimationFrame(moveOn);
}

// Where motion is not wanted the evening goes from act to act, and nothing glides.
function stepOn() {
  go(nextMoment());
  if (state.playing) state.timer = setTimeout(stepOn, 800 / speed());
}

function play() {
  if (state.now >= state.end) go(0);
  state.playing = true;
  root.dataset.playing = "";
  find("play-button").textContent = root.dataset.pause;
  if (calm.matches) {
    stepOn();
  } else {
    state.last = performance.now();
    state.frame = requestAnimationFrame(moveOn);
  }
}

function pause() {
  state.playing = false;
  delete root.dataset.playing;
  cancelAnimationFrame(state.frame);
  clearTimeout(state.timer);
  find("play-button").textContent = root.dataset.play;
  find("told").textContent = sentence();
}

function rebuild() {
  const part = state.now / state.end;
  state.sides = Object.keys(state.evening.sides).map(build);
  state.end = Math.max(...state.sides.map((side) => side.end));
  go(part >= 1 ? state.end : part * state.end);
}

export function showEvening(evening) {
  state.evening = evening;
  root.dataset.chosen ??= "delayed"; // narrow pages show one side at a time from here on
  for (const part of root.querySelectorAll("[data-moving], [data-stage]")) part.hidden = false;
  rebuild();
}

find("play-button").addEventListener("click", () => (state.playing ? pause() : play()));
find("next").addEventListener("click", () => {
  if (state.playing) pause();
  go(state.now >= state.end ? 0 : nextMoment());
  find("told").textContent = sentence();
});
find("scrubber").addEventListener("input", (event) => {
  if (state.playing) pause();
  go((Number(event.target.value) * state.end) / 1000);
});
root.addEventListener("change", (event) => {
  if (event.target.name !== "side") return;
  root.dataset.chosen = event.target.value;
  rebuild(); // what was out of sight had no width
});
let width = 0;
new ResizeObserver(() => {
  if (!state.evening || Math.abs(root.clientWidth - width) < 8) return;
  width = root.clientWidth;
  rebuild();
}).observe(root);
