"""Graphs for the pairing contests: near neighbours on a square, admissible pairs under windows, what pairs cost."""

from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["admissible", "near_graph", "pairs_cost"]

CELL: Final = 4
"""Points in a cell, on average: the 25 cells round a point hold its nearest."""


def near_graph(points: Array, near: int) -> tuple[Array, Array, Array]:
    """int64[m] each: edges (first < second) and squared distances; each point, int64[n, 2], with its nearest.

    Sought among the 25 cells round a point's own.
    """
    count = len(points)
    across = max(1, int((count / CELL) ** 0.5))
    cell = np.minimum(points * across // (points.max(initial=0) + 1), across - 1) + 2
    number = cell[:, 0] * (across + 4) + cell[:, 1]
    by_cell = np.argsort(number, kind="stable")
    held = np.bincount(number, minlength=(across + 4) ** 2)
    start = np.cumsum(held) - held
    table = np.full((len(held), int(held.max(initial=0))), -1)
    table[number[by_cell], np.arange(count) - start[number[by_cell]]] = by_cell
    offsets = [row * (across + 4) + column for row in range(-2, 3) for column in range(-2, 3)]
    edges = []
    for begin in range(0, count, 10_000):
        here = np.arange(begin, min(begin + 10_000, count))
        others = np.concatenate([table[number[here] + offset] for offset in offsets], axis=1)
        apart = ((points[others] - points[here][:, None]) ** 2).sum(axis=2)
        far = np.iinfo(np.int64).max
        apart[(others < 0) | (others == here[:, None])] = far
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :near]
        edge = np.stack([np.repeat(here, nearest.shape[1]), np.take_along_axis(others, nearest, 1).ravel()])
        edges.append(edge[:, np.take_along_axis(apart, nearest, 1).ravel() < far])
    ends = np.sort(np.concatenate(edges, axis=1), axis=0)
    first, second = np.unique(ends[0] * count + ends[1]) // count, np.unique(ends[0] * count + ends[1]) % count
    return first, second, ((points[first] - points[second]) ** 2).sum(axis=1)


def admissible(first: Array, second: Array, widest: Array) -> tuple[Array, Array, Array]:
    """int64[m] each: all pairs whose smaller gap is within the wider window, and its square; float64[n] columns."""
    one_way = np.abs(first[:, None] - second)
    gap = np.fmin(one_way, one_way.T)
    fits = np.triu(gap <= np.maximum(widest[:, None], widest), 1)
    earlier, later = np.nonzero(fits)
    return earlier, later, (gap[fits] ** 2).astype(np.int64)


def pairs_cost(pairs: Any, count: int, first: Array, second: Array, cost: Array) -> tuple[int, int]:
    """How many pairs there are and what they cost; edges by ascending (first, second)."""
    ends = np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1)
    assert len(np.unique(ends)) == ends.size, "a vertex is in two pairs"
    place = np.searchsorted(first * count + second, ends[:, 0] * count + ends[:, 1])
    return len(ends), int(cost[place].sum())
