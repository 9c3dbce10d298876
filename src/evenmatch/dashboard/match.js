// One match: its teams, how even it was said to be, where it is played and why there, how it ended.

import { askIfThere, askNamed, path } from "./api.js";
import { meter } from "./chart.js";
import { costTable } from "./cost.js";
import { box, el, link, numbers, stranger, table } from "./dom.js";
import { moment, number, percent, points } from "./format.js";
import { loaded } from "./loading.js";
import { shown } from "./trace.js";
import { venueRows } from "./venue.js";
import { costWords, measured, named } from "./words.js";

const KINDS = { running: "good", starting: "warn", over: "", cancelled: "bad" };

function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function ratingsOf(team) {
  return team.tickets.flatMap((one) => one.players.map((player) => player.rating)).filter((rating) => rating !== null && rating !== undefined);
}

function change(player) {
  if (!player || player.before === null || player.before === undefined) return "–";
  const more = Math.round(player.after) - Math.round(player.before);
  return `${more >= 0 ? "+" : "−"}${number(Math.abs(more))} → ${points(player.after)}`;
}

function teamBox(team, place, odds, result, roles, alone) {
  const won = result ? ` · rank ${result.rank}` : "";
  const rows = team.tickets.flatMap((one) => {
    const playing = roles?.find((each) => each.ticket === one.id)?.roles;
    return one.players.map((player, at) => {
      const after = result?.players.find((each) => each.id === player.id);
      const row = [link(["player", player.id], player.id), link(["ticket", one.id], one.id), points(player.rating), change(after)];
      return roles ? [...row, playing?.[at] ?? "–"] : row;
    });
  });
  return box(`${team.name ?? (alone ? "The lobby" : `Team ${place + 1}`)}${won}`,
    numbers([["mean rating", points(mean(ratingsOf(team)))], ...(alone ? [] : [["chance to win", percent(odds)]])]),
    odds === null || odds === undefined ? null : meter(odds, "series-3", "wide"),
    table(`Players of team ${place + 1}`, ["player", "ticket", "~rating", "~by the result", ...(roles ? ["role"] : [])], rows),
    team.left?.length ? el("p", { class: "empty" }, "Left: ", team.left.map((one, i) => [i ? ", " : "", stranger(one)])) : null);
}

function venueBox(details, cost, alone, counts) {
  const { venue, roles: _, terms, ...told } = details;
  const others = alone ? told : { ...told, gap: null };  // between teams it stands above already
  const where = venueRows(venue ?? others);
  const rest = Object.entries(others).filter(([name, value]) => value !== null && (venue || !where.some(([part]) => part === name)));
  return el("div", { class: "pair" },
    box("Where", where.length ? table("Where", ["what", "which", "why"], where) : el("p", { class: "empty" }, "This queue chooses no map and no server.")),
    box("What the matcher says", counts && !terms ? el("p", { class: "empty" }, counts) : null, terms ? costTable(terms, cost) : null,
      rest.length ? table("Details", ["what", "value"], rest.map(([name, value]) => [named(name), shown(value, name)])) : null,
      terms || rest.length ? null : el("p", { class: "empty" }, "Nothing more of this match.")));
}

/** What the two predictions are; Elo knows no doubt. */
function predictions(model) {
  const doubt = !model ? "the chance to win is what the rating model says" : model === "elo" ? "the chance to win is what Elo says of all players of a team" : "the chance to win also knows how unsure each rating is";
  return el("p", { class: "empty" }, `Two predictions: evenness looks at the gap between the teams' mean ratings alone, as the matcher did; ${doubt}, and is corrected by how earlier predictions came out.`);
}

/** The view. */
export function match(id) {
  return loaded(id, async (signal) => {
    const { match: found } = await askNamed("match", path("matches", id), signal);
    const [told, queue] = await Promise.all([found.reported ? askIfThere(path("matches", id, "result"), signal) : null, askIfThere(path("queues", found.queue), signal)]);
    const spec = queue?.queue.spec;
    const result = told?.result ?? null;
    const odds = result ? result.teams.map((team) => team.odds) : found.odds ?? [];
    const means = found.teams.map((team) => mean(ratingsOf(team))).filter((value) => value !== null);
    const gap = means.length > 1 ? Math.max(...means) - Math.min(...means) : null;
    return { again: found.standing !== "over" || !result, content: [
      el("div", { class: "head" }, el("h1", {}, id), el("span", { class: `tag ${KINDS[found.standing] ?? ""}` }, found.standing),
        result?.void ? el("span", { class: "tag bad" }, "result annulled") : null,
        el("span", { class: "choices" }, link(["queue", found.queue], `Queue ${found.queue}`), link(["queue", found.queue, "wave", String(found.wave)], `Wave ${found.wave}`))),
      numbers([["made", moment(found.made_ms)], ...(found.teams.length > 1 ? [["evenness, predicted", percent(found.quality)]] : []), ...(found.teams.length > 1 ? [["gap between teams", points(gap)]] : []), ["cost, lower is better", measured("cost", found.cost)],
        ["result", result ? `${moment(result.at_ms)}${result.corrections ? `, corrected ${result.corrections} times` : ""}` : "none yet"]]),
      odds?.length > 1 && found.quality !== null ? predictions(spec?.rating?.model) : null,
      el("div", { class: "teams" }, found.teams.map((team, place) => teamBox(team, place, odds?.[place] ?? null, result?.teams[place] ?? null, found.details?.roles, found.teams.length === 1))),
      venueBox(found.details ?? {}, found.cost, found.teams.length === 1, costWords(spec?.matcher.name)),
    ] };
  }, 5000);
}
