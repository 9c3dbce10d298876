"""Cinder without any shortcut: every pair of lobbies judged; and its experiment in plain Python and in numpy."""

from bisect import bisect_right

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["all_pairs_best", "all_pairs_first", "numpy_overlaps", "numpy_scores", "plain_scores", "ranges"]


def judged(low: Array, high: Array, buckets: Array, seeker: int, overlap_min: float, sanction_max: int) -> Array:
    """int64[k, 2]: (score, opponent) of all later lobbies that are acceptable to one, in order."""
    later = slice(seeker + 1, None)
    shared = np.minimum(high[seeker], high[later]) - np.maximum(low[seeker], low[later])
    union = np.maximum(high[seeker], high[later]) - np.minimum(low[seeker], low[later])
    scores = np.abs(buckets[later] - buckets[seeker]).sum(axis=1)
    fine = np.flatnonzero((np.maximum(shared, 0.0) / union >= overlap_min) & (scores <= sanction_max))
    return np.stack([scores[fine], seeker + 1 + fine], axis=1)


def all_pairs_best(
    low: Array, high: Array, buckets: Array, overlap_min: float, sanction_max: int
) -> list[tuple[int, int]]:
    """All acceptable pairs, sorted by score and places, and taken where both are free."""
    pairs = [
        np.insert(judged(low, high, buckets, seeker, overlap_min, sanction_max), 1, seeker, axis=1)
        for seeker in range(len(low))
    ]
    every = np.concatenate(pairs)
    every = every[np.lexsort((every[:, 2], every[:, 1], every[:, 0]))]
    free = [True] * len(low)
    found = []
    for _, seeker, opponent in every.tolist():
        if free[seeker] and free[opponent]:
            free[seeker] = free[opponent] = False
            found.append((seeker, opponent))
    return found


def all_pairs_first(
    low: Array, high: Array, buckets: Array, overlap_min: float, sanction_max: int
) -> list[tuple[int, int]]:
    """Each lobby takes the first later one that is acceptable and free."""
    free = np.ones(len(low), bool)
    found = []
    for seeker in range(len(low)):
        if free[seeker]:
            others = judged(low, high, buckets, seeker, overlap_min, sanction_max)[:, 1]
            others = others[free[others]]
            if len(others):
                free[[seeker, others[0]]] = False
                found.append((seeker, int(others[0])))
    return found


def ranges(rating: Array, lcap: float, ucap: float, n_bucket: int) -> tuple[Array, Array]:
    """float64[n] each: where the non-outlier range of each lobby begins and ends; `rating` is sorted, [n, size]."""
    clipped = np.clip(rating, lcap, ucap)
    size = clipped.shape[1]
    mean = np.cumsum(clipped, axis=1)[:, -1] / size  # added up in order: no rounding but the document's own
    variance = np.cumsum((clipped - mean[:, None]) ** 2, axis=1)[:, -1] / size
    sigma = np.maximum(np.sqrt(variance), (ucap - lcap) / n_bucket)
    return mean - sigma, mean + sigma


def numpy_overlaps(one: Array, other: Array, lcap: float, ucap: float, n_bucket: int) -> Array:
    """float64[n]: the similarity of the ranges of two lobbies, float64[n, size] each."""
    (low, high), (other_low, other_high) = (
        ranges(np.sort(lobby, axis=1), lcap, ucap, n_bucket) for lobby in (one, other)
    )
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    similar: Array = np.maximum(shared, 0.0) / (np.maximum(high, other_high) - np.minimum(low, other_low))
    return similar


def plain_scores(one: list[list[float]], other: list[list[float]], edges: list[float]) -> list[int]:
    """The score of each pairing of two lobbies, given by their ratings, rating by rating."""
    inner = edges[1:-1]
    scores = []
    for lobby, against in zip(one, other, strict=True):
        u = sorted([bisect_right(inner, rating) for rating in lobby])
        v = sorted([bisect_right(inner, rating) for rating in against])
        scores.append(sum([abs(x - y) for x, y in zip(u, v, strict=True)]))
    return scores


def numpy_scores(one: Array, other: Array, edges: Array) -> Array:
    """int64[n]: the same with numpy's own searching and sorting; `one` and `other` are float64[n, size]."""
    u, v = (np.sort(np.searchsorted(edges[1:-1], lobby, side="right"), axis=1) for lobby in (one, other))
    scores: Array = np.abs(u - v).sum(axis=1)
    return scores
