// What a policy comes to, in closed form and in floats, while a slider moves: the laws of `core/laws`, and the
// figures of `workbench/instrument.py`. Nothing is released by it: the server's exact answer replaces it.
import { parseDuration } from "./durations.js";
import { releases, success } from "./observer.js";

export const STOPS = 60;

function pairLaws({ epsilon, weight }, start) {
  const ratio = Math.exp(epsilon / 2);
  const needed = Math.ceil(start / (ratio - 1));
  const worth = ((1 - weight) * start * (start - 1)) / (weight * ratio + 1 - weight);
  const least = Math.max(1, Math.ceil((Math.sqrt(4 * worth + 1) - 1) / 2));
  const end = start + Math.max(needed, least);
  const flat = 1 / (ratio * (end - start));
  return {
    laws: {
      batched: [[start, 0], [end - start, 1 / (end - start)]],
      unbatched: [[1, 1 - (end - 1) * flat], [end - 1, flat]],
    },
    means: { batched: (start + end - 1) / 2, unbatched: (flat * (end - 1) * end) / 2 },
    first: { batched: start, unbatched: 0 },
    end,
    epsilon,
    weightCounts: needed < Math.max(1, Math.ceil((Math.sqrt(4 * start * (start - 1) + 1) - 1) / 2)),
  };
}

// The masses of the cosine law: as `workbench/seasons.py` has them.
function cosineMasses(blocks, order) {
  let [low, high] = [0, 1.6];
  for (let n = 0; n < 50; n += 1) {
    const x = (low + high) / 2;
    if (2 * order * x * Math.sin(x) > blocks * Math.cos(x)) high = x;
    else low = x;
  }
  const shape = Array.from({ length: blocks }, (_, n) => Math.cos(((2 * low) / blocks) * (n + 0.5 - blocks / 2)) ** 2);
  const power = 1 - order;
  const means = shape.slice(1).map((mass, n) => {
    if (!power) return Math.sqrt(mass * shape[n]);
    const [one, other] = [power * Math.log(mass), power * Math.log(shape[n])];
    const most = Math.max(one, other);
    return Math.exp((most + Math.log((Math.exp(one - most) + Math.exp(other - most)) / 2)) / power);
  });
  return [shape, means].map((row) => {
    const sum = row.reduce((total, mass) => total + mass, 0);
    return row.map((mass) => mass / sum);
  });
}

function seasonLaws(blocks, order, start) {
  const [unbatched, batched] = cosineMasses(blocks, order);
  const ratios = batched.map((mass, n) => mass / Math.min(unbatched[n], unbatched[n + 1]));
  const end = blocks * start;
  return {
    laws: {
      batched: [[start, 0], ...batched.map((mass) => [start, mass / start])],
      unbatched: unbatched.map((mass) => [start, mass / start]),
    },
    means: { batched: (start + end - 1) / 2, unbatched: (end - 1) / 2 },
    first: { batched: start, unbatched: 0 },
    end,
    epsilon: 2 * Math.log(Math.max(...ratios)),
    weightCounts: false,
  };
}

// Blocks and order at one stop of each slider of a season, from the grid that the server has sent.
export function shapeAt(grid, { pairs, total, delta }) {
  const places = [[grid.pairs, pairs], [grid.total, total], [grid.delta, delta]].map(([stops, value]) => stops.indexOf(value));
  if (places.includes(-1)) return undefined;
  return grid.shapes[(places[0] * grid.total.length + places[1]) * grid.delta.length + places[2]];
}

function lawsOf(fields, start, shape) {
  if (fields.law === "season") return shape ? seasonLaws(...shape, start) : null;
  return pairLaws({ epsilon: Number(fields.epsilon), weight: Number(fields.weight) }, start);
}

function ticks(fields) {
  const [gap, window] = [fields.gap, fields.window].map((text) => Math.ceil(parseDuration(text)));
  return { gap, window, start: gap + window };
}

let kept = { key: "", trades: [] };

function keyOf({ law, weight, pairs, delta, gap, window, cutoff }) {
  return JSON.stringify(law === "season" ? [law, pairs, delta, gap, window, cutoff] : [law, weight, gap, window, cutoff]);
}

// The exact stops of the budget: they stay as they are while only the budget moves.
export function keepTrades(fields, trades) {
  kept = { key: keyOf(fields), trades };
}

// Where all else moves, every third stop of the budget is enough for a curve under the hand.
function tradesOf(fields, grid, { window, start }, cutoff) {
  const key = keyOf(fields);
  if (key === kept.key) return kept.trades;
  const budget = fields.law === "season" ? "total" : "epsilon";
  const trades = [];
  for (const value of fields.stops.filter((_, n) => n % 3 === 0)) {
    const each = { ...fields, [budget]: value };
    const found = lawsOf(each, start, grid && fields.law === "season" ? shapeAt(grid, each) : null);
    if (!found) continue;
    const right = success(releases(found.laws, window, window), window, cutoff).person;
    trades.push({ value, wait_s: window + found.means.batched, right });
  }
  kept = { key, trades };
  return trades;
}

// The facts of what the form says, or null where only the server can tell. `known` are the last exact ones.
export function preview(fields, grid, known) {
  const { gap, window, start } = ticks(fields);
  const cutoff = parseDuration(fields.cutoff);
  if (!(gap > window) || ![fields.epsilon, fields.weight].every((text) => Number.isFinite(Number(text)))) return null;
  let shape = null;
  if (fields.law === "season") {
    shape = grid ? shapeAt(grid, fields) : undefined;
    // Numbers between the stops: another gap or window still has the blocks that the server has found.
    if (shape === undefined && known.season === JSON.stringify([fields.pairs, fields.total, fields.delta])) shape = known.shape;
    if (!shape) return null;
  }
  const found = lawsOf(fields, start, shape);
  const at = releases(found.laws, window, window);
  const waits = {};
  for (const kind of ["batched", "unbatched"]) {
    waits[kind] = [window + found.first[kind], window + found.means[kind], window + found.end - 1];
  }
  return {
    law: fields.law,
    hold: window,
    start,
    epsilon: found.epsilon,
    innocent: innocent(gap, window, 1, known.strangers_s),
    laws: found.laws,
    shape,
    waits,
    without: success(Float64Array.from(known.acts, (act) => act.at), window, cutoff),
    delayed: success(at, window, cutoff),
    base: known.base,
    trades: tradesOf(fields, grid, { window, start }, cutoff),
    weight_counts: found.weightCounts,
    strangers_s: known.strangers_s,
    at,
  };
}

// P0 where strangers come at an even rate.
export function innocent(gap, window, multiple, strangers) {
  return 1 - 2 ** (-(gap * multiple + window) / strangers);
}

// The chance of each of sixty equal stretches of delay.
export function lawBins(runs, hold, end) {
  const below = (tick) => {
    let [start, sum] = [0, 0];
    for (const [length, mass] of runs) {
      if (tick <= start + length) return sum + Math.max(0, tick - start) * mass;
      start += length;
      sum += length * mass;
    }
    return sum;
  };
  const edges = Array.from({ length: STOPS + 1 }, (_, n) => below((end * n) / STOPS - hold));
  return edges.slice(1).map((edge, n) => edge - edges[n]);
}
