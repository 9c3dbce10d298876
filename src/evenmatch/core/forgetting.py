"""What is finished leaves the state. Part of `evolve`: these change the state and are called from there only."""

from itertools import repeat

from evenmatch.domain import events as ev

from .filling import drop_fillings
from .hashing import drop_digests, key_digest
from .notes import drop_notes
from .state import FREE, State

_GROUPS_KEPT = 256
"""Above so many, groups without tickets are dropped."""


def forget(state: State, event: ev.Forgotten) -> None:
    """Tickets and proposals leave the state."""
    queue = state.queues[event.queue]
    t = queue.tickets
    slots = state.slots_of(event.ticket)
    drop_digests(state, queue, slots)
    t.status[slots] = FREE
    drop_notes(queue, queue.player_rows(slots).tolist(), event.proposal)
    queue.player_blocks.give(t.start[slots], t.size[slots])
    queue.ticket_slots.give(slots)
    state.tickets_at.drop(event.ticket)
    rows = state.rows_of(event.proposal)
    state.proposals_at.drop(event.proposal)
    queue.proposals.standing[rows] = 0
    queue.proposal_slots.give(rows)
    drop_fillings(queue, event.proposal)
    if len(queue.groups) > _GROUPS_KEPT:
        used = set(t.group[t.status != FREE].tolist())
        queue.groups = {group: code for group, code in queue.groups.items() if code in used}


def forget_keys(state: State, event: ev.KeysForgotten) -> None:
    """The oldest idempotency keys leave the state."""
    oldest = [key for key, _ in zip(state.keys, repeat(None, event.count), strict=False)]
    for key in oldest:
        state.keys_sum -= key_digest(key, state.keys.pop(key))
