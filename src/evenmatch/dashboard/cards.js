// Numbers of a queue's card that some queues cannot have: these say why, instead of a dash for ever.

import { percent } from "./format.js";

/** How many teams play each other. */
export function teamsOf(card) {
  return Number(card.format.split("x")[0]);
}

/** The mean evenness of matches as a row of numbers, `when` told with it; none where one team plays for itself. */
export function evenness(card, when = "") {
  return teamsOf(card) > 1 ? [[`mean evenness${when}`, percent(card.quality)]] : [];
}

/** The share of ready checks that led to a match. */
export function kept(card) {
  return card.ready_check ? percent(card.ready_kept) : "no ready check";
}
