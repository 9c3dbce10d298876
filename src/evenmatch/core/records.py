"""A ticket or match as a record of plain values: for answers while it is in the state, for the read table after.

Records speak of players by number, like events; whoever shows one looks the names up. They are made many at a time,
for thousands leave the state in one tick.
"""

from itertools import islice
from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.events import Forgotten
from evenmatch.domain.match import in_names
from evenmatch.domain.ticket import Cause, Status

from .notes import details_of
from .state import (
    CALLED_OFF,
    FAILED,
    JOINED,
    MATCHED,
    OPEN,
    OVER,
    PLAYER_COLUMNS,
    PROPOSED,
    RUNNING,
    STARTING,
    WAITING,
    QueueState,
    State,
)

STANDINGS = {
    OPEN: "open",
    STARTING: "starting",
    RUNNING: "running",
    OVER: "over",
    CALLED_OFF: "cancelled",
    FAILED: "failed",
    JOINED: "joined",
}


_STATUSES = {status.value: status.word for status in Status}
_CAUSES = {cause.value: cause.word if cause else None for cause in Cause}


class Departures(msgspec.Struct, frozen=True):
    """Tickets and matches that leave the state, as (number, record)."""

    tickets: list[tuple[int, dict[str, Any]]]
    matches: list[tuple[int, dict[str, Any]]]


def departures(state: State, event: Forgotten) -> Departures:
    """The records of what an event is about to remove."""
    queue = state.queues[event.queue]
    tickets = _tickets(queue, state.slots_of(event.ticket), event.at_ms)
    matches = zip(event.proposal.tolist(), _matches(state, queue, state.rows_of(event.proposal)), strict=True)
    return Departures(
        list(zip(event.ticket.tolist(), tickets, strict=True)),
        [(number, record) for number, record in matches if record is not None],
    )


def ticket_record(state: State, ticket: int, now_ms: int) -> dict[str, Any] | None:
    """All that is known of a ticket that is in the state."""
    found = state.find_ticket(ticket)
    return None if found is None else _tickets(found[0], np.array([found[1]]), now_ms)[0]


def _tickets(queue: QueueState, slots: Array, now_ms: int) -> list[dict[str, Any]]:
    t = queue.tickets
    columns = (t.status, t.cause, t.joined_ms, t.misses, t.suspended, t.sequence, t.proposal)
    waited, parties = queue.waited_ms(slots, now_ms).tolist(), _parties(queue, slots)
    records = [
        {
            "queue": queue.spec.name,
            "status": _STATUSES[status],
            "cause": _CAUSES[cause],
            "joined_ms": joined_ms,
            "waited_ms": waited_ms,
            "misses": misses,
            "suspended": bool(suspended) and status == WAITING,
            "sequence": sequence,
            "players": players,
            "proposal": number if status == PROPOSED else None,
            "match": number if status == MATCHED else None,
        }
        for status, cause, joined_ms, misses, suspended, sequence, number, waited_ms, players in zip(
            *(column[slots].tolist() for column in columns), waited, parties, strict=True
        )
    ]
    for place in np.flatnonzero(t.will[slots]).tolist():
        records[place]["backfill"] = bool(t.will[slots[place]] == 1)
    return records


def _parties(queue: QueueState, slots: Array) -> list[list[dict[str, Any]]]:
    """The players of each ticket."""
    rows = queue.player_rows(slots)
    names = [name for name in queue.players.names if name not in PLAYER_COLUMNS]
    facts = [getattr(queue.players, name)[rows] for name in names]
    values = [_or_none(fact) for fact in facts]
    numbers = queue.players.player[rows].tolist()
    players = [dict(zip(("player", *names), told, strict=True)) for told in zip(numbers, *values, strict=True)]
    for name, kept in queue.traits.items():
        for player, row in zip(players, rows.tolist(), strict=True):
            if row in kept:
                player[name] = kept[row][1]
    left = iter(players)
    return [list(islice(left, size)) for size in queue.tickets.size[slots].tolist()]


def _or_none(column: Array) -> list[float | None]:
    """The values of a column, None for NaN."""
    values: list[float | None] = column.tolist()
    for place in np.flatnonzero(np.isnan(column)).tolist():
        values[place] = None
    return values


def proposal_record(state: State, proposal: int) -> dict[str, Any] | None:
    """All that is known of a proposal or match that is in the state; `players` stand team by team."""
    found = state.find_proposal(proposal)
    return None if found is None else _proposals(state, found[0], np.array([found[1]]))[0]


def _proposals(state: State, queue: QueueState, rows: Array, made: Array | None = None) -> list[dict[str, Any]]:
    """`made`: when each came about, if not when it was proposed."""
    p = queue.proposals
    columns = (p.proposal, p.wave, p.made_ms if made is None else made, p.deadline_ms, p.pending, p.standing, p.cost)
    quality = _or_none(p.quality[rows])
    records = []
    for number, wave, made_ms, deadline_ms, pending, standing, cost, even, teams in zip(
        *(column[rows].tolist() for column in columns), quality, _teams(state, queue, rows), strict=True
    ):
        record: dict[str, Any] = {
            "queue": queue.spec.name,
            "wave": wave,
            "made_ms": made_ms,
            "deadline_ms": deadline_ms or None,
            "pending": pending,
            "standing": STANDINGS[standing],
            "cost": cost,
            "quality": even,
        }
        details = details_of(queue, number)
        if details:
            record["details"] = in_names(details, int)
        if standing not in (FAILED, JOINED):
            record["teams"] = teams
        found = queue.fillings.by_match.get(number)
        if found is not None and (found.joined or found.left):
            record["late"] = {str(ticket): when for ticket, _, when in found.joined}
            record["left"] = [[player, team, when] for player, team, when in found.left]
        records.append(record)
    return records


def _teams(state: State, queue: QueueState, rows: Array) -> list[list[list[dict[str, Any]]]]:
    """The tickets of each proposal, team by team; none of a failed one, whose tickets go their own ways."""
    p = queue.proposals
    roster, team_of = p.roster[rows], p.team_of[rows]
    filled = (roster >= 0) & ~np.isin(p.standing[rows], (FAILED, JOINED))[:, None]
    count, tickets, team_of = np.count_nonzero(filled, axis=1), roster[filled], team_of[filled]
    if len(queue.fillings):
        seated = [queue.roster(row) for row in rows[count > 0].tolist()]
        count[count > 0] = [len(found) for found, _ in seated]
        tickets = np.concatenate([tickets[:0], *(found for found, _ in seated)])
        team_of = np.concatenate([team_of[:0], *(teams for _, teams in seated)])
    parties = _parties(queue, state.slots_of(tickets))
    seats = zip(tickets.tolist(), team_of.tolist(), parties, strict=True)
    found: list[list[list[dict[str, Any]]]] = []
    for many in count.tolist():
        told = list(islice(seats, many))
        teams: list[list[dict[str, Any]]] = [[] for _ in range(max([team for _, team, _ in told], default=-1) + 1)]
        for ticket, team, players in told:
            teams[team].append({"ticket": ticket, "players": players})
        found.append(teams)
    return found


def match_record(state: State, match: int) -> dict[str, Any] | None:
    """All that is known of a match that is in the state; None for a proposal that is not one."""
    found = state.find_proposal(match)
    return None if found is None else _matches(state, found[0], np.array([found[1]]))[0]


def _matches(state: State, queue: QueueState, rows: Array) -> list[dict[str, Any] | None]:
    records = _proposals(state, queue, rows, queue.proposals.over_ms)
    return [None if record["standing"] in ("open", "failed", "joined") else record for record in records]
