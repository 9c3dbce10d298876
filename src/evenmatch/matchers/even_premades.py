"""Whole teams against whole teams for `even`: where every party fills a team of two, matches are pairs, solved exactly.

Any two parties that may meet make one match, divided in one way, so what is left to choose is who meets whom: the
heaviest matching of a graph. All pairs are weighed by the same judge that checks plans, and the matching is the most
matches, of these the highest worth (values of the tickets less cost), strictly in this order; a second one, in which
all are worth the same, is the least cost of as many seats. Both are proven by their solver.

    weight of a pair = 2 * (2 * h + value of both - cost),    h more than all values and costs together can differ

Values are all counted from the least, in parts of 1 / `FINE`, of which a cost is a whole number; what they lose by
that is far below the least part of a cost.

Complexity. All pairs are listed, so it is for `WHOLE_MAX` parties at most; larger pools are searched as others are.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.matchers.even_pool import Pool
from evenmatch.matchers.even_worth import Judge
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.matching import WEIGHT_MAX, heaviest
from evenmatch.numerics.team_exact import TICKETS_MAX
from evenmatch.numerics.team_plan import TeamPlan, TeamRules

__all__ = ["plan_of_whole_teams"]

WHOLE_MAX: Final = 150
SIDES: Final = 2
FINE: Final = UNITS * 256


def plan_of_whole_teams(pool: Pool, rules: TeamRules, value: Array, judge: Judge) -> TeamPlan | None:
    """The best plan, turns apart; None = not every party is a whole team of two, or there are too many, or so few that
    all plans are tried anyway."""
    count, seats = len(pool.rows), rules.teams * rules.size
    if rules.teams != SIDES or rules.places or not TICKETS_MAX < count <= WHOLE_MAX or (pool.size != rules.size).any():
        return None
    rosters, cost = _weighed(count, judge)
    units = np.rint(cost * FINE).astype(np.int64)
    worth = np.rint((value - value.min()) * FINE).astype(np.int64)
    more = int(worth.max()) * SIDES + int(units.max(initial=0)) + 1
    half = count * more
    if 4 * (half + more) > WEIGHT_MAX:
        return None
    chosen = _matched(count, rosters, half + worth, units)
    cheapest = _matched(count, rosters, np.full(count, half), units)
    found, paid = rosters[chosen], cost[chosen]
    return TeamPlan(
        rosters=found.astype(np.int32),
        team_of=np.tile(np.array([0, 1], np.int8), (len(found), 1)),
        cost=paid,
        seats_bound=len(found) * seats,
        cost_bound=float(cost[cheapest].sum()),
        worth_bound=float(value[found].sum() - paid.sum()),
        steps=({"step": "whole teams", "pairs": len(rosters), "matches": len(found)},),
    )


def _weighed(count: int, judge: Judge) -> tuple[Array, Array]:
    """All pairs that may meet, int64[k, 2], and what their matches cost.

    The judge knows plans, in which nobody is twice. So it is asked round by round, as in a tournament where everybody
    meets everybody: one stays, the others go round.
    """
    ring = np.arange(count + count % 2)
    rosters, costs = [np.empty((0, SIDES), np.int64)], [np.empty(0)]
    for _ in range(len(ring) - 1):
        pairs = np.sort(np.column_stack([ring[: len(ring) // 2], ring[::-1][: len(ring) // 2]]), axis=1)
        pairs = pairs[pairs[:, 1] < count]
        legal, cost = judge(pairs, np.tile(np.arange(SIDES), (len(pairs), 1)))
        rosters.append(pairs[legal])
        costs.append(cost[legal])
        ring[1:] = np.roll(ring[1:], 1)
    return np.concatenate(rosters), np.concatenate(costs)


def _matched(count: int, pairs: Array, worth: Array, units: Array) -> Array:
    """bool[k]: the pairs of the heaviest matching, if everybody is worth so much."""
    weight = 2 * (worth[pairs].sum(axis=1) - units)
    mate, _, _, _ = heaviest(count, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), weight)
    together: Array = mate[pairs[:, 0]] == pairs[:, 1]
    return together
