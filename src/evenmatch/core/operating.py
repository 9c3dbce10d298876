"""What operators may do to a queue and to those in it. Why they did it stands in the audit, not here."""

import numpy as np

from evenmatch.domain.events import CooldownsEnded, Event, ProposalsFailed, QueueModeSet, TicketsGone
from evenmatch.domain.ids import match_id, ticket_id
from evenmatch.domain.queue import Mode
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause, Status

from .backfill import ended
from .decision import NOTHING, Decision
from .joining import unknown_queue, unknown_ticket
from .starting import without_blame
from .state import OPEN, PROPOSED, RUNNING, STARTING, WAITING, QueueState, State


def set_mode(state: State, name: str, mode: Mode, now_ms: int) -> Decision | Refusal:
    """Pause a queue, let it run empty, or open it again."""
    queue = state.queues.get(name)
    if queue is None:
        return unknown_queue(state, name)
    return NOTHING if queue.mode == mode else Decision((QueueModeSet(now_ms, name, mode),))


def cancel_ticket(state: State, ticket: int, now_ms: int) -> Decision | Refusal:
    """Take a ticket out of its queue, also out of a ready check; the others of that one wait again."""
    found = state.find_ticket(ticket)
    if found is None:
        return unknown_ticket(state, ticket)
    queue, slot = found
    t = queue.tickets
    if t.status[slot] == WAITING:
        slots = np.array([slot])
        return Decision((TicketsGone(now_ms, queue.spec.name, Cause.OPERATOR, t.ticket[slots], t.sequence[slots]),))
    if t.status[slot] == PROPOSED:
        return Decision((_taken_out(state, queue, ticket, int(t.proposal[slot]), now_ms),))
    word = Status(int(t.status[slot])).word
    return Refusal(Reasons.NOT_WAITING, f"{ticket_id(ticket)} is {word}: only a live ticket can be cancelled")


def _taken_out(state: State, queue: QueueState, ticket: int, proposal: int, now_ms: int) -> ProposalsFailed:
    tickets, _ = queue.roster(int(state.rows_of(np.array([proposal]))[0]))
    previous = queue.tickets.sequence[state.slots_of(tickets)]
    out = tickets == ticket
    return ProposalsFailed(
        at_ms=now_ms,
        queue=queue.spec.name,
        cause=Cause.OPERATOR,
        proposal=np.array([proposal]),
        blamed=tickets[out],
        blamed_previous=previous[out],
        returned=tickets[~out],
        returned_previous=previous[~out],
    )


def cancel_match(state: State, match: int, now_ms: int) -> Decision | Refusal:
    """End a proposal, a match that is to start, or one that runs."""
    found = state.find_proposal(match)
    if found is None and not state.had_proposal(match):
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    standing = 0 if found is None else int(found[0].proposals.standing[found[1]])
    if found is not None and standing in (OPEN, STARTING):
        return Decision((without_blame(state, found[0], np.array([found[1]]), Cause.OPERATOR, now_ms),))
    if found is not None and standing == RUNNING:
        return Decision(ended(state, found[0], np.array([match]), now_ms, cancelled=True))
    return Refusal(Reasons.MATCH_OVER, f"{match_id(match)} is over: correct its result instead")


def lift_cooldown(state: State, player: int, name: str, now_ms: int) -> Decision | Refusal:
    """Let a player join again at once."""
    if name and name not in state.queues:
        return unknown_queue(state, name)
    events: list[Event] = [
        CooldownsEnded(now_ms, queue.spec.name, np.array([player]), lifted=True)
        for queue in state.by_index
        if player in queue.books and name in ("", queue.spec.name)
    ]
    return Decision(tuple(events))
