"""Which of many accepts count: of a player who is asked, and has not accepted before."""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT8S, INTS, kernel

__all__ = ["accepts"]


@kernel(INTS, INTS, INTS, INTS, INT8S)
def accepts(proposal: Array, player: Array, first: Array, member: Array, accepted: Array) -> tuple[Array, Array, Array]:
    """bool[n]: which count; for each proposal, how many do (int64[k]) and the place of the last (int64[k], -1 = none).

    `proposal` and `player`, int64[n]: who accepts what; the members of proposal p, and whether each accepted before
    (int8, 0 = no), stand at first[p] : first[p + 1].
    """
    counts = np.zeros(len(proposal), np.bool_)
    count, last = np.zeros(len(first) - 1, np.int64), np.full(len(first) - 1, -1, np.int64)
    done = accepted != 0
    for place in range(len(proposal)):
        asked = proposal[place]
        for seat in range(first[asked], first[asked + 1]):
            if member[seat] == player[place]:
                if not done[seat]:
                    done[seat] = counts[place] = True
                    count[asked] += 1
                    last[asked] = place
                break
    return counts, count, last
