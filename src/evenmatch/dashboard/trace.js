// A matcher's own account of its steps, as tables: whatever it says, in columns by name.

import { el, table } from "./dom.js";
import { number } from "./format.js";

/** A value as one would write it by hand. */
export function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return number(value, Number.isInteger(value) ? 0 : 3);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${name}: ${plain(inner)}`).join("; ");
  return String(value);
}

/** Steps with the same fields stand in one table. */
export function traceTables(steps) {
  const parts = [];
  for (const step of steps) {
    const fields = Object.keys(step).join(" ");
    const last = parts[parts.length - 1];
    if (last && last.fields === fields) last.steps.push(step);
    else parts.push({ fields, steps: [step] });
  }
  let before = 0;
  return parts.map((part) => {
    const names = Object.keys(part.steps[0]);
    const first = before + 1;
    before += part.steps.length;
    const numeric = (name) => part.steps.every((step) => typeof step[name] === "number");
    return el("div", {}, table(`Steps ${first} to ${before}`, ["~step", ...names.map((name) => (numeric(name) ? "~" : "") + name.replaceAll("_", " "))],
      part.steps.map((step, i) => [number(first + i), ...names.map((name) => plain(step[name]))])));
  });
}
