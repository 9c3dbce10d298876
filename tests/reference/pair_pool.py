"""The slow twin of the exact solver for pairs: rules and costs player by player, and every matching tried."""

import math
from functools import cache
from typing import NamedTuple

from tests.reference.match_terms import terms


class Single(NamedTuple):
    """A single player."""

    first: float
    second: float
    window: float
    sigma: float = 0.0
    latency: tuple[float, ...] = ()
    reach: int = -1
    level: int = 0


Pairs = frozenset[frozenset[int]]


def gap(a: Single, b: Single) -> float:
    """The smaller of both ways round, NaN = none."""
    ways = [abs(x - y) for x, y in ((a.first, b.second), (a.second, b.first)) if not math.isnan(x - y)]
    return min(ways, default=math.nan)


def allowed(players: list[Single], u: int, v: int, policy: str, apart: Pairs) -> bool:
    """May two places meet?"""
    a, b = players[u], players[v]
    window = {
        "mean": (a.window + b.window) / 2,
        "older": players[min(u, v)].window,
        "both": min(a.window, b.window),
    }[policy]
    return gap(a, b) <= window and a.reach & b.reach != 0 and frozenset((u, v)) not in apart


def cost(players: list[Single], u: int, v: int, weights: dict[str, float], scale: float, met: Pairs) -> float:
    """What their match costs, not rounded."""
    a, b = players[u], players[v]
    teams = [[([(0.0, a.sigma)], list(a.latency))], [([(gap(a, b), b.sigma)], list(b.latency))]]
    regions = [region for region in range(len(a.latency)) if (a.reach & b.reach) >> region & 1]
    told = terms(teams, scale, regions, int(frozenset((u, v)) in met))
    return sum(weights[name] * value for name, value in told.items())


def best(count: int, edges: dict[tuple[int, int], int], levels: list[int]) -> tuple[int, int, int]:
    """The most pairs, then the highest sum of levels, then the least total cost (as a negative number)."""

    @cache
    def of(free: int) -> tuple[int, int, int]:
        if not free:
            return (0, 0, 0)
        u = free.bit_length() - 1
        found = of(free ^ 1 << u)
        for v in range(u):
            if free >> v & 1 and (v, u) in edges:
                pairs, level, price = of(free ^ 1 << u ^ 1 << v)
                found = max(found, (pairs + 1, level + levels[u] + levels[v], price - edges[v, u]))
        return found

    return of((1 << count) - 1)
