"""Freezing a queue: the copy of its columns that a matcher sees, in canonical order.

Problem. The engine thread freezes, and nobody who joins is answered meanwhile; copying a million tickets takes it a
tenth of a second.

Idea. Nearly all that a matcher sees of a waiting ticket stays as it is until the wave is over:

    column of a ticket that waits                   is written by
    ticket, size, group, start; its players, facts  the join, into a free slot; slots become free by `Forgotten`
    returned                                        a failed proposal, of a ticket that was in one
    group, facts, traits                            an update of the ticket, for which the columns are read first
    misses                                          a wave of its own queue, of which one is in flight at most
    since_ms                                        the end of a suspension

So at the moment itself it is enough to note who waits and to copy `since_ms`. The rest is read where it stands, by
whoever asks first: the matcher's thread. Two rules make that safe, and the engine keeps both: nothing of the queue is
forgotten before its columns are read (`held`), and a plan is looked at only after. A table that grows leaves its old
arrays as they were, and we hold on to those. Small queues are copied at once, for that is soon done.

What comes out is the state of one moment, whenever it is read (I8). Columns are copied whole where their rows stand in
the right order already, as they mostly do, and row by row only where they do not.

Complexity. At the moment a byte and a half read and nine bytes written a slot; later one pass over each column.
"""

from typing import Any

import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, Array
from evenmatch.domain.order import canonical_order
from evenmatch.domain.snapshot import Snapshot

from .hashing import snapshot_digest
from .notes import active_population
from .parties import counted
from .state import PLAYER_COLUMNS, WAITING, QueueState
from .tables import run_of, spans
from .venue import reach_of

LARGE = 20_000
"""From so many waiting tickets on, columns are read after the moment."""
_NOTHING = (0, None)
_READ = ("ticket", "size", "group", "start", "returned", "misses")


class _Held:
    """What must be noted at the moment, and the columns that are read later."""

    def __init__(self, queue: QueueState, now_ms: int, first_match: int, apart: Array, met: Array) -> None:
        t, players = queue.tickets, queue.players
        self.apart, self.met = apart, met
        self.party = queue.spec.party
        self.waits = (t.status[: t.used] == WAITING) & (t.suspended[: t.used] == 0)
        self.since_ms = t.since_ms[: t.used].copy()
        self.tickets: dict[str, Array] = {name: getattr(t, name) for name in _READ}
        self.player = players.player
        self.facts: dict[str, Array] = {n: getattr(players, n) for n in players.names if n not in PLAYER_COLUMNS}
        self.traits = [(name, kept) for name, kept in sorted(queue.traits.items()) if kept]
        self.venue = queue.spec.venue
        self.format, self.now_ms, self.first_match = queue.spec.format, now_ms, first_match
        self.active_population = active_population(queue, now_ms)


class Frozen:
    """A queue at one moment."""

    def __init__(self, queue: QueueState, now_ms: int, first_match: int, apart: Array, met: Array) -> None:
        self._held: _Held | None = _Held(queue, now_ms, first_match, apart, met)
        self._made: dict[str, tuple[Snapshot, Array]] = {}
        self.empty = not np.count_nonzero(self._held.waits)
        """Nobody could be matched."""

    @property
    def held(self) -> bool:
        """Columns of the queue have still to be read: nothing of it may be forgotten."""
        return self._held is not None

    @property
    def snapshot(self) -> Snapshot:
        """The tickets that could be matched, in canonical order."""
        return self.make()[0]

    @property
    def slots(self) -> Array:
        """int64[n]: the slot of each row of the snapshot."""
        return self.make()[1]

    def make(self) -> tuple[Snapshot, Array]:
        """Read the columns, unless that is done; any thread may."""
        held = self._held
        if held is not None:
            # Two threads may read at once; whose copy is whole before anything changes is the first to be done.
            self._made.setdefault("copy", _read(held))
            self._held = None
        return self._made["copy"]


def freeze(
    queue: QueueState,
    now_ms: int,
    first_match: int = 1,
    large: int = LARGE,
    apart: Array = NO_PAIRS,
    met: Array = NO_PAIRS,
) -> Frozen:
    """The tickets of a queue that can be matched now; from `large` waiting tickets on, copied when asked for.

    `apart` and `met`, int64[k, 2]: slots of tickets that must not meet, or met lately and may again.
    """
    frozen = Frozen(queue, now_ms, first_match, apart, met)
    if queue.waiting < large:
        frozen.make()
    return frozen


def _read(held: _Held) -> tuple[Snapshot, Array]:
    """The snapshot, in canonical order, and the slot of each of its rows."""
    t, now_ms = held.tickets, held.now_ms
    (slots,) = held.waits.nonzero()
    at: Array | slice = run_of(slots) if len(slots) else slots
    ticket, waited_ms, returned = _copy(t["ticket"], at), now_ms - held.since_ms[at], t["returned"][at] != 0
    order = canonical_order(waited_ms, returned, ticket)
    if np.count_nonzero(order[1:] < order[:-1]):
        slots = at = slots[order]
        ticket, waited_ms, returned = ticket[order], waited_ms[order], returned[order]
    size = _copy(t["size"], at)
    rows = spans(t["start"][at], size.astype(np.int64))
    rows_at = run_of(rows) if len(rows) else rows
    start = _starts(size, len(rows))
    facts = {name: _copy(column, rows_at) for name, column in held.facts.items()}
    snapshot = Snapshot(
        format=held.format,
        now_ms=now_ms,
        ticket=ticket,
        waited_ms=waited_ms,
        misses=_copy(t["misses"], at),
        returned=returned,
        group=_copy(t["group"], at),
        player_start=start,
        player=_copy(held.player, rows_at),
        facts=counted(facts, start, held.party),
        traits={name: tuple(_fixed(kept.get(row, _NOTHING)[1]) for row in rows.tolist()) for name, kept in held.traits},
        active_population=held.active_population,
        first_match=held.first_match,
        forbidden=_rows_of(held.apart, slots, len(held.waits)),
        reach=reach_of(held.venue, facts, start[:-1]),
        regions=() if held.venue is None else held.venue.regions,
        met=_rows_of(held.met, slots, len(held.waits)),
    )
    for column in (
        snapshot.ticket,
        snapshot.waited_ms,
        snapshot.misses,
        snapshot.returned,
        snapshot.group,
        snapshot.player_start,
        snapshot.player,
        snapshot.forbidden,
        snapshot.reach,
        snapshot.met,
        *snapshot.facts.values(),
    ):
        column.flags.writeable = False
    return snapshot, slots


def _rows_of(pairs: Array, slots: Array, used: int) -> Array:
    """Pairs of slots as pairs of rows, in order; those of which one can't be matched now are left out."""
    if not len(pairs):
        return pairs
    row = np.full(used, -1)
    row[slots] = np.arange(len(slots))
    found = np.sort(row[pairs], axis=1)
    found = found[found[:, 0] >= 0]
    ordered: Array = found[np.lexsort((found[:, 1], found[:, 0]))]
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
    seen = snapshot_digest(
        [snapshot.ticket, snapshot.waited_ms, snapshot.misses, snapshot.returned, snapshot.group, *means]
    )
    if len(snapshot.forbidden):
        seen ^= snapshot_digest([*snapshot.forbidden.T])
    return seen ^ snapshot_digest([*snapshot.met.T]) if len(snapshot.met) else seen
