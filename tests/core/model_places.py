"""Backfill in the plain twin of the core: places that matches ask somebody for, and who comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from evenmatch.domain.queue import milliseconds
from evenmatch.domain.refusals import Reasons
from tests.reference import backfill as twin

if TYPE_CHECKING:
    from .model import Model, Proposal


@dataclass
class Place:
    """A place that a match asked somebody for."""

    team: int
    asked_ms: int
    expires_ms: int
    """How long it stays open; 0 = as long as the match."""
    age_ms: int = 0
    """Without downtime."""
    ticket: int | None = None
    filled: bool = False


def teams_of(model: Model, match: Proposal) -> dict[int, int]:
    """Player -> team, of all who were ever in a match."""
    return {p: match.team_of[t] for t in match.tickets for p in model.tickets[t].players}


def ask(model: Model, number: int, places: list[tuple[int, int]], now_ms: int) -> Reasons | None:
    """A match asks for players."""
    match = model.proposals.get(number)
    if match is None or match.standing != "running":
        return Reasons.MATCH_NOT_RUNNING if model.first <= number < model.next_proposal else Reasons.UNKNOWN_MATCH
    teams = teams_of(model, match)
    leaving: list[int] = []
    for team, player in places:
        if team not in teams.values():
            return Reasons.UNKNOWN_TEAM
        if player:
            if teams.get(player) != team:
                return Reasons.NOT_IN_TEAM
            if player in match.left or player in leaving:
                return Reasons.ALREADY_LEFT
            leaving.append(player)
    for team, _ in places:
        first = [p for t in match.tickets if t not in match.late for p in model.tickets[t].players if teams[p] == team]
        there = [p for p, other in teams.items() if other == team and p not in match.left and p not in leaving]
        asked = [place for place in match.places if place.team == team and not place.filled]
        if len(there) + len(asked) + sum(other == team for other, _ in places) > len(first):
            return Reasons.NO_FREE_PLACE
    if not places:
        return Reasons.NO_FREE_PLACE
    match.left |= set(leaving)
    expires_ms = milliseconds(model.queues[match.queue].spec.backfill.expires_s)
    match.places += [Place(team, now_ms, expires_ms) for team, _ in places]
    return None


def withdraw(model: Model, number: int, now_ms: int) -> Reasons | None:
    """A match asks for nobody any more."""
    match = model.proposals.get(number)
    if match is None or match.standing != "running":
        return Reasons.MATCH_NOT_RUNNING if model.first <= number < model.next_proposal else Reasons.UNKNOWN_MATCH
    close(model, number, now_ms)
    return None


def close(model: Model, number: int, now_ms: int) -> None:
    """Whoever was invited to a match waits on, and its places are closed."""
    for invitation in [p for p in model.proposals.values() if p.joins == number and p.standing == "open"]:
        model.fail(invitation, [], "not_needed", now_ms)
    model.proposals[number].places = [place for place in model.proposals[number].places if place.filled]


def reopen(model: Model, invitation: Proposal) -> None:
    """Who was invited does not come."""
    match = model.proposals.get(invitation.joins)
    for place in match.places if match is not None else []:
        if place.ticket == invitation.tickets[0] and not place.filled:
            place.ticket = None


def late_places(model: Model, now_ms: int) -> list[tuple[int, Place]]:
    """The open places whose time is over."""
    since = now_ms - model.settled_ms
    return [
        (match.number, place)
        for match in model.proposals.values()
        for place in match.places
        if place.ticket is None and place.expires_ms and place.age_ms + since >= place.expires_ms
    ]


def fill(model: Model, name: str, now_ms: int) -> list[tuple[int, int, int]]:
    """A stage of backfill: (match, team, ticket) of each who is invited, in order."""
    queue = model.queues[name]
    if queue.mode == "paused":
        return []
    running = [p for p in model.proposals.values() if p.queue == name and p.standing == "running"]
    chosen = twin.choose(
        msgspec.structs.asdict(queue.spec.backfill),
        model.blocks,
        [
            twin.Waiting(
                t.number,
                list(t.players),
                list(t.ratings),
                str(t.group),
                model.waited_ms(t, now_ms),
                t.returned,
                avoid=t.avoid,
                will=t.will,
            )
            for t in model.snapshot(name, now_ms)
        ],
        [_asking(model, match) for match in running if any(place.ticket is None for place in match.places)],
        now_ms,
    )
    for number, team, ticket in chosen:
        _invite(model, number, team, ticket, now_ms)
    return chosen


def _asking(model: Model, match: Proposal) -> twin.Asking:
    ratings = {
        p: r for t in match.tickets for p, r in zip(model.tickets[t].players, model.tickets[t].ratings, strict=True)
    }
    invited = [place.ticket for place in match.places if place.ticket is not None and not place.filled]
    return twin.Asking(
        match.number,
        str(model.tickets[match.tickets[0]].group),
        {p: (team, ratings[p]) for p, team in teams_of(model, match).items() if p not in match.left},
        match.left,
        [(place.team, place.asked_ms) for place in match.places if place.ticket is None],
        {player for ticket in invited for player in model.tickets[ticket].players},
    )


def _invite(model: Model, number: int, team: int, ticket: int, now_ms: int) -> None:
    from .model import Proposal

    match, invited = model.proposals[number], model.tickets[ticket]
    spec = model.queues[match.queue].spec
    free = [place for place in match.places if place.ticket is None and place.team == team]
    for place in free[: len(invited.players)]:
        place.ticket = ticket
    check = spec.ready_check if spec.backfill.ready_check else None
    if check is None:
        join(model, match, team, ticket, now_ms)
        return
    lasts_ms = milliseconds(check.timeout_s)
    made = Proposal(model.next_proposal, match.queue, [ticket], list(invited.players), "open", lasts_ms)
    made.joins, made.team_of = number, {ticket: team}
    model.proposals[made.number] = made
    model.next_proposal += 1
    invited.status, invited.proposal = "proposed", made.number


def join(model: Model, match: Proposal, team: int, ticket: int, now_ms: int) -> None:
    """A ticket is in a running match."""
    came = model.tickets[ticket]
    for place in match.places:
        place.filled |= place.ticket == ticket
    match.tickets.append(ticket)
    match.late.append(ticket)
    match.team_of[ticket] = team
    match.players += came.players
    came.proposal = match.number
    model.finish(came, "matched", None, now_ms)
