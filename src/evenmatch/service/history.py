"""What happened in each queue lately, in buckets of ten seconds: for charts, and for the cards of the dashboard.

1. Bounded: a ring of `SLOTS` buckets a queue (four hours), each of a few numbers and one histogram of waits, however
   many players come. `since_ms` says from when on it is whole; a restart begins it anew.
2. The engine thread writes, by way of `play_metrics`, which reads the events; `copied` is for that thread too. What is
   made of the copy may be made anywhere.
3. Waits are counted in bins that grow by 3 % each, so a quantile is wrong by 1.5 % at most (from 10 ms to a day).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

STEP_MS: Final = 10_000
SLOTS: Final = 1_440
CARD_STEPS: Final = 30
"""Buckets that a card looks back: five minutes."""
POINTS_MOST: Final = 120
"""Points of a chart."""
MINUTES_MOST: Final = SLOTS * STEP_MS // 60_000
_BINS: Final = 545
_LEAST_S: Final = 0.01
_GROWTH: Final = 1.03
_MEANS: Final = ("quality_sum", "quality_count", "gap_sum", "gap_count")
_SUMS: Final = ("joins", "matches", "made", "checked", "abandoned", *_MEANS)


class Rows(msgspec.Struct, frozen=True, eq=False):
    """Buckets one after the other, copied."""

    first: int
    """The number of the first: the moment it begins, divided by its length."""
    sums: dict[str, Array]
    """float64[n] each"""
    depth: Array
    """float64[n]: tickets that waited at the end of each."""
    waits: Array
    """int32[n, bins]"""
    gone: dict[str, Array]
    """Cause -> float64[n]: tickets that left without a match."""

    def total(self, name: str) -> float:
        """The sum over all buckets."""
        return float(self.sums[name].sum())

    def mean(self, name: str) -> float | None:
        """The mean quality or gap over all buckets; None = there was none."""
        count = self.total(f"{name}_count")
        return self.total(f"{name}_sum") / count if count else None

    def wait_s(self, share: float) -> float | None:
        """The time within which a share of the matched were; None = nobody was."""
        return quantile_s(self.waits.sum(axis=0, dtype=np.int64), share)

    def merged(self, steps: int) -> Iterator["Rows"]:
        """The same in parts of so many buckets, each beginning at a multiple of that; the first may be shorter."""
        for at in range(-(self.first % steps), len(self.depth), steps):
            part = slice(max(0, at), at + steps)
            yield Rows(
                self.first + max(0, at),
                {name: column[part] for name, column in self.sums.items()},
                self.depth[part],
                self.waits[part],
                {cause: column[part] for cause, column in self.gone.items()},
            )


class History:
    """The last hours of one queue."""

    def __init__(self, now_ms: int) -> None:
        self.since_ms = now_ms
        self._stamp = np.full(SLOTS, -1)
        self._sums = {name: np.zeros(SLOTS) for name in _SUMS}
        self._depth = np.zeros(SLOTS)
        self._waits = np.zeros((SLOTS, _BINS), np.int32)
        self._gone: dict[str, Array] = {}
        self._last_depth = 0.0

    def _slot(self, now_ms: int) -> int:
        """The bucket of a moment, empty if it is new."""
        step = now_ms // STEP_MS
        slot = step % SLOTS
        if self._stamp[slot] != step:
            self._stamp[slot] = step
            for column in (*self._sums.values(), *self._gone.values()):
                column[slot] = 0.0
            self._depth[slot] = self._last_depth
            self._waits[slot] = 0
        return int(slot)

    def count(self, now_ms: int, name: str, more: float) -> None:
        """Add to one of the sums."""
        self._sums[name][self._slot(now_ms)] += more

    def left(self, now_ms: int, cause: str, tickets: int) -> None:
        """Tickets left without a match."""
        slot = self._slot(now_ms)
        if cause not in self._gone:
            self._gone[cause] = np.zeros(SLOTS)
        self._gone[cause][slot] += tickets

    def waited(self, now_ms: int, waits_s: Array) -> None:
        """Tickets were matched after so long, float64[n]."""
        places = np.log(np.maximum(waits_s, _LEAST_S) / _LEAST_S) / np.log(_GROWTH)
        bins = np.minimum(places.astype(np.int64), _BINS - 1)
        self._waits[self._slot(now_ms)] += np.bincount(bins, minlength=_BINS).astype(np.int32)

    def measured(self, now_ms: int, name: str, values: Array) -> None:
        """Qualities or gaps of matches, NaN = there is none."""
        known = values[~np.isnan(values)]
        if len(known):
            slot = self._slot(now_ms)
            self._sums[f"{name}_sum"][slot] += float(known.sum())
            self._sums[f"{name}_count"][slot] += len(known)

    def depth(self, now_ms: int, waiting: int) -> None:
        """So many tickets wait now."""
        self._last_depth = float(waiting)
        self._depth[self._slot(now_ms)] = waiting

    def copied(self, now_ms: int, steps: int) -> Rows:
        """The newest buckets, this one included; those from before the history began are left out."""
        last = now_ms // STEP_MS
        first = max(last - min(steps, SLOTS) + 1, self.since_ms // STEP_MS)
        wanted = np.arange(first, last + 1)
        slots = wanted % SLOTS
        known = self._stamp[slots] == wanted
        depth = self._depth[slots]
        # A bucket in which nothing happened ends as the one before it did.
        newest = np.maximum.accumulate(np.where(known, np.arange(len(wanted)), -1))
        before = self._depth_before(first)
        return Rows(
            int(first),
            {name: np.where(known, column[slots], 0.0) for name, column in self._sums.items()},
            np.where(newest >= 0, depth[newest], before),
            np.where(known[:, None], self._waits[slots], 0),
            {cause: np.where(known, column[slots], 0.0) for cause, column in self._gone.items()},
        )

    def _depth_before(self, first: int) -> float:
        earlier = self._stamp[(self._stamp < first) & (self._stamp >= 0)]
        return float(self._depth[int(earlier.max()) % SLOTS]) if len(earlier) else 0.0


class Histories:
    """The histories of all queues."""

    def __init__(self) -> None:
        self._by_queue: dict[str, History] = {}

    def of(self, queue: str, now_ms: int) -> History:
        """A queue's history; it begins with the server, or when the queue is first opened."""
        found = self._by_queue.get(queue)
        if found is None:
            found = self._by_queue[queue] = History(now_ms)
        return found


def quantile_s(counts: Array, share: float) -> float | None:
    """The wait below which a share of those counted lies; None = nobody is."""
    total = int(counts.sum())
    if not total:
        return None
    place = int(np.searchsorted(np.cumsum(counts), share * total))
    return round(float(_LEAST_S * _GROWTH ** (min(place, _BINS - 1) + 0.5)), 3)


def causes(rows: Rows) -> dict[str, int]:
    """How many left for which cause, the most frequent first."""
    counted = Counter({cause: int(column.sum()) for cause, column in rows.gone.items() if column.any()})
    return dict(counted.most_common())
