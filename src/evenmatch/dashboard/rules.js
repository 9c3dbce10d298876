// A queue's rules: edited as JSON, checked by the server, shown as a diff, applied; and the versions before, to roll back to.

import { ask, path, send } from "./api.js";
import { box, el, exact, fill, table } from "./dom.js";
import { many, moment, number } from "./format.js";
import { hush } from "./toast.js";
import { unitOf } from "./words.js";

/** A value of a rule as it is written, with its unit; where the rules do not name it, what counts then. */
function written(key, value, default_) {
  const none = value === null || value === undefined;
  if (none && default_ === undefined) return "–";
  const counts = none ? default_ : value;
  const unit = typeof counts === "number" ? unitOf(key.replace(/^.*\./, "")) : "";
  return `${typeof counts === "object" ? JSON.stringify(counts) : String(counts)}${unit ? ` ${unit}` : ""}${none ? " (default)" : ""}`;
}

/** What a rule was, and what it becomes. */
function both(one) {
  return [written(one.key, one.before, one.default), written(one.key, one.after, one.default)];
}

function diff(change) {
  if (!change.changes.length) return el("p", { class: "empty" }, "These are the rules in force: nothing would change.");
  return [
    table("What changes", ["rule", "before", "after"], change.changes.map((one) => [one.key, ...both(one)])),
    el("p", {}, change.cancelled ? `${many(change.cancelled, "waiting ticket")} could not have joined under these rules, and would be cancelled.`
      : "Nobody who waits would be cancelled by it.")];
}

/** What is wrong, as a list where it is several things; numbers as people write them. */
export function mistakes(words) {
  const lines = words.split(/\n|; (?=[a-z_]+(?:\.[a-z_]+)+: )/).map((line) => line.trim()).filter(Boolean)
    .map((line) => line.replace(/\b\d(?:\.\d+)?e\+\d+\b/g, (found) => number(Number(found))));
  return lines.length > 1 ? el("ul", {}, lines.map((line) => el("li", {}, line))) : lines[0];
}

/** The rules in force, as they are edited. */
function writtenOut(versions) {
  const current = versions.versions.find((one) => one.version === versions.version) ?? versions.versions[versions.versions.length - 1];
  return JSON.stringify(current?.rules ?? {}, null, 2);
}

/** The editor; `act` asks and does, `again` reads all that is shown anew. `heard` is told of the versions of now: rules that nobody has edited follow them. */
export function rulesBox(queue, versions, act, again) {
  const field = el("textarea", { id: "rules", rows: 14, spellcheck: "false" });
  const shown = el("div", { "aria-live": "polite" });
  let [given, base, latest, checked] = ["", 0, null, null];
  const put = (dry, why = "") => send("PUT", `${path("queues", queue, "spec")}?dry_run=${dry}${why ? `&why=${encodeURIComponent(why)}` : ""}`, JSON.parse(field.value), { "if-match": `"${base}"` });
  const refused = (words, ...more) => fill(shown, el("div", { class: "refused", role: "alert" }, mistakes(words)), more);
  const load = (fresh) => {
    [given, base, latest] = [writtenOut(fresh), fresh.version, fresh];
    field.value = given;
    apply.disabled = true;
    shown.replaceChildren();
    node.querySelector("h2").textContent = `Rules, version ${base}`;
  };
  const outrun = (fresh) => {
    latest = fresh;
    apply.disabled = true;
    refused(`The rules were changed meanwhile: they are at version ${fresh.version} now, and these were made from version ${base}.`,
      el("div", { class: "choices" },
        el("button", { type: "button", onclick: () => load(fresh) }, `Load version ${fresh.version}`),
        el("button", { type: "button", onclick: () => { base = fresh.version; check(); } }, `Keep what is typed, and check it against version ${fresh.version}`)));
  };
  const edited = () => field.value !== given;
  const heard = (fresh) => {
    if (fresh.version === base || fresh.version === latest.version) return;
    if (edited()) outrun(fresh);
    else load(fresh);
  };
  const failed = async (error) => {
    apply.disabled = true;
    if (error.status !== 412) { refused(error instanceof SyntaxError ? `This is no JSON: ${error.message}` : error.message); return; }
    outrun(await ask(path("queues", queue, "versions")));
    await again();
  };
  const check = async () => {
    hush();
    try {
      checked = (await put(true)).change;
      fill(shown, diff(checked));
      apply.disabled = !checked.changes.length;
    } catch (error) {
      await failed(error);
    }
  };
  const apply = el("button", { type: "button", disabled: true, onclick: async () => {
    let lost = null;
    const losing = (error) => { lost = error; throw error; };
    await act(async () => {
      checked = (await put(true).catch(losing)).change;  // who waits, and would be cancelled, changes all the time
      return { question: `Give ${queue} these rules?`, done: `${queue} has these rules now.`, about: diff(checked),
        work: (why) => put(false, why).then(() => { given = field.value; }, losing) };
    }, { verb: "Apply" });
    if (lost) await failed(lost);
  } }, "Apply");
  field.addEventListener("input", () => { apply.disabled = true; shown.replaceChildren(); });
  const node = box("Rules", el("label", { for: "rules" }, "As in queues.toml, as JSON; what is left out gets its default"), field,
    el("div", { class: "choices" }, el("button", { type: "button", onclick: check }, "Check"), apply), shown);
  load(versions);
  return { node, edited, heard };
}

/** All versions, newest first; `who`: moment -> who gave the queue its rules then. */
export function versionsBox(queue, versions, act, who) {
  const back = (version) => {
    const ask_ = (dry, why = "") => send("POST", path("queues", queue, "rollback"), { version, dry_run: dry, why }, { "if-match": `"${versions.version}"` });
    return act(async () => ({ question: `Roll ${queue} back to version ${version}?`, done: `${queue} has the rules of version ${version} again.`,
      about: diff((await ask_(true)).change), work: (why) => ask_(false, why) }), { verb: "Roll back" });
  };
  return box("Versions", table("Versions", ["~version", "", "when", "by", "what changed"], [...versions.versions].reverse().map((one) => [
    number(one.version), one.version === versions.version ? "in force" : el("button", { type: "button", onclick: () => back(one.version) }, "Roll back"),
    moment(one.at_ms), who.has(one.at_ms) ? exact(who.get(one.at_ms)) : one.source, one.changes.map((each) => `${each.key}: ${both(each).join(" → ")}`).join("; ") || "–"])));
}
