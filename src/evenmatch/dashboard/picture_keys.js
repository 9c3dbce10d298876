// A picture by keyboard: arrows walk from entry to entry, left and right by rating, up and down by wait; Enter opens one.

const STEPS = { ArrowLeft: ["across", -1], ArrowRight: ["across", 1], ArrowDown: ["up", -1], ArrowUp: ["up", 1] };

/** Entries in the order of a column, those of equal value by the other one. */
export function ordered(entries, by) {
  const other = by === "across" ? "up" : "across";
  return [...entries].sort((one, two) => one[by] - two[by] || one[other] - two[other]);
}

/** The entry after one, in the order of a column; the same at the end, the first from nowhere. */
export function neighbour(entries, at, by, step) {
  const order = ordered(entries, by);
  const place = order.findIndex((each) => each.i === at?.i);
  if (place < 0) return order[step > 0 ? 0 : order.length - 1] ?? null;
  return order[Math.max(0, Math.min(order.length - 1, place + step))];
}

/** The entry that stands for a former one now: the same ticket, or of bins the nearest; null = it is gone. */
export function again(entries, before) {
  if (!before) return null;
  if (before.ticket) return entries.find((each) => each.ticket === before.ticket) ?? null;
  const far = (each) => Math.abs(each.across - before.across) + Math.abs(each.up - before.up);
  return entries.reduce((best, each) => (best === null || far(each) < far(best) ? each : best), null);
}

/** Let a canvas be walked: `entries()` gives [{i, across, up, ticket}], `current()` the one it is at, `near()` that or, if it is gone, one near by; `walked(entry)` shows one, `open(ticket)` opens one. */
export function walking(canvas, { entries, current, near, walked, open }) {
  canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const all = entries();
    if (event.key === "Enter") { if (current()?.ticket) open(current().ticket); return; }
    if (event.key === "Escape") { walked(null); return; }
    const ends = { Home: -1, End: 1 }[event.key];
    const [by, step] = STEPS[event.key] ?? [];
    if (!all.length || (!by && !ends)) return;
    event.preventDefault();
    event.stopPropagation();
    walked(by ? neighbour(all, near(), by, step) : ordered(all, "across").at(ends > 0 ? -1 : 0));
  });
}
