// What a match costs, and what for: the terms of `even` times their weights, as shares.

import { meter } from "./chart.js";
import { el, table } from "./dom.js";
import { number, percent } from "./format.js";
import { named } from "./words.js";

const NEAR = 0.005;
const SEEN = 0.005;

/** [[term, size, weight, part], ...] of what is not ideal, the largest part first; null = these weights do not make this cost. */
export function parts(terms, cost, parameters) {
  const rows = Object.entries(terms).map(([term, size]) => {
    const weight = parameters[`weight_${term}`] ?? 0;
    return [term, size, weight, size * weight];
  });
  const sum = rows.reduce((all, [, , , part]) => all + part, 0);
  if (Math.abs(sum - cost) > NEAR * Math.max(1, Math.abs(cost))) return null;
  return rows.filter(([, size]) => size >= SEEN).sort((one, other) => other[3] - one[3]);
}

/** The terms of a match's cost, as a table that adds up to it; `parameters`: all that are in force for the queue's matcher now, as the server tells them. */
export function costTable(terms, cost, parameters) {
  const found = parts(terms, cost, parameters);
  if (found === null) {
    const known = Object.entries(terms).filter(([, size]) => size);
    return [el("p", { class: "empty" }, "Sizes before weights: the weights by which they add up to the cost have changed since, or are others for this kind of match."),
      table("Terms of the cost", ["what is not ideal", "~size"], known.map(([term, size]) => [named(term), number(size, 2)]))];
  }
  if (!found.length) return el("p", {}, "It costs nothing: all that counts is as it should be.");
  return [table("Terms of the cost", ["what is not ideal", "~size", "~weight", "~adds to the cost", "~share", ""], [
    ...found.map(([term, size, weight, part]) => [named(term), number(size, 2), `× ${number(weight, weight % 1 ? 2 : 0)}`, number(part, 2), percent(cost ? part / cost : 0), meter(cost ? part / cost : 0)]),
    [el("b", {}, "the cost"), "", "", el("b", {}, number(cost, 2)), "", ""]]),
  el("p", { class: "foot" }, "A size is 0 where nothing is amiss, and counts all players of the match. Sizes and costs have no unit.")];
}
