// One ticket: where it stands, its story in plain words, and why it waits.

import { askIfThere, askNamed, path } from "./api.js";
import { meter } from "./chart.js";
import { box, el, link, numbers, table } from "./dom.js";
import { clock, moment, number, points, seconds, span } from "./format.js";
import { loaded } from "./loading.js";

const KINDS = { waiting: "warn", proposed: "warn", matched: "good", cancelled: "bad", expired: "bad" };

/** A story as a list. */
export function storyList(story, window = null) {
  if (!story.sentences.length) return el("p", { class: "empty" }, "The journal no longer keeps what happened to it.");
  return el("ol", { class: "story" }, story.sentences.map((sentence) => el("li", {},
    el("time", { datetime: new Date(sentence.at_ms).toISOString(), title: moment(sentence.at_ms) }, clock(sentence.at_ms)),
    el("span", { class: "words" }, el("bdi", {}, sentence.words), beganWith(window, sentence), sentence.match ? [" ", link(["match", sentence.match], "See the match")] : null))),
    story.now ? el("li", {}, el("time", {}, "now"), el("span", { class: "words" }, story.now, window ? ` It takes ${span(window.low, window.high)}.` : null)) : null);
}

/** One line on the nearest and the soonest; one, where they are the same. */
function nearRows(why) {
  const { nearest, soonest } = why;
  const same = nearest && soonest && nearest.distance === soonest.distance && nearest.acceptable === soonest.acceptable;
  return [near(same ? "The nearest, and the soonest to be met" : "The nearest", nearest), same ? null : near("The soonest to be met", soonest)].filter(Boolean);
}

function near(what, found) {
  if (!found) return null;
  const when = found.acceptable ? "could meet now" : found.reach_s === null ? "waiting alone does not help" : `in ${seconds(found.reach_s)}`;
  return el("p", {}, `${what}: ${number(found.distance, found.distance % 1 ? 1 : 0)} ${found.unit} away, ${when}.`);
}

/** Which ratings it took when it came: those that a newcomer like it would take now. */
function beganWith(window, sentence) {
  return window && sentence.type === "queued" ? ` It began by taking ${span(window.first_low, window.first_high)}, by the rules and the others of now.` : null;
}

function whyBox(why) {
  const most = Math.max(1, why.waiting ?? 0);
  const alone = why.waiting === 0;
  return box("Why it waits", el("p", {}, why.words), alone ? el("p", {}, "Nobody else waits in this queue.") : nearRows(why),
    why.rules.length && !alone ? table("Rules", ["rule", "what it says", "~keeps away", ""], why.rules.map((rule) =>
      [rule.name.replaceAll("_", " "), rule.words, `${number(rule.excluded)} of ${number(why.waiting)}`, meter(rule.excluded / most)])) : null);
}

function players(list) {
  return table("Players", ["player", "~rating", "~ping"], list.map((one) =>
    [link(["player", one.id], one.id), points(one.rating), one.ping_ms === null || one.ping_ms === undefined ? "–" : `${number(one.ping_ms)} ms`]));
}

/** The view. */
export function ticket(id) {
  return loaded(id, async (signal) => {
    const [{ ticket: found }, { story }] = await Promise.all([askNamed("ticket", path("tickets", id), signal), askNamed("ticket", path("tickets", id, "story"), signal)]);
    const live = found.status === "waiting" || found.status === "proposed";
    const why = found.status === "waiting" ? await askIfThere(path("tickets", id, "why"), signal) : null;
    const attributes = Object.entries(found.attributes);
    return { again: live, content: [
      el("div", { class: "head" }, el("h1", {}, id), el("span", { class: `tag ${KINDS[found.status] ?? ""}` }, found.status),
        found.suspended ? el("span", { class: "tag warn" }, "suspended") : null, link(["queue", found.queue], `Queue ${found.queue}`)),
      numbers([["joined", moment(found.joined_ms)], [live ? "has waited" : "waited", seconds(found.waited_ms / 1000)], ["recorded waves that left it", number(found.misses)],
        ["match", found.match ? link(["match", found.match.id], found.match.id) : live ? "none yet" : "none"]]),
      el("div", { class: "pair" }, el("div", { class: "stack" }, box("Its story", storyList(story, why?.why.window)), why ? whyBox(why.why) : null), box("Players", players(found.players),
        attributes.length ? table("Attributes", ["attribute", "value"], attributes.map(([name, value]) => [name, String(value)])) : null)),
    ] };
  });
}
