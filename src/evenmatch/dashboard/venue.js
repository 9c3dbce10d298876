// Where a match is played, and why there, in plain words.

import { number } from "./format.js";

const MAPS = { drawn: "drawn by lot among those that nobody vetoed", least_vetoed: "drawn by lot among those that the fewest vetoed" };
const REGIONS = {
  latency: "the one that is nearest to the player who is farthest away", pairs: "as the queue's table of regions says",
  chance: "drawn by lot, for nothing spoke for another" };

/** [[what, where, why], ...] of a venue as the API tells it; empty = none was chosen. */
export function venueRows(venue) {
  const why = venue?.why ?? {};
  const vetoes = why.vetoes ? `, ${number(why.vetoes)} did` : "";
  const worst = why.worst_ms === null || why.worst_ms === undefined ? "" : `: ${number(why.worst_ms)} ms for that player`;
  const reasons = {
    map: why.map ? `${MAPS[why.map] ?? why.map}${vetoes}` : "–",
    region: why.region ? `${REGIONS[why.region] ?? why.region}${worst}` : "–",
    server: "that of the region", channel: "the next in turn" };
  return ["map", "region", "server", "channel"].filter((part) => venue?.[part] !== null && venue?.[part] !== undefined)
    .map((part) => [part, String(venue[part]), reasons[part]]);
}
