"""Pairs of single players for `even`: one against one, side against side, and lobbies of two.

What is promised, without `hold`, strictly in this order: as many matches as can be; of those plans the ones that seat
the highest total of levels of due tickets; of those the ones of least cost. Between plans that are equal in all three
nothing is promised but that the same snapshot gives the same plan. Where so many are so alike that the work allowed
does not suffice to prove it, the plan is the best among the pairs that were looked at, and the bounds say what it may
lack. With `hold`: the highest total of what seats are worth less costs, due tickets first.

Without `hold` the pairs are first solved as if nobody were due. What comes of it is the least cost of as many seats,
and where it leaves no due ticket waiting it is the plan as well. Otherwise it is solved once more, with the levels:
that plan may cost more than others that seat as many but pass over one who is due, and the first solution says how
much.

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
from evenmatch.numerics.pair_matching import PairPlan, best_pairs, most_pairs, worth_of

__all__ = ["Solved", "by_earliest", "solve_pairs"]

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
    """No plan's objective is better by more; None = that is not proven, since more might be seated."""
    account: dict[str, Any]
    """What the solver has to say of its work."""
    steps: tuple[dict[str, Any], ...] = ()
    """Its steps, for the trace."""
    worth: float = 0.0
    """What it counts beside cost that these are seated: the objective is cost less worth."""
    cost_bound: float | None = None
    """No plan that seats as many costs less; None = that follows from what is proven, or is not known."""
    cost_slack: float | None = None
    """No plan that seats as many is cheaper by more, whoever waits; None = by no more than `slack`."""


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
    level = pool.level[solos]
    if worth is None:
        best, most, cost_slack = _turns_first(given, level, work)
    else:
        own = np.floor(worth[solos] * UNITS).astype(np.int64)
        best, most, cost_slack = best_pairs(given, _worths(level, given, own), work), len(solos) // 2, None
    earlier = np.flatnonzero(best.mate > np.arange(len(best.mate)))
    later = best.mate[earlier]
    alone = np.flatnonzero(best.mate < 0)
    reasons = np.full(len(pool.size), int(Reason.TOO_FAR), np.int8)
    why = pair_pool.why_alone(given, alone)
    told = np.array([int(_WHY[code]) for code in range(len(_WHY))], np.int8)
    if worth is not None:
        told[pair_pool.ACCEPTABLE] = int(Reason.HELD)
        most = (len(solos) - int(np.count_nonzero(why != pair_pool.ACCEPTABLE))) // 2
    reasons[solos[alone]] = np.where(_no_other_side(given, alone), int(Reason.SIDE_MISSING), told[why])
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
    seated = solos[np.concatenate([earlier, later])]
    return Solved(
        rosters,
        teams,
        reasons,
        seats_bound=2 * (most + len(parties)),
        slack=(best.bound - best.weight) / (2 * UNITS),
        account={"solver": "pairs", "pairs_weighed": best.priced, "rounds": best.rounds, "work": best.work},
        worth=0.0 if worth is None else float(worth[seated].sum()),
        cost_slack=cost_slack,
    )


def _no_other_side(given: pair_pool.PairPool, places: Array) -> Array:
    """bool: is nobody there who could play the side against each of these places?"""
    one, two = ~np.isnan(given.first), ~np.isnan(given.second)
    # Against a player of the first side plays any other of the second, and the other way round.
    against = one[places] & (np.count_nonzero(two) > two[places])
    against |= two[places] & (np.count_nonzero(one) > one[places])
    missing: Array = ~against
    return missing if len(given.first) > 1 else np.zeros(len(places), bool)


def _turns_first(given: pair_pool.PairPool, level: Array, work: int) -> tuple[PairPlan, int, float | None]:
    """The best pairs, due tickets before others; how many there can be; and what as many can cost less at the most.

    The last is None where no due ticket is left waiting, since nothing was paid for turns then.
    """
    alike = _worths(np.zeros_like(level), given)
    least = best_pairs(given, alike, work)
    most = most_pairs(given, alike, least.bound)
    if not level[least.mate < 0].any():
        return least, most, None
    worths = _worths(level, given)
    best = best_pairs(given, worths, work)
    most = min(most, most_pairs(given, worths, best.bound))
    pairs = int(np.count_nonzero(best.mate >= 0)) // 2
    if pairs < most:
        return best, most, np.inf
    # A matching of so many pairs weighs 4 worths each less twice its cost, and none weighs more than the bound.
    units = 2 * int(alike[0]) * pairs - least.bound // 2
    return best, most, max(0, best.units - units) / UNITS


def _worths(level: Array, given: pair_pool.PairPool, own: Array = NONE) -> Array:
    try:
        return worth_of(level, given, own)
    except ValueError:
        raise MatcherError(
            f"even: ratings are too far apart for {len(level)} players: use a larger rating_scale or smaller weights"
        ) from None


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


def by_earliest(solved: Solved) -> tuple[Array, Array]:
    """The matches in the order of their earliest places, and so the tickets of each."""
    rosters, team_of = solved.rosters, solved.team_of
    if not len(rosters):
        return rosters.reshape(0, 0), team_of.reshape(0, 0)
    last = np.iinfo(np.int64).max
    inside = np.argsort(np.where(rosters >= 0, rosters, last), axis=1, kind="stable")
    rosters, team_of = np.take_along_axis(rosters, inside, 1), np.take_along_axis(team_of, inside, 1)
    order = np.argsort(rosters[:, 0], kind="stable")
    return rosters[order], team_of[order]
