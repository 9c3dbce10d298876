// Who waits, longest first, page by page: for the keyboard, for reading, and where there are too many to be drawn one by one.

import { ask, path } from "./api.js";
import { box, el, fill, link, table } from "./dom.js";
import { number, percent, seconds, span } from "./format.js";

const PAGE = 10;
const WAITS = "waits";

/** Columns of a list of those who wait, as far as any of them has something to say: [[heading, cell of a row], ...]. */
function columnsOf(rows, bandsAre) {
  const any = (name) => rows.some((one) => one[name] !== null && one[name] !== undefined);
  return [
    ["ticket", (one) => link(["ticket", one.ticket], one.ticket)], ["~players", (one) => number(one.players)],
    ["~rating, pts", (one) => number(one.rating)], ["~waited", (one) => seconds(one.waited_s)],
    any("low") ? [any("overlap") ? "~range, pts" : "~takes, pts", (one) => (one.low === null ? "–" : span(one.low, one.high).replace(" pts", "").replace(" to ", "–"))] : null,
    any("overlap") ? ["~overlap", (one) => percent(one.overlap)] : null,
    any("ping_ms") ? ["~ping", (one) => (one.ping_ms === null ? "–" : `${number(one.ping_ms)} ms`)] : null,
    bandsAre && (bandsAre !== "turn" || rows.some((one) => one.band !== WAITS)) ? [{ part: "in a wave now" }[bandsAre] ?? bandsAre, (one) => el("span", { class: "unbroken" }, one.band ?? "–")] : null].filter(Boolean);
}

/** A box that lists those who wait in a queue: `show(picture)` with every frame, `close()` at the end. */
export function longestWaiting(queue) {
  const inner = el("div", {});
  const where = el("span", { role: "status" });
  const button = (words, step) => el("button", { type: "button", onclick: () => turn(step) }, words);
  const [newer, older, first] = [button("← Longer waits", -PAGE), button("Shorter waits →", PAGE), button("First", -Infinity)];
  const pages = el("div", { class: "choices", role: "group", "aria-label": "Pages of those who wait" }, newer, older, first, where);
  const closing = new AbortController();
  let [skip, asking, last] = [0, false, null];

  const draw = (rows, all, bandsAre) => {
    if (!rows.length) fill(inner, el("p", { class: "empty" }, all ? "Fewer wait than that by now." : "Nobody waits just now."));
    else {
      const focused = inner.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      const columns = columnsOf(rows, bandsAre);
      fill(inner, table("Waiting longest", columns.map(([heading]) => heading), rows.map((one) => columns.map(([, cell]) => cell(one)))));
      if (focused !== null) ([...inner.querySelectorAll("a")].find((each) => each.getAttribute("href") === focused) ?? inner.querySelector("a"))?.focus();
    }
    pages.hidden = all <= PAGE && skip === 0;
    const told = rows.length ? `${number(skip + 1)} to ${number(skip + rows.length)} of ${number(all)}` : `none of ${number(all)}`;
    if (where.textContent !== told) where.textContent = told;
    newer.disabled = first.disabled = skip === 0;
    older.disabled = skip + PAGE >= all;
  };
  const read = async () => {
    if (asking || closing.signal.aborted) return;
    asking = true;
    const wanted = skip;
    try {
      const { waiting } = await ask(`${path("queues", queue, "waiting")}?skip=${wanted}&limit=${PAGE}`, closing.signal);
      if (wanted === skip) draw(waiting.tickets, waiting.waiting, last.bands_are);
    } catch (error) {
      if (error.name !== "AbortError" && error.status === undefined) throw error;  // the page says elsewhere that the server is away
    } finally {
      asking = false;
    }
    if (wanted !== skip) show(last);
  };
  const show = (picture) => {
    last = picture;
    if (skip) read();
    else draw(picture.oldest, picture.waiting, picture.bands_are);
  };
  const turn = (step) => { skip = Math.max(0, skip + step); if (last) show(last); };
  return { node: box("Waiting longest", inner, pages), show, close: () => closing.abort() };
}
