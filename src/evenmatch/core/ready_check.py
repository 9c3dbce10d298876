"""The ready check: every player of a proposal accepts, or it fails for all.

A decline ends it at once and a lapse at its deadline. The tickets to blame (the decliner's; at a lapse every ticket
with a player who did not accept) are cancelled; all others return to the queue with the wait, misses and place they had
(I6). A party answers for its members: one decline takes the whole ticket out. But only the players who declined or did
not answer get a cool-down (`cooldowns`), and a milder one if their connection was lost.
"""

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.events import Accepted, ProposalsFailed
from evenmatch.domain.ids import proposal_id
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Cause

from .backfill import joins_match, still_asked
from .cooldowns import Penalties, penalties
from .decision import Decision
from .starting import all_accepted, overdue
from .state import FAILED, JOINED, OPEN, QueueState, State


def _member(state: State, proposal: int, player: int) -> tuple[QueueState, int, int] | Refusal:
    """The queue, the proposal's slot and the player's row, if the player may still answer."""
    found = state.find_proposal(proposal)
    if found is None:
        if state.had_proposal(proposal):
            return Refusal(Reasons.PROPOSAL_OVER, f"{proposal_id(proposal)} ended a while ago")
        return Refusal(Reasons.UNKNOWN_PROPOSAL, f"no proposal is called {proposal_id(proposal)}")
    queue, slot = found
    tickets, _ = queue.roster(slot)
    if queue.proposals.standing[slot] == JOINED:
        return Refusal(Reasons.ALREADY_MATCHED, f"{proposal_id(proposal)} was accepted, and its match joined")
    if queue.proposals.standing[slot] == FAILED:
        # Its blamed tickets may be forgotten already, so membership can no longer be told.
        return Refusal(
            Reasons.PROPOSAL_OVER, f"{proposal_id(proposal)} has failed; whoever was not to blame is back in the queue"
        )
    rows = queue.player_rows(state.slots_of(tickets))
    place = np.flatnonzero(queue.players.player[rows] == player)
    if not len(place):
        return Refusal(Reasons.NOT_A_MEMBER, f"this player is in no team of {proposal_id(proposal)}")
    return queue, slot, int(rows[place[0]])


def accept(state: State, proposal: int, player: int, now_ms: int) -> Decision | Refusal:
    """A player accepts; the last one makes the match."""
    found = _member(state, proposal, player)
    if isinstance(found, Refusal):
        return found
    queue, slot, row = found
    if queue.players.accepted[row] or queue.proposals.standing[slot] != OPEN:
        return Refusal(Reasons.ALREADY_ACCEPTED, f"this player has accepted {proposal_id(proposal)} before")
    if now_ms >= queue.proposals.deadline_ms[slot] or not still_asked(state, queue, proposal):
        return Refusal(Reasons.PROPOSAL_OVER, f"the time to accept {proposal_id(proposal)} is over")
    tickets, _ = queue.roster(slot)
    slots = state.slots_of(tickets)
    pending = int(queue.proposals.pending[slot]) - 1
    accepted = Accepted(
        at_ms=now_ms,
        queue=queue.spec.name,
        proposal=proposal,
        player=player,
        pending=pending,
        ticket=tickets,
        previous=queue.tickets.sequence[slots],
    )
    if pending:
        return Decision((accepted,))
    if proposal in queue.fillings.invited:
        return Decision((accepted, joins_match(state, queue, slot, state.sequence + 1, now_ms)))
    return Decision((accepted, all_accepted(queue, slot, state.sequence + 1, now_ms)))


def decline(state: State, proposal: int, player: int, now_ms: int) -> Decision | Refusal:
    """A player declines: the proposal fails at once."""
    found = _member(state, proposal, player)
    if isinstance(found, Refusal):
        return found
    queue, slot, row = found
    t = queue.tickets
    tickets, _ = queue.roster(slot)
    slots = state.slots_of(tickets)
    blamed = (t.start[slots] <= row) & (row < t.start[slots] + t.size[slots])
    return _declined(state, queue, slot, blamed, np.array([player]), now_ms)


def withdraw(state: State, queue: QueueState, ticket_slot: int, player: int, now_ms: int) -> Decision | Refusal:
    """A proposed ticket is withdrawn by one of its players, who is to blame.

    Where it is not known by whom: those who have not accepted are; where all have, the one who leads the party.
    """
    t = queue.tickets
    rows = queue.player_rows(np.array([ticket_slot]))
    party = queue.players.player[rows]
    guilty = party[party == player]
    if not len(guilty):
        guilty = party[queue.players.accepted[rows] == 0]
    (slot,) = state.rows_of(t.proposal[[ticket_slot]]).tolist()
    blamed = queue.roster(slot)[0] == t.ticket[ticket_slot]
    return _declined(state, queue, slot, blamed, guilty if len(guilty) else party[:1], now_ms)


def _declined(
    state: State, queue: QueueState, slot: int, blamed: Array, guilty: Array, now_ms: int
) -> Decision | Refusal:
    proposal = int(queue.proposals.proposal[slot])
    if queue.proposals.standing[slot] != OPEN:
        return Refusal(Reasons.ALREADY_MATCHED, f"everybody has accepted {proposal_id(proposal)} already")
    guilt = penalties(queue, guilty, np.full(len(guilty), int(Cause.DECLINED)), now_ms)
    tickets, _ = queue.roster(slot)
    failed = _failed(state, queue, Cause.DECLINED, np.array([proposal]), tickets, blamed, guilty, guilt, now_ms)
    return Decision((failed,))


def lapse(state: State, queue: QueueState, now_ms: int, most: int) -> tuple[ProposalsFailed | None, int | None]:
    """The ready checks whose time is over, `most` of them at most, as one event, and when the next one will be."""
    p = queue.proposals
    due, next_ms = overdue(queue, OPEN, now_ms, most)
    if not len(due):
        return None, next_ms
    roster = p.roster[due]
    tickets: Array = roster[roster >= 0]
    slots = state.slots_of(tickets)
    size = queue.tickets.size[slots].astype(np.int64)
    rows = queue.player_rows(slots)
    accepted = queue.players.accepted[rows].astype(np.int64)
    silent = np.add.reduceat(accepted, np.cumsum(size) - size) < size
    lost = silent & np.array([ticket in queue.lost for ticket in tickets.tolist()], bool)
    causes = np.where(np.repeat(lost, size), int(Cause.LOST), int(Cause.LAPSED))[accepted == 0]
    guilty = queue.players.player[rows[accepted == 0]]
    guilt = penalties(queue, guilty, causes, now_ms)
    event = _failed(state, queue, Cause.LAPSED, p.proposal[due], tickets, silent, guilty, guilt, now_ms, tickets[lost])
    return event, next_ms


def _failed(
    state: State,
    queue: QueueState,
    cause: Cause,
    proposals: Array,
    tickets: Array,
    blamed: Array,
    guilty: Array,
    guilt: Penalties,
    now_ms: int,
    lost: Array = NONE,
) -> ProposalsFailed:
    previous = queue.tickets.sequence[state.slots_of(tickets)] if len(tickets) else NONE
    return ProposalsFailed(
        at_ms=now_ms,
        queue=queue.spec.name,
        cause=cause,
        proposal=proposals,
        blamed=tickets[blamed],
        blamed_previous=previous[blamed],
        returned=tickets[~blamed],
        returned_previous=previous[~blamed],
        lost=lost,
        guilty=guilty,
        **guilt._asdict(),
    )
