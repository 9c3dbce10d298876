// What matchers call things, in words with units: the fields of traces, details and parameters.

import { number } from "./format.js";

const NAMES = {
  bound: "bound on the total", optimality_gap: "dearer than the best by at most", cost_bound: "cost at least", seats: "players seated",
  seats_bound: "players seated at most", due: "tickets that go first", due_left: "of them still waiting", free: "accept any rating",
  window_least: "narrowest window", window_most: "widest window", window_base: "window at first", window_growth: "window grows by",
  window_of: "whose window counts", pairs_weighed: "pairs weighed", regions: "regions", whole: "all places asked", skip: "may skip", from: "from",
  work: "work, in units", worth: "worth of the plan", step: "step", solver: "solved as", terms: "terms of the cost",
  spread: "ratings differ", imbalance: "one team likelier", distribution: "teams made up differently", latency: "far from the region",
  premade: "parties differ", role: "roles not liked", repeat: "met lately",
  queue_size: "tickets waiting", active_population: "players about", only: "can play one side", both: "can play both sides",
  neither: "can play neither", equalized: "on each side", moved: "moved to the other side", mean: "mean rating", mean_delta: "means differ by",
  category: "pressure is", lead_side: "side that chooses", lead_count: "on that side", follow_count: "on the other", lead_kept: "kept of that side",
  follow_kept: "kept of the other", candidates: "pairs within windows", matched: "tickets matched", remaining: "tickets left",
  gap: "gap", gap_mean: "mean gap", gap_min: "least gap", gap_max: "greatest gap", sanction: "sanction score", overlap: "ranges overlap by",
  distance: "buckets apart", ranges: "ranges, in buckets", added: "added", best: "pairs, the lowest score first", matches: "matches", sets: "who is where", score: "score", scores: "scores", iteration: "iteration", anchor: "came first",
};

const UNITS = [
  [/^(gap|window)(_least|_most|_base|_mean|_min|_max)?$|^mean(_delta)?$/, "pts"], [/^window_growth$/, "pts a wave"], [/_ms$/, "ms"], [/_s$/, "s"]];
const SHARES = new Set(["overlap"]);

const STAGES = {
  partition: "Who can play which side.", equalize: "Those who can play both even out the counts, then the means.",
  pressure: "How many wait for how many about says how wide windows are.", filter_by_priority: "The larger side keeps as many as the smaller has: those with the most misses.",
  find_matches: "Pairs within their windows, the lowest score first.", refine: "Neighbours in the list of matches exchange opponents where that is better.",
  create_matches: "The matches, with their maps and servers.", clean_up: "What came of it.",
};

/** A field's name in words. */
export function named(field) {
  return NAMES[field] ?? field.replaceAll("_", " ");
}

/** What a stage of the ladder does. */
export function staged(name) {
  return STAGES[name] ?? null;
}

/** A number of a field, with the field's unit. */
export function measured(field, value) {
  if (SHARES.has(field)) return `${number(value * 100)} %`;
  const size = Math.abs(value);
  const digits = Number.isInteger(value) ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  const unit = UNITS.find(([pattern]) => pattern.test(field));
  return number(value, digits) + (unit ? ` ${unit[1]}` : "");
}
