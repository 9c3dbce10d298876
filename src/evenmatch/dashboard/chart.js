// Small charts in SVG: lines over time, sparklines, bars. Lines are drawn in the pixels they have, so that words keep
// their size; what they say under the pointer, or at last, stands in words above them.

import { el, fill, svg } from "./dom.js";
import { axisSeconds, clock, shortClock } from "./format.js";

const TALL = 200;
const LEFT = 62;
const RIGHT = 10;
const BOTTOM = 24;
const TOP = 10;
const SHORT_MS = 15 * 60_000;
const APART = 90;

/** Round numbers, three or four of them, from `least` or a little below up to at least `most`. */
export function steps(most, least = 0) {
  if (!(most > least)) return [least, least + 1];
  const rough = (most - least) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each * 3 >= (most - least) * 0.999);
  const found = [];
  for (let value = Math.floor(least / step) * step; value < most + step * 0.999; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}

const TIMES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** The same for times in seconds, in steps that are round as times are. */
export function timeSteps(most, count = 4) {
  if (!(most > 0)) return [0, 1];
  const day = TIMES[TIMES.length - 1];
  const step = TIMES.find((each) => each * count >= most) ?? day * Math.ceil(most / (count * day));
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function path(points, x, y) {
  let drawn = "";
  let pen = false;
  points.forEach((value, i) => {
    if (value === null || value === undefined) { pen = false; return; }
    drawn += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return drawn;
}

function axes(drawing, wide, times, marks, format, x, y, label) {
  for (const mark of marks) {
    drawing.append(svg("line", { x1: LEFT, x2: wide - RIGHT, y1: y(mark), y2: y(mark), stroke: "var(--grid)" }));
    drawing.append(svg("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end", "font-size": 12, fill: "var(--soft)" }, format(mark)));
  }
  const timed = times[times.length - 1] - times[0] < SHORT_MS ? clock : shortClock;
  for (const share of times.length > 1 ? [0, 0.5, 1] : [0]) {
    const i = Math.round(share * (times.length - 1));
    const room = Math.min(x(i) - x(0), x(times.length - 1) - x(i));
    if (times[i] === undefined || (share === 0.5 && room < APART)) continue;
    const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
    drawing.append(svg("text", { x: x(i), y: TALL - 5, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, label ? label(i) : timed(times[i])));
  }
}

function drawLine(drawing, line, x, y) {
  drawing.append(svg("path", { d: path(line.values, x, y), fill: "none", stroke: `var(--${line.colour})`, "stroke-width": 2, "stroke-linejoin": "round", "stroke-linecap": "round" }));
  line.values.forEach((value, i) => {
    const alone = value !== null && (line.values[i - 1] ?? null) === null && (line.values[i + 1] ?? null) === null;
    if (alone) drawing.append(svg("circle", { cx: x(i), cy: y(value), r: 2.5, fill: `var(--${line.colour})` }));
  });
}

/**
 * Lines over time: `times` in ms, `lines` = [{name, values, colour}], values null where there are none. What is said of the
 * last ones says of when they are. Where steps are no times: `label(i)` on the axis, `told(i)` under the pointer.
 */
export function lineChart(title, times, lines, format, { most = null, fromZero = true, time = false, label = null, told = (i) => `at ${clock(times[i])}` } = {}) {
  const all = lines.flatMap((line) => line.values.filter((value) => value !== null));
  if (!all.length) return el("figure", { class: "card chart" }, el("h2", {}, title), el("p", { class: "empty" }, "Nothing yet in this time."));
  const marks = time ? timeSteps(Math.max(...all)) : steps(most ?? Math.max(...all, fromZero ? 0 : -Infinity), fromZero ? 0 : Math.min(...all));
  const lastOf = (line) => line.values.findLastIndex((each) => each !== null);
  const last = Math.max(...lines.map(lastOf));
  const said = (i) => lines.map((line) => {
    const at = i ?? lastOf(line);
    const value = line.values[at];
    const older = i === null && at >= 0 && at < last ? ` ${told(at)}` : "";
    return { colour: line.colour, name: `${line.name} ${value === null || value === undefined ? "–" : format(value)}${older}` };
  });
  const drawing = svg("svg", { height: TALL, role: "img", "aria-label": `${title}. Latest: ${said(null).map((one) => one.name).join("; ")}` });
  const reading = el("p", { class: "legend" });
  let wide = 0;
  const x = (i) => LEFT + (wide - LEFT - RIGHT) * (times.length > 1 ? i / (times.length - 1) : 0.5);
  const y = (value) => TALL - BOTTOM - (TALL - BOTTOM - TOP) * ((value - marks[0]) / (marks[marks.length - 1] - marks[0]));
  const pointer = svg("line", { y1: TOP, y2: TALL - BOTTOM, stroke: "var(--soft)", "stroke-dasharray": "3 3", visibility: "hidden" });
  const read = (i) => {
    fill(reading, legendOf(said(i)), el("span", {}, i === null ? `latest, ${told(last)}` : told(i)));
    pointer.setAttribute("visibility", i === null ? "hidden" : "visible");
    if (i !== null) { pointer.setAttribute("x1", x(i)); pointer.setAttribute("x2", x(i)); }
  };
  const draw = () => {
    wide = drawing.clientWidth;
    if (!wide) return;
    drawing.replaceChildren();
    drawing.setAttribute("viewBox", `0 0 ${wide} ${TALL}`);
    axes(drawing, wide, times, marks, time ? axisSeconds(marks) : format, x, y, label);
    for (const line of lines) drawLine(drawing, line, x, y);
    drawing.append(pointer);
  };
  drawing.addEventListener("pointermove", (event) => {
    const share = (event.clientX - drawing.getBoundingClientRect().left - LEFT) / Math.max(1, wide - LEFT - RIGHT);
    read(Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1)))));
  });
  drawing.addEventListener("pointerleave", () => read(null));
  read(null);
  new ResizeObserver(draw).observe(drawing);
  return el("figure", { class: "card chart" }, el("h2", {}, title), reading, drawing);
}

function legendOf(entries) {
  return entries.map((entry) => {
    const mark = el("i", { class: entry.shape ?? null });
    mark.style[entry.shape === "outline" ? "borderColor" : "background"] = `var(--${entry.colour})`;
    if (entry.size) mark.style.width = mark.style.height = `${entry.size}px`;
    return el("span", {}, mark, entry.name);
  });
}

/** What colours mean: [{name, colour, shape?, size?}]; a shape is dot, diamond or outline, a size is in px. */
export function legend(entries) {
  return el("p", { class: "legend" }, legendOf(entries));
}

/** A line without axes: the last minutes of one number. */
export function sparkline(values, label) {
  const most = Math.max(1, ...values);
  const x = (i) => 2 + 296 * (values.length > 1 ? i / (values.length - 1) : 1);
  const y = (value) => 44 - 40 * (value / most);
  const line = path(values, x, y);
  const drawing = svg("svg", { viewBox: "0 0 300 48", height: 56, preserveAspectRatio: "none", role: "img", "aria-label": label });
  if (values.length > 1) {
    drawing.append(svg("path", { d: `${line}L${x(values.length - 1)} 46L${x(0)} 46Z`, fill: "var(--accent-ground)" }));
    drawing.append(svg("path", { d: line, fill: "none", stroke: "var(--series-1)", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
  }
  return el("div", { class: "chart" }, drawing);
}

/** A bar for a share of 1, to stand in a table. */
export function meter(share, colour = "series-1", kind = "") {
  const wide = Math.max(0, Math.min(1, share)) * 100;
  return svg("svg", { class: `meter ${kind}`, viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 10, fill: "var(--grid)" }),
    svg("rect", { width: wide, height: 10, fill: `var(--${colour})` }));
}
