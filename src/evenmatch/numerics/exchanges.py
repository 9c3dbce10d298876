"""Neighbouring pairs exchange partners where that makes both together more even.

Problem. Pairs stand in a list. Go along it: two neighbours exchange their followers if that lowers the sum of both
squared gaps and both new pairs keep the window rule. The list is changed in place, so a follower may travel far. Go
over it again, a number of times at most, until nothing changes.

Why it is exact. It is the rule itself, in the order and with the float expressions of the slow twin.

Complexity. O(pairs) a pass, 24 bytes a pair.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOATS, INT, kernel
from evenmatch.numerics.window_counts import EITHER, LEAD

__all__ = ["exchanged"]


@kernel()
def _radius(lead_window: float, follow_window: float, rule: int) -> float:
    if rule == LEAD:
        return lead_window
    return max(lead_window, follow_window) if rule == EITHER else min(lead_window, follow_window)


@kernel(INT, INT, FLOATS, FLOATS, FLOATS, FLOATS)
def exchanged(
    rule: int, passes: int, lead_rating: Array, lead_window: Array, follow_rating: Array, follow_window: Array
) -> tuple[Array, int, int]:
    """int64[pairs]: which follower each lead has in the end; how many exchanges were made, and passes run."""
    order = np.arange(len(lead_rating))
    swaps = run = 0
    while run < passes:
        before = swaps
        for at in range(len(order) - 1):
            here, there = order[at], order[at + 1]
            old_here, old_there = lead_rating[at] - follow_rating[here], lead_rating[at + 1] - follow_rating[there]
            new_here, new_there = lead_rating[at] - follow_rating[there], lead_rating[at + 1] - follow_rating[here]
            if (
                new_here * new_here + new_there * new_there < old_here * old_here + old_there * old_there
                and abs(new_here) <= _radius(lead_window[at], follow_window[there], rule)
                and abs(new_there) <= _radius(lead_window[at + 1], follow_window[here], rule)
            ):
                order[at], order[at + 1] = there, here
                swaps += 1
        run += 1
        if swaps == before:
            break
    return order, swaps, run
