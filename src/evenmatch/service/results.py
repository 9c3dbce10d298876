"""Results, corrections and seasons, carried out in the engine thread.

    report ──> the match's record, ratings from the book ──> rated once ──> ResultReported, in the journal
    correct ──> every later result of the ladder that a changed rating reaches, rated again ──> ResultCorrected
    season ──> SeasonStarted, and one statement over the ladder

1. Exactly once: a match has one result. The same again is answered as the first time, another is refused.
2. Rated once: events hold ratings, so replay never rates. What is read (results, ratings, history) is written in the
   same commit.
3. A correction gives what rating everything afresh would give: the order of results is that of their events, and each
   keeps its moment and the rules it was rated by. All of it is one commit.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.records import match_record
from evenmatch.core.results import is_running, no_match
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array, numbers
from evenmatch.domain.ids import match_id
from evenmatch.domain.rating import Rating, Season
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.numerics.predictions import odds_of, scored
from evenmatch.storage.ledger import Place, Result

from .group import Group
from .late_ratings import began_with, rated_after
from .rating_rules import Rules, late_players, rated_queue, ratings_of, rules_of, rules_then
from .result_bodies import Told

_PIECE: Final = 4_096
"""Ratings in one event of a correction."""


def report(group: Group, match: int, told: Told) -> Result | Refusal:
    """POST a result."""
    runner = group.runner
    known = None if is_running(runner.engine.state, match) else runner.book.result(match)
    if known is not None:
        if not known.void and _same(known, told) and known.leavers == _numbers(group, told, known.replaced):
            return known
        return Refusal(
            Reasons.RESULT_KNOWN,
            f"{match_id(match)} has another result since {known.at_ms}: an operator can correct it with PUT",
        )
    refusal = no_match(runner.engine.state, match)
    if refusal is not None:
        return refusal
    record = _record(group, match)
    if record is None:
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    result = _unrated(group, match, record, told)
    if isinstance(result, Refusal):
        return result
    queue = runner.engine.state.queues.get(result.queue)
    rules = None if queue is None else rules_of(queue.spec)
    raw: Array | None = None
    if rules is not None and len(result.rank) > 1:
        result, raw = _rated(group, rules, record, result)
    step = group.take(runner.engine.step(cmd.ReportResult(_event(result)), group.now_ms))
    if step.refusal is not None:
        return step.refusal
    result = msgspec.structs.replace(result, sequence=runner.engine.state.sequence - len(step.events) + 1)
    runner.book.enter([result], zip(result.places, result.after, strict=True))
    if raw is not None:
        predictions = scored(runner.book.predicted(result.queue), raw, np.array(result.rank))
        runner.book.predict(result.queue, predictions)
    return result


def _record(group: Group, match: int) -> dict[str, Any] | None:
    """A match's record: in the state, leaving it with this very commit, or long gone."""
    for step in group.departures:
        for left in step.departures:
            for number, record in left.matches:
                if number == match:
                    return record
    runner = group.runner
    found = match_record(runner.engine.state, match) or runner.journal.finished_match(match)
    # One that was called off stays without a result, in the state or out of it.
    return None if found is not None and found["standing"] == "cancelled" else found


def _same(known: Result, told: Told) -> bool:
    """Does a report say what is known? Gaps between ranks mean nothing."""
    ranked = all("rank" in team for team in (*known.told, *told.teams))
    return known.rank == told.ranks if ranked else known.told == told.teams


def _numbers(group: Group, told: Told, replaced: list[int]) -> list[int]:
    """The leavers by number, in order, with those who were replaced; -1 for names that nobody has."""
    known = group.runner.directory.shown(list(told.leavers))
    return sorted({*replaced, *(known.get(name, -1) for name in told.leavers)})


def _unrated(group: Group, match: int, record: dict[str, Any], told: Told) -> Result | Refusal:
    teams = record["teams"]
    result = Result(
        match=match,
        sequence=0,
        queue=record["queue"],
        ladder="",
        at_ms=group.now_ms,
        told=[],
        rank=[0] * len(teams),
        leavers=[],
        player=[player["player"] for team in teams for party in team for player in party["players"]],
        team=[place for place, team in enumerate(teams) for party in team for _ in party["players"]],
        replaced=[player for player, _, _ in record.get("left", [])],
        late=late_players(record),
    )
    queue = group.runner.engine.state.queues.get(record["queue"])
    if result.late and queue is not None:
        result = msgspec.structs.replace(result, late_rated=queue.spec.backfill.rated)
    return _with(group, result, told)


def _with(group: Group, result: Result, told: Told) -> Result | Refusal:
    """The result as it is told, if that fits the match."""
    teams = len(result.rank)
    if len(told.teams) != teams:
        return Refusal(
            Reasons.BAD_RESULT,
            f"{match_id(result.match)} has {teams} teams, but the result tells of {len(told.teams)}: "
            "tell of every team, in the order of the match",
        )
    leavers = _numbers(group, told, result.replaced)
    strangers = [
        name for name in told.leavers if not set(group.runner.directory.shown([name]).values()) & {*result.player}
    ]
    if strangers:
        return Refusal(
            Reasons.BAD_RESULT, f"{strangers[0]!r} did not play in {match_id(result.match)}: name a player of it"
        )
    return msgspec.structs.replace(result, told=told.teams, rank=told.ranks, leavers=leavers, void=False)


def _rated(group: Group, rules: Rules, record: dict[str, Any], result: Result) -> tuple[Result, Array]:
    """A result with its ratings, and the odds as the model says them."""
    book = group.runner.book
    sides, before = ratings_of(book, rules, record)
    first = began_with(msgspec.structs.replace(result, before=before))
    raw = rules.odds(first.before, first.team, len(result.rank), group.now_ms)
    return msgspec.structs.replace(
        result,
        ladder=rules.ladder,
        sides=sides,
        before=before,
        after=rated_after(rules, result, before),
        rated_by=rules.told,
        odds=odds_of(book.predicted(result.queue), raw).tolist(),
        season=book.season(rules.ladder),
    ), raw


def _event(result: Result) -> ev.ResultReported:
    return ev.ResultReported(
        at_ms=0,
        queue=result.queue,
        match=result.match,
        ladder=result.ladder,
        rank=numbers(result.rank),
        leaver=numbers(result.leavers),
        player=numbers(result.player),
        team=numbers(result.team),
        before=_triples(result.before),
        after=_triples(result.after),
        sides=tuple(result.sides),
    )


def _triples(ratings: Sequence[Rating]) -> Array:
    return np.array([rating[:3] for rating in ratings], np.float64).reshape(-1, 3)


# -- corrections -------------------------------------------------------------------------------------------------------


def correct(group: Group, match: int, told: Told | None) -> Result | Refusal:
    """PUT a result; None = annul it."""
    runner = group.runner
    known = runner.book.result(match)
    if known is None:
        refusal = no_match(runner.engine.state, match)
        return refusal or Refusal(Reasons.UNKNOWN_RESULT, f"{match_id(match)} has no result yet: POST one first")
    new = msgspec.structs.replace(known, void=True) if told is None else _with(group, known, told)
    if isinstance(new, Refusal) or new == known:
        return new
    new = msgspec.structs.replace(new, corrections=known.corrections + 1)
    changed: list[Result] = [new]
    ratings: dict[Place, Rating] = {}
    if known.before:
        later = runner.book.results_from(known.ladder, known.sequence)
        changed, ratings = rerate(new, later, runner.book.seasons(known.ladder))
    step = group.take(runner.engine.step(cmd.CorrectResult(tuple(_pieces(changed[0], ratings))), group.now_ms))
    assert step.refusal is None
    runner.book.enter(changed, ratings.items())
    return changed[0]


def rerate(
    corrected: Result, later: Iterator[Result], seasons: Sequence[Season]
) -> tuple[list[Result], dict[Place, Rating]]:
    """What becomes of a corrected result and of those after it, and the ratings that remain.

    `later` begins with the result as it was. A player whom no changed rating has reached yet still has the rating
    that the stored result says, so results without such players stay as they are.
    """
    known: dict[Place, Rating] = {}
    changed: list[Result] = []
    waiting = [season for season in seasons if season.sequence > corrected.sequence]
    for stored in later:
        while waiting and waiting[0].sequence < stored.sequence:
            known = _softened(known, waiting.pop(0))
        result = corrected if stored.match == corrected.match else stored
        places = result.places
        if changed and not any(place in known for place in places):
            continue
        before = [known.get(place, old) for place, old in zip(places, result.before, strict=True)]
        after = before if result.void else rated_after(rules_then(result), result, before)
        known.update(zip(places, after, strict=True))
        changed.append(msgspec.structs.replace(result, before=before, after=after))
    for season in waiting:
        known = _softened(known, season)
    return changed, known


def _softened(known: dict[Place, Rating], season: Season) -> dict[Place, Rating]:
    return {place: season.softened(rating) for place, rating in known.items()}


def _pieces(result: Result, ratings: dict[Place, Rating]) -> Iterator[ev.ResultCorrected]:
    """The events of a correction, with so many ratings each."""
    ladders = sorted({ladder for _, ladder in ratings})
    everyone = list(ratings.items())
    for first in range(0, max(1, len(everyone)), _PIECE):
        here = everyone[first : first + _PIECE]
        yield ev.ResultCorrected(
            at_ms=0,
            queue=result.queue,
            match=result.match,
            ladder=result.ladder,
            void=result.void,
            rank=numbers(result.rank),
            leaver=numbers(result.leavers),
            ladders=tuple(ladders),
            on=numbers([ladders.index(ladder) for (_, ladder), _ in here]),
            player=numbers([player for (player, _), _ in here]),
            rating=_triples([rating for _, rating in here]),
            more=first + _PIECE < len(everyone),
        )


# -- seasons -----------------------------------------------------------------------------------------------------------


def start_season(
    group: Group, queue: str, keep: float, deviation: float | None, number: int | None
) -> tuple[Rules, Season] | Refusal:
    """POST a season: ratings are pulled towards the start."""
    runner = group.runner
    rules = rated_queue(runner.engine.state.queues, queue)
    if isinstance(rules, Refusal):
        return rules
    seasons = runner.book.seasons(rules.ladder)
    running = seasons[-1].number if seasons else 1
    if number is not None and number != running + 1:
        if number == running and seasons:
            return rules, seasons[-1]  # it was started already: a repeat changes nothing
        return Refusal(
            Reasons.SEASON_OVER, f"season {running} of {rules.ladder!r} is running: the next is {running + 1}"
        )
    newcomer = rules.newcomer()
    least = newcomer.sigma / 2 if deviation is None else deviation
    if least > newcomer.sigma:
        return Refusal(
            Reasons.BAD_SEASON,
            f"deviation is {least:g}, more than a newcomer's: use 0 to {newcomer.sigma:g}",
        )
    event = ev.SeasonStarted(0, queue, rules.ladder, running + 1, keep, newcomer.mu, least, newcomer.sigma)
    step = group.take(runner.engine.step(cmd.StartSeason(event), group.now_ms))
    assert step.refusal is None
    sequence = runner.engine.state.sequence
    season = Season(running + 1, sequence, group.now_ms, keep, newcomer.mu, least, newcomer.sigma)
    runner.book.start_season(rules.ladder, season)
    return rules, season
