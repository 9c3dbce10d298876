"""What game servers ask for when a running match lacks players, and what is known of it."""

import hashlib
from typing import Any

import msgspec

from evenmatch.core.backfill import running
from evenmatch.core.notes import details_of
from evenmatch.core.records import match_record
from evenmatch.core.state import QueueState
from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import MATCH_PREFIX, match_id, number_of, proposal_id, ticket_id
from evenmatch.domain.refusals import Reasons, Refusal

from . import wire
from .access import Caller
from .handlers import Answer, command, look, problem, unknown
from .operators import noted
from .runner import Runner
from .views import Views

_encode = msgspec.json.Encoder().encode


class PlaceBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A place that a match asks somebody for."""

    team: int | str | None = None
    """Its number, counted from 0, or its name; not needed in a match of one team, or where `instead_of` says it."""
    instead_of: str | None = None
    """The player who left it, and who is free from now on; left out, the place is free already."""


class BackfillBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The places of a match that are to be filled."""

    places: list[PlaceBody]


class PlaceView(msgspec.Struct, frozen=True):
    """A place that a match asked somebody for."""

    place: int
    """Its number in the match, counted from 1."""
    team: int
    standing: str
    """open, invited or filled"""
    asked_ms: int
    team_name: str | None = None
    instead_of: str | None = None
    expires_ms: int | None = None
    """When it is given up, if nobody takes it; null = with the match."""
    proposal: str | None = None
    """The invitation."""
    ticket: str | None = None
    """Who is invited, or has taken it."""
    player: str | None = None
    """Who has taken it."""
    filled_ms: int | None = None


class LeftView(msgspec.Struct, frozen=True):
    """A player who left."""

    player: str
    team: int
    at_ms: int


class LateView(msgspec.Struct, frozen=True):
    """A ticket that joined late."""

    ticket: str
    at_ms: int


class BackfillView(msgspec.Struct, frozen=True):
    """What a match asked for, and what came of it."""

    match: str
    queue: str
    standing: str
    """Of the match: running, over or cancelled."""
    open: int
    """Places that nobody is invited to."""
    invited: int
    filled: int
    places: list[PlaceView]
    """Kept while the match is in memory."""
    left: list[LeftView]
    late: list[LateView]


class BackfillAnswer(msgspec.Struct, frozen=True):
    """What a match asked for."""

    backfill: BackfillView


def backfill_view(views: Views, match: int) -> BackfillView | Refusal:
    """What is known of a match's places; asked in the engine thread."""
    state = views.engine.state
    record = match_record(state, match) or views.journal.finished_match(match)
    if record is None:
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    queue = state.queues.get(record["queue"])
    filling = None if queue is None else queue.fillings.by_match.get(match)
    places = () if filling is None else filling.places
    left = record.get("left", [])
    numbers = [*(p.instead_of for p in places), *(p.player for p in places), *(player for player, _, _ in left)]
    names = views.directory.names([number for number in numbers if number])
    team_names = views.team_names(record["queue"], len(record["teams"]))
    return BackfillView(
        match=match_id(match),
        queue=record["queue"],
        standing=record["standing"],
        open=sum(place.open for place in places),
        invited=sum(place.invited for place in places),
        filled=sum(place.player > 0 for place in places),
        places=[
            PlaceView(
                place=place.number,
                team=place.team,
                team_name=team_names[place.team],
                instead_of=names.get(place.instead_of),
                standing=place.word,
                asked_ms=place.asked_ms,
                expires_ms=place.expires_ms or None,
                proposal=proposal_id(place.proposal) if place.proposal else None,
                ticket=ticket_id(place.ticket) if place.ticket else None,
                player=names.get(place.player),
                filled_ms=place.filled_ms or None,
            )
            for place in places
        ],
        left=[LeftView(names[player], team, at_ms) for player, team, at_ms in left],
        late=[LateView(ticket_id(int(ticket)), at_ms) for ticket, at_ms in record.get("late", {}).items()],
    )


def _asked(views: Views, match: int, body: BackfillBody, key: int, fingerprint: int) -> cmd.Command | Refusal:
    """The command, with teams and players by number; made in the engine thread."""
    found = running(views.engine.state, match)
    if key in views.engine.state.keys or isinstance(found, Refusal):
        return cmd.AskBackfill(match, (), key, fingerprint)  # the engine says what became of it
    queue, _ = found
    record = match_record(views.engine.state, match)
    assert record is not None
    teams = record["teams"]
    team_of = {player["player"]: n for n, team in enumerate(teams) for party in team for player in party["players"]}
    names = _names_of_teams(views, queue, match, teams)
    known = views.directory.shown([place.instead_of for place in body.places if place.instead_of is not None])
    places = []
    for place in body.places:
        player = 0 if place.instead_of is None else known.get(place.instead_of, -1)
        if player and player not in team_of:
            return Refusal(
                Reasons.NOT_IN_TEAM,
                f"{str(place.instead_of)[:128]!r} does not play in {match_id(match)}: name who left",
            )
        team = place.team
        if team is None:
            team = team_of[player] if player else 0 if len(teams) == 1 else -1
            if team < 0:
                return Refusal(Reasons.UNKNOWN_TEAM, f"{match_id(match)} has {len(teams)} teams: say which")
        elif isinstance(team, str):
            if team not in names:
                called = " or ".join(names) or f"0 to {len(teams) - 1}"
                return Refusal(Reasons.UNKNOWN_TEAM, f"{match_id(match)} has no team {team[:64]!r}: use {called}")
            team = names[team]
        places.append((team, player))
    return cmd.AskBackfill(match, tuple(places), key, fingerprint)


def _names_of_teams(views: Views, queue: QueueState, match: int, teams: list[Any]) -> dict[str, int]:
    """What the teams of a match may be called: by the queue's names, or by the sides that the matcher gave them."""
    named = {name: n for n, name in enumerate(views.team_names(queue.spec.name, len(teams))) if name is not None}
    sides = details_of(queue, match).get("sides")
    team_of = {party["ticket"]: n for n, team in enumerate(teams) for party in team}
    found = sides.items() if isinstance(sides, dict) else ()
    return {side: team_of[ticket] for side, ticket in found if ticket in team_of} | named


async def ask(
    runner: Runner, match: str, body: BackfillBody | wire.Problem, key: str | None, caller: Caller | None
) -> Answer:
    """POST /v1/matches/{id}/backfill"""
    if isinstance(body, wire.Problem):
        return problem(body)
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match[:128])
    digest = 0 if key is None else wire.key_digest(f"backfill {number}", key)
    if isinstance(digest, wire.Problem):
        return problem(digest)
    fingerprint = int.from_bytes(hashlib.blake2b(_encode(body), digest_size=8).digest()) >> 1
    refused = await command(
        runner,
        lambda _: _asked(runner.views, number, body, digest, fingerprint),
        audit=noted(caller, "ask_backfill", match),
    )
    return refused or await show(runner, match)


async def withdraw(runner: Runner, match: str, caller: Caller | None) -> Answer:
    """DELETE /v1/matches/{id}/backfill"""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match[:128])
    entry = noted(caller, "withdraw_backfill", match)
    return await command(runner, lambda _: cmd.WithdrawBackfill(number), audit=entry) or Answer(204)


async def show(runner: Runner, match: str) -> Answer:
    """GET /v1/matches/{id}/backfill"""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match[:128])
    return await look(runner, lambda views, _: backfill_view(views, number), BackfillAnswer)
