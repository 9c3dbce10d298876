"""Virtual time: a heap of moments, and for each moment what falls due, by kind.

Moments are multiples of a step (a second, say): whatever is due within a step happens at its end, kind by kind. So a
crowd's doings can be handed to the engine together, and a day of it takes minutes.
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
        self._due: dict[int, dict[Kind, list[int]]] = {}

    def add(self, kind: Kind, at_ms: Array, what: Array) -> None:
        """These (int64[n]) happen then (int64[n]), each at the next moment; what is after the end never happens."""
        # Most calls bring a few numbers for as many moments: plain lists take them faster than arrays would.
        last, moments = self.until_ms // self.step_ms, -(-at_ms // self.step_ms)
        for moment, one in zip(moments.tolist(), what.tolist(), strict=True):
            if moment > last:
                continue
            due = self._due.get(moment)
            if due is None:
                due = self._due[moment] = {}
                heapq.heappush(self._moments, moment)
            found = due.get(kind)
            if found is None:
                due[kind] = [one]
            else:
                found.append(one)

    def __iter__(self) -> Iterator[tuple[int, list[tuple[Kind, Array]]]]:
        """Moment by moment, in ms, with what is due; more may be added for later moments meanwhile."""
        while self._moments:
            moment = heapq.heappop(self._moments)
            due = self._due.pop(moment)
            yield moment * self.step_ms, [(kind, np.array(due[kind], np.int64)) for kind in sorted(due)]
