"""Teams for `even`: what a seat is worth, a first plan from cheap rules, the search, and why others wait.

The search (`numerics/team_plan`) makes the total of what seats are worth less what matches cost as high as it can:

    without hold   a seat is worth `SEAT`, more than any match costs, and `wait_value` more for each second waited;
                   a due ticket `DUE` more, and the more the higher its level
    with hold      a seat is worth what `even_pool` says, and a due ticket `SEAT` more

So most players are seated, long waiters count for more, and then costs decide.

With up to `START_MAX` tickets the search begins from the best of some cheap plans, so that it is not behind them: the
rule of `first_come` over the tickets in canonical order, and by rating from below and from above, without the matches
that break a rule; whoever is left is tried again. With up to `COMPARED_MAX` tickets the better of these and of what
the search found is the plan, so it is never behind them. In larger pools they take as long as the search itself. There,
up to `DRAINED_MAX` tickets, they are asked where they are known to be ahead now and then: in lobbies, in teams of one
or two, and where the search seats less than `SURE` of what the bound allows.

Whoever made the plan, due tickets then take the places of later ones where they can (`numerics/team_turns`).
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.matchers.even_pairs import Solved
from evenmatch.matchers.even_parameters import BOTH, MEAN
from evenmatch.matchers.even_pool import LEVELS_MAX, Pool
from evenmatch.matchers.first_come import Drain, blocks
from evenmatch.numerics.team_plan import TeamPool, TeamRules, team_plan, with_turns

__all__ = ["cheap_plans", "reasons_left", "seat_values", "solve_teams"]

Judge = Callable[[Array, Array], tuple[Array, Array]]
"""(rosters, team_of) -> bool[k]: which matches keep all rules; float64[k]: what they cost."""
SEAT: Final = 10_000.0
DUE: Final = 100.0
ROUNDS: Final = 4
START_MAX: Final = 400
COMPARED_MAX: Final = 1_500
SURE: Final = 0.99
DRAINED_MAX: Final = 5_000
"""Tickets up to which cheap plans are asked at all; they take some 15 ms for each thousand."""
REASONED_MAX: Final = 2_000
"""So many who wait are told exactly why; others only that those who are left do not fit."""


def seat_values(pool: Pool, wait_value: float, worth: Array | None = None) -> Array:
    """float64[n]: what it is worth to seat each ticket; `worth`, float64[n]: of a player's seat, with hold."""
    due = pool.level > 0
    if worth is None:
        each = SEAT + wait_value * pool.waited_ms / 1000.0 + DUE * (due + pool.level / LEVELS_MAX)
    else:
        each = worth + SEAT * (due + pool.level / LEVELS_MAX)
    value: Array = each * pool.size
    return value


def solve_teams(pool: Pool, rules: TeamRules, value: Array, judge: Judge, *, hold: bool) -> Solved:
    """The best plan that the search finds."""
    form = Format(rules.teams, rules.size)
    given = TeamPool(
        size=pool.size,
        start=pool.start,
        mu=pool.mu,
        sigma=pool.sigma,
        window=pool.window,
        value=value,
        reach=pool.reach,
        latency=pool.latency,
        role_cost=pool.role_cost,
        forbidden=pool.apart,
        met=pool.met,
        level=pool.level,
    )
    cheap = cheap_plans(pool, form, judge) if 0 < len(pool.rows) <= START_MAX else []
    start = max(cheap, key=lambda plan: _total(value, plan[0], plan[2]))[0] if cheap else None
    found = team_plan(given, rules, start)
    unsure = form.teams == 1 or form.size <= 2 or len(found.cost) * form.seats < SURE * found.seats_bound
    if START_MAX < len(pool.rows) <= (DRAINED_MAX if unsure else COMPARED_MAX):
        cheap = cheap_plans(pool, form, judge)
    rosters, team_of, cost = found.rosters.astype(np.int64), found.team_of.astype(np.int64), found.cost
    reached, solver = _total(value, rosters, cost), "teams"
    slack = None if hold else max(float(cost.sum()) - float(found.cost_bound), 0.0)
    for other in cheap:
        if not len(other[0]) or _total(value, other[0], other[2]) <= reached:
            continue
        turned = with_turns(given, rules, found._replace(rosters=other[0], team_of=other[1], cost=other[2]))
        if _total(value, turned.rosters, turned.cost) > reached:
            rosters, team_of, cost = turned.rosters.astype(np.int64), turned.team_of.astype(np.int64), turned.cost
            reached, solver = _total(value, rosters, cost), "cheap"
            slack = None if hold else float(cost.sum())
    left = reasons_left(pool, form, rosters, rules.policy, hold=hold)
    steps = tuple({name: value for name, value in step.items() if name != "tickets"} for step in found.steps)
    return Solved(rosters, team_of, left, found.seats_bound, slack, {"solver": solver}, steps)


def _total(value: Array, rosters: Array, cost: Array) -> float:
    """What a plan is worth."""
    return float(value[rosters[rosters >= 0]].sum() - cost.sum())


def reasons_left(pool: Pool, form: Format, rosters: Array, policy: int, *, hold: bool) -> Array:
    """int8[n]: why each place would be in no match, given those that are; only meant for the others."""
    reasons = np.full(len(pool.rows), int(Reason.NO_FITTING_PARTIES), np.int8)
    waits = np.ones(len(pool.rows), bool)
    waits[rosters[rosters >= 0]] = False
    (places,) = np.nonzero(waits)
    left = int(pool.size[waits].sum())
    for place in places[:REASONED_MAX].tolist():
        near = np.abs(pool.rating - pool.rating[place]) <= _windows(pool, place, policy)
        near[place] = False
        reached = near if not len(pool.reach) else near & (pool.reach & pool.reach[place] != 0)
        free = reached.copy()
        if len(pool.apart):
            mine = pool.apart[(pool.apart == place).any(axis=1)]
            free[mine[mine != place]] = False
        needed = form.seats - int(pool.size[place])
        for some, reason in (
            (near, Reason.NO_OPPONENT_IN_WINDOW),
            (reached, Reason.TOO_FAR),
            (free, Reason.KEPT_APART),
        ):
            if int(pool.size[some].sum()) < needed:
                reasons[place] = int(reason)
                break
        else:
            if hold:
                reasons[place] = int(Reason.HELD)
            elif left < form.seats:
                reasons[place] = int(Reason.LESS_EVEN if len(rosters) else Reason.NO_FITTING_PARTIES)
    return reasons


def _windows(pool: Pool, place: int, policy: int) -> Array:
    """float64[n]: the widest range of a match of this place and each other alone."""
    mine = pool.window[place]
    if policy == MEAN:
        size = pool.size[place]
        mixed: Array = (mine * size + pool.window * pool.size) / (size + pool.size)
        return mixed
    later = np.where(np.arange(len(pool.rows)) < place, pool.window, mine)
    narrow: Array = np.minimum(mine, pool.window)
    return narrow if policy == BOTH else later


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
