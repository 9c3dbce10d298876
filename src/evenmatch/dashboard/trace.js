// A matcher's own account of its steps: sentences first, tables of numbers below, long searches folded away.

import { box, el, link, numbers, table } from "./dom.js";
import { number } from "./format.js";
import { hasWords, measured, named, staged, worded } from "./words.js";

const ID = /^[tmp]-\d{6,}$/;
const TRIED = "tried";
const LEAST_TERM = 0.0005;  // less is written as 0
const KINDS = { t: "ticket", m: "match", p: "match" };
const scalar = (value) => value === null || value === undefined || typeof value !== "object";
const table_ = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => !scalar(one) && !Array.isArray(one));

/** Whose words and unit a part of a field has: its own, or where it is only a name, as of a side, the field's. */
function fieldOf(name, field) {
  return hasWords(name) ? name : field;
}

/** A value as one would write it by hand, as text. */
export function plain(value, field = "") {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return measured(field, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((one) => plain(one, field)).join(", ") || "none";
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${named(name)} ${plain(inner, fieldOf(name, field))}`).join(", ") || "none";
  return worded(field, String(value));
}

/** The same as nodes: tickets and matches are links, and what is long is folded. */
export function shown(value, field = "") {
  if (typeof value === "string" && ID.test(value)) return link([KINDS[value[0]], value.replace(/^p-/, "m-")], value);
  if (table_(value)) return rowsTable(named(field), value);
  if (Array.isArray(value)) return value.length ? value.map((one, i) => [i ? ", " : "", shown(one, field)]) : "none";
  if (scalar(value)) return plain(value, field);
  const entries = Object.entries(value);
  const list = entries.map(([name, inner], i) => [i ? ", " : "", ID.test(name) ? shown(name) : named(name), " ", shown(inner, fieldOf(name, field))]);
  if (entries.length && entries.every(([name]) => ID.test(name))) return el("details", {}, el("summary", {}, `${number(entries.length)} in all`), list);
  return list;
}

/** The terms of a cost, the largest first, in words. */
function termsIn(terms) {
  const counted = Object.entries(terms).filter(([, size]) => size >= LEAST_TERM).sort(([, one], [, other]) => other - one);
  return counted.length ? `by size, what is not ideal: ${counted.map(([name, size]) => `${named(name)} (${plain(size, name)})`).join(", ")}` : "nothing is amiss";
}

/** Where a match is played, in words. */
function placeIn(venue) {
  const parts = [venue.map ? `on ${venue.map}` : null, venue.region ? `in ${venue.region}` : null, venue.server ? `at ${venue.server}` : null, venue.channel ? `on channel ${venue.channel}` : null].filter(Boolean);
  return parts.length ? `played ${parts.join(", ")}` : null;
}

/** What a matcher says of one match, in a line: `words` are its own where it has some; what is null is left out. */
export function said(details, words = null) {
  const { terms, venue, map, server, channel, ...rest } = details;
  const told = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name === "sides" ? "" : `${named(name)} `, shown(value, name)]);
  if (words) told.unshift(words.replace(/\.$/, ""));
  else if (terms && !scalar(terms)) told.unshift(termsIn(terms));
  const place = placeIn(venue ?? { map, server, channel });
  if (place) told.push(place);
  return told.length ? told.map((one, i) => [i ? "; " : "", one]) : "–";
}

/** Rows with the same fields as a table; a field that is itself a few numbers becomes columns. */
function rowsTable(caption, rows, first = null) {
  const fields = Object.keys(rows[0]).filter((field) => field !== "words" && rows.some((row) => row[field] !== null));
  const spread = (field) => field === "terms" || (field === "sides" && rows.every((row) => !scalar(row[field])));
  const columns = fields.flatMap((field) => (spread(field) ? Object.keys(rows[0][field] ?? {}).filter((inner) => rows.some((row) => row[field]?.[inner])).map((inner) => [inner, (row) => row[field]?.[inner]]) : [[field, (row) => row[field]]]));
  const numeric = ([, of]) => rows.every((row) => typeof of(row) === "number");
  return table(caption, [...(first === null ? [] : ["~no."]), ...columns.map((column) => (numeric(column) ? "~" : "") + named(column[0]))],
    rows.map((row, i) => ({ words: row.words, cells: [...(first === null ? [] : [number(first + i)]), ...columns.map(([name, of]) => shown(of(row), name))] })));
}

/** A sentence without the heading that it stands below. */
function unheaded(words, heading) {
  const rest = heading && words.toLowerCase().startsWith(`${heading}: `) ? words.slice(heading.length + 2) : words;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** One step by itself: its sentence, its numbers, its lists. */
export function stepBlock(step) {
  const { stage, name, step: kind, words, group, ...rest } = step;
  const heading = stage ? `${stage}. ${name.replaceAll("_", " ")}` : kind ?? "";
  const entries = Object.entries(rest).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length));
  const short = entries.filter(([, value]) => !table_(value));
  const lists = entries.filter(([, value]) => table_(value));
  return el("div", { class: "step" }, el("h3", {}, heading, group === undefined ? null : ` of group ${group}`),
    words || staged(name) ? el("p", { class: "words" }, words ? unheaded(words, heading) : staged(name)) : null,
    short.length ? numbers(short.map(([field, value]) => [named(field), shown(value, field)])) : null,
    lists.map(([field, value]) => (field === TRIED ? el("details", {}, el("summary", {}, "What each of them came to"), rowsTable(named(field), value))
      : [lists.length > 1 ? el("h4", {}, named(field)) : null, rowsTable(named(field), value)])));
}

/** Which steps changed nothing: no move, no match more. By what the steps say of themselves, never by how many there are. */
export function idle(steps) {
  return steps.map((step) => typeof step.step === "string" && (step.moves === 0 || (step.step === "pack" && step.matches === 0)));
}

/** Steps one after the other; those of one kind stand in one table. */
export function traceTables(steps) {
  const runs = [];
  const nothing = idle(steps);
  steps.forEach((step, i) => {
    const fields = `${nothing[i] ? "idle" : Object.keys(step).join(" ")}`;
    const search = step.work !== undefined && step.words === undefined;
    const last = runs[runs.length - 1];
    if (last && last.fields === fields && (nothing[i] || last.search === search)) last.steps.push(step);
    else runs.push({ fields, search, idle: nothing[i], first: i + 1, steps: [step] });
  });
  const parts = [];
  for (const run of runs) {
    if (run.idle) {
      const said = run.steps.map((step) => el("li", {}, step.words ?? step.step));
      parts.push({ search: false, nodes: [el("details", { class: "idle" }, el("summary", {}, `${number(run.steps.length)} ${run.steps.length === 1 ? "step" : "steps"} that changed nothing`), el("ul", {}, said))] });
      continue;
    }
    const told = run.steps.length === 1 && (run.steps[0].words || run.steps[0].stage) && run.steps[0].match === undefined;
    const solved = run.steps[0].step === "solve" && run.steps[0].words;
    const drawn = solved ? run.steps.map((one) => stepBlock({ step: "solve", words: one.words, group: one.group })) : told ? stepBlock(run.steps[0]) : rowsTable(`Steps from ${run.first} on`, run.steps.map(({ step, match, ...rest }) => (step && step !== "match" ? { step, ...rest } : rest)), run.first);
    const before = parts[parts.length - 1];
    if (run.search && before?.search) { before.nodes.push(drawn); before.count += run.steps.length; }
    else parts.push({ search: run.search, nodes: [drawn], count: run.steps.length });
  }
  return parts.map((part) => (part.search ? el("details", {}, el("summary", {}, `The search, ${number(part.count)} steps`), part.nodes) : part.nodes));
}

/** The trace in a box. */
export function traceBox(trace, steps) {
  return box("The trace", steps > trace.length ? el("p", { class: "empty" }, `The first ${number(trace.length)} of ${number(steps)} steps.`) : null, traceTables(trace));
}
