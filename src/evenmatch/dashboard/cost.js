// What a match costs, and what for: the terms of `even`, which add up to it, as shares.

import { meter } from "./chart.js";
import { el, table } from "./dom.js";
import { number, percent } from "./format.js";
import { named } from "./words.js";

const SMALL = 1;

/** The terms of a match's cost, the largest first, as a table that adds up to it. */
export function costTable(terms, cost) {
  const digits = cost < SMALL ? 4 : 2;
  const seen = 0.5 / 10 ** digits;
  const sorted = Object.entries(terms).filter(([, part]) => part > 0).sort(([, one], [, other]) => other - one);
  const found = sorted.filter(([, part]) => part >= seen);
  const others = sorted.slice(found.length).reduce((sum, [, part]) => sum + part, 0);
  if (!found.length) return el("p", {}, "It costs nothing: all that counts is as it should be.");
  const share = (part) => (cost ? part / cost : 0);
  return [table("Terms of the cost", ["what is not ideal", "~adds to the cost", "~share", ""], [
    ...found.map(([term, part]) => [named(term), number(part, digits), percent(share(part)), meter(share(part))]),
    ...(others >= seen ? [["others", number(others, digits), percent(share(others)), meter(share(others))]] : []),
    [el("b", {}, "the cost"), el("b", {}, number(cost, digits)), "", ""]]),
  el("p", { class: "foot" }, "Weights are counted, and all players of the match. A cost has no unit.")];
}
