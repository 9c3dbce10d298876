"""Freezing a queue: the copy of its columns that a matcher sees, in canonical order.

The engine thread takes it, and nobody who joins is answered meanwhile. So columns are copied whole where their rows
stand in the right order already, as they mostly do, and row by row only where they do not.
"""

from typing import Any

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.order import canonical_order
from evenmatch.domain.snapshot import Snapshot

from .hashing import snapshot_digest
from .notes import active_population
from .state import PLAYER_COLUMNS, WAITING, QueueState
from .tables import run_of


def freeze(queue: QueueState, now_ms: int, first_match: int = 1) -> tuple[Snapshot, Array]:
    """A snapshot of the tickets that can be matched now, and the slot of each of its rows."""
    slots = _in_order(queue, now_ms)
    t, players = queue.tickets, queue.players
    at = run_of(slots) if len(slots) else slots
    rows = queue.player_rows(slots)
    rows_at = run_of(rows) if len(rows) else rows
    facts = [name for name in players.names if name not in PLAYER_COLUMNS]
    snapshot = Snapshot(
        format=queue.spec.format,
        now_ms=now_ms,
        ticket=_copy(t.ticket, at),
        waited_ms=now_ms - t.since_ms[at],
        misses=_copy(t.misses, at),
        returned=t.returned[at] != 0,
        group=_copy(t.group, at),
        player_start=_starts(t.size[at], len(rows)),
        player=_copy(players.player, rows_at),
        facts={name: _copy(getattr(players, name), rows_at) for name in facts},
        traits={
            name: tuple(_fixed(kept[row][1]) if row in kept else None for row in rows.tolist())
            for name, kept in sorted(queue.traits.items())
            if kept
        },
        active_population=active_population(queue, now_ms),
        first_match=first_match,
    )
    for column in (
        snapshot.ticket,
        snapshot.waited_ms,
        snapshot.misses,
        snapshot.returned,
        snapshot.group,
        snapshot.player_start,
        snapshot.player,
        *snapshot.facts.values(),
    ):
        column.flags.writeable = False
    return snapshot, slots


def _in_order(queue: QueueState, now_ms: int) -> Array:
    """The slots of the tickets that can be matched now, in canonical order."""
    t = queue.tickets
    slots = np.flatnonzero((t.status[: t.used] == WAITING) & (t.suspended[: t.used] == 0))
    order = canonical_order(now_ms - t.since_ms[slots], t.returned[slots] != 0, t.ticket[slots])
    if len(order) and (order[1:] > order[:-1]).all():
        return slots
    ordered: Array = slots[order]
    return ordered


def _copy(column: Array, at: Array | slice) -> Array:
    copied: Array = column[at]
    return copied.copy() if isinstance(at, slice) else copied


def _starts(size: Array, players: int) -> Array:
    """int64[n + 1]: where the players of each row begin."""
    if players == len(size):
        return np.arange(len(size) + 1)
    starts = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=starts[1:])
    return starts


def _fixed(value: Any) -> Any:
    """A list as a tuple: what a matcher gets cannot be changed, and may be compared and hashed."""
    return tuple(value) if isinstance(value, list) else value


def digest(snapshot: Snapshot) -> int:
    """63 bits that stand for what a matcher saw; the facts enter by each ticket's mean."""
    means = [snapshot.mean(name) for name in sorted(snapshot.facts)]
    return snapshot_digest(
        [snapshot.ticket, snapshot.waited_ms, snapshot.misses, snapshot.returned, snapshot.group, *means]
    )
