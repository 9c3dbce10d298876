// Every queue as a card: who waits, how fast it goes, how even the matches are.

import { alarms, worstFirst } from "./alarm.js";
import { ask, path } from "./api.js";
import { beginning, untouched } from "./beginning.js";
import { sparkline } from "./chart.js";
import { evenness, kept, teamsOf } from "./cards.js";
import { el, fill, numbers } from "./dom.js";
import { many, number, rate, seconds } from "./format.js";
import { AWAY } from "./loading.js";

const STEP_MS = 10_000;
const STEPS = 30;
const SHORT_S = 60;

/** How often something happened: a rate, or while little is known what was counted. */
function often(count, aMinute, over) {
  return over < SHORT_S ? `${number(count)} in ${seconds(Math.round(over))}` : rate(aMinute);
}

function card(of, depths) {
  const wrong = alarms(of);
  const level = wrong[0]?.level ?? "";
  const known = depths.filter((each) => each !== null);
  const most = Math.max(1, ...known);
  const past = `${seconds((depths.length - 1) * STEP_MS / 1000)} ago`;
  return el("a", { class: `card ${level}`, href: `#/queue/${encodeURIComponent(of.queue)}` },
    el("div", { class: "title" }, el("h2", {}, of.queue), el("span", { class: "tag" }, `${of.matcher} ${of.format}`)),
    wrong.length ? el("p", { class: "alarms" }, wrong.map((one) => el("span", { class: `tag ${one.level}` }, one.level === "bad" ? "▲ " : "△ ", one.words))) : null,
    el("div", { class: "big" }, number(of.waiting), " ",
      el("small", {}, `${of.waiting === 1 ? "ticket waits" : "tickets wait"}, ${many(of.players_waiting, "player")}`)),
    sparkline(depths, `Waiting tickets, from ${past} till now: ${number(Math.min(...known))} to ${number(Math.max(...known))}`),
    el("div", { class: "scale", "aria-hidden": "true" }, el("span", {}, past), el("span", {}, `0 to ${most % 1 ? `${number(most, 1)} tickets` : many(most, "ticket")}`), el("span", {}, "now")),
    numbers([
      ["oldest wait", seconds(of.oldest_s)],
      ["joins", often(of.joins, of.joins_a_minute, of.over_s)],
      ["matches", often(of.matches, of.matches_a_minute, of.over_s)],
      ["wait, half within", seconds(of.wait_p50_s)],
      ["wait, 9 in 10 within", seconds(of.wait_p90_s)],
      ...evenness(of),
      ["ready checks kept", kept(of), of.ready_kept !== null && of.ready_kept < 0.5 ? "warn" : null],
      ["last plan took", seconds(of.wave_s)],
    ]));
}

/** What all cards have in common, once. */
function common(queues) {
  const over = Math.max(...queues.map((one) => one.over_s));
  const late = over >= 240 ? "last 5 min" : `time since the start, ${seconds(Math.round(over))}`;
  const wrong = queues.filter((one) => alarms(one).length).length;
  return el("p", { class: "foot" }, wrong ? `${many(wrong, "queue")} of ${number(queues.length)} first, for something is amiss there. ` : "",
    `Rates, waits, evenness and ready checks are of the ${late}.`,
    queues.some((one) => teamsOf(one) > 1) ? " Evenness is predicted from the teams' ratings: at 100 % nobody can tell who wins." : "");
}

/** The view. */
export function overview() {
  const cards = el("div", { class: "cards" }, el("p", { class: "empty" }, "Waiting for the first numbers …"));
  const first = el("div", {});
  const print = el("div", {});
  const node = el("div", { class: "stack" }, el("h1", { class: "hidden" }, "All queues"), first, print, cards);
  const depths = new Map();
  const asked = new Set();
  const closing = new AbortController();
  let drawn = null;
  let last = null;

  const draw = () => {
    const focused = document.activeElement?.getAttribute?.("href");
    const inside = cards.contains(document.activeElement);
    if (last.queues.length) {
      fill(cards, worstFirst(last.queues).map((one) => card(one, line(one.queue))));
      fill(print, common(last.queues));
      if (last.queues.every(untouched)) fill(first, beginning(last.queues[0].queue));
      else fill(first);
    }
    else fill(cards, el("p", { class: "empty" }, "No queue is open. Name some in queues.toml, and start with ", el("code", {}, "evenmatch serve --config queues.toml"), "."));
    if (inside) [...cards.children].find((each) => each.getAttribute("href") === focused)?.focus();
  };

  /** The last five minutes in even steps; null where nothing is known. */
  const line = (queue) => {
    const known = depths.get(queue);
    const now = Math.floor(drawn / STEP_MS);
    const steps = Array.from({ length: STEPS }, (_, i) => known.get(now - STEPS + 1 + i) ?? null);
    const begun = steps.findIndex((each) => each !== null);
    return begun === STEPS - 1 ? [steps[begun], steps[begun]] : steps.slice(begun);
  };

  const before = async (queue) => {
    if (asked.has(queue)) return;
    asked.add(queue);
    try {
      const { history } = await ask(`${path("queues", queue, "history")}?minutes=5`, closing.signal);
      const known = depths.get(queue);
      for (const point of history.points) {
        const step = Math.floor(point.at_ms / STEP_MS);
        if (!known.has(step)) known.set(step, point.depth);
      }
      draw();
    } catch { /* the sparkline begins now */ }
  };

  return {
    title: "All queues",
    node,
    close: () => closing.abort(),
    locked: () => { if (!last) fill(cards, el("p", { class: "empty" }, "The queues are shown here once there is a key.")); },
    away(is) { if (!last) fill(cards, el("p", { class: "empty" }, is ? AWAY : "Waiting for the first numbers …")); },
    returned: () => asked.clear(),
    restarted: () => depths.clear(),
    frame(frame) {
      if (frame.at_ms === drawn) return;
      drawn = frame.at_ms;
      const now = Math.floor(drawn / STEP_MS);
      for (const one of frame.queues) {
        if (!depths.has(one.queue)) depths.set(one.queue, new Map());
        depths.get(one.queue).set(now, one.waiting);
        depths.get(one.queue).delete(now - STEPS);
        before(one.queue);
      }
      last = frame;
      draw();
    },
  };
}
