"""Who has whom: a player's live tickets (I2), and the proposal or running match that claims a player (I11).

Part of `evolve`: these change the state and are called from there only. When a proposal or match claims a player, the
player's tickets in other queues are suspended: their clocks stand still and no wave sees them. When it lets go they
resume with the wait they had, and all their deadlines have moved by the time the clock stood still (I6).
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .state import WAITING, QueueState, State

_FEW = 1_000
"""Up to so many players are asked for one by one."""


def add_live(state: State, players: Array, tickets: Array) -> None:
    """Note the live tickets of players who joined."""
    if len(players) == 1:
        _add_one(state, int(players[0]), int(tickets[0]))
        return
    elsewhere = state.live.find(players) >= 0
    if not elsewhere.any():
        state.live.put(players, tickets)
        return
    state.live.put(players[~elsewhere], tickets[~elsewhere])
    for player, ticket in zip(players[elsewhere].tolist(), tickets[elsewhere].tolist(), strict=True):
        _add_one(state, player, ticket)


def _add_one(state: State, player: int, ticket: int) -> None:
    if player in state.live:
        state.several[player] = tuple(sorted((*state.live_tickets(player), ticket)))
        ticket = state.several[player][-1]
    state.live[player] = ticket


def drop_live(state: State, queue: QueueState, slots: Array) -> None:
    """The players of these tickets are free to join again."""
    players = queue.players.player[queue.player_rows(slots)]
    many = _have_several(state, players)
    if many is None:
        state.live.drop(players)
        return
    state.live.drop(players[~many])
    tickets = np.repeat(queue.tickets.ticket[slots], queue.tickets.size[slots])
    for player, ticket in zip(players[many].tolist(), tickets[many].tolist(), strict=True):
        rest = tuple(other for other in state.several[player] if other != ticket)
        state.live[player] = rest[-1]
        if len(rest) > 1:
            state.several[player] = rest
        else:
            del state.several[player]


def _have_several(state: State, players: Array) -> Array | None:
    """bool[n]: which players have tickets in several queues; None where nobody has."""
    if not state.several:
        return None
    if len(players) < _FEW:
        return np.array([player in state.several for player in players.tolist()], bool)
    return np.isin(players, np.fromiter(state.several, np.int64, len(state.several)))


def stop_clock(state: State, queue: QueueState, slots: Array) -> None:
    """Keep the wait as it is now."""
    queue.tickets.waited_ms[slots] = queue.waited_ms(slots, state.now_ms)


def claimed(state: State, players: Array) -> Array:
    """bool[n]: does a proposal or match have these players, here or in another lane?"""
    found: Array = state.claims.find(players) >= 0
    if state.elsewhere:
        found |= np.array([player in state.elsewhere for player in players.tolist()], bool)
    return found


def claim(state: State, queue: QueueState, slots: Array) -> None:
    """The proposal or match of these tickets takes their players."""
    players, tickets, proposals = _owners(queue, slots)
    state.claims.put(players, proposals)
    if state.movements is not None:
        state.movements.append((True, players))
    for ticket in _other_tickets(state, players, tickets):
        suspend(state, ticket)


def release(state: State, queue: QueueState, slots: Array) -> None:
    """It lets go of them."""
    players, tickets, _ = _owners(queue, slots)
    release_players(state, players, tickets)


def release_players(state: State, players: Array, tickets: Array) -> None:
    """It lets go of these players only; the ticket of each is in it."""
    state.claims.drop(players)
    if state.movements is not None:
        state.movements.append((False, players))
    for ticket in _other_tickets(state, players, tickets):
        resume(state, ticket)


def _owners(queue: QueueState, slots: Array) -> tuple[Array, Array, Array]:
    """The players of these tickets, and the ticket and the proposal of each."""
    t = queue.tickets
    size = t.size[slots]
    tickets, proposals = t.ticket[slots], t.proposal[slots]
    if int(size.sum()) != len(size):
        tickets, proposals = np.repeat(tickets, size), np.repeat(proposals, size)
    return queue.players.player[queue.player_rows(slots)], tickets, proposals


def _other_tickets(state: State, players: Array, owns: Array) -> list[int]:
    """The live tickets that these players have elsewhere, once for each player; most have none."""
    latest = state.live.find(players)
    have = (latest >= 0) & (latest != owns)
    many = _have_several(state, players)
    if many is not None:
        have |= many
    return [
        ticket
        for player, own in zip(players[have].tolist(), owns[have].tolist(), strict=True)
        for ticket in state.live_tickets(player)
        if ticket != own
    ]


def suspend(state: State, ticket: int) -> None:
    """A player of this ticket was claimed elsewhere."""
    queue, slot = _place(state, ticket)
    slots = np.array([slot])
    stop_clock(state, queue, slots)
    queue.tickets.suspended[slot] += 1
    queue.tickets.dirty[slot] = True
    queue.changed = state.sequence


def resume(state: State, ticket: int) -> None:
    """A player of this ticket was let go elsewhere."""
    queue, slot = _place(state, ticket)
    t = queue.tickets
    t.suspended[slot] -= 1
    t.dirty[slot] = True
    queue.changed = state.sequence
    if t.suspended[slot] == 0 and t.status[slot] == WAITING:
        wake(state, queue, np.array([slot]), seen=False)


def _place(state: State, ticket: int) -> tuple[QueueState, int]:
    found = state.find_ticket(ticket)
    assert found is not None, f"ticket {ticket} is live but not in the state"
    return found


def wake(state: State, queue: QueueState, slots: Array, *, seen: bool) -> None:
    """These tickets wait on; with `seen`, the time their clocks stood still does not count as silence either."""
    t = queue.tickets
    stood_still = state.now_ms - t.since_ms[slots] - t.waited_ms[slots]
    t.since_ms[slots] += stood_still
    t.expires_ms[slots] += stood_still
    if seen:
        # Who was heard of meanwhile is as fresh as can be, but not from the future.
        t.seen_ms[slots] = np.minimum(t.seen_ms[slots] + stood_still, state.now_ms)
    t.woke[slots] = state.sequence
    t.dirty[slots] = True
    queue.next_expiry_ms = 0
