// Numbers as people read them, with their units.

const none = "–";

const MINUTES_S = 100;
const HOURS_S = 7200;
const DAYS_S = 172_800;
const UNITS = [[DAYS_S, 86_400, "days"], [HOURS_S, 3600, "h"], [MINUTES_S, 60, "min"], [1, 1, "s"], [0, 0.001, "ms"]];

/** How the marks of one axis are written: all in the unit of the largest. */
export function axisSeconds(marks) {
  const most = Math.max(...marks);
  const [, size, unit] = UNITS.find(([least]) => most >= least);
  return (value) => `${Number((value / size).toPrecision(6))} ${unit}`;
}

/** A time span: 340 ms, 4.2 s, 3.4 min, 2.1 h. */
export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return none;
  if (value === 0) return "0 s";
  if (value < 0.0009995) return `${Math.round(value * 1e6)} µs`;
  if (value < 0.9995) return `${Number((value * 1000).toPrecision(3))} ms`;
  if (value < MINUTES_S - 0.05) return `${value.toFixed(1).replace(/\.0$/, "")} s`;
  if (value < HOURS_S) return `${(value / 60).toFixed(1)} min`;
  if (value < DAYS_S) return `${(value / 3600).toFixed(1)} h`;
  return `${(value / 86400).toFixed(1)} days`;
}

/** A share: 93 %. */
export function percent(value) {
  return value === null || value === undefined ? none : `${Math.round(value * 100)} %`;
}

/** A count or a measure, with thin groups of thousands; `digits` after the point. */
export function number(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return none;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How often a minute: 4.2/min. */
export function rate(value) {
  return value === null || value === undefined ? none : `${number(value, value < 100 ? 1 : 0)}/min`;
}

/** Rating points. */
export function points(value) {
  if (value === null || value === undefined) return none;
  const written = number(value, Math.abs(value) < 100 && value % 1 ? 1 : 0);
  return `${written} ${written === "1" ? "pt" : "pts"}`;
}

/** One of several: "1 ticket", "3 tickets". */
export function many(count, one) {
  return `${number(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** Has a range no end there? What is null or beyond all ratings has none. */
export function endless(value) {
  return value === null || Math.abs(value) >= 1e9;
}

/** Two ratings as a span. */
export function span(low, high) {
  if (endless(low) && endless(high)) return "anybody";
  if (endless(low)) return `up to ${number(high)} pts`;
  return endless(high) ? `from ${number(low)} pts` : `${number(low)} to ${number(high)} pts`;
}

const TURNING = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]|[\u{10800}-\u{10fff}]|[\u{1e800}-\u{1efff}]/u;

/** Text that came from strangers, for places where there is only plain text: it turns nothing around it. */
export function isolated(text) {
  if (!TURNING.test(text)) return String(text);
  let depth = 0;
  const kept = [...String(text)].filter((each) => {
    if ("\u2066\u2067\u2068".includes(each)) depth += 1;
    else if (each === "\u2069") { if (depth === 0) return false; depth -= 1; }
    return true;
  });
  return `\u2068${kept.join("")}${"\u2069".repeat(depth + 1)}`;
}

/** The time of day of a moment. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** Hours and minutes only, for axes. */
export function shortClock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** Day and time of a moment. */
export function moment(ms) {
  return ms ? new Date(ms).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" }) : none;
}
