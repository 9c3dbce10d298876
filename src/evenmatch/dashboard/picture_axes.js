// The ground of a picture: from where to where it goes, its axes, buckets and tiers, and who is beyond its edges.

import { timeSteps } from "./chart.js";
import { axisSeconds, endless, many, number, seconds } from "./format.js";
import { columnsOf, countOf } from "./picture_columns.js";
import { colour } from "./themes.js";

export const EDGE = { left: 62, right: 14, top: 22, bottom: 42 };
const STRIPE_LEAST = 3;
const TITLE = 11;  // above the highest gridline, which has a label too
const FAR = 1.5;
const REACH_PTS = 500;
const WINDOW_PTS = 250;
const FEW = 12;
const REACH_MS = 100;
const LONG_S = 30;
const FONT = "12px system-ui, sans-serif";

/** Round steps between two numbers. */
export function ticks(least, most, count) {
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(least / step); at * step <= most; at++) found.push(at * step + 0);  // + 0: never -0
  return found;
}

/** How far beyond the crowd windows are given room: half its width, and where few wait, whose picture has room to spare, further. */
function windowRoom(shown, wide) {
  return Math.max(wide / 2, shown.rating.length <= FEW ? REACH_PTS : WINDOW_PTS);
}

/** The ends of windows that have one, of those who are not beyond the scale. */
function ends(shown, crowd) {
  const inside = shown.rating.map((each) => each >= crowd.low && each <= crowd.high);
  return [shown.low, shown.high].flatMap((side) => side.filter((each, i) => inside[i] && !endless(each)));
}

/** From where to where: as the server says of the crowd, with room for windows that end, and for proposals that are not far from it. */
export function extent(shown, seats, at) {
  const waits = seats.map((seat) => seat.waited_s);
  const places = seats.map(at);
  const crowd = shown.scale ?? { low: Math.min(...places), high: Math.max(...places), longest_s: Math.max(...waits) };
  const room = Math.max((crowd.high - crowd.low) * 0.04, Math.abs(crowd.high) * 0.01, 1);
  const most = windowRoom(shown, crowd.high - crowd.low) + room;
  const windows = shown.ping_ms.length || shown.by_count ? [] : ends(shown, crowd);
  const reach = Math.max(FAR * (crowd.high - crowd.low), shown.ping_ms.length ? REACH_MS : REACH_PTS);
  const near = places.filter((each) => each > crowd.low - reach && each < crowd.high + reach);
  const left = Math.min(Math.max(crowd.low - most, Math.min(crowd.low, ...windows) - room), ...near.map((each) => each - room));
  const right = Math.max(Math.min(crowd.high + most, Math.max(crowd.high, ...windows) + room), ...near.map((each) => each + room));
  const waited = waits.filter((each) => each <= Math.max(crowd.longest_s * (1 + FAR), LONG_S));
  return { left, right, top: shown.by_count ? tallest(shown) * 1.12 : Math.max(5, crowd.longest_s, ...waited) * 1.06 };
}

/** With bins over rating alone: the most that stand over one of them. */
function tallest(shown) {
  const inside = [...columnsOf(shown)].filter(([at]) => at >= shown.scale.low && at <= shown.scale.high);
  return Math.max(1, ...inside.map(([, entries]) => countOf(shown, entries)));
}

function stripes(pen, plot, bucket) {
  pen.fillStyle = colour("stripe");
  for (let each = Math.floor(plot.left / bucket); each * bucket < plot.right; each++) {
    if (each % 2) continue;
    const [from, to] = [Math.max(EDGE.left, plot.x(each * bucket)), Math.min(plot.wide - EDGE.right, plot.x((each + 1) * bucket))];
    pen.fillRect(from, EDGE.top, to - from, plot.floor - EDGE.top);
  }
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
}

/** Draw the axes of a plot {left, right, top, x, y, wide, tall, floor} of a picture; false = its buckets are too narrow to be seen. */
export function drawAxes(pen, plot, shown) {
  const byPing = shown.ping_ms.length > 0;
  const bucket = byPing ? null : shown.bucket;
  const striped = !bucket || plot.x(bucket) - plot.x(0) >= STRIPE_LEAST;
  if (bucket && striped) stripes(pen, plot, bucket);
  pen.font = FONT;
  pen.fillStyle = colour("soft");
  pen.strokeStyle = colour("grid");
  pen.lineWidth = 1;
  pen.textAlign = "center";
  for (const mark of ticks(plot.left, plot.right, Math.max(3, Math.min(10, plot.wide / 80)))) {
    line(pen, plot.x(mark), EDGE.top, plot.x(mark), plot.floor);
    const words = number(mark, Math.abs(plot.right - plot.left) < 8 ? 1 : 0);
    pen.fillText(words, Math.min(plot.x(mark), plot.wide - pen.measureText(words).width / 2 - 1), plot.floor + 16);
  }
  pen.textAlign = "right";
  const up = (shown.by_count ? ticks(0, plot.top, 5).filter(Number.isInteger) : timeSteps(plot.top, 6)).filter((each) => each <= plot.top);
  const written = shown.by_count ? number : axisSeconds(up);
  for (const mark of up) {
    line(pen, EDGE.left, plot.y(mark), plot.wide - EDGE.right, plot.y(mark));
    pen.fillText(written(mark), EDGE.left - 6, plot.y(mark) + 4);
  }
  pen.textAlign = "center";
  pen.fillText(byPing ? "ping in ms" : bucket ? `rating in points; a bucket is ${number(bucket, bucket % 1 ? 1 : 0)} wide` : "rating in points", (EDGE.left + plot.wide - EDGE.right) / 2, plot.tall - 6);
  pen.textAlign = "left";
  pen.fillText(shown.by_count ? "tickets" : "waited", 2, TITLE);
  pen.strokeStyle = colour("soft");
  pen.setLineDash([4, 4]);
  for (const edge of byPing ? [] : shown.edges) line(pen, plot.x(edge), EDGE.top, plot.x(edge), plot.floor);
  pen.setLineDash([]);
  return striped;
}

/** The first of some words that has room; the last, where none has. */
export function fitting(pen, words, room) {
  return words.find((each) => pen.measureText(each).width <= room) ?? words.at(-1);
}

/** How many are beyond each edge, with an arrow. */
export function drawBeyond(pen, plot, scale) {
  if (!scale) return;
  pen.font = `bold ${FONT}`;
  pen.fillStyle = colour("warn");
  const middle = (EDGE.top + plot.floor) / 2;
  const sides = [
    [scale.below, "left", EDGE.left + 4, middle, (count) => `◀ ${count} beyond`],
    [scale.above, "right", plot.wide - EDGE.right - 4, middle, (count) => `${count} beyond ▶`]];
  for (const [count, align, x, y, words] of sides) {
    if (!count) continue;
    pen.textAlign = align;
    pen.fillText(words(number(count)), x, y);
  }
  if (!scale.longer) return;
  const [from, to] = [EDGE.left, plot.wide - EDGE.right];
  const oldest = `up to ${seconds(scale.oldest_s)}`;
  const notes = [`▲ ${many(scale.longer, "ticket")} waited longer: ${oldest}`, `▲ ${number(scale.longer)} waited longer: ${oldest}`, `▲ ${number(scale.longer)}: ${oldest}`];
  pen.textAlign = "center";
  pen.fillText(fitting(pen, notes, to - from), (from + to) / 2, TITLE);
}
