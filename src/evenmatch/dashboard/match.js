// One match: its teams, how even it was said to be, where it is played and why there, how it ended.

import { ask, askIfThere, path } from "./api.js";
import { meter } from "./chart.js";
import { box, el, link, numbers, table } from "./dom.js";
import { moment, number, percent, points } from "./format.js";
import { loaded } from "./loading.js";
import { shown } from "./trace.js";
import { venueRows } from "./venue.js";
import { named } from "./words.js";

const KINDS = { running: "good", starting: "warn", over: "", cancelled: "bad" };

function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function ratingsOf(team) {
  return team.tickets.flatMap((one) => one.players.map((player) => player.rating)).filter((rating) => rating !== null && rating !== undefined);
}

function change(player) {
  if (!player || player.before === null || player.before === undefined) return "–";
  const more = player.after - player.before;
  return `${more >= 0 ? "+" : "−"}${number(Math.abs(more))} → ${points(player.after)}`;
}

function teamBox(team, place, odds, result) {
  const won = result ? ` · rank ${result.rank}` : "";
  const rows = team.tickets.flatMap((one) => one.players.map((player) => {
    const after = result?.players.find((each) => each.id === player.id);
    return [link(["player", player.id], player.id), link(["ticket", one.id], one.id), points(player.rating), change(after)];
  }));
  return box(`${team.name ?? `Team ${place + 1}`}${won}`,
    numbers([["mean rating", points(mean(ratingsOf(team)))], ["chance to win", percent(odds)]]),
    odds === null || odds === undefined ? null : meter(odds, "series-3", "wide"),
    table(`Players of team ${place + 1}`, ["player", "ticket", "~rating", "~by the result"], rows),
    team.left?.length ? el("p", { class: "empty" }, `Left: ${team.left.join(", ")}`) : null);
}

function venueBox(details) {
  const { venue, ...others } = details;
  const where = venueRows(venue ?? others);
  const rest = Object.entries(others).filter(([name]) => venue || !where.some(([part]) => part === name));
  return el("div", { class: "pair" },
    box("Where", where.length ? table("Where", ["what", "which", "why"], where) : el("p", { class: "empty" }, "This queue chooses no map and no server.")),
    box("What the matcher says", rest.length ? table("Details", ["what", "value"], rest.flatMap(([name, value]) => (name === "terms"
      ? Object.entries(value).map(([term, size]) => [named(term), shown(size, term)]) : [[named(name), shown(value, name)]])))
      : el("p", { class: "empty" }, "Nothing more of this match.")));
}

/** The view. */
export function match(id) {
  return loaded(id, async (signal) => {
    const { match: found } = await ask(path("matches", id), signal);
    const told = found.reported ? await askIfThere(path("matches", id, "result"), signal) : null;
    const result = told?.result ?? null;
    const odds = result ? result.teams.map((team) => team.odds) : found.odds ?? [];
    const means = found.teams.map((team) => mean(ratingsOf(team))).filter((value) => value !== null);
    const gap = means.length > 1 ? Math.max(...means) - Math.min(...means) : null;
    return { again: found.standing !== "over" || !result, content: [
      el("div", { class: "head" }, el("h1", {}, id), el("span", { class: `tag ${KINDS[found.standing] ?? ""}` }, found.standing),
        result?.void ? el("span", { class: "tag bad" }, "result annulled") : null,
        el("span", { class: "choices" }, link(["queue", found.queue], `Queue ${found.queue}`), link(["queue", found.queue, "wave", String(found.wave)], `Wave ${found.wave}`))),
      numbers([["made", moment(found.made_ms)], ["predicted evenness", percent(found.quality)], ["gap between teams", points(gap)], ["cost", number(found.cost, 2)],
        ["result", result ? `${moment(result.at_ms)}${result.corrections ? `, corrected ${result.corrections} times` : ""}` : "none yet"]]),
      el("div", { class: "teams" }, found.teams.map((team, place) => teamBox(team, place, odds?.[place] ?? null, result?.teams[place] ?? null))),
      venueBox(found.details ?? {}),
    ] };
  }, 5000);
}
