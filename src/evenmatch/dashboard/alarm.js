// What of a queue must catch the eye: in a word and by colour, the worst first.

import { many, number, seconds } from "./format.js";

const LONG_S = 60;
const FAR = 5;
const LEAST_S = 60;
const WAVES = 3;
const KNOWN_S = 240;
const RANK = { bad: 0, warn: 1 };

/** [{level, words}, ...] of a card, the worst first; empty = all is well. */
export function alarms(card) {
  const found = [];
  const [teams, size] = card.format.split("x").map(Number);
  const late = card.over_s >= KNOWN_S ? "5 min" : seconds(Math.round(card.over_s));
  if (card.abandoned) found.push({ level: "bad", words: `${many(card.abandoned, "wave")} abandoned in ${late}: the matcher failed or was too late` });
  if (card.mode === "paused") found.push({ level: card.waiting ? "bad" : "warn", words: "paused: no wave runs" });
  else if (card.mode === "draining") found.push({ level: "warn", words: "draining: nobody may join" });
  const patience = Math.max(LONG_S, WAVES * card.every_s);  // a slow queue is not stuck before a few of its waves
  const waits = card.waiting > 0 && card.matches === 0 && card.oldest_s >= patience && card.mode !== "paused";
  const stuck = waits && card.over_s >= Math.min(patience, KNOWN_S);
  if (stuck && patience > card.over_s) found.push({ level: "warn", words: `somebody waits for ${seconds(card.oldest_s)}, ${number(Math.floor(card.oldest_s / card.every_s))} waves` });
  else if (stuck && card.players_waiting >= teams * size) found.push({ level: "bad", words: `no match in ${late}, though ${many(card.players_waiting, "player")} wait` });
  else if (stuck) found.push({ level: "warn", words: `no match in ${late}: ${number(card.players_waiting)} of the ${number(teams * size)} players that a match takes` });
  else if (card.wait_p90_s !== null && card.oldest_s >= Math.max(LEAST_S, FAR * card.wait_p90_s)) {
    found.push({ level: "warn", words: `somebody waits ${number(card.oldest_s / card.wait_p90_s)} times as long as 9 in 10 do` });
  }
  if (card.ready_kept !== null && card.ready_kept < 0.5 && card.over_s >= LONG_S) found.push({ level: "warn", words: "most ready checks fail" });
  return found.sort((one, other) => RANK[one.level] - RANK[other.level]);
}

/** Cards with the worst first; those that are as bad as each other stay in their order. */
export function worstFirst(cards) {
  const rank = (card) => RANK[alarms(card)[0]?.level] ?? 2;
  return [...cards].sort((one, other) => rank(one) - rank(other));
}
