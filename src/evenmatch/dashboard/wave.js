// Past waves: a list, and one of them as its matcher saw it: snapshot, trace, proposals, and why others were left.

import { ask, path } from "./api.js";
import { legend } from "./chart.js";
import { box, el, link, numbers, table } from "./dom.js";
import { clock, moment, number, percent, points, seconds } from "./format.js";
import { loaded } from "./loading.js";
import { bandColour, Crowd } from "./picture.js";
import { said, shown, stepBlock, traceBox } from "./trace.js";
import { named } from "./words.js";

const PAGE = 50;

function rows(queue, list) {
  return table("Waves", ["~wave", "when", "~took", "~tickets waiting", "~proposals", "~tickets seated", "~dropped", "~even"], list.map((one) => [
    link(["queue", queue, "wave", String(one.number)], number(one.number)), moment(one.started_ms), seconds((one.finished_ms - one.started_ms) / 1000),
    number(one.waiting), number(one.proposals), number(one.seated), number(one.dropped), percent(one.quality)]));
}

/** The list. */
export function waves(queue) {
  let before = null;
  const view = loaded(`Waves of ${queue}`, async (signal) => {
    const older = before === null ? "" : `&before=${before}`;
    const { waves: list } = await ask(`${path("queues", queue, "waves")}?limit=${PAGE}${older}`, signal);
    const more = list.length === PAGE ? el("button", { type: "button", onclick: () => { before = list[list.length - 1].number; view.again(); } }, "Older") : null;
    const newest = before === null ? null : el("button", { type: "button", onclick: () => { before = null; view.again(); } }, "Newest");
    return { again: before === null, content: [
      el("div", { class: "head" }, el("h1", {}, `Waves of ${queue}`), link(["queue", queue], "To the queue")),
      list.length ? box("Waves that matched somebody", rows(queue, list)) : el("p", { class: "empty" }, "No wave is recorded yet. A wave is, as soon as it matches somebody."),
      el("div", { class: "choices" }, newest, more),
    ] };
  });
  return view;
}

function proposals(list, total) {
  if (!list.length) return el("p", { class: "empty" }, "It proposed nothing.");
  const cut = list.length < total ? el("p", { class: "empty" }, `The first ${number(list.length)} of ${number(total)}.`) : null;
  return [cut, table("Proposals", ["proposal", "teams", "~cost", "~even", "what the matcher says"], list.map((one) => [
    link(["match", one.id.replace(/^p-/, "m-")], one.id),
    one.teams.map((team, i) => [i ? " against " : "", team.map((ticket, n) => [n ? ", " : "", link(["ticket", ticket], ticket)])]),
    number(one.cost, 2), percent(one.quality), said(one.details)]))];
}

function left(wave) {
  if (!wave.reasons.length) return el("p", { class: "empty" }, wave.proven ? "Nobody was left waiting." : "Not known.");
  return [
    table("Reasons", ["reason", "~tickets", "in words"], wave.reasons.map((one) => [one.reason.replaceAll("_", " "), number(one.count), one.words])),
    el("h3", {}, "Tickets"),
    table("Unmatched tickets", ["ticket", "reason", "~rating", "~waited", "~misses"], wave.unmatched.map((one) =>
      [link(["ticket", one.ticket], one.ticket), one.reason.replaceAll("_", " "), points(one.rating), seconds(one.waited_s), number(one.misses)]))];
}

function proof(wave) {
  if (wave.proven === null) return el("span", { class: "tag warn" }, "snapshot not kept");
  if (!wave.proven) return el("span", { class: "tag bad" }, "snapshot differs from the record");
  return el("span", { class: "tag good" }, wave.same_plan ? "proven: same snapshot, same plan" : "proven: same snapshot");
}

/** What the matcher says of the plan as a whole: its sentence, and its total, bound and gap. */
function plan(details, trace) {
  if (trace.some((step) => step.stage)) return null;  // the stages tell it
  const told = (details.groups ?? [details]).filter((one) => Object.values(one).some((value) => value !== null));
  if (!told.length) return null;
  const drawn = box("The plan as a whole", told.map((one) => stepBlock({ ...one, step: one.group === undefined ? "" : "plan" })));
  drawn.classList.add("plan");
  return drawn;
}

/** One wave. */
export function wave(queue, wanted) {
  let crowd = null;
  const view = loaded(`Wave ${wanted} of ${queue}`, async (signal) => {
    const number_ = Number(wanted);
    const [{ wave: found }, { waves: around }] = await Promise.all([
      ask(path("queues", queue, "waves", wanted), signal), ask(`${path("queues", queue, "waves")}?limit=1&before=${number_}`, signal)]);
    const newer = await ask(`${path("queues", queue, "waves")}?limit=200`, signal);
    const next = newer.waves.filter((one) => one.number > number_).pop();
    const row = found.wave;
    const canvas = el("canvas", { role: "img", "aria-label": `${row.waiting} tickets as the matcher saw them` });
    crowd?.close();
    crowd = null;
    if (found.snapshot) {
      crowd = new Crowd(canvas, { still: true, onPick: (ticket) => { location.hash = `#/ticket/${ticket}`; } });
      queueMicrotask(() => crowd?.show({ ...found.snapshot, groups: seatsOf(found) }));
    }
    const bands = (found.snapshot?.bands ?? []).map((name, i) => ({ name, colour: bandColour(i) }));
    const parameters = [...Object.entries(found.parameters).map(([name, value]) => [named(name), shown(value, name)]), ["seed of the wave", found.seed || "–"]];
    return { content: [
      el("div", { class: "head" }, el("h1", {}, `Wave ${number(row.number)} of ${queue}`), proof(found),
        el("div", { class: "choices" }, around[0] ? link(["queue", queue, "wave", String(around[0].number)], "← Earlier") : null,
          next ? link(["queue", queue, "wave", String(next.number)], "Later →") : null, link(["queue", queue, "waves"], "All waves"))),
      numbers([["began", clock(row.started_ms)], ["took", seconds((row.finished_ms - row.started_ms) / 1000)], ["tickets it saw", number(row.waiting)],
        ["proposals", number(row.proposals)], ["tickets seated", number(row.seated)], ["proposals dropped", number(row.dropped)], ["matches are even", percent(row.quality)],
        ["matcher", found.matcher ?? "–"]]),
      found.missing ? el("p", { class: "empty" }, `Not all is told: ${found.missing}.`) : null,
      found.snapshot ? el("section", { class: "card picture" }, el("h2", {}, "The snapshot"), canvas,
        legend([...(bands.length ? bands : [{ name: "a ticket", colour: "series-1" }]), { name: found.proposals.some((one) => one.teams.length > 1) ? "proposed, rings = the other team" : "proposed", colour: "made" }]),
        el("p", { class: "empty" }, `Up is a longer wait. ${found.snapshot.words}`)) : null,
      plan(found.details, found.trace),
      el("div", { class: "pair" },
        el("div", { class: "stack" }, box("Proposals", proposals(found.proposals, row.proposals)), box("Parameters", table("Parameters", ["what", "value"], parameters))),
        box("Left waiting", left(found))),
      found.trace.length ? traceBox(found.trace, found.steps) : null,
    ] };
  });
  const close = view.close;
  return { ...view, redraw: () => crowd?.draw(), close() { close(); crowd?.close(); } };
}

/** The proposals as groups of seats, where the snapshot has their tickets. */
function seatsOf(found) {
  const at = new Map(found.snapshot.ticket.map((ticket, i) => [ticket, i]));
  return found.proposals.map((one) => ({
    seats: one.teams.flatMap((tickets, team) => tickets.filter((ticket) => at.has(ticket)).map((ticket) => ({
      team, rating: found.snapshot.rating[at.get(ticket)], waited_s: found.snapshot.waited_s[at.get(ticket)],
      ping_ms: found.snapshot.ping_ms[at.get(ticket)] ?? null }))),
  })).filter((group) => group.seats.length);
}
