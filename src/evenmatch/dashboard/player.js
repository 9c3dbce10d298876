// One player: live tickets, ratings, and how the rating went.

import { ask, askIfThere, path } from "./api.js";
import { lineChart } from "./chart.js";
import { box, el, link, numbers, table } from "./dom.js";
import { moment, number, points } from "./format.js";
import { loaded } from "./loading.js";

function signed(value) {
  return `${value >= 0 ? "+" : "−"}${number(Math.abs(value))}`;
}

/** The rating over results, its sureness as a band of two lines. */
function picture(ladder, changes) {
  const old = [...changes].reverse();
  const times = old.map((change) => change.at_ms);
  return lineChart(`Rating on ${ladder}`, times, [
    { name: "rating", values: old.map((change) => change.after), colour: "series-1" },
    { name: "almost surely at least", values: old.map((change) => change.after - 2 * change.deviation), colour: "series-5" },
  ], points, { fromZero: false });
}

/** The view. */
export function player(id) {
  return loaded(id, async (signal) => {
    const { player: found } = await ask(path("players", id), signal);
    const [ratings, past] = await Promise.all([
      askIfThere(path("players", id, "ratings"), signal), askIfThere(`${path("players", id, "history")}?limit=200`, signal)]);
    const changes = past?.history ?? [];
    const list = ratings?.ratings ?? [];
    const ladders = [...new Set(changes.map((change) => change.ladder))];
    return { again: true, content: [
      el("div", { class: "head" }, el("h1", {}, id)),
      el("div", { class: "pair" },
        el("div", { class: "stack" },
          box("In queues now", found.tickets.length ? el("ul", {}, found.tickets.map((one) => el("li", {}, link(["ticket", one])))) : el("p", { class: "empty" }, "The player waits nowhere.")),
          found.cooldowns.length ? box("Cool-downs", table("Cool-downs", ["queue", "until", "for", "~offences"], found.cooldowns.map((one) =>
            [one.queue, moment(one.until_ms), one.cause, number(one.offences)]))) : null,
          box("Ratings", list.length ? list.map((one) => [el("h3", {}, one.ladder), numbers([["rating", points(one.rating)],
            ["deviation", points(one.deviation)], ["almost surely at least", points(one.sure)], ["games", number(one.games)]])])
            : el("p", { class: "empty" }, "No result of the player was rated yet."))),
        ladders.length ? el("div", { class: "stack" }, ladders.map((ladder) => picture(ladder, changes.filter((change) => change.ladder === ladder)))) : null),
      changes.length ? box("What each result did", table("Results", ["when", "match", ...(ladders.length > 1 ? ["ladder"] : []), "~before, pts", "~after, pts", "~change, pts"], changes.slice(0, 50).map((change) =>
        [moment(change.at_ms), link(["match", change.match], change.match), ...(ladders.length > 1 ? [change.ladder] : []), number(change.before), number(change.after), signed(change.after - change.before)]))) : null,
    ] };
  }, 5000);
}
