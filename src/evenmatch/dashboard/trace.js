// A matcher's own account of its steps: sentences first, tables of numbers below, long searches folded away.

import { box, el, link, numbers, table } from "./dom.js";
import { number } from "./format.js";
import { measured, named, staged } from "./words.js";

const ID = /^[tmp]-\d{6,}$/;
const KINDS = { t: "ticket", m: "match", p: "match" };
const scalar = (value) => value === null || value === undefined || typeof value !== "object";
const table_ = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => !scalar(one) && !Array.isArray(one));

/** A value as one would write it by hand, as text. */
export function plain(value, field = "") {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return measured(field, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((one) => plain(one, field)).join(", ") || "none";
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${named(name)} ${plain(inner, name)}`).join(", ") || "none";
  return String(value);
}

/** The same as nodes: tickets and matches are links, and what is long is folded. */
export function shown(value, field = "") {
  if (typeof value === "string" && ID.test(value)) return link([KINDS[value[0]], value.replace(/^p-/, "m-")], value);
  if (table_(value)) return rowsTable(named(field), value);
  if (Array.isArray(value)) return value.length ? value.map((one, i) => [i ? ", " : "", shown(one, field)]) : "none";
  if (scalar(value)) return plain(value, field);
  const entries = Object.entries(value);
  const list = entries.map(([name, inner], i) => [i ? ", " : "", ID.test(name) ? shown(name) : named(name), " ", shown(inner, ID.test(name) ? field : name)]);
  if (entries.length && entries.every(([name]) => ID.test(name))) return el("details", {}, el("summary", {}, `${number(entries.length)} in all`), list);
  return list;
}

/** What a matcher says of one match, in a line: what is null or nothing is left out. */
export function said(details) {
  const flat = Object.entries(details).flatMap(([name, value]) => (name === "terms" && !scalar(value) ? Object.entries(value).filter(([, size]) => size) : [[name, value]]));
  const told = flat.filter(([, value]) => value !== null && value !== undefined);
  if (!told.length) return "–";
  return told.map(([name, value], i) => [i ? "; " : "", name === "sides" ? "" : `${named(name)} `, shown(value, name)]);
}

/** Rows with the same fields as a table; a field that is itself a few numbers becomes columns. */
function rowsTable(caption, rows, first = null) {
  const fields = Object.keys(rows[0]).filter((field) => rows.some((row) => row[field] !== null));
  const spread = (field) => field === "terms" || (field === "sides" && rows.every((row) => !scalar(row[field])));
  const columns = fields.flatMap((field) => (spread(field) ? Object.keys(rows[0][field] ?? {}).map((inner) => [inner, (row) => row[field]?.[inner]]) : [[field, (row) => row[field]]]));
  const numeric = ([, of]) => rows.every((row) => typeof of(row) === "number");
  return table(caption, [...(first === null ? [] : ["~no."]), ...columns.map((column) => (numeric(column) ? "~" : "") + named(column[0]))],
    rows.map((row, i) => [...(first === null ? [] : [number(first + i)]), ...columns.map(([name, of]) => shown(of(row), name))]));
}

/** One step by itself: its sentence, its numbers, its lists. */
export function stepBlock(step) {
  const { stage, name, step: kind, words, group, ...rest } = step;
  if (rest.cost_bound !== undefined) delete rest.bound;
  const heading = stage ? `${stage}. ${name.replaceAll("_", " ")}` : kind ?? "";
  const entries = Object.entries(rest).filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length));
  const short = entries.filter(([, value]) => !table_(value));
  const lists = entries.filter(([, value]) => table_(value));
  return el("div", { class: "step" }, el("h3", {}, heading, group === undefined ? null : ` of group ${group}`),
    words || staged(name) ? el("p", { class: "words" }, words ?? staged(name)) : null,
    short.length ? numbers(short.map(([field, value]) => [named(field), shown(value, field)])) : null,
    lists.map(([field, value]) => [lists.length > 1 ? el("h4", {}, named(field)) : null, rowsTable(named(field), value)]));
}

/** Steps one after the other; those of one kind stand in one table. */
export function traceTables(steps) {
  const runs = [];
  steps.forEach((step, i) => {
    const fields = Object.keys(step).join(" ");
    const search = step.work !== undefined && step.words === undefined;
    const last = runs[runs.length - 1];
    if (last && last.fields === fields && last.search === search) last.steps.push(step);
    else runs.push({ fields, search, first: i + 1, steps: [step] });
  });
  const parts = [];
  for (const run of runs) {
    const told = run.steps.length === 1 && (run.steps[0].words || run.steps[0].stage) && run.steps[0].match === undefined;
    const solved = run.steps[0].step === "solve" && run.steps[0].words;
    const drawn = solved ? stepBlock({ step: "solve", words: run.steps[0].words, group: run.steps[0].group }) : told ? stepBlock(run.steps[0]) : rowsTable(`Steps from ${run.first} on`, run.steps.map(({ step, match, ...rest }) => (step && step !== "match" ? { step, ...rest } : rest)), run.first);
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
