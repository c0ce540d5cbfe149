// The made-up evening and the observer who guesses, as `workbench/evening.py` has them: the same numbers
// between 0 and 1 for every policy, so that a slider moves lines instead of throwing dice.
const DRAWS = 100;
const MANY = 64; // more than there are acts
let acts = [];
let numbers = new Float64Array(0);

function scrambled(number) {
  let x = number | 0;
  x ^= x >>> 16;
  x = Math.imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = Math.imul(x, 0x846ca68b);
  x ^= x >>> 16;
  return ((x >>> 0) + 0.5) / 4294967296;
}

export function begin(known) {
  acts = known.map(([person, thread, lane, at]) => ({ person, thread, lane, at }));
  numbers = Float64Array.from({ length: DRAWS * acts.length }, (_, n) => scrambled(n + 1));
}

export function evening() {
  return acts;
}

function isPair(one, other, window) {
  return one.person === other.person && one.thread !== other.thread && Math.abs(one.at - other.at) <= window;
}

function batched(window) {
  return acts.map((act) => acts.some((other) => isPair(act, other, window)));
}

// The law's own inverse at a number between 0 and 1, for runs of ticks with a mass each.
function inverse(runs) {
  const rows = [];
  let [start, sum] = [0, 0];
  for (const [length, mass] of runs) {
    if (mass > 0) rows.push({ start, length, mass, low: sum, high: sum + length * mass });
    start += length;
    sum += length * mass;
  }
  const last = rows.length - 1;
  return (number) => {
    let [low, high] = [0, last];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (number < rows[middle].high) high = middle;
      else low = middle + 1;
    }
    const row = rows[low];
    return row.start + Math.min(row.length - 1, Math.max(0, Math.floor((number - row.low) / row.mass)));
  };
}

// When each act appears: a row of the answer for each draw.
export function releases(laws, hold, window) {
  const [one, other] = [inverse(laws.batched), inverse(laws.unbatched)];
  const count = acts.length;
  const at = new Float64Array(DRAWS * count);
  batched(window).forEach((isBatched, act) => {
    const delay = isBatched ? one : other;
    for (let place = act; place < at.length; place += count) at[place] = acts[act].at + hold + delay(numbers[place]);
  });
  return at;
}

export function drawOf(at, draw) {
  const first = ((draw - 1) % DRAWS) * acts.length;
  return Array.from(at.subarray(first, first + acts.length));
}

// How often guesses are right: the mean over all draws, with its spread.
export function success(at, window, cutoff) {
  const count = acts.length;
  const row = new Float64Array(count); // moment and act in one number, which sorts fast
  const shares = [];
  let made = 0;
  let right = 0;
  let pairs = 0;
  for (let first = 0; first < at.length; first += count) {
    for (let act = 0; act < count; act += 1) row[act] = at[first + act] * MANY + act;
    row.sort();
    let mine = 0;
    let found = 0;
    for (let place = 1; place < count; place += 1) {
      const later = acts[row[place] % MANY];
      const earliest = (Math.floor(row[place] / MANY) - cutoff) * MANY;
      for (let before = place - 1; before >= 0 && row[before] >= earliest; before -= 1) {
        const earlier = acts[row[before] % MANY];
        if (earlier.thread === later.thread) continue;
        mine += 1;
        if (earlier.person !== later.person) continue;
        found += 1;
        if (Math.abs(earlier.at - later.at) <= window) pairs += 1;
      }
    }
    made += mine;
    right += found;
    if (mine) shares.push(found / mine);
  }
  if (!made) return { person: null, pair: null, spread: 0, guesses: 0 };
  const mean = shares.reduce((sum, each) => sum + each, 0) / shares.length;
  const variance = shares.reduce((sum, each) => sum + (each - mean) ** 2, 0) / shares.length;
  return { person: right / made, pair: pairs / made, spread: Math.sqrt(variance), guesses: (made * count) / at.length };
}

// The guesses of one evening, for the picture.
export function guesses(moments, cutoff) {
  const order = acts.map((_, act) => act).sort((one, other) => moments[one] - moments[other] || one - other);
  const found = [];
  order.forEach((second, place) => {
    for (const first of order.slice(0, place)) {
      if (moments[second] - moments[first] > cutoff || acts[first].thread === acts[second].thread) continue;
      found.push({ first, second, isRight: acts[first].person === acts[second].person });
    }
  });
  return found;
}
