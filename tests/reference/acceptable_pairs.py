"""Pairs of two sides under windows, one by one: the twin of `acceptable_pairs` and `window_pricing`."""

from fractions import Fraction
from math import isnan

Pair = tuple[int, int]


def smaller_gap(first: list[float], second: list[float], u: int, v: int) -> float | None:
    """The gap of the better way round, None if nobody of both can play one of the sides."""
    gaps = [abs(first[u] - second[v]), abs(second[u] - first[v])]
    return min([gap for gap in gaps if not isnan(gap)], default=None)


def acceptable(first: list[float], second: list[float], window: list[float], *, either: bool) -> dict[Pair, float]:
    """(earlier, later) -> gap of all pairs that keep the window rule."""
    found = {}
    for v in range(len(first)):
        for u in range(v):
            gap = smaller_gap(first, second, u, v)
            rule = max(window[u], window[v]) if either else min(window[u], window[v])
            if gap is not None and gap <= rule:
                found[u, v] = gap
    return found


def squared(gap: float) -> Fraction:
    """The exact square."""
    return Fraction(gap) ** 2
