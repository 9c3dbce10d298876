// One queue: who waits, as a picture; its last minutes as charts; who waits how long, and why some leave.

import { alarms } from "./alarm.js";
import { ask, path, Refused } from "./api.js";
import { beginning, untouched } from "./beginning.js";
import { evenness, kept, teamsOf } from "./cards.js";
import { lineChart, meter } from "./chart.js";
import { box, el, fill, link, numbers, table } from "./dom.js";
import { many, moment, number, percent, points, rate, seconds } from "./format.js";
import { AWAY } from "./loading.js";
import { longestWaiting } from "./longest.js";
import { Crowd } from "./picture.js";
import { pictureLegend, pictureWords } from "./picture_legend.js";
import { caused } from "./words.js";

const RANGES = [["5 min", 5], ["30 min", 30], ["2 h", 120], ["4 h", 240]];
const EVERY_MS = 10_000;
const SHORT_S = 60;

function head(name, card) {
  return [
    el("h1", {}, name),
    card ? el("span", { class: "tag" }, `${card.matcher} ${card.format}`) : null,
    card ? alarms(card).map((one) => el("span", { class: `tag ${one.level}` }, one.words)) : null,
    el("span", { class: "choices" }, link(["queue", name, "waves"], "Past waves"), link(["queue", name, "operate"], "Operate")),
  ];
}

function waitsTable(caption, what, rows) {
  const most = Math.max(0.001, ...rows.map((row) => row.p90_s));
  return table(caption, [what, "~matched", "~half within", "~9 in 10 within", ""],
    rows.map((row) => [el("span", { class: "unbroken" }, row.label.replace(" to ", "\u2013")), number(row.matched), seconds(row.p50_s), seconds(row.p90_s), meter(row.p90_s / most)]));
}

function charts(history, teams) {
  const times = history.points.map((point) => point.at_ms);
  // A step that is not over has counted too little yet; how many wait is known all the same.
  const column = (name) => history.points.map((point) => (point.whole || name === "depth" ? point[name] : null));
  const known = (name) => history.points.some((point) => point[name] !== null);
  const whole = (value) => number(value, value % 1 ? 1 : 0);
  const drawn = [
    lineChart("Tickets waiting", times, [{ name: "waiting", values: column("depth"), colour: "series-1" }], whole),
    lineChart("Wait of the matched", times, [
      { name: "half within", values: column("wait_p50_s"), colour: "series-1" },
      { name: "9 in 10 within", values: column("wait_p90_s"), colour: "series-2" }], seconds, { time: true }),
    lineChart(`Joins, matches and departures in ${seconds(history.step_s)}`, times, [
      { name: "joins", values: column("joins"), colour: "series-1" },
      { name: "matches", values: column("matches"), colour: "series-3" },
      { name: "left unmatched", values: column("left"), colour: "series-2" }], whole),
    teams > 1 ? lineChart("Mean evenness of matches", times, [{ name: "mean evenness", values: column("quality"), colour: "series-3" }], percent, { most: 1 }) : null,
    lineChart(teams > 1 ? "Gap between teams" : "Gap within a lobby", times, [{ name: "rating", values: column("gap"), colour: "series-4" }], points),
    known("ready_kept") ? lineChart("Ready checks kept", times, [{ name: "led to a match", values: column("ready_kept"), colour: "series-5" }], percent, { most: 1 }) : null,
  ].filter(Boolean);
  return el("div", { class: `charts of-${drawn.length}` }, drawn);
}

function details(history) {
  const gone = Object.entries(history.gone);
  const all = gone.reduce((sum, [, count]) => sum + count, 0);
  const count = history.by_party.reduce((sum, row) => sum + row.matched, 0);
  const of = !count ? "nobody matched yet" : history.waits_whole ? `${number(count)} matched in the last day` : `the last ${number(count)} matched, since ${moment(history.waits_since_ms)}`;
  return el("div", { class: "pair" },
    box(count ? `Wait by rating, tenths of ${of}` : `Wait by rating, ${of}`, history.by_rating.length
      ? waitsTable("Wait by rating", "rating, pts", history.by_rating)
      : el("p", { class: "empty" }, "Ten matched tickets are needed first.")),
    el("div", { class: "stack" }, box(`Wait by party size, ${of}`, history.by_party.length
      ? waitsTable("Wait by party size", "players", history.by_party)
      : el("p", { class: "empty" }, "Nobody was matched within the last day.")),
    box("Left without a match, by reason", gone.length
      ? table("Left without a match", ["reason", "~tickets", "~share", ""], gone.map(([cause, count]) =>
        [caused(cause), number(count), percent(count / all), meter(count / all, "series-2")]))
      : el("p", { class: "empty" }, "Nobody left without a match in this time."))));
}

/** The time ranges that show more than a shorter one does, given how many minutes are known; the shortest always. */
export function worthShowing(ranges, knownMinutes) {
  return ranges.filter((_, i) => i === 0 || ranges[i - 1] < knownMinutes);
}

/** How many minutes are known, by the server's clock. */
function minutesOf(history) {
  return ((history.points.at(-1)?.at_ms ?? history.since_ms) - history.since_ms) / 60_000;
}

/** From when on the charts are known, and what that leaves out. */
function since(history, left) {
  const later = left.length ? `: charts begin there, and ${left.join(", ").replace(/, ([^,]+)$/, " and $1")} would show no more` : "";
  return `Known since ${moment(history.since_ms)}, when the server started${left.length || minutesOf(history) < 238 ? later : " or four hours ago"}`;
}

/** The view. */
export function queue(name, asked) {
  const top = el("div", { class: "head" }, head(name, null));
  const now = el("section", { class: "card", "aria-label": "Now" });
  const longest = longestWaiting(name);
  let teams = 0;
  let known = null;
  const canvas = el("canvas", { role: "application", "aria-label": "Those who wait, by rating and time waited" });
  const said = el("p", { class: "walked", role: "status" });
  const words = el("p", { class: "empty" });
  const colours = el("div", {});
  const pictured = box("Who waits now", canvas, said, colours, words);
  pictured.classList.add("picture");
  const past = el("div", {}, el("p", { class: "empty" }, "Reading the last minutes …"));
  const crowd = new Crowd(canvas, { said, onPick: (ticket) => { location.hash = `#/ticket/${ticket}`; }, onStripes: (striped) => { words.textContent = pictureWords(crowd.picture, striped); } });
  const closing = new AbortController();
  let minutes = RANGES.map(([, value]) => value).find((value) => String(value) === asked?.get("minutes")) ?? 30;
  let shownHead = "";

  const choices = el("div", { class: "choices", role: "group", "aria-label": "Time range" }, RANGES.map(([label, value]) =>
    el("button", { type: "button", onclick: () => {
      minutes = value;
      history.replaceState(null, "", `#/queue/${encodeURIComponent(name)}?minutes=${value}`);
      limit();
      read();
    } }, label)));
  /** Offer only the ranges that show more than others; one that was asked for too early counts as the longest of them. */
  const limit = () => {
    const values = RANGES.map(([, value]) => value);
    const open = worthShowing(values, known ? minutesOf(known) : values.at(-1));
    const shown = open.includes(minutes) ? minutes : open.at(-1);
    [...choices.children].forEach((button, i) => {
      button.disabled = !open.includes(values[i]);
      button.title = button.disabled ? "The server has not run for so long yet." : "";
      button.setAttribute("aria-pressed", String(values[i] === shown));
    });
    return RANGES.filter(([, value]) => !open.includes(value)).map(([label]) => label);
  };
  limit();

  const first = el("div", {});
  const node = el("div", { class: "cards one" }, top, now, first, el("div", { class: "aside" }, pictured, longest.node),
    el("div", { class: "head" }, el("h2", {}, "How it went lately"), choices), past);
  const read = async () => {
    try {
      const answer = await ask(`${path("queues", name, "history")}?minutes=${minutes}`, closing.signal);
      known = answer.history;
      limit();
      drawPast();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 0 && !known) fill(past, el("p", { class: "empty" }, AWAY));
      if (error instanceof Refused && error.status === 404) missing(error.message);
    }
  };
  const missing = (why) => fill(node, el("h1", {}, name), el("p", { class: "empty" }, `${why}.`), el("a", { href: "#/" }, "To the overview"));
  const drawPast = () => {
    if (known && teams) fill(past, charts(known, teams), el("p", { class: "empty" }, `${since(known, limit())}; a point is ${seconds(known.step_s)}. Waits are right to 2 %.`), details(known));
  };
  const timer = setInterval(read, EVERY_MS);
  read();

  return {
    title: name,
    queue: name,
    node,
    missing,
    redraw: () => crowd.draw(),
    returned: read,
    close() { closing.abort(); clearInterval(timer); crowd.close(); longest.close(); },
    frame(frame) {
      const card = frame.queues.find((each) => each.queue === name);
      if (card) {
        const before = teams;
        teams = teamsOf(card);
        if (teams !== before) drawPast();
        const key = `${card.matcher} ${card.format} ${alarms(card).map((one) => one.words).join()}`;
        if (key !== shownHead) { shownHead = key; fill(top, head(name, card)); }
        const late = card.over_s >= 240 ? "last 5 min" : `last ${seconds(Math.round(card.over_s))}`.replaceAll(" ", "\u00a0");
        if (untouched(card) !== (first.childElementCount > 0)) fill(first, untouched(card) ? beginning(name) : null);
        fill(now, numbers([
          ["waiting", many(card.waiting, "ticket")], ["players", number(card.players_waiting)], ["oldest wait", seconds(card.oldest_s)],
          [`joins, ${late}`, card.over_s < SHORT_S ? number(card.joins) : rate(card.joins_a_minute)], [`matches, ${late}`, card.over_s < SHORT_S ? number(card.matches) : rate(card.matches_a_minute)],
          [`wait, half within, ${late}`, seconds(card.wait_p50_s)], [`wait, 9 in 10 within, ${late}`, seconds(card.wait_p90_s)],
          ...evenness(card, `, ${late}`), [`ready checks kept, ${late}`, kept(card)],
          ["last wave", card.wave ? link(["queue", name, "wave", String(card.wave)], `no. ${number(card.wave)}`) : "none yet"],
          ["its plan took", seconds(card.wave_s)]]));
      }
      const picture = frame.picture;
      if (!picture || picture.queue !== name) return;
      crowd.show(picture);
      canvas.setAttribute("aria-label", `${many(picture.waiting, "ticket")} wait, by ${picture.ping_ms.length ? "ping" : "rating"} and ${picture.by_count ? "how many" : "time waited"}. Walk with the arrow keys.`);
      longest.show(picture);
      fill(colours, pictureLegend(picture, teams, "proposed just now"));
      words.textContent = pictureWords(picture, crowd.striped);
    },
  };
}
