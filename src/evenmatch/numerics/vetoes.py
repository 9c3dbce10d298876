"""What two players veto least, for many pairs at once.

Problem. Options, some of which each player vetoes. A pair may choose among those with the fewest vetoes of the two:
those without any if there are such. Count them, and later name the n-th of them.

Why it is exact. It is the rule itself, pair by pair.

Complexity. O(pairs * options), no memory but the answers.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import BOOLS2, INTS, kernel

__all__ = ["choices", "chosen"]


@kernel()
def _fewest(vetoed: Array, one: int, other: int) -> tuple[int, int]:
    """The fewest vetoes of any option, and how many options have so few."""
    fewest, count = 2, 0
    for option in range(vetoed.shape[1]):
        vetoes = int(vetoed[one, option]) + int(vetoed[other, option])
        if vetoes < fewest:
            fewest, count = vetoes, 0
        count += vetoes == fewest
    return fewest, count


@kernel(BOOLS2, INTS, INTS)
def choices(vetoed: Array, one: Array, other: Array) -> Array:
    """int64[pairs]: how many options each pair has; `vetoed`, bool[kinds, options]; `one` and `other`: their kinds."""
    counts = np.empty(len(one), np.int64)
    for pair in range(len(one)):
        counts[pair] = _fewest(vetoed, one[pair], other[pair])[1]
    return counts


@kernel(BOOLS2, INTS, INTS, INTS)
def chosen(vetoed: Array, one: Array, other: Array, number: Array) -> Array:
    """int64[pairs]: the option that is the pair's choice with this number, from 0 in the order of the options."""
    found = np.empty(len(one), np.int64)
    for pair in range(len(one)):
        fewest, left = _fewest(vetoed, one[pair], other[pair])[0], number[pair]
        for option in range(vetoed.shape[1]):
            if int(vetoed[one[pair], option]) + int(vetoed[other[pair], option]) == fewest:
                if left == 0:
                    found[pair] = option
                    break
                left -= 1
    return found
