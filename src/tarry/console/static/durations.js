// Delays as people write and read them, as `core/exact.py` and `workbench/instrument.py` do.
const UNITS = { w: 604800, d: 86400, h: 3600, m: 60, s: 1 };
const WORD = /([0-9])\s*(s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?|ays?)?\b[\s,]*/gi;

// Seconds, or NaN where it is no duration.
export function parseDuration(text) {
  const short = text.trim().replace(WORD, (_, digit, unit) => digit + unit.toLowerCase());
  if (!/^([0-9]+(\.[0-9]+)?[wdhms])+$/.test(short)) return NaN;
  let seconds = 0;
  for (const [, number, unit] of short.matchAll(/([0-9.]+)([wdhms])/g)) seconds += Number(number) * UNITS[unit];
  return seconds;
}

function two(number, whole) {
  return String(whole || number >= 10 ? Math.floor(number + 0.5) : Math.floor(10 * number + 0.5) / 10);
}

export function about(seconds) {
  for (const [most, size, unit] of [[90, 1, "s"], [5400, 60, "min"], [129600, 3600, "h"]]) {
    if (seconds < most) return `${two(seconds / size, unit !== "h")} ${unit}`;
  }
  return `${two(seconds / 86400, false)} d`;
}

export function share(part, none) {
  return part === null ? none : `${Math.floor(100 * part + 0.5)} %`;
}
