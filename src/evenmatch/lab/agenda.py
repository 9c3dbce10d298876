"""Virtual time: a heap of moments, and for each moment what falls due, by kind.

Moments are multiples of a step (half a second, say): whatever is due within a step happens at its end, kind by kind.
So a crowd's doings can be handed to the engine together, and a day of it takes minutes.
"""

import heapq
from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Agenda", "Kind"]


class Kind(IntEnum):
    """What can fall due, in the order in which it happens within a moment."""

    ENDS = 0
    """A match is over."""
    ACCEPTS = 1
    DECLINES = 2
    LOSES = 3
    """A connection is lost."""
    GIVES_UP = 4
    """A ticket's patience is at its end."""
    JOINS = 5
    WAKES = 6
    """The engine is to look at its deadlines and waves."""


class Agenda:
    """All that is still to happen."""

    def __init__(self, step_ms: int, until_ms: int) -> None:
        self.step_ms, self.until_ms = step_ms, until_ms
        self._moments: list[int] = []
        self._due: dict[int, dict[Kind, list[Array]]] = {}

    def add(self, kind: Kind, at_ms: Array, what: Array) -> None:
        """These (int64[n]) happen then (int64[n]), each at the next moment; what is after the end never happens."""
        moment = -(-at_ms // self.step_ms)
        keep = moment * self.step_ms <= self.until_ms
        if not keep.all():
            moment, what = moment[keep], what[keep]
        if len(moment) == 1:
            self._put(int(moment[0]), kind, what)
            return
        order = np.argsort(moment, kind="stable")
        moment, what = moment[order], what[order]
        edges = np.flatnonzero(np.diff(moment, prepend=-1, append=-1))
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._put(int(moment[begin]), kind, what[begin:end])

    def _put(self, moment: int, kind: Kind, what: Array) -> None:
        due = self._due.get(moment)
        if due is None:
            due = self._due[moment] = {}
            heapq.heappush(self._moments, moment)
        due.setdefault(kind, []).append(what)

    def __iter__(self) -> Iterator[tuple[int, list[tuple[Kind, Array]]]]:
        """Moment by moment, in ms, with what is due; more may be added for later moments meanwhile."""
        while self._moments:
            moment = heapq.heappop(self._moments)
            due = self._due.pop(moment)
            yield moment * self.step_ms, [(kind, np.concatenate(due[kind])) for kind in sorted(due)]
