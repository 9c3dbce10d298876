// A view that is read once, and again while something can change: its states are reading, shown, refused.

import { Refused } from "./api.js";
import { el, fill } from "./dom.js";

const IDLE_MS = 10_000;

/** What stands where nothing could be read yet. */
export const AWAY = "The server does not answer. This is read as soon as it does.";

/**
 * A view whose content `read(signal)` gives. While `read` says {again: true} it is read again when the page's stream tells
 * of new events, after `againMs` at the soonest; now and then also without, for waits and windows grow by themselves.
 */
export function loaded(title, read, againMs = 3000) {
  const node = el("div", { class: "cards one" }, el("h1", {}, title), el("p", { class: "empty" }, "Reading …"));
  const closing = new AbortController();
  let reading = false, again = true, shown = false, since = 0, heard = null, seen = null;

  const turn = async () => {
    reading = true;
    seen = heard;
    try {
      const found = await read(closing.signal);
      fill(node, found.content);
      shown = true;
      again = found.again ?? false;
    } catch (error) {
      if (error.name === "AbortError") return;
      const known = error instanceof Refused;
      again = known && error.status === 0;
      if (again) {
        seen = null;  // with the next frame there is a connection
        if (!shown) fill(node, el("h1", {}, title), el("p", { class: "empty" }, AWAY));
      }
      else fill(node, el("h1", {}, title), el("p", { class: "empty" }, known ? `${error.message}.` : "This could not be drawn."), el("a", { href: "#/" }, "To the overview"));
      if (!known) throw error;
    } finally {
      since = performance.now();
      reading = false;
    }
  };
  turn();
  return {
    title,
    node,
    frame(frame) {
      heard = frame.server.sequence;
      const pause = performance.now() - since;
      if (!reading && again && !closing.signal.aborted && pause >= (heard === seen ? IDLE_MS : againMs)) turn();
    },
    again: turn,
    returned() { if (!reading && again && !closing.signal.aborted) turn(); },
    close() { closing.abort(); },
  };
}
