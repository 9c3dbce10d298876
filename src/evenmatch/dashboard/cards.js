// Numbers of a queue's card that some queues cannot have: these say why, instead of a dash for ever.

import { percent } from "./format.js";

/** How many teams play each other. */
export function teamsOf(card) {
  return Number(card.format.split("x")[0]);
}

/** How even matches are. */
export function evenness(card) {
  return teamsOf(card) > 1 ? percent(card.quality) : "no teams";
}

/** The share of ready checks that led to a match. */
export function kept(card) {
  return card.ready_check ? percent(card.ready_kept) : "no ready check";
}
