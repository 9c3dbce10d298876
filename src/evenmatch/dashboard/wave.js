// Past waves: a list, and one of them as its matcher saw it: snapshot, trace, proposals, and why others were left.

import { ask, path, Refused } from "./api.js";
import { box, el, fill, link, numbers, short, table } from "./dom.js";
import { clock, many, moment, number, percent, points, seconds } from "./format.js";
import { loaded } from "./loading.js";
import { Crowd } from "./picture.js";
import { pictureLegend, pictureWords } from "./picture_legend.js";
import { said, stepBlock, traceBox } from "./trace.js";
import { costWords, measured, unitOf } from "./words.js";

const PAGE = 50;
const AGAIN_MS = 3000;

function rows(queue, list) {
  return table("Waves", ["~wave", "when", "~snapshot to record", "~tickets waiting", "~proposals", "~tickets seated", "~no longer held", "~mean evenness"], list.map((one) => [
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
      list.length ? box("Recorded waves", el("p", { class: "empty" }, "A wave is recorded if it matched somebody, and in a queue whose matcher counts misses (ladder) always. Of the others the last few can be opened from the queue's view, by their number."), rows(queue, list))
        : el("p", { class: "empty" }, "No wave is recorded yet. A wave is, as soon as it matches somebody."),
      el("div", { class: "choices" }, newest, more),
    ] };
  });
  return view;
}

/** Has every proposal one team only? */
function alone(list) {
  return list.length > 0 && list.every((one) => one.teams.length === 1);
}

/** What became of a proposal: its match, or why there is none. */
function becameOf(one) {
  return one.match ? [link(["match", one.match], one.match), one.became ? `, ${one.became}` : ""] : one.became || "–";
}

function proposals(list, total, dropped, matcher, trace) {
  const words = new Map(trace.filter((step) => step.step === "match" && step.words).map((step) => [step.match, step.words]));
  const lost = dropped ? el("p", { class: "empty" }, `${many(dropped, "more proposal")} no longer held when the plan came back, and ${dropped === 1 ? "was" : "were"} dropped.`) : null;
  if (!list.length) return [el("p", { class: "empty" }, "It proposed nothing."), lost];
  const one_ = alone(list);
  const cut = list.length < total ? el("p", { class: "empty" }, `The first ${number(list.length)} of ${number(total)}.`) : null;
  const counts = costWords(matcher);
  return [counts ? el("p", { class: "empty" }, counts) : null, cut, lost, table("Proposals", ["proposal", one_ ? "lobby" : "teams", "~cost", ...(one_ ? [] : ["~evenness"]), "what became of it"], list.map((one, at) => ({ words: said(one.details, words.get(at)), cells: [
    short(one.id),
    one.teams.map((team, i) => [i ? " against " : "", team.map((ticket, n) => [n ? ", " : "", link(["ticket", ticket], ticket)])]),
    measured("cost", one.cost), ...(one_ ? [] : [percent(one.quality)]), becameOf(one)] })))];
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
  if (!wave.recorded) return el("span", { class: "tag warn" }, "matched nobody: not recorded, kept in memory");
  if (wave.proven === null) return el("span", { class: "tag warn" }, "snapshot not kept");
  if (!wave.proven) return el("span", { class: "tag bad" }, "snapshot differs from the record");
  return el("span", { class: "tag good" }, wave.same_plan ? "proven: same snapshot, same plan" : "proven: same snapshot");
}

/** What the matcher says of the plan as a whole: its sentence, and its total, bound and gap. */
function plan({ details, trace, cost }) {
  if (trace.some((step) => step.stage)) return null;  // the stages tell it
  const told = (details.groups ?? [details]).filter((one) => Object.values(one).some((value) => value !== null))
    .map((one) => (one.cost === undefined && !details.groups && cost !== null ? { total: cost, ...one } : one));
  if (!told.length) return null;
  const drawn = box("The plan as a whole", told.map((one) => stepBlock({ ...one, step: one.group === undefined ? "" : "plan" })));
  drawn.classList.add("plan");
  return drawn;
}

/** A parameter's value as one would write it in the rules, lists within lists in brackets. */
export function raw(value) {
  if (value === null || value === "inf") return "no limit";
  if (Array.isArray(value)) return value.map((one) => (Array.isArray(one) ? `(${raw(one)})` : raw(one))).join(", ");
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : typeof value === "object" ? (value.name ? feature(value) : JSON.stringify(value)) : String(value);
}

/** A feature as people write one: rating / 400, times its weight where that is not 1. */
function feature({ name, kind, weight, scale }) {
  return `${name}${kind === "categorical" || scale === undefined ? "" : ` / ${raw(scale)}`}${weight === undefined || weight === 1 ? "" : ` × ${raw(weight)}`}`;
}

const MEASURED = new Set(["active_population"]);

/** A parameter's value with its unit. */
function parameter(name, value) {
  const unit = unitOf(name);
  const empty = value === null || (Array.isArray(value) && !value.length) || (typeof value === "object" && !Object.keys(value).length);
  return [empty ? "none" : typeof value === "boolean" ? (value ? "yes" : "no") : raw(value), unit && !empty && typeof value !== "string" ? ` ${unit}` : ""];
}

/** Only what is not there is told here; all else is told as everywhere. */
function missing(error) {
  if (error instanceof Refused && error.status === 404 && error.reason === "unknown_wave") return error;
  throw error;
}

/** A wave that cannot be shown, and the nearest that can. */
function nowhere(queue, why, before, after) {
  const near = [...before, ...after].map((one) => el("li", {}, link(["queue", queue, "wave", String(one.number)], `Wave ${number(one.number)}`), ` of ${moment(one.started_ms)}`));
  return { content: [
    el("h1", {}, `No such wave of ${queue}`), el("p", { class: "empty" }, why),
    near.length ? box("The nearest that are recorded", el("ul", {}, near)) : null,
    el("div", { class: "choices" }, link(["queue", queue, "waves"], "All waves"), link(["queue", queue], "To the queue"), el("a", { href: "#/" }, "To the overview"))] };
}

/** One wave. */
export function wave(queue, wanted) {
  let crowd = null;
  let awaited = null;  // while answers are awaited: tells what became of the proposals by now
  let [asking, asked] = [false, 0];
  const follow = async () => {
    if (!awaited || asking || performance.now() - asked < AGAIN_MS) return;
    asking = true;
    try {
      const { wave: now } = await ask(path("queues", queue, "waves", wanted));
      awaited?.(now);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;  // it is asked again with a later frame
    } finally {
      [asking, asked] = [false, performance.now()];
    }
  };
  const view = loaded(`Wave ${wanted} of ${queue}`, async (signal) => {
    const number_ = Number(wanted);
    if (!/^\d{1,15}$/.test(wanted)) return nowhere(queue, `A wave is asked for by its number, and ${wanted} is none.`, [], []);
    const near = (which) => ask(`${path("queues", queue, "waves")}?limit=1&${which}=${number_}`, signal).then((answer) => answer.waves);
    const [answer, before, after] = await Promise.all([
      ask(path("queues", queue, "waves", wanted), signal).catch(missing), near("before"), near("after")]);
    if (answer instanceof Refused) return nowhere(queue, answer.message, before, after);
    const found = answer.wave;
    const row = found.wave;
    const canvas = el("canvas", { role: "application", "aria-label": `${row.waiting} tickets as the matcher saw them. Walk with the arrow keys.` });
    const said_ = el("p", { class: "walked", role: "status" });
    const words = el("p", { class: "empty" }, found.snapshot ? pictureWords(found.snapshot) : null);
    crowd?.close();
    crowd = null;
    if (found.snapshot) {
      crowd = new Crowd(canvas, { still: true, said: said_, onPick: (ticket) => { location.hash = `#/ticket/${ticket}`; }, onStripes: (striped) => { words.textContent = pictureWords(found.snapshot, striped); } });
      queueMicrotask(() => crowd?.show({ ...found.snapshot, groups: seatsOf(found) }));
    }
    const parameters = [...Object.entries(found.parameters).map(([name, value]) => [el("code", {}, name), [parameter(name, value), found.given.includes(name) ? null : el("small", {}, MEASURED.has(name) ? " (default: as measured)" : " (default)")]]),
      ["seed of the wave", found.seed || "–"]];
    const proposed = el("div", {});
    const tell = (of) => {
      fill(proposed, proposals(of.proposals, of.wave.proposals, of.wave.dropped, of.matcher, of.same_plan ? of.trace : []));
      awaited = of.proposals.some((one) => one.became.startsWith("awaits ") || one.became === "starting") ? tell : null;
    };
    tell(found);
    return { content: [
      el("div", { class: "head" }, el("h1", {}, `Wave ${number(row.number)} of ${queue}`), proof(found),
        el("div", { class: "choices" }, before[0] ? link(["queue", queue, "wave", String(before[0].number)], "← Earlier", { rel: "prev", title: "also by the key ←" }) : null,
          after[0] ? link(["queue", queue, "wave", String(after[0].number)], "Later →", { rel: "next", title: "also by the key →" }) : null, link(["queue", queue, "waves"], "All waves"))),
      numbers([["began", clock(row.started_ms)], ["from snapshot to record", seconds((row.finished_ms - row.started_ms) / 1000)], ["tickets it saw", number(row.waiting)],
        ["proposals", number(row.proposals)], ["tickets seated", number(row.seated)], ["proposals that no longer held", number(row.dropped)], ...(alone(found.proposals) ? [] : [["mean evenness", percent(row.quality)]]),
        ["matcher", found.matcher ?? "–"]]),
      found.missing ? el("p", { class: "empty" }, `Not all is told: ${found.missing}.`) : null,
      found.snapshot ? el("section", { class: "card picture" }, el("h2", {}, "The snapshot"), canvas,
        said_, pictureLegend(found.snapshot, Math.max(0, ...found.proposals.map((one) => one.teams.length)), found.snapshot.binned ? null : "proposed"),
        words) : null,
      plan(found),
      el("div", { class: "pair" },
        el("div", { class: "stack" }, box("Proposals", proposed), box("Parameters in force", el("div", { class: "whole" }, table("Parameters", ["parameter", "value"], parameters)))),
        box("Left waiting", left(found))),
      found.trace.length ? traceBox(found.trace, found.steps) : null,
    ] };
  });
  const close = view.close;
  const step = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("input, textarea, select, .scroll, canvas")) return;
    const which = { ArrowLeft: "earlier", ArrowRight: "later" }[event.key];
    if (which) view.node.querySelector(`a[rel=${which === "later" ? "next" : "prev"}]`)?.click();
  };
  document.addEventListener("keydown", step);
  return { ...view, redraw: () => crowd?.draw(), frame(frame) { view.frame(frame); follow(); }, close() { close(); awaited = null; crowd?.close(); document.removeEventListener("keydown", step); } };
}

/** The proposals as groups of seats, where the snapshot has their tickets. */
function seatsOf(found) {
  const at = new Map(found.snapshot.ticket.map((ticket, i) => [ticket, i]));
  return found.proposals.map((one) => ({
    seats: one.teams.flatMap((tickets, team) => tickets.filter((ticket) => at.has(ticket)).map((ticket) => ({
      team, rating: found.snapshot.rating[at.get(ticket)], waited_s: found.snapshot.waited_s[at.get(ticket)],
      ping_ms: found.snapshot.ping_ms[at.get(ticket)] ?? null, band: found.snapshot.bands_are === "tier" ? found.snapshot.band[at.get(ticket)] : -1 }))),
  })).filter((group) => group.seats.length);
}
