// Those who came together, as columns: an entry is one band of a column, and whoever reads or walks the picture is told of
// the whole.

import { many, number, seconds } from "./format.js";

/** Where the entries of a picture stand across. */
export function acrossOf(shown) {
  return shown.ping_ms.length ? shown.ping_ms : shown.rating;
}

/** The columns of a picture by count: where each stands -> its entries, lowest band first. */
export function columnsOf(shown) {
  const found = new Map();
  acrossOf(shown).forEach((at, i) => {
    if (!found.has(at)) found.set(at, []);
    found.get(at).push(i);
  });
  return found;
}

/** How many tickets some entries stand for. */
export function countOf(shown, entries) {
  return entries.reduce((sum, i) => sum + shown.count[i], 0);
}

/** A column in words: how many, where, of which bands, and how long they have waited. */
export function columnWords(shown, entries) {
  const all = countOf(shown, entries);
  const at = acrossOf(shown)[entries[0]];
  const waited = entries.reduce((sum, i) => sum + shown.count[i] * shown.waited_s[i], 0) / all;
  const where = at < shown.scale.low || at > shown.scale.high ? `about ${number(at)}` : `from ${number(at - shown.bin / 2)} to ${number(at + shown.bin / 2)}`;
  const bands = shown.band.length ? entries.filter((i) => shown.band[i] >= 0).map((i) => `${number(shown.count[i])} ${shown.bands[shown.band[i]]}`) : [];
  const parts = bands.length > 1 ? `: ${bands.join(", ")}` : bands.length ? `, ${shown.bands[shown.band[entries[0]]]}` : "";
  return `${many(all, "ticket")} ${where} ${shown.ping_ms.length ? "ms" : "pts"}${parts}, waited about ${seconds(waited)}`;
}
