// Who has waited longest, as a list: the same tickets as in the picture, for the keyboard and for reading.

import { box, el, fill, link, table } from "./dom.js";
import { number, points, seconds } from "./format.js";

const ROWS = 10;

/** A box whose `show(picture)` lists the tickets at the top of a picture. */
export function longestWaiting() {
  const inner = el("div", {});
  return {
    node: box("Waiting longest", inner),
    show(picture) {
      if (picture.binned) { fill(inner, el("p", { class: "empty" }, "Too many wait to name them. Open one by its id, at the top of the page.")); return; }
      const order = picture.waited_s.map((_, i) => i).sort((a, b) => picture.waited_s[b] - picture.waited_s[a]).slice(0, ROWS);
      if (!order.length) { fill(inner, el("p", { class: "empty" }, "Nobody waits just now.")); return; }
      const wide = picture.low.length > 0;
      const byPing = picture.ping_ms.length > 0;
      const focused = inner.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      fill(inner, table("Waiting longest", ["ticket", "~players", "~rating", "~waited", ...(wide ? ["~takes"] : []), ...(byPing ? ["~ping"] : [])], order.map((i) => [
        link(["ticket", picture.ticket[i]], picture.ticket[i]), number(picture.players[i]), points(Math.round(picture.rating[i])), seconds(picture.waited_s[i]),
        ...(wide ? [`${number(Math.round(picture.low[i]))}–${number(Math.round(picture.high[i]))}`] : []),
        ...(byPing ? [picture.ping_ms[i] === null ? "–" : `${number(picture.ping_ms[i])} ms`] : [])])));
      if (focused !== null) ([...inner.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused) ?? inner.querySelector("a"))?.focus();
    },
  };
}
