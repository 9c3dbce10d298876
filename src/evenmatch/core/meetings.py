"""Who must not meet whom: blocks, avoided players, and those who played each other lately.

    blocks     of a player, for all queues, until the player changes them
    avoid      of a ticket, for as long as it lives
    rematch    of a queue (`match.rematch_s`): the other team, or all of a lobby, for a while; after a long wait
               (`rematch_lift_s`) a ticket may meet them again

`forbidden` turns what is known of players into pairs of tickets that wait, at one moment; the rest is part of evolve
and is called from there only. Blocks and avoided players enter the state hash by sums of digests, rematches as columns.
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, Array, numbers
from evenmatch.domain.queue import milliseconds

from .notes import value_digest
from .state import NEVER, WAITING, QueueState, State

LOBBY: int = -1
"""The team of players in a match of one team: nobody is with them."""


class Apart(NamedTuple):
    """Tickets that must not meet."""

    slots: Array = NO_PAIRS
    """int64[k, 2]"""
    changes_ms: int = NEVER
    """When time alone will let some of them meet."""
    met: Array = NO_PAIRS
    """int64[k, 2]: slots of those who played each other lately and may again, since one of them has waited long."""


def forbidden(state: State, queue: QueueState, now_ms: int) -> Apart:
    """The pairs of tickets that wait in a queue and must not meet now."""
    found = []
    if state.blocks:
        found.append(_slots_of(state, queue, _blocked(state, queue)))
    if queue.avoids:
        tickets = np.array([ticket for ticket, players in queue.avoids.items() for _ in players])
        players = np.array([player for avoided in queue.avoids.values() for player in avoided])
        found.append(np.column_stack((state.slots_of(tickets), _waiting(state, queue, players))))
    changes_ms, met = NEVER, NO_PAIRS
    if len(queue.met.made_ms):
        pairs, changes_ms, met = _rematches(state, queue, now_ms)
        found.append(pairs)
    if not found:
        return Apart()
    return Apart(_that_wait(queue, np.concatenate(found)), changes_ms, _that_wait(queue, met) if len(met) else met)


def _that_wait(queue: QueueState, pairs: Array) -> Array:
    """Pairs of slots, each once, of tickets that wait."""
    pairs = np.sort(pairs, axis=1)
    pairs = np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])], axis=0)
    waiting: Array = pairs[(queue.tickets.status[pairs] == WAITING).all(axis=1)]
    return waiting


def _blocked(state: State, queue: QueueState) -> Array:
    """int64[k, 2]: players who block and whom, of all who wait here, and perhaps of others."""
    t, blocks = queue.tickets, state.blocks
    if len(blocks) <= queue.waiting:
        who = list(blocks)
    else:
        rows = queue.player_rows(np.flatnonzero(t.status[: t.used] == WAITING))
        who = [player for player in queue.players.player[rows].tolist() if player in blocks]
    return numbers([(player, other) for player in who for other in blocks[player]]).reshape(-1, 2)


def _slots_of(state: State, queue: QueueState, players: Array) -> Array:
    """The slots of players in a queue, same shape, -1 = not there."""
    return _waiting(state, queue, players.ravel()).reshape(players.shape)


def _waiting(state: State, queue: QueueState, players: Array) -> Array:
    """int64[n]: the slot of each player's ticket in this queue, -1 = none."""
    tickets = state.live.find(players)
    if state.several:
        for place in np.flatnonzero(tickets >= 0).tolist():
            many = state.several.get(int(players[place]))
            if many is not None:
                tickets[place] = next((one for one in many if state.tickets_at[one] >> 32 == queue.index), -1)
    places = np.full(len(tickets), -1)
    known = tickets >= 0
    places[known] = state.tickets_at.find(tickets[known])
    here: Array = np.where((places >= 0) & (places >> 32 == queue.index), places & 0xFFFFFFFF, -1)
    return here


def _rematches(state: State, queue: QueueState, now_ms: int) -> tuple[Array, int, Array]:
    """The slots of those who played each other lately, when the first of them may meet again, and those who may."""
    spec, met = queue.spec.match, queue.met
    fresh = met.made_ms > now_ms - milliseconds(spec.rematch_s)
    players, team, made_ms = met.player[fresh], met.team[fresh], met.made_ms[fresh]
    slots = np.where(players >= 0, _slots_of(state, queue, players), -1)
    here = np.flatnonzero(np.count_nonzero(slots >= 0, axis=1) > 1)
    if not len(here):
        return NO_PAIRS, NEVER, NO_PAIRS
    one, other = np.triu_indices(slots.shape[1], 1)
    a, b = slots[here][:, one], slots[here][:, other]
    apart = (a >= 0) & (b >= 0) & (a != b) & ((team[here][:, one] != team[here][:, other]) | (team[here][:, one] < 0))
    ends_ms = np.broadcast_to(made_ms[here, None] + milliseconds(spec.rematch_s), apart.shape)[apart]
    pairs = np.column_stack((a[apart], b[apart]))
    lift_ms, lifted = milliseconds(spec.rematch_lift_s), NO_PAIRS
    if lift_ms and len(pairs):
        lifted_ms = queue.tickets.since_ms[pairs].min(axis=1) + lift_ms
        held = lifted_ms > now_ms
        pairs, ends_ms, lifted = pairs[held], np.minimum(ends_ms, lifted_ms)[held], pairs[~held]
    return pairs, int(ends_ms.min()) if len(ends_ms) else NEVER, lifted


# Part of evolve.


def set_blocks(state: State, player: int, blocked: Array) -> None:
    """A player blocks these, and nobody else."""
    before = state.blocks.pop(player, None)
    if before is not None:
        state.blocks_sum -= value_digest("blocks", player, *before)
    if len(blocked):
        state.blocks[player] = tuple(blocked.tolist())
        state.blocks_sum += value_digest("blocks", player, *state.blocks[player])
    state.blocks_changed = state.sequence
    for ticket in state.live_tickets(player):
        found = state.find_ticket(ticket)
        assert found is not None
        found[0].changed = state.sequence


def note_avoided(queue: QueueState, first_ticket: int, avoid: Array) -> None:
    """Keep whom the tickets of a join avoid: rows of (ticket of the join, player)."""
    for place, player in avoid.tolist():
        ticket = first_ticket + place
        queue.avoids[ticket] = (*queue.avoids.get(ticket, ()), player)
    for ticket in dict.fromkeys((first_ticket + avoid[:, 0]).tolist()):
        queue.notes_sum += value_digest("avoid", ticket, *queue.avoids[ticket])


def drop_avoided(queue: QueueState, tickets: Array) -> None:
    """These tickets are finished."""
    if queue.avoids:
        for ticket in tickets.tolist():
            avoided = queue.avoids.pop(ticket, None)
            if avoided is not None:
                queue.notes_sum -= value_digest("avoid", ticket, *avoided)


def note_met(state: State, queue: QueueState, proposals: Array) -> None:
    """The players of these matches have met."""
    rematch_ms = milliseconds(queue.spec.match.rematch_s)
    if not rematch_ms:
        return
    rows = state.rows_of(proposals)
    seats = queue.spec.format.seats
    player, team = np.full((len(rows), seats), -1), np.full((len(rows), seats), LOBBY, np.int8)
    for at, row in enumerate(rows.tolist()):
        tickets, team_of = queue.roster(row)
        slots = state.slots_of(tickets)
        found = queue.players.player[queue.player_rows(slots)]
        player[at, : len(found)] = found
        if queue.spec.format.teams > 1:
            team[at, : len(found)] = np.repeat(team_of, queue.tickets.size[slots])
    queue.met.add(state.now_ms, player, team, state.now_ms - rematch_ms)
