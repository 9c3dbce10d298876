// One player: live tickets, ratings, and how the rating went.

import { Refused, ask, askIfThere, askNamed, path } from "./api.js";
import { lineChart } from "./chart.js";
import { box, el, link, numbers, stranger, table } from "./dom.js";
import { wholeId } from "./find.js";
import { many, moment, number, points, seconds } from "./format.js";
import { loaded } from "./loading.js";
import { caused } from "./words.js";

function signed(value) {
  return `${value >= 0 ? "+" : "−"}${number(Math.abs(value))}`;
}

/** The rating over results, its sureness as a band of two lines. A step is a result, however long the time between. */
function picture(ladder, changes) {
  const old = [...changes].reverse();
  const times = [null, ...old.map((change) => change.at_ms)];
  return lineChart(`Rating on ${ladder}, in points, a step for each result`, times, [
    { name: "rating", values: [old[0].before, ...old.map((change) => change.after)], colour: "series-1" },
    ...(old.some((change) => change.deviation > 0) ? [{ name: "almost surely at least", values: [null, ...old.map((change) => change.after - 2 * change.deviation)], colour: "series-5" }] : []),
  ], points, { fromZero: false, label: (i) => (i === 0 ? "before" : i === 1 ? "1 result" : `${number(i)} results`),
    told: (i) => (i === 0 ? "before these results" : `after the result of ${moment(times[i])}`) });
}

/** Cool-downs in force, and what still counts of those that are over. */
function cooldowns(list) {
  const now = Date.now();
  const held = list.filter((one) => one.until_ms > now);
  const over = list.filter((one) => one.until_ms <= now);
  if (!list.length) return null;
  return box("Cool-downs", held.length ? table("Cool-downs in force", ["queue", "until", "for", "~offences"], held.map((one) =>
    [one.queue, moment(one.until_ms), caused(one.cause), number(one.offences)])) : el("p", { class: "empty" }, "None is in force: the player may join everywhere."),
  over.map((one) => el("p", { class: "empty" }, `Over since ${moment(one.until_ms)} in ${one.queue}; ${many(one.offences, "offence")} still ${one.offences === 1 ? "counts" : "count"} if there is another.`)));
}

/** The last tickets, live and finished, with their matches. */
function tickets(recent) {
  const far = recent.since_ms ? `Looked for among all tickets that came since ${moment(recent.since_ms)}.` : null;
  if (!recent.tickets.length) return box("Last tickets", el("p", { class: "empty" }, far ? `None is found. ${far}` : "There is none that the server still keeps."));
  return box("Last tickets", table("Last tickets", ["ticket", "queue", "joined", "what became of it", "~waited", "match"], recent.tickets.map((one) => [
    link(["ticket", one.id], one.id), link(["queue", one.queue], one.queue), moment(one.joined_ms), [one.status, one.cause ? `: ${caused(one.cause)}` : ""],
    seconds(one.waited_ms / 1000), one.match ? link(["match", one.match], one.match) : "–"])), far ? el("p", { class: "foot" }, far) : null);
}

const DIGITS = /^\d{1,12}$/;

/** Nobody is called so; a bare number may have been meant as a ticket's or match's. */
function nobody(error, id) {
  if (!(error instanceof Refused && error.reason === "unknown_player" && DIGITS.test(id))) throw error;
  return { content: [el("h1", {}, stranger(id)), el("p", { class: "empty" }, `There is no player called ${id}. Ticket `,
    link(["ticket", wholeId("t", `t-${id}`)], `t-${id}`), " or match ", link(["match", wholeId("m", `m-${id}`)], `m-${id}`), " may be meant."), el("a", { href: "#/" }, "To the overview")] };
}

/** The view. */
export function player(id) {
  return loaded(id, async (signal) => {
    const answer = await askNamed("player", path("players", id), signal).catch((error) => nobody(error, id));
    if (answer.content) return answer;
    const found = answer.player;
    const [ratings, past, { recent }] = await Promise.all([
      askIfThere(path("players", id, "ratings"), signal), askIfThere(`${path("players", id, "history")}?limit=200`, signal), ask(path("players", id, "tickets"), signal)]);
    const changes = past?.history ?? [];
    const list = ratings?.ratings ?? [];
    const ladders = [...new Set(changes.map((change) => change.ladder))];
    return { again: true, content: [
      el("div", { class: "head" }, el("h1", {}, stranger(id))),
      el("div", { class: "pair" },
        el("div", { class: "stack" },
          found.tickets.length ? null : el("p", { class: "empty" }, "The player waits nowhere now."), tickets(recent),
          cooldowns(found.cooldowns),
          box("Ratings", list.length ? list.map((one) => [el("h3", {}, one.ladder), numbers([["rating", points(one.rating)],
            ...(one.deviation > 0 ? [["deviation", points(one.deviation)], ["almost surely at least", points(one.sure)]] : []), ["games", number(one.games)]])])
            : el("p", { class: "empty" }, "No result of the player was rated yet."))),
        ladders.length ? el("div", { class: "stack" }, ladders.map((ladder) => picture(ladder, changes.filter((change) => change.ladder === ladder)))) : null),
      changes.length ? box("What each result did", table("Results", ["when", "match", ...(ladders.length > 1 ? ["ladder"] : []), "~before, pts", "~after, pts", "~change, pts"], changes.slice(0, 50).map((change) =>
        [moment(change.at_ms), link(["match", change.match], change.match), ...(ladders.length > 1 ? [change.ladder] : []), number(change.before), number(change.after), signed(Math.round(change.after) - Math.round(change.before))]))) : null,
    ] };
  }, 5000);
}
