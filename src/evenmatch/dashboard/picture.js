// Those who wait, on a canvas: across by rating (epgc: by ping), up by wait; windows and ranges as bars that grow with the
// wait, tiers and sides by colour, and fresh proposals as lines between those whom they join, fading.

import { colour } from "./themes.js";
import { number, seconds } from "./format.js";

const EDGE = { left: 62, right: 14, top: 14, bottom: 42 };
const FADE_MS = 3500;
const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5"];

/** How tall a picture of a width is. */
function tallFor(wide) {
  return wide < 600 ? 360 : 440;
}

/** The colour of a band: a tier, or a side. */
export function bandColour(band) {
  return SERIES[band >= 0 ? band % SERIES.length : 0];
}

function span(values, low, high) {
  let least = Infinity;
  let most = -Infinity;
  for (const list of [values, low, high]) for (const value of list) {
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (!(most >= least)) return [0, 1];
  const room = Math.max((most - least) * 0.04, Math.abs(most) * 0.01, 1);
  return [least - room, most + room];
}

function ticks(least, most, count) {
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const found = [];
  for (let value = Math.ceil(least / step) * step; value <= most; value += step) found.push(value);
  return found;
}

function teamsOf(seats) {
  const teams = new Map();
  for (const seat of seats) {
    if (!teams.has(seat.team)) teams.set(seat.team, []);
    teams.get(seat.team).push(seat);
  }
  return [...teams.entries()].sort(([one], [other]) => one - other).map(([, team]) => team);
}

function stroke(pen, one, other, x, y) {
  pen.beginPath(); pen.moveTo(x(one), y(one.waited_s)); pen.lineTo(x(other), y(other.waited_s)); pen.stroke();
}

/** Draws pictures on a canvas, and remembers proposals for as long as they fade. */
export class Crowd {
  constructor(canvas, { onPick = null, still = false } = {}) {
    this.canvas = canvas;
    this.onPick = onPick;
    this.picture = null;
    this.groups = [];
    this.spots = [];
    this.axes = null;
    this.drawing = 0;
    this.still = still || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.live = !still;
    if (onPick) {
      canvas.addEventListener("click", (event) => { const found = this.at(event); if (found) onPick(found[2]); });
      canvas.addEventListener("pointermove", (event) => {
        const found = this.at(event);
        canvas.style.cursor = found ? "pointer" : "default";
        canvas.title = found ? found[3] : "";
      });
    }
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(canvas);
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

  draw() {
    const shown = this.picture;
    const wide = this.canvas.clientWidth;
    if (!shown || !wide) return;
    const tall = tallFor(wide);
    this.tall = tall;
    const scale = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(wide * scale)) {
      this.canvas.width = Math.round(wide * scale);
      this.canvas.height = Math.round(tall * scale);
      this.canvas.style.height = `${tall}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    const byPing = shown.ping_ms.length > 0;
    const across = byPing ? shown.ping_ms : shown.rating;
    const at = (seat) => (byPing ? seat.ping_ms ?? 0 : seat.rating);
    const seats = this.groups.flatMap((group) => group.seats);
    if (!across.length && !seats.length) {
      pen.font = "15px system-ui, sans-serif";
      pen.fillStyle = colour("soft");
      pen.textAlign = "center";
      pen.fillText("Nobody waits just now.", wide / 2, tall / 2);
      return;
    }
    const [least, most] = span([...across, ...seats.map(at)], byPing ? [] : shown.low, byPing ? [] : shown.high);
    const centre = span([...across, ...seats.map(at)], [], []);
    // Ranges may be far wider than the crowd: the crowd sets the scale, with half its width to each side at most.
    const half = (centre[1] - centre[0]) / 2;
    const left = Math.max(least, centre[0] - half);
    const right = Math.min(most, centre[1] + half);
    const longest = Math.max(5, ...shown.waited_s, ...seats.map((seat) => seat.waited_s)) * 1.06;
    const x = (value) => EDGE.left + (wide - EDGE.left - EDGE.right) * ((value - left) / (right - left));
    const y = (value) => tall - EDGE.bottom - (tall - EDGE.bottom - EDGE.top) * (value / longest);
    this.frame(pen, wide, { left, right, longest, x, y, byPing, edges: byPing ? [] : shown.edges });
    pen.save();
    pen.beginPath();
    pen.rect(EDGE.left, 0, wide - EDGE.left - EDGE.right, tall);
    pen.clip();
    this.crowd(pen, shown, across, x, y);
    this.proposals(pen, (seat) => x(at(seat)), y);
    pen.restore();
  }

  frame(pen, wide, { left, right, longest, x, y, byPing, edges }) {
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colour("soft");
    pen.strokeStyle = colour("grid");
    pen.lineWidth = 1;
    pen.textAlign = "center";
    for (const mark of ticks(left, right, Math.max(2, Math.min(10, wide / 110)))) {
      pen.beginPath(); pen.moveTo(x(mark), EDGE.top); pen.lineTo(x(mark), this.tall - EDGE.bottom); pen.stroke();
      pen.fillText(number(mark, Math.abs(right - left) < 8 ? 1 : 0), x(mark), this.tall - EDGE.bottom + 16);
    }
    pen.textAlign = "right";
    for (const mark of ticks(0, longest, 5)) {
      pen.beginPath(); pen.moveTo(EDGE.left, y(mark)); pen.lineTo(wide - EDGE.right, y(mark)); pen.stroke();
      if (y(mark) > EDGE.top + 14) pen.fillText(seconds(mark), EDGE.left - 6, y(mark) + 4);
    }
    pen.textAlign = "center";
    pen.fillText(byPing ? "ping in ms" : "rating in points", (EDGE.left + wide - EDGE.right) / 2, this.tall - 6);
    pen.textAlign = "left";
    pen.fillText("waited", 2, EDGE.top + 4);
    pen.strokeStyle = colour("soft");
    pen.setLineDash([4, 4]);
    for (const edge of edges) { pen.beginPath(); pen.moveTo(x(edge), EDGE.top); pen.lineTo(x(edge), this.tall - EDGE.bottom); pen.stroke(); }
    pen.setLineDash([]);
  }

  crowd(pen, shown, across, x, y) {
    const paints = SERIES.map(colour);
    const paint = (i) => paints[shown.band.length && shown.band[i] >= 0 ? shown.band[i] % SERIES.length : 0];
    this.spots = [];
    const most = Math.max(1, ...shown.count);
    if (shown.low.length) {
      pen.globalAlpha = shown.binned ? 0.16 : Math.max(0.12, Math.min(0.45, 12 / across.length));
      for (let i = 0; i < across.length; i++) {
        pen.fillStyle = paint(i);
        pen.fillRect(x(shown.low[i]), y(shown.waited_s[i]) - 2, Math.max(1, x(shown.high[i]) - x(shown.low[i])), 4);
      }
    }
    pen.globalAlpha = 0.85;
    for (let i = 0; i < across.length; i++) {
      if (across[i] === null) continue;
      const size = shown.binned ? 2 + 9 * Math.sqrt(shown.count[i] / most) : 3 + Math.min(4, shown.players[i] - 1);
      pen.fillStyle = paint(i);
      pen.beginPath(); pen.arc(x(across[i]), y(shown.waited_s[i]), size, 0, 7); pen.fill();
      if (!shown.binned) this.spots.push([x(across[i]), y(shown.waited_s[i]), shown.ticket[i], `${shown.ticket[i]}: ${number(shown.rating[i])} pts, waited ${seconds(shown.waited_s[i])}`]);
    }
    pen.globalAlpha = 1;
  }

  proposals(pen, x, y) {
    const now = performance.now();
    for (const group of this.groups) {
      const left = this.still ? 1 : 1 - (now - group.since) / FADE_MS;
      if (left <= 0 || group.seats.length === 0) continue;
      pen.globalAlpha = Math.max(0, left);
      pen.strokeStyle = colour("made");
      pen.fillStyle = colour("made");
      pen.lineWidth = 2;
      const teams = teamsOf(group.seats);
      for (const [first, ...others] of teams) for (const seat of others) stroke(pen, first, seat, x, y);
      pen.setLineDash([5, 4]);
      for (const [first] of teams.slice(1)) stroke(pen, teams[0][0], first, x, y);
      pen.setLineDash([]);
      for (const [place, team] of teams.entries()) for (const seat of team) {
        pen.beginPath(); pen.arc(x(seat), y(seat.waited_s), seat === team[0] ? 5.5 : 4.5, 0, 7);
        if (place === 0) pen.fill();
        else { pen.fillStyle = colour("card"); pen.fill(); pen.fillStyle = colour("made"); pen.stroke(); }
      }
    }
    pen.globalAlpha = 1;
  }

  /** The dot under the pointer, or null. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let nearest = 14 ** 2;
    for (const spot of this.spots) {
      const far = (spot[0] - px) ** 2 + (spot[1] - py) ** 2;
      if (far < nearest) [nearest, best] = [far, spot];
    }
    return best;
  }
}
