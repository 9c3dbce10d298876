"""Pairs of two sides within windows, exchanged where that makes them more even: two kernels at one call.

Problem. `window_pairs` and `exchanges` take columns of exactly the players concerned. Gathering these columns twice
costs a small queue more in calls than both kernels take.

Why it is exact. It gathers, and calls both.

Complexity. That of both, and 24 bytes a pair.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, FLOATS, INT, INTS, kernel
from evenmatch.numerics.exchanges import exchanged
from evenmatch.numerics.window_pairs import window_pairs

__all__ = ["selected"]


@kernel(FLOATS, INTS)
def _gathered(values: Array, places: Array) -> Array:
    found = np.empty(len(places))
    for at in range(len(places)):
        found[at] = values[places[at]]
    return found


@kernel(INT, FLOAT, INT, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS)
def selected(
    rule: int,
    weight: float,
    passes: int,
    leads: Array,
    follows: Array,
    lead_rating: Array,
    follow_rating: Array,
    misses: Array,
    window: Array,
) -> tuple[Array, int, int, int]:
    """int64[3, pairs]: leads in order of selection, their followers at first and in the end; and three counts.

    `leads` and `follows` are places in the columns, ascending. Counted are acceptable pairs, exchanges and passes.
    """
    lead_at, follow_at, acceptable = window_pairs(
        rule,
        weight,
        _gathered(lead_rating, leads),
        _gathered(misses, leads),
        _gathered(window, leads),
        _gathered(follow_rating, follows),
        _gathered(misses, follows),
        _gathered(window, follows),
    )
    pairs = np.empty((3, len(lead_at)), np.int64)
    for pair in range(len(lead_at)):
        pairs[0, pair], pairs[1, pair] = leads[lead_at[pair]], follows[follow_at[pair]]
    order, swaps, run = exchanged(
        rule,
        passes,
        _gathered(lead_rating, pairs[0]),
        _gathered(window, pairs[0]),
        _gathered(follow_rating, pairs[1]),
        _gathered(window, pairs[1]),
    )
    for pair in range(len(order)):
        pairs[2, pair] = pairs[1, order[pair]]
    return pairs, acceptable, swaps, run
