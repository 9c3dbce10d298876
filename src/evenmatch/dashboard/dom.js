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

/** A link within the page; every part is escaped for the address. */
export function link(parts, text, attributes = {}) {
  const shown = text ?? parts[parts.length - 1];
  const href = "#/" + parts.map(encodeURIComponent).join("/");
  const id = /^([tmp]-)(0*)(\d+)$/.exec(shown);
  if (!id) return el("a", { ...attributes, href }, shown);
  return el("a", { class: "id", title: shown, ...attributes, href }, id[1], el("span", { class: "zeros" }, id[2]), id[3]);  // a phone hides the zeros
}

/** Numbers with their names: [[name, value, class?], ...]. */
export function numbers(rows) {
  return el("dl", { class: "numbers" }, rows.map(([name, value, kind]) =>
    el("div", {}, el("dt", {}, name), el("dd", { class: kind ?? null }, value))));
}

/** A table: headings ("~" in front = a number), and rows of cells. */
export function table(caption, headings, rows) {
  const right = headings.map((heading) => (heading.startsWith("~") ? "n" : null));
  const head = headings.map((heading, i) => el("th", { scope: "col", class: right[i] }, heading.replace(/^~/, "")));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "hidden" }, caption), el("thead", {}, el("tr", {}, head)),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => el("td", { class: right[i] }, cell)))))));
}

/** A box with a heading. */
export function box(title, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), children);
}
