"""What becomes of the request for a game server: a match is given one, or nobody gives it any.

Who is asked, how often, and what was answered is the service's (`service/deliveries.py`); what is known of a server
lives in the journal's outbox. Here is what only the state knows: whether there still is such a match, and which tickets
are to hear of it. A match that is to start and gets no server fails without blame, and everybody waits again (I6).
"""

import msgspec
import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.events import AllocationFailed, ServerAllocated
from evenmatch.domain.ids import match_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause

from .decision import Decision
from .starting import without_blame
from .state import OVER, RUNNING, STARTING, QueueState, State


class _Asked(msgspec.Struct, frozen=True):
    """A match that a server was asked for."""

    tickets: Array = NONE
    """Those of its tickets that are in the state."""
    previous: Array = NONE
    starting: tuple[QueueState, int] | None = None
    """Its queue and slot, if it is to start."""


def _asked(state: State, match: int, name: str) -> _Asked | Refusal:
    found = state.find_proposal(match)
    if found is None:
        if state.had_proposal(match):
            return _Asked()
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    queue, slot = found
    assert queue.spec.name == name, f"{match_id(match)} is not of {name}"
    standing = int(queue.proposals.standing[slot])
    if standing not in (STARTING, RUNNING, OVER):
        return Refusal(Reasons.MATCH_OVER, f"{match_id(match)} is not played: it needs no server")
    tickets, _ = queue.roster(slot)
    tickets = tickets[state.tickets_at.find(tickets) >= 0]
    previous = queue.tickets.sequence[state.slots_of(tickets)]
    return _Asked(tickets, previous, found if standing == STARTING else None)


def give(state: State, command: cmd.GiveServer, now_ms: int) -> Decision | Refusal:
    """A match has got a server."""
    asked = _asked(state, command.match, command.queue)
    if isinstance(asked, Refusal):
        return asked
    event = ServerAllocated(
        at_ms=now_ms,
        queue=command.queue,
        match=command.match,
        address=command.address,
        port=command.port,
        token=command.token,
        attempts=command.attempts,
        ticket=asked.tickets,
        previous=asked.previous,
    )
    return Decision((event,))


def give_up(state: State, command: cmd.GiveUpServer, now_ms: int) -> Decision | Refusal:
    """A match gets none."""
    asked = _asked(state, command.match, command.queue)
    if isinstance(asked, Refusal):
        return asked
    failed = AllocationFailed(
        at_ms=now_ms,
        queue=command.queue,
        match=command.match,
        why=command.why,
        attempts=command.attempts,
        ticket=asked.tickets,
        previous=asked.previous,
    )
    if asked.starting is None:
        return Decision((failed,))
    queue, slot = asked.starting
    returned = without_blame(state, queue, np.array([slot]), Cause.START_FAILED, now_ms)
    links = np.full(len(returned.returned), state.sequence + 1)  # the event before it in this decision
    return Decision((failed, msgspec.structs.replace(returned, returned_previous=links)))


def touch_served(state: State, event: ServerAllocated | AllocationFailed) -> None:
    """Part of evolve: the stories of these tickets go on with this event."""
    if len(event.ticket):
        queue = state.queues[event.queue]
        slots = state.slots_of(event.ticket)
        queue.tickets.sequence[slots] = state.sequence
        queue.tickets.dirty[slots] = True
