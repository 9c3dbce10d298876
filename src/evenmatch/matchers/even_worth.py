"""What it is worth to be seated in a team: more than any match can cost, so that seats come first for any weights.

    without hold   a seat is worth `seat_of`, and `wait_value` more for each second waited; a due ticket `DUE` more, and
                   the more the higher its level
    with hold      a seat is worth what `even_pool` says, and a due ticket `seat_of` more

A seat must outweigh whatever another choice could save. The search weighs a few matches against each other at a time,
`AT_ONCE` at the most, so a seat counts for as many times the most that a player's part of a match can cost and a
player's wait be worth; whole plans are compared by seats first, and then by worth. The most that a match can cost
follows from the ratings, prices and pairs that are there, and from the weights.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.matchers.even_pool import LEVELS_MAX, Pool
from evenmatch.numerics.match_terms import LATENCY_MOST_MS, LATENCY_UNIT_MS, Weights

__all__ = ["DUE", "SEAT_LEAST", "Judge", "most_value", "seat_of", "seat_values"]

Judge = Callable[[Array, Array], tuple[Array, Array]]
"""(rosters, team_of) -> bool[k]: which matches keep all rules; float64[k]: what they cost."""
SEAT_LEAST: Final = 10_000.0
DUE: Final = 100.0
AT_ONCE: Final = 16
"""No move changes more matches, and no plan of the few tickets of which all is tried has more."""


def seat_of(pool: Pool, weights: Weights, scale: float, seats: int, wait_value: float) -> float:
    """What a player's seat is worth, waits apart."""
    if not len(pool.rows):
        return SEAT_LEAST
    apart = float(pool.mu.max() - pool.mu.min()) / scale
    prices = pool.role_cost[np.isfinite(pool.role_cost)]
    most = (
        weights.spread * apart / 2
        + weights.imbalance
        + weights.distribution * apart
        + weights.latency * LATENCY_MOST_MS / LATENCY_UNIT_MS
        + weights.premade
        + weights.role * float(prices.max(initial=0.0))
        + weights.repeat * min(len(pool.met), seats * seats) / seats
    )
    waits = wait_value * float(pool.waited_ms.max()) / 1000.0 + 2 * DUE
    return max(SEAT_LEAST, AT_ONCE * (most + waits))


def seat_values(pool: Pool, wait_value: float, worth: Array | None = None, seat: float = SEAT_LEAST) -> Array:
    """float64[n]: what it is worth to seat each ticket; `worth`, float64[n]: of a player's seat, with hold."""
    due = pool.level > 0
    if worth is None:
        each = seat + wait_value * pool.waited_ms / 1000.0 + DUE * (due + pool.level / LEVELS_MAX)
    else:
        each = worth + seat * (due + pool.level / LEVELS_MAX)
    value: Array = each * pool.size
    return value


def most_value(value: Array, size: Array, players: int) -> float:
    """What so many players are worth at the most, parties not whole."""
    each = np.sort(np.repeat(value / size, size))[::-1]
    return float(each[:players].sum())
