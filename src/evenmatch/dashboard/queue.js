// One queue: who waits, as a picture; its last minutes as charts; who waits how long, and why some leave.

import { ask, path, Refused } from "./api.js";
import { legend, lineChart, meter } from "./chart.js";
import { box, el, fill, link, numbers, table } from "./dom.js";
import { clock, many, number, percent, points, rate, seconds } from "./format.js";
import { longestWaiting } from "./longest.js";
import { bandColour, Crowd } from "./picture.js";

const RANGES = [["5 min", 5], ["30 min", 30], ["2 h", 120], ["4 h", 240]];
const EVERY_MS = 10_000;
function head(name, card) {
  return [
    el("h1", {}, name),
    card ? el("span", { class: "tag" }, `${card.matcher} ${card.format}`) : null,
    card && card.mode !== "open" ? el("span", { class: "tag warn" }, card.mode) : null,
    el("span", { class: "choices" }, link(["queue", name, "waves"], "Past waves"), link(["queue", name, "operate"], "Operate")),
  ];
}

function waitsTable(caption, what, rows) {
  const most = Math.max(0.001, ...rows.map((row) => row.p90_s));
  return table(caption, [what, "~matched", "~half within", "~9 in 10 within", ""],
    rows.map((row) => [row.label.replace(" to ", "\u2013"), number(row.matched), seconds(row.p50_s), seconds(row.p90_s), meter(row.p90_s / most)]));
}

function charts(history, teams) {
  const times = history.points.map((point) => point.at_ms);
  const column = (name) => history.points.map((point) => point[name]);
  const known = (name) => history.points.some((point) => point[name] !== null);
  const whole = (value) => number(value, value % 1 ? 1 : 0);
  const drawn = [
    lineChart("Tickets waiting", times, [{ name: "waiting", values: column("depth"), colour: "series-1" }], whole),
    lineChart("Wait of the matched", times, [
      { name: "half within", values: column("wait_p50_s"), colour: "series-1" },
      { name: "9 in 10 within", values: column("wait_p90_s"), colour: "series-2" }], seconds),
    lineChart(`Joins, matches and departures in ${history.step_s} s`, times, [
      { name: "joins", values: column("joins"), colour: "series-1" },
      { name: "matches", values: column("matches"), colour: "series-3" },
      { name: "left unmatched", values: column("left"), colour: "series-2" }], whole),
    teams > 1 ? lineChart("How even matches are", times, [{ name: "predicted evenness", values: column("quality"), colour: "series-3" }], percent, { most: 1 }) : null,
    lineChart(teams > 1 ? "Gap between teams" : "Gap within a lobby", times, [{ name: "rating", values: column("gap"), colour: "series-4" }], points),
    known("ready_kept") ? lineChart("Ready checks kept", times, [{ name: "led to a match", values: column("ready_kept"), colour: "series-5" }], percent, { most: 1 }) : null,
  ].filter(Boolean);
  return el("div", { class: `charts of-${drawn.length}` }, drawn);
}

function details(history) {
  const gone = Object.entries(history.gone);
  const all = gone.reduce((sum, [, count]) => sum + count, 0);
  return el("div", { class: "pair" },
    box("Wait by rating, tenths of the matched", history.by_rating.length
      ? waitsTable("Wait by rating", "rating", history.by_rating)
      : el("p", { class: "empty" }, "Ten matched tickets are needed first.")),
    el("div", { class: "stack" }, box("Wait by party size", history.by_party.length
      ? waitsTable("Wait by party size", "players", history.by_party)
      : el("p", { class: "empty" }, "Nobody was matched within the last day.")),
    box("Left without a match, by reason", gone.length
      ? table("Left without a match", ["reason", "~tickets", "~share", ""], gone.map(([cause, count]) =>
        [cause.replaceAll("_", " "), number(count), percent(count / all), meter(count / all, "series-2")]))
      : el("p", { class: "empty" }, "Nobody left without a match in this time."))));
}

/** The view. */
export function queue(name) {
  const top = el("div", { class: "head" }, head(name, null));
  const now = el("section", { class: "card", "aria-label": "Now" });
  const longest = longestWaiting();
  let teams = 0;
  let known = null;
  const canvas = el("canvas", { role: "img", "aria-label": "Those who wait, by rating and time waited" });
  const words = el("p", { class: "empty" });
  const colours = el("div", {});
  const pictured = box("Who waits now", canvas, colours, words);
  pictured.classList.add("picture");
  const past = el("div", {}, el("p", { class: "empty" }, "Reading the last minutes …"));
  const crowd = new Crowd(canvas, { onPick: (ticket) => { location.hash = `#/ticket/${ticket}`; } });
  const closing = new AbortController();
  let minutes = 30;
  let shownHead = "";

  const choices = el("div", { class: "choices", role: "group", "aria-label": "Time range" }, RANGES.map(([label, value]) =>
    el("button", { type: "button", "aria-pressed": String(value === minutes), onclick: (event) => {
      minutes = value;
      for (const button of choices.children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      read();
    } }, label)));

  const node = el("div", { class: "cards one" }, top, now, el("div", { class: "aside" }, pictured, longest.node),
    el("div", { class: "head" }, el("h2", {}, "The last hours"), choices), past);
  const read = async () => {
    try {
      const { history } = await ask(`${path("queues", name, "history")}?minutes=${minutes}`, closing.signal);
      known = history;
      drawPast();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refused && error.status === 404) missing(error.message);
    }
  };
  const missing = (why) => fill(node, el("h1", {}, name), el("p", { class: "empty" }, `${why}.`), el("a", { href: "#/" }, "To the overview"));
  const drawPast = () => {
    if (known && teams) fill(past, charts(known, teams), el("p", { class: "empty" }, `Known since ${clock(known.since_ms)}; a point is ${known.step_s} s.`), details(known));
  };
  const timer = setInterval(read, EVERY_MS);
  read();

  return {
    title: name,
    queue: name,
    node,
    missing,
    redraw: () => crowd.draw(),
    close() { closing.abort(); clearInterval(timer); crowd.close(); },
    frame(frame) {
      const card = frame.queues.find((each) => each.queue === name);
      if (card) {
        const before = teams;
        teams = Number(card.format.split("x")[0]);
        if (teams !== before) drawPast();
        const key = `${card.mode} ${card.matcher} ${card.format}`;
        if (key !== shownHead) { shownHead = key; fill(top, head(name, card)); }
        fill(now, numbers([
          ["waiting", many(card.waiting, "ticket")], ["players", number(card.players_waiting)], ["oldest wait", seconds(card.oldest_s)],
          ["joins", rate(card.joins_a_minute)], ["matches", rate(card.matches_a_minute)],
          ["wait, half within", seconds(card.wait_p50_s)], ["wait, 9 in 10 within", seconds(card.wait_p90_s)],
          ["matches are even", percent(card.quality)], ["ready checks kept", percent(card.ready_kept)],
          ["last wave", `no. ${number(card.wave)}, ${seconds(card.wave_s)}`]]));
      }
      const picture = frame.picture;
      if (!picture || picture.queue !== name) return;
      crowd.show(picture);
      canvas.setAttribute("aria-label", `${picture.waiting} tickets wait, by ${picture.ping_ms.length ? "ping" : "rating"} and time waited`);
      longest.show(picture);
      const marks = picture.bands.map((band, i) => ({ name: band, colour: bandColour(i) }));
      fill(colours, legend([...(marks.length ? marks : [{ name: picture.binned ? "tickets, larger = more" : "a ticket", colour: "series-1" }]), { name: teams > 1 ? "proposed just now, rings = the other team" : "proposed just now", colour: "made" }]));
      const bins = picture.binned ? `${number(picture.waiting)} tickets in ${picture.rating.length} bins. ` : "";
      words.textContent = `${bins}Up is a longer wait. ${picture.words}${picture.binned ? "" : " Click a dot to see its ticket."}`;
    },
  };
}
