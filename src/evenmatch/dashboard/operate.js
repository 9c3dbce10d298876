// For operators: a queue's mode and rules, tickets, matches and cool-downs. Everything is confirmed first, and the server
// notes it in the audit. What may be done is the server's to say: without an operator's key it refuses.

import { ask, key, path, send } from "./api.js";
import { box, el, fill, link, table } from "./dom.js";
import { many, moment, number } from "./format.js";

const PAGE = 1000;
const SHOWN = 20;
const MODES = [["open", "Open"], ["paused", "Pause"], ["draining", "Drain"]];

function keyBox(queue, again) {
  const field = el("input", { id: "operator-key", type: "password", autocomplete: "off", required: true });
  return box("An operator's key is needed", el("p", {}, "Make one: evenmatch keys add NAME --role operator. It is kept in this tab only."),
    el("form", { class: "choices", onsubmit: (event) => { event.preventDefault(); key.set(field.value.trim()); again(); } },
      el("label", { for: "operator-key" }, "API key"), field, el("button", { type: "submit" }, "Use it in this tab")));
}

/** A value of a rule as it is written. */
function written(value) {
  return value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function diff(change) {
  if (!change.changes.length) return el("p", { class: "empty" }, "These are the rules in force: nothing would change.");
  return [
    table("What changes", ["rule", "before", "after"], change.changes.map((one) => [one.key, written(one.before), written(one.after)])),
    el("p", {}, change.cancelled ? `${many(change.cancelled, "waiting ticket")} could not have joined under these rules, and would be cancelled.`
      : "Nobody who waits would be cancelled by it.")];
}

/** The newest entries of the audit, which is told oldest first. */
async function newest(signal) {
  let entries = [];
  for (let after = 0; ;) {
    const page = await ask(`/v1/audit?limit=${PAGE}&after=${after}`, signal);
    entries = [...entries, ...page.entries].slice(-SHOWN);
    if (page.entries.length < PAGE) return entries.reverse();
    after = page.entries[page.entries.length - 1].sequence;
  }
}

/** The view. */
export function operate(queue) {
  const node = el("div", { class: "cards one" });
  const said = el("p", { role: "status", "aria-live": "polite", class: "words" });
  const closing = new AbortController();

  /** Ask first, then do it, then say how it went. */
  const act = async (question, work) => {
    if (!window.confirm(question)) return;
    try {
      await work();
      await draw();
      said.textContent = `Done: ${question.replace(/\?$/, "")}.`;  // last, so that nothing is drawn over what is typed next
    } catch (error) {
      said.textContent = `Not done: ${error.message}`;
    }
  };

  const rulesBox = (versions) => {
    const current = versions.versions.find((one) => one.version === versions.version) ?? versions.versions[versions.versions.length - 1];
    const field = el("textarea", { id: "rules", rows: 14, spellcheck: "false" });
    field.value = JSON.stringify(current?.rules ?? {}, null, 2);
    const shown = el("div", { "aria-live": "polite" });
    const apply = el("button", { type: "button", disabled: true, onclick: () => act(`Give ${queue} these rules?`, () => put(false)) }, "Apply");
    const put = (dry) => send("PUT", `${path("queues", queue, "spec")}?dry_run=${dry}`, JSON.parse(field.value), { "if-match": `"${versions.version}"` });
    field.addEventListener("input", () => { apply.disabled = true; shown.replaceChildren(); });
    const check = el("button", { type: "button", onclick: async () => {
      try {
        const { change } = await put(true);
        fill(shown, diff(change));
        apply.disabled = !change.changes.length;
      } catch (error) {
        fill(shown, el("p", { class: "refused", role: "alert" }, error instanceof SyntaxError ? `This is no JSON: ${error.message}` : error.message));
      }
    } }, "Check");
    return box(`Rules, version ${versions.version}`, el("label", { for: "rules" }, "As in queues.toml, as JSON; what is left out gets its default"), field,
      el("div", { class: "choices" }, check, apply), shown);
  };

  const versionsBox = (versions) => box("Versions", table("Versions", ["~version", "when", "by", "what changed", ""], [...versions.versions].reverse().map((one) => [
    number(one.version), moment(one.at_ms), one.source, one.changes.map((each) => `${each.key}: ${written(each.before)} → ${written(each.after)}`).join("; ") || "–",
    one.version === versions.version ? "in force" : el("button", { type: "button", onclick: () =>
      act(`Roll ${queue} back to version ${one.version}?`, () => send("POST", path("queues", queue, "rollback"), { version: one.version })) }, "Roll back")])));

  const oneBox = (title, id, label, question, work) => {
    const field = el("input", { id, required: true, autocomplete: "off" });
    return el("form", { class: "choices", onsubmit: (event) => { event.preventDefault(); act(question(field.value.trim()), () => work(field.value.trim())); } },
      el("label", { for: id }, label), field, el("button", { type: "submit" }, title));
  };

  const draw = async () => {
    if (!key.get()) { fill(node, el("h1", {}, `Operate ${queue}`), keyBox(queue, draw)); return; }
    try {
      const [{ queue: found }, versions, audit] = await Promise.all([ask(path("queues", queue), closing.signal),
        ask(path("queues", queue, "versions"), closing.signal), newest(closing.signal)]);
      fill(node,
        el("div", { class: "head" }, el("h1", {}, `Operate ${queue}`), el("span", { class: found.mode === "open" ? "tag good" : "tag warn" }, found.mode), link(["queue", queue], "To the queue")),
        said,
        box("Mode", el("p", {}, "A paused queue runs no waves; nobody may join one that drains."), el("div", { class: "choices", role: "group", "aria-label": "Mode" }, MODES.map(([mode, word]) =>
          el("button", { type: "button", "aria-pressed": String(found.mode === mode), onclick: () => act(`${word} ${queue}?`, () => send("PUT", path("queues", queue, "mode"), { mode })) }, word)))),
        el("div", { class: "pair" }, rulesBox(versions), versionsBox(versions)),
        box("Tickets, matches, players",
          oneBox("Cancel the ticket", "cancel-ticket", "Ticket", (id) => `Cancel ${id}?`, (id) => send("POST", path("tickets", id, "cancel"), { why: "from the dashboard" })),
          oneBox("Cancel the match", "cancel-match", "Match", (id) => `Cancel ${id}?`, (id) => send("POST", path("matches", id, "cancel"), { why: "from the dashboard" })),
          oneBox("Lift the cool-down", "lift", "Player", (id) => `Lift the cool-downs of ${id}?`, (id) => send("DELETE", path("players", id, "cooldowns")))),
        box("The audit, newest first", audit.length ? table("Audit", ["when", "who", "did", "to", "detail"], audit.map((one) =>
          [moment(one.at_ms), one.who, one.action, one.subject, one.detail ?? ""])) : el("p", { class: "empty" }, "No operator has done anything yet.")));
    } catch (error) {
      if (error.name === "AbortError") return;
      const refused = error.status === 401 || error.status === 403;
      fill(node, el("h1", {}, `Operate ${queue}`), el("p", { class: "words" }, error.message), refused ? keyBox(queue, draw) : null);
    }
  };
  draw();
  return { title: `Operate ${queue}`, node, close: () => closing.abort() };
}
