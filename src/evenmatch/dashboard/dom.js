// Elements from words. Text is always set as text, never as markup: names come from strangers.

/** An element: el("p", {class: "x"}, "text", child, ...). Attributes that are null or false are left out. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
  append(made, children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  append(made, children);
  return made;
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Put these children in place of all others. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
const LONG = 40;

function coded(each) {
  return `U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Text of which nothing may be hidden or turned round, such as the audit's: marks that nobody sees stand as their codes. */
export function exact(text) {
  const parts = String(text).split(new RegExp(`(${UNSEEN.source})`, "u"));
  return el("bdi", { dir: "ltr" }, parts.map((part, i) => (i % 2 ? el("small", { class: "unseen", title: "a character that nobody sees" }, coded(part)) : part)));
}

/** A name from strangers: whichever way its letters run, it turns nothing round it; marks that nobody sees are followed by a visible one, and what is long is clipped. */
export function stranger(text) {
  if (text instanceof Node) return text;
  const name = String(text);
  const marks = (name.trim() ? name.match(UNSEEN) : [...name])?.map(coded) ?? [];
  const clipped = name.length > LONG ? el("bdi", { class: "clipped", title: name }, name) : el("bdi", {}, name);
  return marks.length ? el("span", {}, clipped, el("small", { class: "unseen", title: `This name has characters that nobody sees: ${marks.join(" ")}` }, (name.trim() ? "" : "blank: ") + [...new Set(marks)].slice(0, 3).join(" "))) : clipped;
}

const AN_ID = /^([tmp]-)(0*)(\d+)$/;

function zeroed([, letter, zeros, digits]) {
  return [letter, el("span", { class: "zeros" }, zeros), digits];  // a phone hides the zeros
}

/** An id that leads nowhere, written as one that does. */
export function short(id) {
  const parts = AN_ID.exec(id);
  return parts ? el("span", { class: "id", title: id }, zeroed(parts)) : id;
}

/** A link within the page; every part is escaped for the address. */
export function link(parts, text, attributes = {}) {
  const shown = text ?? parts[parts.length - 1];
  const href = "#/" + parts.map(encodeURIComponent).join("/");
  const id = AN_ID.exec(shown);
  if (!id) return el("a", { ...attributes, href }, stranger(shown));
  return el("a", { class: "id", title: shown, ...attributes, href }, zeroed(id));
}

/** Numbers with their names: [[name, value, class?], ...]. */
export function numbers(rows) {
  return el("dl", { class: "numbers" }, rows.map(([name, value, kind]) =>
    el("div", {}, el("dt", {}, name), el("dd", { class: kind ?? null }, value))));
}

const SHORT_CELL = 12;
const LONG_CELL = 26;
const SHORT_LABEL = 16;
const narrow = window.matchMedia("(max-width: 640px)");
const FEW = 3;

function rowOf(row, right, labels) {
  const cells = row.cells ?? row;
  const first = el("tr", { role: "row", class: row.words ? "told" : null }, cells.map((cell, i) => el("td", { role: "cell", class: right[i], "data-label": labels[i] || null }, cell)));
  return row.words ? [first, el("tr", { role: "row" }, el("td", { role: "cell", colspan: cells.length }, el("p", { class: "words under" }, row.words)))] : first;
}

function lettersIn(cell) {
  const hidden = [...cell.querySelectorAll(".zeros")].reduce((sum, zeros) => sum + zeros.textContent.length, 0);
  return cell.textContent.length - hidden;
}

/** How much room each column has in a card: that of its longest cell, so that it stands at one place in all cards. */
function spread(inner, labels) {
  const rows = [...inner.querySelectorAll("tbody tr")].filter((row) => row.cells.length === labels.length);
  labels.forEach((label, i) => {
    const letters = Math.max(0, ...rows.map((row) => lettersIn(row.cells[i])));
    const kind = letters > LONG_CELL ? "long" : letters > SHORT_CELL || label.length > SHORT_LABEL ? "middling" : null;
    if (kind) for (const row of rows) row.cells[i].classList.add(kind);
  });
}

/** Rows become cards where the screen is narrow and a line of the table would not fit: nothing is to be scrolled sideways for. */
function folding(inner, columns) {
  const whole = inner.firstElementChild;
  return () => {
    inner.classList.remove("folded");
    if (!narrow.matches || columns < FEW) return;
    inner.classList.add("measured");
    const wide = whole.scrollWidth;
    inner.classList.remove("measured");
    inner.classList.toggle("folded", wide > inner.clientWidth || inner.scrollWidth > inner.clientWidth + 1);
  };
}

/** A table: headings ("~" in front = a number), and rows of cells; a row {cells, words} has a sentence below it. */
export function table(caption, headings, rows) {
  const right = headings.map((heading) => (heading.startsWith("~") ? "n" : null));
  const labels = headings.map((heading) => heading.replace(/^~/, ""));
  const head = labels.map((label, i) => el("th", { scope: "col", role: "columnheader", class: right[i] }, label));
  const inner = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", { role: "table" }, el("caption", { class: "hidden" }, caption), el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
      el("tbody", { role: "rowgroup" }, rows.map((row) => rowOf(row, right, labels)))));
  spread(inner, labels);
  const hint = el("div", { class: "sideways", "aria-hidden": "true", hidden: true }, "More to the right →");
  const fold = folding(inner, headings.length);
  let known = -1;
  new ResizeObserver(() => {
    if (inner.clientWidth !== known) { known = inner.clientWidth; fold(); }
    hint.hidden = inner.scrollWidth <= inner.clientWidth + 1;
  }).observe(inner);
  return el("div", { class: "tabled" }, hint, inner);
}

/** A box with a heading. */
export function box(title, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), children);
}
