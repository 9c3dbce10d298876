// For operators: a queue's mode and rules, tickets, matches and cool-downs. Everything is confirmed first, and the server
// notes it in the audit. What may be done is the server's to say: without an operator's key it refuses.

import { ask, askNamed, key, path, Refused, send } from "./api.js";
import { confirmed } from "./asking.js";
import { box, el, exact, fill, link, numbers, stranger, table } from "./dom.js";
import { wholeId } from "./find.js";
import { isolated, many, moment, number, seconds } from "./format.js";
import { keyForm } from "./keys.js";
import { AWAY } from "./loading.js";
import { rulesBox, versionsBox } from "./rules.js";
import { hush, say } from "./toast.js";
import { caused } from "./words.js";

const PAGE = 1000;
const SHOWN = 20;
const AUDIT_MS = 10_000;
const MODES = [
  ["open", "Open", "Everybody may join, and waves run."],
  ["paused", "Pause", "No waves run until it is opened again; those who wait, wait on, and others may join."],
  ["draining", "Drain", "Nobody may join any more; those who wait are still matched."]];

function keyBox(draw) {
  return box("An operator's key is needed", el("p", {}, "Make one: ", el("code", {}, "evenmatch keys add NAME --role operator"), ". It is kept in this tab only, and can be forgotten at the top of the page."),
    keyForm("operator-key", "/v1/audit?limit=1", draw));
}

/** Who gave a queue its rules, by the moment: a change and its entry in the audit are one commit. */
function whoChanged(queue, audit) {
  return new Map(audit.filter((one) => one.subject === queue && /^(change_rules|rollback)/.test(one.action)).map((one) => [one.at_ms, one.who]));
}

/** Reads the newest entries of the audit, which is told oldest first: each time on from where it was read before. */
function auditReader() {
  let [entries, after] = [[], 0];
  return async (signal) => {
    for (;;) {
      const page = await ask(`/v1/audit?limit=${PAGE}&after=${encodeURIComponent(after)}`, signal);
      entries = [...entries, ...page.entries].slice(-PAGE);
      after = page.after;
      if (page.entries.length < PAGE) return [...entries].reverse();
    }
  };
}

function names(players) {
  return players.map((one, i) => [i ? ", " : "", stranger(one)]);
}

/** A question about a ticket, a match or a player: what it is, whom it concerns, what is done then and what is said; raises Refused where there is nothing to do. */
async function ofTicket(typed) {
  const id = wholeId("t", typed);
  const { ticket } = await askNamed("ticket", path("tickets", id));
  if (!["waiting", "proposed"].includes(ticket.status)) throw new Refused(409, "", `${id} is ${ticket.status} already`);
  return { question: `Cancel ${id}?`, done: `${id} is cancelled.`, work: (why) => send("POST", path("tickets", id, "cancel"), { why }),
    about: numbers([["players", names(ticket.players.map((one) => one.id))], ["queue", ticket.queue], ["status", ticket.status], ["waited", seconds(ticket.waited_ms / 1000)]]) };
}

async function ofMatch(typed) {
  const id = wholeId("m", typed);
  const { match } = await askNamed("match", path("matches", id));
  if (["over", "cancelled"].includes(match.standing)) throw new Refused(409, "", `${id} is ${match.standing} already`);
  return { question: `Cancel ${id}?`, done: `${id} is cancelled.`, work: (why) => send("POST", path("matches", id, "cancel"), { why }),
    about: numbers([...match.teams.map((team, i) => [team.name ?? `team ${i + 1}`, names(team.players)]), ["queue", match.queue], ["standing", match.standing]]) };
}

async function ofPlayer(id) {
  const { player } = await askNamed("player", path("players", id));
  if (!player.cooldowns.length) throw new Refused(409, "", `${isolated(id)} has no cool-down, and no offence that still counts`);
  const now = Date.now();
  const queues = player.cooldowns.map((one) => one.queue);
  const lift = (queue, why) => send("DELETE", `${path("players", id, "cooldowns")}?queue=${encodeURIComponent(queue)}${why ? `&why=${encodeURIComponent(why)}` : ""}`);
  return { question: `Lift the cool-down of ${isolated(id)} in ${queues.join(", ")}?`, done: `The cool-down of ${isolated(id)} in ${queues.join(", ")} is lifted.`,
    work: async (why) => { for (const queue of queues) await lift(queue, why); },
    about: table("Cool-downs", ["queue", "until", "for", "~offences"], player.cooldowns.map((one) =>
      [one.queue, one.until_ms > now ? moment(one.until_ms) : "over, but its offences count", caused(one.cause), number(one.offences)])) };
}

/** Who waits, in words. */
function waitingWords(found) {
  return `${many(found.waiting, "ticket")} of ${many(found.players_waiting, "player")} ${found.waiting === 1 ? "waits" : "wait"}`;
}

/** The mode, and the buttons that change it; `show` tells it of the queue or card of now. */
function modeBox(queue, act) {
  const now = el("p", { role: "status" });
  const asked = async (mode, word, means) => {
    const { queue: found } = await ask(path("queues", queue));
    show(found);
    return { question: `${word} ${queue}?`, done: `${queue} is ${mode} now.`, work: (why) => send("PUT", path("queues", queue, "mode"), { mode, why }),
      about: [el("p", {}, means), el("p", {}, `It is ${found.mode} now, and ${waitingWords(found)}.`)] };
  };
  const buttons = MODES.map(([mode, word, means]) => el("button", { type: "button", onclick: () => act(() => asked(mode, word, means), { verb: word }) }, word));
  const show = (found) => {
    const words = `It is ${found.mode}, and ${waitingWords(found)}.`;
    if (now.textContent !== words) now.textContent = words;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(found.mode === MODES[i][0])));
  };
  return { show, node: box("Mode", el("p", {}, "A paused queue runs no waves; nobody may join one that drains."), now,
    el("div", { class: "choices", role: "group", "aria-label": "Mode" }, buttons)) };
}

function auditTable(audit) {
  if (!audit.length) return el("p", { class: "empty" }, "No operator has done anything yet.");
  return table("Audit", ["when", "who", "did", "to", "detail"], audit.slice(0, SHOWN).map((one) =>
    [moment(one.at_ms), exact(one.who), exact(one.action.replaceAll("_", " ")), exact(one.subject), one.detail ? exact(one.detail) : "–"]));
}

/** Draws only what has changed, so that focus and scrolling stay: `fresh(place, of, make)` fills a place where `of` is new there. */
function changes() {
  const shown = new Map();
  return (place, of, make) => {
    const text = JSON.stringify(of);
    if (shown.get(place) === text) return;
    shown.set(place, text);
    fill(place, make());
  };
}

/** The view. */
export function operate(queue) {
  const node = el("div", { class: "cards one" });
  const closing = new AbortController();
  const audited = auditReader();
  let drawn = null;  // {modes, rules, show} once it was read
  let known = null;  // {mode, version} as they were read last
  let unread = false;  // the server was away: what it says is read once it is there
  let reading = false;
  let readAt = 0, heard = null, seen = null;

  /** Ask first, then do it, then say how it went; `prepare` gives {question, about, work, done}. True = it was done. */
  const act = async (prepare, options) => {
    hush();
    let done;
    try {
      const found = await prepare();
      const yes = await confirmed(found.question, found.about, options);
      if (!yes) return false;
      done = found.done;
      await found.work(yes.why);
    } catch (error) {
      say(`Not done: ${error.message}.`, true);
      return false;
    }
    await read();
    say(done);
    return true;
  };

  const oneBox = (title, id, label, prepare, options) => {
    const field = el("input", { id, autocomplete: "off" });
    const asked = async (event) => {
      event.preventDefault();
      const value = field.value.trim();
      if (value) { if (await act(() => prepare(value), options)) field.value = ""; return; }
      say(`${label}: nothing is typed there. Type which one first.`, true);
      field.focus();
    };
    return el("form", { class: "choices", onsubmit: asked }, el("label", { for: id }, label), field, el("button", { type: "submit" }, title));
  };

  /** All parts, and what shows in them what was read later. */
  const parts = (versions) => {
    const modes = modeBox(queue, act);
    const rules = rulesBox(queue, versions, act, () => read());
    const [tag, kept, audit] = [el("span", {}), el("div", { class: "stack" }), el("div", {})];
    const fresh = changes();
    fill(node,
      el("div", { class: "head" }, el("h1", {}, `Operate ${queue}`), tag, link(["queue", queue], "To the queue")),
      modes.node,
      el("div", { class: "pair" }, rules.node, kept),
      box("Tickets, matches and players, of any queue",
        oneBox("Cancel the ticket", "cancel-ticket", "Ticket", ofTicket, { verb: "Cancel the ticket", no: "Keep it" }),
        oneBox("Cancel the match", "cancel-match", "Match", ofMatch, { verb: "Cancel the match", no: "Keep it" }),
        oneBox("Lift the cool-down", "lift", "Player", ofPlayer, { verb: "Lift it" })),
      box("The audit of all queues, newest first", audit));
    return { modes, rules, show(found, now, entries) {
      modes.show(found);
      tag.className = found.mode === "open" ? "tag good" : "tag warn";
      tag.textContent = found.mode;
      const who = whoChanged(queue, entries);
      fresh(kept, [now, [...who]], () => versionsBox(queue, now, act, who));
      fresh(audit, entries.slice(0, SHOWN), () => auditTable(entries));
      rules.heard(now);
    } };
  };

  let last = Promise.resolve();
  /** Read what is so now, and show it; what is typed stays. One after the other: what was just done is in what is read. */
  const read = () => (last = last.then(readOnce));
  const readOnce = async () => {
    if (!key.get()) { refused(null, true); return; }
    reading = true;
    unread = false;
    seen = heard;
    try {
      const [{ queue: found }, versions, entries] = await Promise.all([ask(path("queues", queue), closing.signal),
        ask(path("queues", queue, "versions"), closing.signal), audited(closing.signal)]);
      drawn ??= parts(versions);
      known = { mode: found.mode, version: versions.version };
      drawn.show(found, versions, entries);
    } catch (error) {
      if (error.name === "AbortError") return;
      unread = error.status === 0;
      if (drawn && (unread || drawn.rules.edited())) return;  // what is shown stays, and what is typed above all
      const locked = error.status === 401 || error.status === 403;
      refused(unread ? AWAY : error.status === 401 ? null : error.message, locked);
    } finally {
      reading = false;
      readAt = performance.now();
    }
  };
  const refused = (why, locked) => {
    drawn = null;
    fill(node, el("h1", {}, `Operate ${queue}`), why ? el("p", { class: "refused" }, why) : null, locked ? keyBox(read) : null);
  };
  const again = () => { if ((unread || drawn) && !reading && !closing.signal.aborted) read(); };

  /** What the stream tells: numbers are shown at once, all else is read anew where it is another now, and the audit now and then. */
  const follow = (frame) => {
    heard = frame.server.sequence;
    const card = frame.queues.find((one) => one.queue === queue);
    if (!drawn) { again(); return; }
    const changed = card && (card.mode !== known.mode || card.version !== known.version);
    if (card && !changed) drawn.modes.show(card);
    if (changed || (heard !== seen && performance.now() - readAt >= AUDIT_MS)) again();
  };
  read();
  return {
    title: `Operate ${queue}`,
    node,
    frame: follow,
    returned: again,
    close: () => closing.abort(),
    unsaved: () => drawn !== null && drawn.rules.edited(),
    away(is) { node.inert = is; node.classList.toggle("away", is); },
  };
}
