// Those who wait, on a canvas: across by rating (epgc: by ping), up by wait, or where all came together by how many; with
// proposals that fade, and one entry that the keyboard or the pointer is at, told in words.

import { drawAxes, drawBeyond, EDGE, extent } from "./picture_axes.js";
import { again, walking } from "./picture_keys.js";
import { described, drawCrowd, drawProposal, drawRing } from "./picture_marks.js";
import { colour } from "./themes.js";

const FADE_MS = 3500;
const NEAR = 14;

/** How tall a picture of a width is. */
function tallFor(wide) {
  return wide < 600 ? 360 : 440;
}

/** Draws pictures on a canvas, and remembers proposals for as long as they fade; `said`: an element that tells of the entry walked to, `onStripes` hears whether buckets are wide enough to be drawn, when that changes. */
export class Crowd {
  constructor(canvas, { onPick = null, still = false, said = null, onStripes = null } = {}) {
    this.canvas = canvas;
    this.onStripes = onStripes;
    this.striped = true;
    this.said = said;
    this.picture = null;
    this.groups = [];
    this.spots = [];
    this.at = null;
    this.lost = null;
    this.drawing = 0;
    this.still = still || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.live = !still;
    if (onPick) this.pickedBy(onPick);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(canvas);
  }

  pickedBy(onPick) {
    const { canvas } = this;
    canvas.tabIndex = 0;
    canvas.addEventListener("click", (event) => { const found = this.under(event); if (found?.ticket) onPick(found.ticket); });
    canvas.addEventListener("pointermove", (event) => {
      const found = this.under(event);
      canvas.style.cursor = found?.ticket ? "pointer" : "default";
      canvas.title = found ? described(this.picture, found.i) : "";
    });
    canvas.addEventListener("blur", () => this.walk(null));
    walking(canvas, { entries: () => this.spots, current: () => this.at, near: () => this.at ?? again(this.spots, this.lost), walked: (entry) => this.walk(entry), open: onPick });
  }

  /** Go to an entry, and say which it is. */
  walk(entry) {
    this.at = entry;
    this.lost = null;
    const more = entry?.ticket ? ". Enter opens it." : ".";
    if (this.said) this.said.textContent = entry ? described(this.picture, entry.i) + more : "";
    this.draw();
  }

  /** Show a new picture. */
  show(picture) {
    this.picture = picture;
    const now = performance.now();
    for (const group of picture.groups) this.groups.push({ ...group, since: now });
    this.groups = this.groups.slice(-200);
    this.animate();
  }

  /** Stop. */
  close() {
    this.resized.disconnect();
    cancelAnimationFrame(this.drawing);
  }

  animate() {
    cancelAnimationFrame(this.drawing);
    const now = performance.now();
    if (!this.still || this.live) this.groups = this.groups.filter((group) => now - group.since < FADE_MS);
    this.draw();
    if (this.groups.length && !this.still && this.canvas.isConnected) this.drawing = requestAnimationFrame(() => this.animate());
  }

  /** The canvas in the pixels that it has, wiped; null = it is not to be seen. */
  wiped() {
    const wide = this.canvas.clientWidth;
    if (!this.picture || !wide) return null;
    const tall = tallFor(wide);
    const scale = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(wide * scale)) {
      this.canvas.width = Math.round(wide * scale);
      this.canvas.height = Math.round(tall * scale);
      this.canvas.style.height = `${tall}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    return { pen, wide, tall };
  }

  draw() {
    const ground = this.wiped();
    if (!ground) return;
    const { pen, wide, tall } = ground;
    const shown = this.picture;
    const byPing = shown.ping_ms.length > 0;
    const across = byPing ? shown.ping_ms : shown.rating;
    const at = (seat) => (byPing ? seat.ping_ms ?? 0 : seat.rating);
    const seats = this.groups.flatMap((group) => group.seats);
    if (!across.length && !seats.length) { this.empty(pen, wide, tall); return; }
    const { left, right, top } = extent(shown, seats, at);
    const floor = tall - EDGE.bottom;
    const plot = {
      left, right, top, wide, tall, floor, byCount: shown.by_count,
      x: (value) => EDGE.left + (wide - EDGE.left - EDGE.right) * ((value - left) / (right - left)),
      y: (value) => floor - (floor - EDGE.top) * (value / top) };
    const striped = drawAxes(pen, plot, shown);
    if (striped !== this.striped) { this.striped = striped; this.onStripes?.(striped); }
    pen.save();
    pen.beginPath();
    pen.rect(EDGE.left, 0, wide - EDGE.left - EDGE.right, tall);
    pen.clip();
    this.spots = drawCrowd(pen, plot, shown, across).map((one) => ({ ...one, ticket: shown.ticket[one.i] ?? null, across: across[one.i], up: one.up ?? (shown.by_count ? shown.count[one.i] : shown.waited_s[one.i]) }));
    this.proposals(pen, plot, at);
    this.ring(pen);
    pen.restore();
    drawBeyond(pen, plot, shown.scale);
  }

  empty(pen, wide, tall) {
    this.spots = [];
    this.ring(pen);
    pen.font = "15px system-ui, sans-serif";
    pen.fillStyle = colour("soft");
    pen.textAlign = "center";
    pen.fillText("Nobody waits just now.", wide / 2, tall / 2);
  }

  /** The entry that was walked to, where it is now; who is gone is told so. */
  ring(pen) {
    if (!this.at) return;
    const now = again(this.spots, this.at);
    if (now) drawRing(pen, now);
    else if (this.said) this.said.textContent = `${this.at.ticket ?? "It"} no longer waits.`;
    if (!now) this.lost = { ...this.at, ticket: null };
    this.at = now;
  }

  proposals(pen, plot, at) {
    const now = performance.now();
    for (const group of this.groups) {
      const left = this.still ? 1 : 1 - (now - group.since) / FADE_MS;
      if (left <= 0 || group.seats.length === 0) continue;
      pen.globalAlpha = Math.max(0, left);
      drawProposal(pen, plot, group, at, this.picture.matcher);
    }
    pen.globalAlpha = 1;
  }

  /** The entry under the pointer, or null. */
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let nearest = NEAR ** 2;
    for (const spot of this.spots) {
      const far = (spot.x - px) ** 2 + (spot.y - py) ** 2;
      if (far < nearest) [nearest, best] = [far, spot];
    }
    return best;
  }
}
