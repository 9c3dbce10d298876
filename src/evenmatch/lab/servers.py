"""Where servers would stand among hosts of which only the round-trip times are known.

A matrix of measured times says nothing of geography: its rows are in any order. Servers are put at those hosts that are
near to most, one after the other, and then moved as long as anybody gains by it (k-medoids); everybody belongs to the
nearest.
"""

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["regions_of"]


def regions_of(times: Array, count: int) -> tuple[Array, Array]:
    """int64[count]: the rows at which servers stand; int64[n]: the server of each row. The first has most rows.

    `times` is float64[n, n], in ms, without gaps; `count` is n at most.
    """
    servers: list[int] = []
    nearest = np.full(len(times), np.inf)
    for _ in range(count):
        servers.append(_best(times, nearest, servers))
        nearest = np.minimum(nearest, times[:, servers[-1]])
    moved = True
    while moved:
        moved = False
        for place in range(count):
            others = servers[:place] + servers[place + 1 :]
            left = times[:, others].min(axis=1) if others else np.full(len(times), np.inf)
            best = _best(times, left, others)
            if np.minimum(left, times[:, best]).sum() < np.minimum(left, times[:, servers[place]]).sum():
                servers[place], moved = best, True
    whose = times[:, servers].argmin(axis=1)
    whose[servers] = np.arange(count)
    order = np.argsort(-np.bincount(whose, minlength=count), kind="stable")
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return np.array(servers, np.int64)[order], rank[whose]


def _best(times: Array, nearest: Array, taken: list[int]) -> int:
    """The row at which one more server does most, beside those that stand so near already."""
    total = np.minimum(nearest[:, None], times).sum(axis=0)
    total[taken] = np.inf
    return int(total.argmin())
