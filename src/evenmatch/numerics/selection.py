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
        lead_rating[leads],
        misses[leads],
        window[leads],
        follow_rating[follows],
        misses[follows],
        window[follows],
    )
    pairs = np.empty((3, len(lead_at)), np.int64)
    pairs[0], pairs[1] = leads[lead_at], follows[follow_at]
    order, swaps, run = exchanged(
        rule, passes, lead_rating[pairs[0]], window[pairs[0]], follow_rating[pairs[1]], window[pairs[1]]
    )
    pairs[2] = pairs[1][order]
    return pairs, acceptable, swaps, run
