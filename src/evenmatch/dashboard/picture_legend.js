// What the marks of a picture mean: bands, how many a dot stands for, and what a proposal looks like.

import { legend } from "./chart.js";
import { many, number } from "./format.js";
import { columnsOf } from "./picture_columns.js";
import { bandColour, hasLeaders } from "./picture_marks.js";

const LEADER = 1;

/** The counts that a legend of dots shows: the least, a middle one and the most, each once. */
export function sampled(most) {
  return [...new Set([1, Math.max(1, Math.round(most / 4)), most])];
}

/** How many a mark stands for; where bands have colours, these marks have none of theirs. */
function dots(picture) {
  const colour = picture.bands.length ? "soft" : "series-1";
  if (picture.by_count) return [{ name: `a column: tickets within ${number(picture.bin, picture.bin < 10 ? 1 : 0)} ${picture.ping_ms.length ? "ms" : "pts"}`, colour, shape: picture.bands.length ? "outline" : null }];
  const most = Math.max(1, ...picture.count);
  return sampled(most).map((count) => ({ name: many(count, "ticket"), colour, shape: "dot", size: 2 * (2 + 9 * Math.sqrt(count / most)) }));
}

/** What a proposal looks like; `when` is said with it. */
function proposed(picture, teams, when) {
  const name = hasLeaders(picture.matcher) ? `${when}: lines from a leader to its members` : teams > 1 ? `${when}, rings = the other team` : `${when}: joined by lines${picture.bands_are === "tier" ? ", in the colour of its tier" : ""}`;
  return { name, colour: "made" };
}

/** The legend of a picture; `teams`: of a match, `when`: what proposals are called; null = none are drawn. */
export function pictureLegend(picture, teams, when) {
  const bands = picture.bands.map((name, i) => ({
    name, colour: bandColour(i), shape: hasLeaders(picture.matcher) ? (i === LEADER ? "diamond" : "dot") : null }));
  const shared = picture.overlap.length ? [{ name: "what its range shares with the lobby that shares most", colour: "series-2" }] : [];
  const alone = bands.length ? [] : [{ name: "a ticket", colour: "series-1", shape: "dot" }];
  return legend([...bands, ...(picture.binned ? dots(picture) : alone), ...shared, when ? proposed(picture, teams, when) : []].flat());
}

/** What there is to be seen, in sentences; `striped`: its buckets are wide enough to be drawn. */
export function pictureWords(picture, striped = true) {
  const parts = picture.by_count ? many(columnsOf(picture).size, "column") : many(picture.rating.length, "bin");
  const bins = picture.binned ? `${number(picture.waiting)} tickets in ${parts}. ` : "";
  const up = picture.by_count ? "All have waited about as long, so up is how many of that rating wait." : "Up is a longer wait.";
  const bars = picture.by_count ? "" : ` ${striped ? picture.words : picture.words.replace("Stripes are buckets.", "Buckets are too narrow here to be seen.")}`;
  return `${bins}${up}${bars} ${picture.beyond} ${picture.binned ? "Hover a mark, or walk with the arrow keys, to read it." : "Click a dot to see its ticket, or walk with the arrow keys and press Enter."}`.replace(/ +/g, " ");
}
