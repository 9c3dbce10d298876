// What matchers call things, in words with units: the fields of traces, details and parameters.

import { number } from "./format.js";

const NAMES = {
  bound: "bound on the total", objective: "cost less what waits count for", optimality_gap: "worse than the best by at most", cost_bound: "cost at least", seats: "players seated",
  seats_bound: "players seated at most", due: "tickets that go first", due_left: "of them still waiting", free: "accept any rating",
  window_least: "narrowest window", window_most: "widest window", window_base: "window at first", window_growth: "window grows by",
  window_of: "whose window counts", pairs_weighed: "pairs weighed", regions: "regions", whole: "all places asked", skip: "may skip", from: "from",
  plans: "plans", draft: "draft", times: "times", behind: "behind the best, waits counted", seats_before: "players at first", cost_before: "cost at first", tried: "what was tried",
  work: "work, in units", worth: "worth of the plan", gain: "cheaper by", step: "step", solver: "solved as", terms: "terms of the cost",
  spread: "ratings differ", imbalance: "one team likelier", distribution: "teams made up differently", latency: "far from the region",
  premade: "parties differ", role: "roles not liked", repeat: "met lately",
  queue_size: "tickets waiting", active_population: "players about", only: "can play one side", both: "can play both sides",
  neither: "can play neither", equalized: "on each side", moved: "moved to the other side", mean: "mean rating", mean_delta: "means differ by",
  category: "pressure is", lead_side: "side that chooses", lead_count: "on that side", follow_count: "on the other", lead_kept: "kept of that side",
  follow_kept: "kept of the other", candidates: "pairs within windows", matched: "tickets matched", remaining: "tickets left",
  gap: "gap", gap_mean: "mean gap", gap_min: "least gap", gap_max: "greatest gap", sanction: "sanction score", overlap: "ranges overlap by",
  distance: "buckets apart", weight: "weight", leader: "leader", tier: "tier", waiting: "tickets waiting", ranges: "ranges, in buckets", added: "added", best: "pairs, the lowest score first", matches: "matches", sets: "who is where", score: "score", scores: "scores", iteration: "iteration", anchor: "came first",
};

const PARAMETERS = {
  bucket: "pts", range_max: "buckets", reciprocity: "%", lcap: "pts", ucap: "pts", w_min: "pts", sanction_max: "buckets", n_bucket: "buckets",
  window: "pts", window_growth: "pts a second", window_density: "times as wide at most", rating_scale: "pts", overtaken_most: "waves", seat_value: "a seat", wait_value: "a second of wait",
  work: "units", boundaries: "pts", lobby_size: "players", session_size: "players", pool_max: "tickets", balance_threshold: "pts", wait_coefficient: "pts a miss",
  windows: "pts, and pts a wave", activity_minutes: "min", active_population: "players",
};
const UNITS = [
  [/^(gap|window)(_least|_most|_base|_mean|_min|_max)?$|^mean(_delta)?$/, "pts"], [/^window_growth$/, "pts a wave"], [/_ms$/, "ms"], [/_s$/, "s"]];
const SHARES = new Set(["overlap"]);
const HUNDREDTHS = new Set(["weight", "cost"]);  // so that one is seen to be the other
const LOWERED = new Set(["category"]);

const SQUARED = "squared points: the gap between the strongest and the weakest team's mean rating, or in a lobby party, times itself";
const ASSOCIATION = "association weight, which has no unit: how far the members' ratings, pings or features are from their leader's";
const COSTS = {
  even: "what is not ideal, each term times its weight, and has no unit: 0 is a match with which nothing is amiss",
  epgc: "the weight of the lobby with its sign turned, and has no unit: the closer the pings and the longer the waits, the lower",
  ladder: "squared points: the gap between the two ratings times itself", buckets: "buckets: how far apart the two are",
  lom: ASSOCIATION, l2m: ASSOCIATION, m2l: ASSOCIATION, random: ASSOCIATION, cinder: "the sanction score, in buckets: how far apart the two lobbies are over all their players",
  first_come: SQUARED, exact: SQUARED,
};

const STAGES = {
  partition: "Who can play which side.", equalize: "Those who can play both even out the counts, then the means.",
  pressure: "How many wait for how many about says how wide windows are.", filter_by_priority: "The larger side keeps as many as the smaller has: those with the most misses.",
  find_matches: "Pairs within their windows, the lowest score first.", refine: "Neighbours in the list of matches exchange opponents where that is better.",
  create_matches: "The matches, with their maps and servers.", clean_up: "What came of it.",
};

const CAUSES = {
  left: "left the queue", declined: "declined", lapsed: "did not answer the ready check", lost: "connection lost in the ready check",
  too_long: "in the queue as long as it allows", unheard: "client not heard of", rules_changed: "the rules were changed",
  operator: "cancelled by an operator", start_failed: "the match could not start", not_confirmed: "the start was not confirmed",
  not_needed: "the match needed nobody any more", deserted: "left a running match",
};

/** Why a ticket or a ready check ended, in words. */
export function caused(cause) {
  return CAUSES[cause] ?? cause.replaceAll("_", " ");
}

/** A field's name in words. */
export function named(field) {
  return NAMES[field] ?? field.replace(/_m?s$/, "").replaceAll("_", " ");
}

/** The unit of a matcher's parameter; empty = it has none. */
export function unitOf(parameter) {
  return PARAMETERS[parameter] ?? (/_ms$/.test(parameter) ? "ms" : /_s$/.test(parameter) ? "s" : "");
}

/** What the cost of a matcher's matches counts, in a sentence; null = it is not known here. */
export function costWords(matcher) {
  return COSTS[matcher] ? `Cost counts ${COSTS[matcher]}. Lower is better.` : null;
}

/** Has a field a name or a unit of its own here? */
export function hasWords(field) {
  return field in NAMES || UNITS.some(([pattern]) => pattern.test(field));
}

/** A word that a matcher uses, as one writes it in a sentence. */
export function worded(field, word) {
  return LOWERED.has(field) ? word.toLowerCase() : word;
}

/** What a stage of the ladder does. */
export function staged(name) {
  return STAGES[name] ?? null;
}

/** Digits after the point: of points a tenth is enough, and a small number without a unit needs three. */
function digitsOf(value, size, unit) {
  if (Number.isInteger(value)) return 0;
  return size >= 100 || unit === "pts" ? 1 : size >= 1 ? 2 : 3;
}

/** A number of a field, with the field's unit. */
export function measured(field, value) {
  if (SHARES.has(field)) return `${number(value * 100)} %`;
  const size = Math.abs(value);
  const unit = UNITS.find(([pattern]) => pattern.test(field))?.[1];
  const written = HUNDREDTHS.has(field) ? number(value, 2) : number(value, digitsOf(value, size, unit));
  return written.replace(/^-?0(\.0+)?$/, "0") + (unit ? ` ${unit}` : "");
}
