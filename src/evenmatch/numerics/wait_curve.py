"""How long tickets wait until they are matched, from waits of which not all have ended.

Problem. The waits of those who were matched lately are too short a story: whoever still waits, or left, has waited
longer than any number in it. And what is remembered begins somewhere: a ticket that had waited for a minute by then
would have been forgotten, had it been matched sooner.

Idea. The product-limit estimate (Kaplan and Meier, 1958) with late entry. Of each ticket: `entry`, how long it had
waited when it came into view, below 0 = it was in view from the start; `end`, how long it waited or has waited; and
whether it was matched then. At every wait t at which somebody was matched:

    at risk = those with entry < t <= end        S(t) = S(t before) * (1 - matched at t / at risk)

1 - S(t) is the chance of being matched within t for who neither leaves nor is unlike those it is estimated from.

Care. Late entry can leave a handful at risk at the shortest waits, and one match among them would bring S to 0 for
good. Steps with fewer than `LEAST_AT_RISK` tickets are passed over as long as more come into view later.

Complexity. O(n log n) for sorting.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Curve", "wait_curve"]

LEAST_AT_RISK: Final = 5
_ROUNDING: Final = 1e-9


class Curve(NamedTuple):
    """The share of tickets that still wait after each wait."""

    wait: Array
    """float64[k], ascending: waits at which somebody was matched."""
    left: Array
    """float64[k]: the share that waits longer, falling."""

    def quantile(self, share: float) -> float | None:
        """The wait within which this share is matched; None = so many were not seen matched."""
        reached = np.flatnonzero(self.left <= 1.0 - share + _ROUNDING)
        return float(self.wait[reached[0]]) if len(reached) else None


def wait_curve(entry: Array, end: Array, matched: Array, weight: Array) -> Curve:
    """The estimate from float64[n], float64[n], bool[n]; a ticket of weight w stands for w like it, float64[n]."""
    seen = entry < end
    entry, end, matched, weight = entry[seen], end[seen], matched[seen], weight[seen]
    wait = np.unique(end[matched])
    by_entry, by_end = np.argsort(entry), np.argsort(end)
    came = _before(entry[by_entry], weight[by_entry], wait)
    went = _before(end[by_end], weight[by_end], wait)
    at_risk = came - went
    heads = np.searchsorted(entry[by_entry], wait) - np.searchsorted(end[by_end], wait)
    taken = np.zeros(len(wait))
    np.add.at(taken, np.searchsorted(wait, end[matched]), weight[matched])
    early = np.arange(len(wait)) < (int(heads.argmax()) if len(heads) else 0)
    counts = (heads >= LEAST_AT_RISK) | ~early
    wait, taken, at_risk = wait[counts], taken[counts], at_risk[counts]
    left = np.cumprod(1.0 - np.minimum(1.0, taken / np.maximum(at_risk, taken)))
    return Curve(wait, left)


def _before(values: Array, weight: Array, moments: Array) -> Array:
    """float64[k]: the weight of all values, ascending, below each moment."""
    total = np.concatenate(([0.0], np.cumsum(weight)))
    below: Array = total[np.searchsorted(values, moments)]
    return below
