"""Who has whom: a player's live tickets (I2), and the proposal or running match that claims a player (I11).

Part of `evolve`: these change the state and are called from there only. When a proposal or match claims a player, the
player's tickets in other queues are suspended: their clocks stand still and no wave sees them. When it lets go they
resume with the wait they had, and all their deadlines have moved by the time the clock stood still (I6).
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .state import WAITING, QueueState, State


def add_live(state: State, players: list[int], tickets: list[int]) -> None:
    """Note the live tickets of players who joined."""
    if state.live.keys().isdisjoint(players):
        state.live.update(zip(players, tickets, strict=True))
        return
    for player, ticket in zip(players, tickets, strict=True):
        already = state.live_tickets(player)
        state.live[player] = ticket
        if already:
            state.several[player] = (*already, ticket)


def drop_live(state: State, queue: QueueState, slots: Array) -> None:
    """The players of these tickets are free to join again."""
    players = queue.players.player[queue.player_rows(slots)].tolist()
    if not state.several:
        for player in players:
            state.live.pop(player, None)
        return
    tickets = np.repeat(queue.tickets.ticket[slots], queue.tickets.size[slots]).tolist()
    for player, ticket in zip(players, tickets, strict=True):
        rest = tuple(other for other in state.live_tickets(player) if other != ticket)
        state.live.pop(player, None)
        state.several.pop(player, None)
        if rest:
            state.live[player] = rest[-1]
        if len(rest) > 1:
            state.several[player] = rest


def stop_clock(state: State, queue: QueueState, slots: Array) -> None:
    """Keep the wait as it is now."""
    queue.tickets.waited_ms[slots] = queue.waited_ms(slots, state.now_ms)


def claim(state: State, queue: QueueState, slots: Array) -> None:
    """The proposal or match of these tickets takes their players."""
    t = queue.tickets
    players = queue.players.player[queue.player_rows(slots)].tolist()
    size = t.size[slots]
    state.claims.update(zip(players, np.repeat(t.proposal[slots], size).tolist(), strict=True))
    _each_other_ticket(state, players, np.repeat(t.ticket[slots], size).tolist(), release=False)


def release(state: State, queue: QueueState, slots: Array) -> None:
    """It lets go of them."""
    t = queue.tickets
    players = queue.players.player[queue.player_rows(slots)].tolist()
    for player in players:
        state.claims.pop(player, None)
    _each_other_ticket(state, players, np.repeat(t.ticket[slots], t.size[slots]).tolist(), release=True)


def _each_other_ticket(state: State, players: list[int], owns: list[int], *, release: bool) -> None:
    for player, own in zip(players, owns, strict=True):
        latest = state.live.get(player, own)
        if latest == own and player not in state.several:
            continue
        for ticket in state.live_tickets(player):
            if ticket != own:
                if release:
                    _resume(state, ticket)
                else:
                    suspend(state, ticket)


def suspend(state: State, ticket: int) -> None:
    """A player of this ticket was claimed elsewhere."""
    queue, slot = _place(state, ticket)
    slots = np.array([slot])
    stop_clock(state, queue, slots)
    queue.tickets.suspended[slot] += 1
    queue.tickets.dirty[slot] = True
    queue.changed = state.sequence


def _resume(state: State, ticket: int) -> None:
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
