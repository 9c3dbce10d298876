// Every queue as a card: who waits, how fast it goes, how even the matches are.

import { ask, path } from "./api.js";
import { sparkline } from "./chart.js";
import { el, fill, numbers } from "./dom.js";
import { many, number, percent, rate, seconds } from "./format.js";

const KEPT = 120;

function card(numbersOf, depths) {
  const minutes = numbersOf.over_s >= 240 ? "last 5 min" : `last ${seconds(Math.round(numbersOf.over_s))}`;
  const mode = numbersOf.mode === "open" ? null : el("span", { class: "tag warn" }, numbersOf.mode);
  return el("a", { class: "card", href: `#/queue/${encodeURIComponent(numbersOf.queue)}` },
    el("div", { class: "title" }, el("h2", {}, numbersOf.queue),
      el("span", {}, mode, " ", el("span", { class: "tag" }, `${numbersOf.matcher} ${numbersOf.format}`))),
    el("div", { class: "big" }, number(numbersOf.waiting), " ",
      el("small", {}, `${numbersOf.waiting === 1 ? "ticket waits" : "tickets wait"}, ${many(numbersOf.players_waiting, "player")}`)),
    sparkline(depths, `Waiting tickets, last ${depths.length} seconds`),
    numbers([
      ["oldest wait", seconds(numbersOf.oldest_s)],
      ["joins", rate(numbersOf.joins_a_minute)],
      ["matches", rate(numbersOf.matches_a_minute)],
      ["wait, half within", seconds(numbersOf.wait_p50_s)],
      ["wait, 9 in 10 within", seconds(numbersOf.wait_p90_s)],
      ["matches are even", percent(numbersOf.quality)],
      ["ready checks kept", percent(numbersOf.ready_kept), numbersOf.ready_kept !== null && numbersOf.ready_kept < 0.5 ? "warn" : null],
      ["last wave took", seconds(numbersOf.wave_s)],
    ]),
    el("p", { class: "foot" }, `The line: who waited in the last ${seconds(depths.length)}. The numbers: the ${minutes}.`));
}

/** The view. */
export function overview() {
  const cards = el("div", { class: "cards" }, el("p", { class: "empty" }, "Waiting for the first numbers …"));
  const node = el("div", {}, el("h1", { class: "hidden" }, "All queues"), cards);
  const depths = new Map();
  const asked = new Set();
  const closing = new AbortController();
  let drawn = null;
  let last = null;

  const draw = () => {
    const focused = document.activeElement?.getAttribute?.("href");
    const inside = cards.contains(document.activeElement);
    if (last.queues.length) fill(cards, last.queues.map((one) => card(one, depths.get(one.queue))));
    else fill(cards, el("p", { class: "empty" }, "No queue is open. Name some in queues.toml, and start with ", el("code", {}, "evenmatch serve --config queues.toml"), "."));
    if (inside) [...cards.children].find((each) => each.getAttribute("href") === focused)?.focus();
  };

  const before = async (queue) => {
    if (asked.has(queue)) return;
    asked.add(queue);
    try {
      const { history } = await ask(`${path("queues", queue, "history")}?minutes=2`, closing.signal);
      const known = Math.max(1, Math.ceil((drawn - history.since_ms) / 1000));
      const past = history.points.flatMap((point) => Array(history.step_s).fill(point.depth)).slice(-known);
      depths.set(queue, [...past, ...(depths.get(queue) ?? [])].slice(-KEPT));
      draw();
    } catch { /* the sparkline begins now */ }
  };

  return {
    title: "All queues",
    node,
    close: () => closing.abort(),
    frame(frame) {
      if (frame.at_ms === drawn) return;
      drawn = frame.at_ms;
      for (const one of frame.queues) {
        before(one.queue);
        depths.set(one.queue, [...(depths.get(one.queue) ?? []), one.waiting].slice(-KEPT));
      }
      last = frame;
      draw();
    },
  };
}
