// One queue: who waits, as a picture; its last minutes as charts; who waits how long, and why some leave.

import { ask, path, Refused } from "./api.js";
import { legend, lineChart, meter } from "./chart.js";
import { box, el, fill, link, numbers, table } from "./dom.js";
import { number, percent, points, rate, seconds, clock } from "./format.js";
import { bandColour, Crowd } from "./picture.js";

const RANGES = [["5 min", 5], ["30 min", 30], ["2 h", 120], ["4 h", 240]];
const EVERY_MS = 10_000;
const WORDS = {
  buckets: "A bar is a ticket's range, which grows while it waits; two meet when each is in the other's range.",
  ladder: "A bar is a ticket's window, which grows with every wave it misses; colours are sides.",
  cinder: "A bar is the usual range of a lobby's ratings; lobbies meet whose ranges overlap.",
  epgc: "Lobbies are made within a tier (colour), of those whose pings are close and who have waited long.",
  lom: "Sessions gather round leaders: lines go from the leader to its members.",
};

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

function charts(history) {
  const times = history.points.map((point) => point.at_ms);
  const column = (name) => history.points.map((point) => point[name]);
  const whole = (value) => number(value, value % 1 ? 1 : 0);
  return el("div", { class: "charts" },
    lineChart("Tickets waiting", times, [{ name: "waiting", values: column("depth"), colour: "series-1" }], whole),
    lineChart("Wait of the matched", times, [
      { name: "half within", values: column("wait_p50_s"), colour: "series-1" },
      { name: "9 in 10 within", values: column("wait_p90_s"), colour: "series-2" }], seconds),
    lineChart("How even matches are", times, [{ name: "predicted evenness", values: column("quality"), colour: "series-3" }], percent, { most: 1 }),
    lineChart("Gap between teams", times, [{ name: "rating points", values: column("gap"), colour: "series-4" }], points),
    lineChart(`Joins, matches and departures in ${history.step_s} s`, times, [
      { name: "joins", values: column("joins"), colour: "series-1" },
      { name: "matches", values: column("matches"), colour: "series-3" },
      { name: "left without a match", values: column("left"), colour: "series-2" }], whole));
}

function details(history) {
  const gone = Object.entries(history.gone);
  const all = gone.reduce((sum, [, count]) => sum + count, 0);
  return el("div", { class: "charts" },
    box("Wait by rating, tenths of the matched", history.by_rating.length
      ? waitsTable("Wait by rating", "rating", history.by_rating)
      : el("p", { class: "empty" }, "Ten matched tickets are needed first.")),
    box("Wait by party size", history.by_party.length
      ? waitsTable("Wait by party size", "players", history.by_party)
      : el("p", { class: "empty" }, "Nobody was matched within the last day.")),
    box("Left without a match, by reason", gone.length
      ? table("Left without a match", ["reason", "~tickets", "~share", ""], gone.map(([cause, count]) =>
        [cause.replaceAll("_", " "), number(count), percent(count / all), meter(count / all, "series-2")]))
      : el("p", { class: "empty" }, "Nobody left without a match in this time.")));
}

/** The view. */
export function queue(name) {
  const top = el("div", { class: "head" }, head(name, null));
  const now = el("div", {});
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

  const read = async () => {
    try {
      const { history } = await ask(`${path("queues", name, "history")}?minutes=${minutes}`, closing.signal);
      fill(past, charts(history), el("p", { class: "empty" }, `Known since ${clock(history.since_ms)}; a point is ${history.step_s} s.`), details(history));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Refused && error.status === 404) fill(past, el("p", { class: "empty" }, error.message));
    }
  };
  const timer = setInterval(read, EVERY_MS);
  read();

  return {
    title: name,
    queue: name,
    node: el("div", { class: "cards one" }, top, now, pictured,
      el("div", { class: "head" }, el("h2", {}, "The last hours"), choices), past),
    redraw: () => crowd.draw(),
    close() { closing.abort(); clearInterval(timer); crowd.close(); },
    frame(frame) {
      const card = frame.queues.find((each) => each.queue === name);
      if (card) {
        const key = `${card.mode} ${card.matcher} ${card.format}`;
        if (key !== shownHead) { shownHead = key; fill(top, head(name, card)); }
        fill(now, numbers([
          ["waiting", `${number(card.waiting)} tickets`], ["players", number(card.players_waiting)], ["oldest wait", seconds(card.oldest_s)],
          ["joins", rate(card.joins_a_minute)], ["matches", rate(card.matches_a_minute)],
          ["wait, half within", seconds(card.wait_p50_s)], ["wait, 9 in 10 within", seconds(card.wait_p90_s)],
          ["even", percent(card.quality)], ["ready checks kept", percent(card.ready_kept)],
          ["last wave", `no. ${number(card.wave)}, ${seconds(card.wave_s)}`]]));
      }
      const picture = frame.picture;
      if (!picture || picture.queue !== name) return;
      crowd.show(picture);
      canvas.setAttribute("aria-label", `${picture.waiting} tickets wait, by ${picture.ping_ms.length ? "ping" : "rating"} and time waited`);
      const marks = picture.bands.map((band, i) => ({ name: band, colour: bandColour(i) }));
      fill(colours, legend([...(marks.length ? marks : [{ name: picture.binned ? "tickets, larger = more" : "a ticket", colour: "series-1" }]), { name: "proposed just now", colour: "good" }]));
      const many = picture.binned ? `${number(picture.waiting)} tickets in ${picture.rating.length} bins. ` : "";
      words.textContent = `${many}${WORDS[picture.matcher] ?? "Up is a longer wait."}${picture.binned ? "" : " Click a dot to see its ticket."}`;
    },
  };
}
