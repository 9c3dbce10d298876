"""Pairs of single players for `even`: one against one, side against side, and lobbies of two.

What is promised, without `hold`, strictly in this order: as many matches as can be; of those plans the ones that seat
the highest total of levels of due tickets; of those the ones of least cost. Between plans that are equal in all three
nothing is promised but that the same snapshot gives the same plan. Where so many are so alike that the work allowed
does not suffice to prove it, the plan is the best among the pairs that were looked at, and the bounds say what it may
lack. With `hold`: the highest total of what seats are worth less costs, due tickets first.

In a lobby of two a party of two is a match by itself, and single players make pairs.
"""

from typing import Any, NamedTuple

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.match import Reason
from evenmatch.errors import MatcherError
from evenmatch.matchers.even_pool import Pool
from evenmatch.numerics import pair_pool
from evenmatch.numerics.match_terms import UNITS, Weights
from evenmatch.numerics.pair_matching import best_pairs, most_pairs, worth_of

__all__ = ["Solved", "solve_pairs"]

_WHY = {
    pair_pool.OUT_OF_WINDOW: Reason.NO_OPPONENT_IN_WINDOW,
    pair_pool.TOO_FAR: Reason.TOO_FAR,
    pair_pool.KEPT_APART: Reason.KEPT_APART,
    pair_pool.ACCEPTABLE: Reason.LESS_EVEN,
}


class Solved(NamedTuple):
    """The matches that a solver chose, by place, and what is proven of them."""

    rosters: Array
    """int64[k, width]: places, -1 = empty."""
    team_of: Array
    reasons: Array
    """int8[n]: why each place would not be seated."""
    seats_bound: int
    """No plan seats more players."""
    slack: float | None
    """No plan that seats as many, and as high levels, costs so much less; None = nothing is proven of that."""
    account: dict[str, Any]
    """What the solver has to say of its work."""
    steps: tuple[dict[str, Any], ...] = ()
    """Its steps, for the trace."""


def solve_pairs(
    pool: Pool,
    *,
    weights: Weights,
    policy: int,
    scale: float,
    lobby: bool,
    work: int,
    worth: Array | None = None,
) -> Solved:
    """The best pairs; `lobby`: both are in one team. `worth`, float64[n]: of a seat, to hold poor matches back.

    `work`: pairs that may be weighed beyond those that are solved for.
    """
    if lobby:
        weights = weights._replace(imbalance=0.0, distribution=0.0, premade=0.0)
    (solos,) = np.nonzero(pool.size == 1)
    whole = len(solos) == len(pool.size)
    place = np.full(len(pool.size), -1)
    place[solos] = np.arange(len(solos))
    first = pool.first if whole else pool.first[solos]
    given = pair_pool.pool_of(
        first,
        first if pool.second is pool.first else pool.second,
        pool.window[solos],
        sigma=pool.sigma[pool.start[solos]],
        latency=pool.latency[solos],
        reach=pool.reach[solos] if len(pool.reach) else NONE,
        apart=_among(pool.apart, place),
        met=_among(pool.met, place),
        weights=weights,
        policy=policy,
        scale=scale,
    )
    own = NONE if worth is None else np.floor(worth[solos] * UNITS).astype(np.int64)
    try:
        worths = worth_of(pool.level[solos], given, own)
    except ValueError:
        raise MatcherError(
            f"even: ratings are too far apart for {len(solos)} players: use a larger rating_scale or smaller weights"
        ) from None
    best = best_pairs(given, worths, work)
    earlier = np.flatnonzero(best.mate > np.arange(len(best.mate)))
    later = best.mate[earlier]
    alone = np.flatnonzero(best.mate < 0)
    reasons = np.full(len(pool.size), int(Reason.TOO_FAR), np.int8)
    why = pair_pool.why_alone(given, alone)
    told = np.array([int(_WHY[code]) for code in range(len(_WHY))], np.int8)
    if worth is not None:
        told[pair_pool.ACCEPTABLE] = int(Reason.HELD)
    reasons[solos[alone]] = told[why]
    rosters = np.column_stack([solos[earlier], solos[later]])
    teams = np.zeros(rosters.shape, np.int64)
    if not lobby:
        # The way round with the smaller gap; of equal ones the earlier plays the first side.
        gap, other = (np.abs(given.first[u] - given.second[v]) for u, v in ((earlier, later), (later, earlier)))
        swapped = np.isnan(gap) | (other < gap)
        teams[:, 0], teams[:, 1] = swapped, ~swapped
    parties = _parties(pool)
    if len(parties):
        rosters = np.concatenate([rosters, np.column_stack([parties, np.full(len(parties), -1)])])
        teams = np.concatenate([teams, np.column_stack([np.zeros(len(parties), np.int64), np.full(len(parties), -1)])])
        order = np.argsort(rosters[:, 0], kind="stable")
        rosters, teams = rosters[order], teams[order]
    most = most_pairs(given, worths, best.bound) if worth is None else len(solos) // 2
    return Solved(
        rosters,
        teams,
        reasons,
        seats_bound=2 * (most + len(parties)),
        slack=(best.bound - best.weight) / (2 * UNITS) if worth is None else None,
        account={"solver": "pairs", "pairs_weighed": best.priced, "rounds": best.rounds, "work": best.work},
    )


def _parties(pool: Pool) -> Array:
    """The parties of two that have a region to play in."""
    fits = pool.size == 2
    return np.flatnonzero(fits & (pool.reach != 0) if len(pool.reach) else fits)


def _among(pairs: Array, place: Array) -> Array:
    """Pairs of places as pairs among the single players; others are left out."""
    if not len(pairs):
        return pairs
    found: Array = place[pairs]
    return found[(found >= 0).all(axis=1)]
