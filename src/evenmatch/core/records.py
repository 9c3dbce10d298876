"""A ticket or match as a record of plain values: for answers while it is in the state, for the read table after.

Records speak of players by number, like events; whoever shows one looks the names up.
"""

import math
from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.events import Forgotten
from evenmatch.domain.match import in_names
from evenmatch.domain.ticket import Cause, Status

from .notes import details_of
from .state import FAILED, OPEN, OVER, PLAYER_COLUMNS, RUNNING, QueueState, State


class Departures(msgspec.Struct, frozen=True):
    """Tickets and matches that leave the state, as (number, record)."""

    tickets: list[tuple[int, dict[str, Any]]]
    matches: list[tuple[int, dict[str, Any]]]


def departures(state: State, event: Forgotten) -> Departures:
    """The records of what an event is about to remove."""
    tickets = [(ticket, ticket_record(state, ticket, event.at_ms)) for ticket in event.ticket.tolist()]
    matches = [(match, match_record(state, match)) for match in event.proposal.tolist()]
    return Departures(
        [(number, record) for number, record in tickets if record is not None],
        [(number, record) for number, record in matches if record is not None],
    )


def ticket_record(state: State, ticket: int, now_ms: int) -> dict[str, Any] | None:
    """All that is known of a ticket that is in the state."""
    found = state.find_ticket(ticket)
    if found is None:
        return None
    queue, slot = found
    t = queue.tickets
    status = Status(int(t.status[slot]))
    number = int(t.proposal[slot])
    return {
        "queue": queue.spec.name,
        "status": status.word,
        "cause": Cause(int(t.cause[slot])).word if t.cause[slot] else None,
        "joined_ms": int(t.joined_ms[slot]),
        "waited_ms": int(queue.waited_ms(np.array([slot]), now_ms)[0]),
        "misses": int(t.misses[slot]),
        "suspended": bool(t.suspended[slot]) and status is Status.WAITING,
        "sequence": int(t.sequence[slot]),
        "players": _players(queue, slot),
        "proposal": number if status is Status.PROPOSED else None,
        "match": number if status is Status.MATCHED else None,
    }


def _players(queue: QueueState, slot: int) -> list[dict[str, Any]]:
    facts = [name for name in queue.players.names if name not in PLAYER_COLUMNS]
    players = []
    for row in queue.player_rows(np.array([slot])).tolist():
        values = {name: float(getattr(queue.players, name)[row]) for name in facts}
        players.append(
            {"player": int(queue.players.player[row])}
            | {name: None if math.isnan(value) else value for name, value in values.items()}
            | {name: kept[row][1] for name, kept in queue.traits.items() if row in kept}
        )
    return players


def proposal_record(state: State, proposal: int) -> dict[str, Any] | None:
    """All that is known of a proposal or match that is in the state; `players` stand team by team."""
    found = state.find_proposal(proposal)
    if found is None:
        return None
    queue, slot = found
    p = queue.proposals
    tickets, team_of = queue.roster(slot)
    record: dict[str, Any] = {
        "queue": queue.spec.name,
        "wave": int(p.wave[slot]),
        "made_ms": int(p.made_ms[slot]),
        "deadline_ms": int(p.deadline_ms[slot]) or None,
        "pending": int(p.pending[slot]),
        "standing": {OPEN: "open", RUNNING: "running", OVER: "over", FAILED: "failed"}[int(p.standing[slot])],
        "cost": float(p.cost[slot]),
        "quality": None if math.isnan(p.quality[slot]) else float(p.quality[slot]),
    }
    details = details_of(queue, proposal)
    if details:
        record["details"] = in_names(details, int)
    if p.standing[slot] != FAILED:  # the tickets of a failed one go their own ways
        slots = state.slots_of(tickets)
        record["teams"] = [
            [
                {"ticket": int(queue.tickets.ticket[s]), "players": _players(queue, s)}
                for s, team in zip(slots.tolist(), team_of.tolist(), strict=True)
                if team == wanted
            ]
            for wanted in range(max(team_of.tolist()) + 1)
        ]
    return record


def match_record(state: State, match: int) -> dict[str, Any] | None:
    """All that is known of a match that is in the state; None for a proposal that is not one."""
    record = proposal_record(state, match)
    if record is None or record["standing"] in ("open", "failed"):
        return None
    found = state.find_proposal(match)
    assert found is not None
    return record | {"made_ms": int(found[0].proposals.over_ms[found[1]])}
