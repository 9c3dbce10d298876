// What stands in a picture: tickets as dots, leaders as diamonds, windows as bars, those who came together as columns, and
// fresh proposals as lines between those whom they join.

import { number, percent, seconds, span } from "./format.js";
import { acrossOf, columnsOf, columnWords } from "./picture_columns.js";
import { colour } from "./themes.js";

const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5"];
const LED = new Set(["lom", "l2m", "m2l"]);
const LEADER = 1;

/** The colour of a band: a tier, or a side. */
export function bandColour(band) {
  return SERIES[band >= 0 ? band % SERIES.length : 0];
}

/** Has a matcher leaders? */
export function hasLeaders(matcher) {
  return LED.has(matcher);
}

/** Where something is drawn that may be beyond the scale: within the plot, and which way it would be. */
function placed(plot, across, up) {
  const x = Math.max(plot.x(plot.left) + 5, Math.min(plot.x(plot.right) - 5, plot.x(across)));
  const y = Math.max(plot.y(plot.top) + 5, plot.y(up));
  return { x, y, way: across < plot.left ? "left" : across > plot.right ? "right" : up > plot.top ? "up" : null };
}

/** A dot, for a leader a diamond, and beyond the scale an arrow. */
function mark(pen, { x, y, way }, size, leads) {
  const far = size + 3;
  pen.beginPath();
  if (way) {
    const [dx, dy] = { left: [-far, 0], right: [far, 0], up: [0, -far] }[way];
    pen.moveTo(x + dx, y + dy); pen.lineTo(x + dy * 0.8 - dx * 0.4, y + dx * 0.8 - dy * 0.4); pen.lineTo(x - dy * 0.8 - dx * 0.4, y - dx * 0.8 - dy * 0.4); pen.closePath();
  } else if (leads) {
    pen.moveTo(x, y - far); pen.lineTo(x + far, y); pen.lineTo(x, y + far); pen.lineTo(x - far, y); pen.closePath();
  } else pen.arc(x, y, size, 0, 7);
}

/** What one entry is, in words. */
export function described(shown, i) {
  if (shown.by_count) return columnWords(shown, columnsOf(shown).get(acrossOf(shown)[i]));
  const ping = shown.ping_ms[i] === null || shown.ping_ms[i] === undefined ? "" : `, ping ${number(shown.ping_ms[i])} ms`;
  const band = shown.band.length && shown.band[i] >= 0 ? `, ${shown.bands[shown.band[i]]}` : "";
  if (shown.binned) {
    const near = shown.ping_ms.length ? "" : ` about ${number(shown.rating[i])} pts`;
    return `${number(shown.count[i])} ${shown.count[i] === 1 ? "ticket" : "tickets"}${near}${ping}${band}, waited about ${seconds(shown.waited_s[i])}`;
  }
  const party = shown.players[i] > 1 ? `, ${number(shown.players[i])} players` : "";
  const takes = shown.low.length ? `, ${shown.overlap.length ? "ranges over" : "takes"} ${span(shown.low[i], shown.high[i])}` : "";
  const shares = shown.overlap.length ? (shown.overlap[i] === null ? ", no other lobby" : `, overlaps by ${percent(shown.overlap[i])} with the lobby that shares most`) : "";
  return `${shown.ticket[i]}: ${number(shown.rating[i])} pts${party}${ping}${band}, waited ${seconds(shown.waited_s[i])}${takes}${shares}`;
}

function drawBars(pen, plot, shown, across, paint) {
  pen.globalAlpha = shown.binned ? 0.16 : Math.max(0.12, Math.min(0.45, 12 / across.length));
  for (let i = 0; i < across.length; i++) {
    pen.fillStyle = paint(i);
    const [from, to] = [plot.x(Math.max(shown.low[i], plot.left)), plot.x(Math.min(shown.high[i], plot.right))];
    pen.fillRect(from, placed(plot, across[i], shown.waited_s[i]).y - 2, Math.max(1, to - from), 4);
  }
  pen.globalAlpha = 0.75;
  shown.shared_low.forEach((low, i) => {
    if (low === null) return;
    pen.fillStyle = colour("series-2");
    pen.fillRect(plot.x(low), placed(plot, across[i], shown.waited_s[i]).y - 3, Math.max(2, plot.x(shown.shared_high[i]) - plot.x(low)), 6);
  });
}

/** Those who came together: a column for each bin, one band on the other; gives the spot of each column. */
function drawColumns(pen, plot, shown, across, paint) {
  return [...columnsOf(shown)].map(([each, entries]) => {
    if (each < shown.scale.low || each > shown.scale.high) return spot(pen, plot, shown, across, entries[0], paint, 0);
    const [x1, x2] = [plot.x(each - shown.bin / 2), plot.x(each + shown.bin / 2)];
    let below = 0;
    for (const i of entries) {
      const [y1, y2] = [plot.y(below + shown.count[i]), plot.y(below)];
      pen.fillStyle = paint(i);
      pen.fillRect(x1, y1, Math.max(1, x2 - x1 - 1), Math.max(1, y2 - y1));
      below += shown.count[i];
    }
    return { x: (x1 + x2) / 2, y: plot.y(below), size: 5, i: entries[0], up: below };
  });
}

function spot(pen, plot, shown, across, i, paint, up) {
  const most = plot.most;
  const size = shown.binned ? 2 + 9 * Math.sqrt(shown.count[i] / most) : 3 + Math.min(4, shown.players[i] - 1);
  const where = placed(plot, across[i], up);
  pen.fillStyle = paint(i);
  mark(pen, where, size, LED.has(shown.matcher) && shown.band[i] === LEADER);
  pen.fill();
  return { ...where, size, i };
}

/** Draw the crowd; gives where each entry stands: [{x, y, size, i}]. */
export function drawCrowd(pen, plot, shown, across) {
  const paints = SERIES.map(colour);
  const paint = (i) => paints[shown.band.length && shown.band[i] >= 0 ? shown.band[i] % SERIES.length : 0];
  plot.most = Math.max(1, ...shown.count);
  if (shown.low.length && !shown.by_count) drawBars(pen, plot, shown, across, paint);
  pen.globalAlpha = 0.85;
  const known = across.map((_, i) => i).filter((i) => across[i] !== null);
  const spots = shown.by_count ? drawColumns(pen, plot, shown, across, paint) : known.map((i) => spot(pen, plot, shown, across, i, paint, shown.waited_s[i]));
  pen.globalAlpha = 1;
  return spots;
}

function teamsOf(seats) {
  const teams = new Map();
  for (const seat of seats) {
    if (!teams.has(seat.team)) teams.set(seat.team, []);
    teams.get(seat.team).push(seat);
  }
  return [...teams.entries()].sort(([one], [other]) => one - other).map(([, team]) => team);
}

function join(pen, one, other) {
  pen.beginPath(); pen.moveTo(one.x, one.y); pen.lineTo(other.x, other.y); pen.stroke();
}

/** Draw a proposal: lines from the first of each team to its others, and a ring round a seat, whose tier it keeps. */
export function drawProposal(pen, plot, group, at, matcher) {
  const teams = teamsOf(group.seats).map((team) => team.map((seat) => ({ ...placed(plot, at(seat), plot.byCount ? 0 : seat.waited_s), band: seat.band ?? -1 })));
  pen.strokeStyle = colour("made");
  pen.lineWidth = 2;
  for (const [first, ...others] of teams) for (const seat of others) join(pen, first, seat);
  pen.setLineDash([5, 4]);
  for (const [first] of teams.slice(1)) join(pen, teams[0][0], first);
  pen.setLineDash([]);
  for (const [place, team] of teams.entries()) for (const seat of team) {
    mark(pen, seat, seat === team[0] ? 5.5 : 4.5, seat === team[0] && LED.has(matcher));
    pen.fillStyle = colour(seat.band >= 0 ? bandColour(seat.band) : place === 0 ? "made" : "card");
    pen.fill();
    pen.stroke();
  }
}

/** A ring round the entry that the keyboard is at. */
export function drawRing(pen, { x, y, size }) {
  pen.strokeStyle = colour("accent");
  pen.lineWidth = 3;
  pen.beginPath(); pen.arc(x, y, size + 6, 0, 7); pen.stroke();
}
