"""Teams for `even`: a first plan from cheap rules.

The rule of `first_come` is run over the tickets in canonical order, and by rating from below and from above; matches
that break a hard rule are left out, and whoever is left is tried again. The best of these plans is the one that seats
the most players, then the highest levels of due tickets, then costs least.
"""

from collections.abc import Callable

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.matchers.even_pairs import Solved
from evenmatch.matchers.even_pool import Pool
from evenmatch.matchers.first_come import Drain, blocks

__all__ = ["cheap_plans", "solve_teams"]

Judge = Callable[[Array, Array], tuple[Array, Array]]
"""(rosters, team_of) -> bool[k]: which matches keep all rules; float64[k]: what they cost."""
ROUNDS = 4


def solve_teams(pool: Pool, form: Format, judge: Judge) -> Solved:
    """The best of the cheap plans."""
    best, best_key = None, (-1, -1, 0.0)
    for rosters, team_of, cost in cheap_plans(pool, form, judge):
        level = int(pool.level[rosters[rosters >= 0]].sum())
        key = (len(rosters), level, -float(cost.sum()))
        if best is None or key > best_key:
            best, best_key = (rosters, team_of), key
    assert best is not None
    rosters, team_of = best
    left = np.full(len(pool.rows), int(Reason.NO_FITTING_PARTIES), np.int8)
    players = int(pool.size.sum())
    if players < form.seats:
        left[:] = int(Reason.TOO_FEW_PLAYERS)
    return Solved(
        rosters,
        team_of,
        left,
        seats_bound=players // form.seats * form.seats,
        slack=float(-best_key[2]),
        account={"solver": "cheap"},
    )


def cheap_plans(pool: Pool, form: Format, judge: Judge) -> list[tuple[Array, Array, Array]]:
    """Plans by simple rules: rosters and teams, int64[k, width], and costs."""
    by_rating = np.argsort(pool.rating, kind="stable")
    orders = (np.arange(len(pool.rows)), by_rating, by_rating[::-1].copy())
    return [_drained(pool, form, order, judge) for order in orders]


def _drained(pool: Pool, form: Format, order: Array, judge: Judge) -> tuple[Array, Array, Array]:
    width = form.seats
    rosters, teams, costs = np.empty((0, width), np.int64), np.empty((0, width), np.int64), np.empty(0)
    for _ in range(ROUNDS):
        found, team_of = _matches(order, pool.size[order], form)
        if not len(found):
            break
        good, cost = judge(found, team_of)
        if not good.any():
            break
        rosters, teams = np.concatenate([rosters, found[good]]), np.concatenate([teams, team_of[good]])
        costs = np.concatenate([costs, cost[good]])
        order = order[~np.isin(order, found[good])]
    return rosters, teams, costs


def _matches(order: Array, size: Array, form: Format) -> tuple[Array, Array]:
    """The rule of `first_come` over these places, in this order."""
    if not len(order):
        return np.empty((0, form.seats), np.int64), np.empty((0, form.seats), np.int64)
    if (size == size[0]).all():
        teams, per_match = blocks(int(size[0]), len(order), form)
        chosen = np.arange(len(teams))
    else:
        chosen, teams, per_match = Drain(size, form).run()
    filled = np.arange(form.seats) < per_match[:, None]
    rosters, team_of = np.full(filled.shape, -1, np.int64), np.full(filled.shape, -1, np.int64)
    rosters[filled], team_of[filled] = order[chosen], teams
    return rosters, team_of
