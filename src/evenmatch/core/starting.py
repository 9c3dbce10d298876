"""The start of a match, where the game server has to confirm it.

Everybody has accepted (or nobody is asked), and the tickets stay proposed until the game server says that the match has
started: then it is made. If it says that it could not start, or says nothing in time, the proposal fails without blame
and everybody waits on as before (I6). So a match that is made has been started, and stays made.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.events import MatchMade, MatchStarting, ProposalsFailed
from evenmatch.domain.ids import match_id
from evenmatch.domain.queue import milliseconds
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause

from .decision import Decision
from .state import STARTING, QueueState, State
from .tables import lowest


def all_accepted(queue: QueueState, slot: int, previous: int, now_ms: int) -> MatchMade | MatchStarting:
    """What follows when the last player has accepted; `previous` is the sequence of the event that says so."""
    tickets, _ = queue.roster(slot)
    links = np.full(len(tickets), previous)
    confirm_ms = milliseconds(queue.spec.match.confirm_s)
    if confirm_ms:
        proposal = int(queue.proposals.proposal[slot])
        return MatchStarting(now_ms, queue.spec.name, proposal, now_ms + confirm_ms, tickets, links)
    return _made(queue, slot, tickets, links, now_ms)


def _made(queue: QueueState, slot: int, tickets: Array, previous: Array, now_ms: int) -> MatchMade:
    runs_ms = milliseconds(queue.spec.match.runs_s)
    return MatchMade(
        at_ms=now_ms,
        queue=queue.spec.name,
        proposal=int(queue.proposals.proposal[slot]),
        ends_ms=now_ms + runs_ms if runs_ms else 0,
        ticket=tickets,
        previous=previous,
    )


def _starting(state: State, match: int) -> tuple[QueueState, int] | Refusal:
    found = state.find_proposal(match)
    if found is not None and found[0].proposals.standing[found[1]] == STARTING:
        return found
    if state.had_proposal(match):
        return Refusal(Reasons.MATCH_NOT_STARTING, f"nobody waits for {match_id(match)} to start")
    return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")


def confirm(state: State, match: int, now_ms: int) -> Decision | Refusal:
    """The game server says that a match has started."""
    found = _starting(state, match)
    if isinstance(found, Refusal):
        return found
    queue, slot = found
    tickets, _ = queue.roster(slot)
    return Decision((_made(queue, slot, tickets, queue.tickets.sequence[state.slots_of(tickets)], now_ms),))


def fail(state: State, match: int, now_ms: int) -> Decision | Refusal:
    """The game server says that a match could not start."""
    found = _starting(state, match)
    if isinstance(found, Refusal):
        return found
    queue, slot = found
    return Decision((without_blame(state, queue, np.array([slot]), Cause.START_FAILED, now_ms),))


def overdue(queue: QueueState, standing: int, now_ms: int, most: int) -> tuple[Array, int | None]:
    """The slots of proposals of this standing whose time is over, `most` at most; and when the next one's will be."""
    p = queue.proposals
    concerned = p.standing == standing
    due = np.flatnonzero(concerned & (p.deadline_ms <= now_ms))
    later = p.deadline_ms[concerned & (p.deadline_ms > now_ms)]
    next_ms = int(later.min()) if len(later) else None
    if len(due) > most:
        next_ms = now_ms
    return lowest(due, p.proposal[due], most), next_ms


def given_up(state: State, queue: QueueState, now_ms: int, most: int) -> tuple[ProposalsFailed | None, int | None]:
    """The matches whose start nobody confirmed in time, `most` of them at most, and when the next one will be."""
    due, next_ms = overdue(queue, STARTING, now_ms, most)
    if not len(due):
        return None, next_ms
    return without_blame(state, queue, due, Cause.NOT_CONFIRMED, now_ms), next_ms


def without_blame(state: State, queue: QueueState, slots: Array, cause: Cause, now_ms: int) -> ProposalsFailed:
    """Proposals fail, and everybody waits again."""
    roster = queue.proposals.roster[slots]
    tickets = roster[roster >= 0]
    nobody = np.zeros(0, np.int64)
    return ProposalsFailed(
        at_ms=now_ms,
        queue=queue.spec.name,
        cause=cause,
        proposal=queue.proposals.proposal[slots],
        blamed=nobody,
        blamed_previous=nobody,
        returned=tickets,
        returned_previous=queue.tickets.sequence[state.slots_of(tickets)],
    )
