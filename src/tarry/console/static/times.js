// Moments in the reader's own time zone; without this script they are shown in UTC.
const shape = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.textContent = ("short" in time.dataset ? short : shape).format(at);
  }
}

export function longWords(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  let rest = whole;
  const parts = [];
  for (const [size, unit] of units) {
    const many = Math.floor(rest / size);
    rest -= many * size;
    if (many > 0 || (unit === "s" && parts.length === 0)) parts.push(`${many}${unit}`);
  }
  return parts.slice(0, 2).join(" ");
}
