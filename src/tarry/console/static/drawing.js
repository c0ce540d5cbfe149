// Moves what the server has drawn: marks inside axes that stay as they are while a hand is on a slider.
import { drawOf, evening, guesses } from "./observer.js";
import { innocent, lawBins } from "./preview.js";

const SVG = "http://www.w3.org/2000/svg";

export function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A picture with its axes: where values lie in it, and its marks by name.
export function picture(name) {
  const svg = document.querySelector(`svg[data-chart="${name}"]`);
  const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
  const along = (axis) => {
    const [kind, low, high] = axis.split(" ");
    const [from, to] = [Number(low), Number(high)];
    return (value) => {
      const inside = Math.min(Math.max(value, from), to);
      return kind === "log" ? Math.log(inside / from) / Math.log(to / from) : (inside - from) / (to - from);
    };
  };
  const [across, up] = [along(svg.dataset.x), along(svg.dataset.y)];
  return {
    svg, left, top, right, bottom,
    end: Number(svg.dataset.x.split(" ")[2]),
    x: (value) => left + across(value) * (right - left),
    y: (value) => bottom - up(value) * (bottom - top),
    mark: (mark) => svg.querySelector(`[data-mark="${mark}"]`),
  };
}

function short(number) {
  return String(Math.round(number * 10) / 10);
}

function line(chart, points) {
  return points.length ? `M${points.map(([x, y]) => `${short(chart.x(x))} ${short(chart.y(y))}`).join("L")}` : "M0 0";
}

function steps(chart, shares, isClosed) {
  const width = (chart.right - chart.left) / shares.length;
  const places = shares.map((each, n) => `V${short(chart.y(each))}H${short(chart.left + (n + 1) * width)}`).join("");
  if (isClosed) return `M${chart.left} ${chart.bottom}${places}V${chart.bottom}Z`;
  const first = places.indexOf("H");
  return `M${chart.left} ${places.slice(1, first)}${places.slice(first)}`;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, short(value));
}

function moveLaws(facts) {
  const chart = picture("laws");
  for (const kind of ["batched", "unbatched"]) {
    const bins = lawBins(facts.laws[kind], facts.hold, chart.end);
    chart.mark(kind).setAttribute("d", steps(chart, bins, false));
    if (kind === "batched") chart.mark("area").setAttribute("d", steps(chart, bins, true));
  }
  const mean = chart.x(facts.waits.batched[1]);
  set(chart.mark("mean"), { x1: mean, x2: mean });
}

function moveFrontier(facts) {
  const chart = picture("frontier");
  chart.mark("curve").setAttribute("d", line(chart, facts.trades.map((one) => [one.wait_s, one.right ?? 0])));
  const stops = [...chart.svg.querySelectorAll(".stop")];
  facts.trades.forEach((one, n) => {
    const stop = stops[n] ?? chart.svg.insertBefore(shape("circle", { class: "stop", r: 2.5 }), chart.mark("baseline"));
    stop.dataset.value = one.value;
    set(stop, { cx: chart.x(one.wait_s), cy: chart.y(one.right ?? 0) });
  });
  stops.slice(facts.trades.length).forEach((stop) => stop.remove());
  const { person, spread } = facts.delayed;
  const x = chart.x(facts.waits.batched[1]);
  set(chart.mark("here"), { cx: x, cy: chart.y(person ?? 0) });
  set(chart.mark("spread"), { x1: x, x2: x, y1: chart.y((person ?? 0) - spread), y2: chart.y((person ?? 0) + spread) });
  const y = chart.y(facts.without.person ?? 0);
  set(chart.mark("without"), { y1: y, y2: y });
  set(chart.mark("without-word"), { y: y - 5 });
}

export function showBaseline(baseline) {
  const chart = picture("frontier");
  const place = chart.mark("baseline");
  place.replaceChildren();
  if (!baseline) return;
  const [x, y] = [chart.x(baseline.waits.batched[1]), chart.y(baseline.delayed.person ?? 0)];
  place.append(shape("path", { class: "pinned", d: `M${x} ${y - 9}L${x + 9} ${y}L${x} ${y + 9}L${x - 9} ${y}Z` }));
}

function guessPath(chart, places, guess) {
  const [from, to] = [places[guess.first], places[guess.second]];
  const side = Math.max(from.x, to.x) > chart.right - 40 ? -1 : 1;
  const turn = (from.x + to.x) / 2 + (8 + Math.abs(to.y - from.y) * 0.12) * side;
  const arc = `M${short(from.x)} ${short(from.y)}Q${short(turn)} ${short((from.y + to.y) / 2)} ${short(to.x)} ${short(to.y)}`;
  return shape("path", { class: `guess ${guess.isRight ? "right" : "wrong"}`, d: arc });
}

function moveEvening(at, draw, cutoff) {
  const chart = picture("evening");
  const moments = drawOf(at, draw);
  const places = moments.map((moment, act) => {
    const dot = chart.svg.querySelector(`[data-act="${act}"]`);
    const place = { x: chart.x(moment), y: Number(dot.getAttribute("cy")) };
    set(dot, { cx: place.x });
    set(chart.svg.querySelector(`[data-wait="${act}"]`), { x2: place.x });
    return place;
  });
  const shown = document.querySelector("input[name=side]:checked").value;
  if (shown === "nothing") return;
  const isDelayed = shown === "delayed";
  const written = evening().map((act, n) => ({ x: chart.x(act.at), y: places[n].y }));
  const made = guesses(isDelayed ? moments : evening().map((act) => act.at), cutoff);
  chart.mark(`guesses-${shown}`).replaceChildren(...made.map((one) => guessPath(chart, isDelayed ? places : written, one)));
}

function moveLearned(facts, gap, suspects) {
  const power = picture("power");
  for (const [name, multiple] of [["half", 0.5], ["chosen", 1], ["twice", 2]]) {
    const slope = Math.exp(facts.epsilon) / innocent(gap, facts.hold, multiple, facts.strangers_s);
    const errors = [0, Math.min(0.2, 1 / slope), 0.2];
    power.mark(name).setAttribute("d", line(power, errors.map((error) => [error, Math.min(1, slope * error)])));
  }
  const posterior = picture("posterior");
  const ratio = Math.exp(facts.epsilon) / facts.innocent;
  const crowds = [...new Set([2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100, suspects])].sort((one, other) => one - other);
  posterior.mark("delayed").setAttribute("d", line(posterior, crowds.map((crowd) => [crowd, ratio / (ratio + crowd - 1)])));
}

// Everything that can be told without the server.
export function move(facts, { draw, cutoff, gap, suspects }) {
  moveLaws(facts);
  moveFrontier(facts);
  moveEvening(facts.at, draw, cutoff);
  moveLearned(facts, gap, suspects);
}
