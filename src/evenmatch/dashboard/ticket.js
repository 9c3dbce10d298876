// One ticket: where it stands, its story in plain words, and why it waits.

import { ask, askIfThere, path } from "./api.js";
import { meter } from "./chart.js";
import { box, el, link, numbers, table } from "./dom.js";
import { clock, moment, number, points, seconds } from "./format.js";
import { loaded } from "./loading.js";

const KINDS = { waiting: "warn", proposed: "warn", matched: "good", cancelled: "bad", expired: "bad" };

/** A story as a list. */
export function storyList(story) {
  if (!story.sentences.length) return el("p", { class: "empty" }, "The journal no longer keeps what happened to it.");
  return el("ol", { class: "story" }, story.sentences.map((sentence) => el("li", {},
    el("time", { datetime: new Date(sentence.at_ms).toISOString(), title: moment(sentence.at_ms) }, clock(sentence.at_ms)),
    el("span", { class: "words" }, sentence.words, sentence.match ? [" ", link(["match", sentence.match], "See the match")] : null))));
}

function near(what, found) {
  if (!found) return null;
  const when = found.acceptable ? "could meet now" : found.reach_s === null ? "waiting alone does not help" : `in ${seconds(found.reach_s)}`;
  return el("p", {}, `${what}: ${number(found.distance, found.distance % 1 ? 1 : 0)} ${found.unit} away, ${when}.`);
}

function whyBox(why) {
  const most = Math.max(1, why.waiting ?? 0);
  const rows = [near("The nearest", why.nearest), near("The soonest to be met", why.soonest)].filter(Boolean);
  return box("Why it waits", el("p", {}, why.words), rows,
    why.rules.length ? table("Rules", ["rule", "what it says", "~keeps away", ""], why.rules.map((rule) =>
      [rule.name.replaceAll("_", " "), rule.words, `${number(rule.excluded)} of ${number(why.waiting)}`, meter(rule.excluded / most)])) : null);
}

function players(list) {
  return table("Players", ["player", "~rating", "~ping"], list.map((one) =>
    [link(["player", one.id], one.id), points(one.rating), one.ping_ms === null || one.ping_ms === undefined ? "–" : `${number(one.ping_ms)} ms`]));
}

/** The view. */
export function ticket(id) {
  return loaded(id, async (signal) => {
    const [{ ticket: found }, { story }] = await Promise.all([ask(path("tickets", id), signal), ask(path("tickets", id, "story"), signal)]);
    const live = found.status === "waiting" || found.status === "proposed";
    const why = found.status === "waiting" ? await askIfThere(path("tickets", id, "why"), signal) : null;
    const attributes = Object.entries(found.attributes);
    return { again: live, content: [
      el("div", { class: "head" }, el("h1", {}, id), el("span", { class: `tag ${KINDS[found.status] ?? ""}` }, found.status),
        found.suspended ? el("span", { class: "tag warn" }, "suspended") : null, link(["queue", found.queue], `Queue ${found.queue}`)),
      numbers([["joined", moment(found.joined_ms)], [live ? "has waited" : "waited", seconds(found.waited_ms / 1000)], ["waves missed", number(found.misses)],
        ["match", found.match ? link(["match", found.match.id], found.match.id) : live ? "none yet" : "none"]]),
      el("div", { class: "pair" }, el("div", { class: "stack" }, box("Its story", storyList(story)), why ? whyBox(why.why) : null), box("Players", players(found.players),
        attributes.length ? table("Attributes", ["attribute", "value"], attributes.map(([name, value]) => [name, String(value)])) : null)),
    ] };
  });
}
