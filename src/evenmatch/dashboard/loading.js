// A view that is read once, and again while something can change: its states are reading, shown, refused.

import { Refused } from "./api.js";
import { el, fill } from "./dom.js";

/** A view whose content `read(signal)` gives; read again every `againMs` while `read` says {again: true}. */
export function loaded(title, read, againMs = 3000) {
  const node = el("div", { class: "cards one" }, el("h1", {}, title), el("p", { class: "empty" }, "Reading …"));
  const closing = new AbortController();
  let timer = 0;

  const turn = async () => {
    let again = true;
    try {
      const found = await read(closing.signal);
      fill(node, found.content);
      again = found.again ?? false;
    } catch (error) {
      if (error.name === "AbortError") return;
      const known = error instanceof Refused;
      again = known && error.status === 0;
      if (!again) fill(node, el("h1", {}, title), el("p", { class: "empty" }, known ? error.message : "This could not be drawn."), el("a", { href: "#/" }, "To the overview"));
      if (!known) throw error;
    } finally {
      if (again && !closing.signal.aborted) timer = setTimeout(turn, againMs);
    }
  };
  turn();
  return { title, node, again() { clearTimeout(timer); turn(); }, close() { closing.abort(); clearTimeout(timer); } };
}
