"""Freezing a queue: the copy of its columns that a matcher sees, in canonical order."""

from typing import Any

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot

from .hashing import snapshot_digest
from .notes import active_population
from .state import PLAYER_COLUMNS, WAITING, QueueState


def freeze(queue: QueueState, now_ms: int, first_match: int = 1) -> tuple[Snapshot, Array]:
    """A snapshot of the tickets that can be matched now, and the slot of each of its rows."""
    t = queue.tickets
    slots = np.flatnonzero((t.status == WAITING) & (t.suspended == 0))
    waited = now_ms - t.since_ms[slots]
    slots = slots[np.lexsort((t.ticket[slots], -t.returned[slots], -waited))]
    size = t.size[slots].astype(np.int64)
    rows = queue.player_rows(slots)
    facts = [name for name in queue.players.names if name not in PLAYER_COLUMNS]
    snapshot = Snapshot(
        format=queue.spec.format,
        now_ms=now_ms,
        ticket=t.ticket[slots],
        waited_ms=now_ms - t.since_ms[slots],
        misses=t.misses[slots],
        returned=t.returned[slots] != 0,
        group=t.group[slots],
        player_start=np.concatenate((np.zeros(1, np.int64), np.cumsum(size))),
        player=queue.players.player[rows],
        facts={name: getattr(queue.players, name)[rows] for name in facts},
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


def _fixed(value: Any) -> Any:
    """A list as a tuple: what a matcher gets cannot be changed, and may be compared and hashed."""
    return tuple(value) if isinstance(value, list) else value


def digest(snapshot: Snapshot) -> int:
    """63 bits that stand for what a matcher saw; the facts enter by each ticket's mean."""
    means = [snapshot.mean(name) for name in sorted(snapshot.facts)]
    return snapshot_digest(
        [snapshot.ticket, snapshot.waited_ms, snapshot.misses, snapshot.returned, snapshot.group, *means]
    )
