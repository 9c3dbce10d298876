"""Teams for `even`: what a seat is worth, a first plan from cheap rules, the search, and why others wait.

The search (`numerics/team_plan`) makes the total of what seats are worth less what matches cost as high as it can,
seats first where nothing is held (`even_worth`). So most players are seated, long waiters count for more, and then
costs decide.

With up to `START_MAX` tickets the search begins from the best of some cheap plans, so that it is not behind them: the
rule of `first_come` over the tickets in canonical order, and by rating from below and from above, without the matches
that break a rule; whoever is left is tried again. Where some must not meet, or have no region in common, the plan of
`first_come` itself is one of them, for it is another one then. With up to `COMPARED_MAX` tickets the better of these
and of what the search found is the plan, so it is never behind them. In larger pools they take as long as the search
itself. There, up to `DRAINED_MAX` tickets, they are asked where they are known to be ahead now and then: in lobbies, in
teams of one or two, and where the search seats less than `SURE` of what the bound allows.

Where every party is a whole team of two, nothing has to be searched for (`even_premades`).

Whoever made the plan, due tickets then take the places of later ones where they can (`numerics/team_turns`).
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.even_pairs import Solved
from evenmatch.matchers.even_parameters import BOTH, MEAN
from evenmatch.matchers.even_pool import Pool
from evenmatch.matchers.even_premades import plan_of_whole_teams
from evenmatch.matchers.even_spans import keeps_windows, runs
from evenmatch.matchers.even_steps import told
from evenmatch.matchers.even_worth import Judge, most_value
from evenmatch.matchers.first_come import Drain, FirstCome, blocks
from evenmatch.matchers.reach import plan_in_reach
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.team_plan import TeamPool, TeamRules, team_plan, with_turns

__all__ = ["cheap_plans", "reasons_left", "solve_teams"]

NOTHING: Final = 0.5 / UNITS
"""What is worth less than half the least part of a cost is due to rounding."""
ROUNDS: Final = 4
START_MAX: Final = 400
COMPARED_MAX: Final = 1_500
SURE: Final = 0.99
DRAINED_MAX: Final = 5_000
"""Tickets up to which cheap plans are asked at all; they take some 15 ms for each thousand."""
REASONED_MAX: Final = 2_000
"""So many who wait are told exactly why; others only that those who are left do not fit."""


def solve_teams(
    snapshot: Snapshot, pool: Pool, rules: TeamRules, value: Array, judge: Judge, *, hold: bool, seat: float = 0.0
) -> Solved:
    """The best plan that the search finds; `seat`: what of a player's value is the seat itself, 0 with `hold`."""
    form = snapshot.format
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
    whole = None if hold else plan_of_whole_teams(pool, rules, value, judge)
    cheap = cheap_plans(snapshot, pool, judge) if whole is None and 0 < len(pool.rows) <= START_MAX else []
    start = max(cheap, key=lambda plan: _rank(value, plan[0], plan[2], hold))[0] if cheap else None
    found = team_plan(given, rules, start, seats_first=not hold) if whole is None else with_turns(given, rules, whole)
    unsure = form.teams == 1 or form.size <= 2 or len(found.cost) * form.seats < SURE * found.seats_bound
    if START_MAX < len(pool.rows) <= (DRAINED_MAX if unsure else COMPARED_MAX):
        cheap = cheap_plans(snapshot, pool, judge)
    rosters, team_of, cost = found.rosters.astype(np.int64), found.team_of.astype(np.int64), found.cost
    reached, solver = _rank(value, rosters, cost, hold), "teams"
    if whole is not None:
        solver = "whole_teams"
    elif any(step["step"] == "exact" for step in found.steps):
        solver = "exact"
    cost_bound, worth_bound, steps = found.cost_bound, found.worth_bound, found.steps
    for other in cheap:
        if not len(other[0]) or _rank(value, other[0], other[2], hold) <= reached:
            continue
        turned = with_turns(given, rules, found._replace(rosters=other[0], team_of=other[1], cost=other[2]))
        if _rank(value, turned.rosters, turned.cost, hold) > reached:
            rosters, team_of, cost = turned.rosters.astype(np.int64), turned.team_of.astype(np.int64), turned.cost
            reached, solver, steps = _rank(value, rosters, cost, hold), "cheap", turned.steps
    if solver == "cheap" and len(cost) != len(found.cost):
        # What fewer matches cost at the least, more do too.
        cost_bound = found.cost_bound if len(cost) > len(found.cost) else 0.0
        if not hold:
            worth_bound = most_value(value, pool.size, len(cost) * form.seats) - cost_bound
    slack: float | None = max(0.0, worth_bound - reached[1])
    if not hold and len(cost) * form.seats < found.seats_bound:
        slack = None
    elif slack is not None and slack < NOTHING:
        slack = 0.0
    return Solved(
        rosters,
        team_of,
        reasons_left(pool, rules, rosters, hold=hold),
        found.seats_bound,
        slack,
        {"solver": solver},
        told(steps, form.seats),
        worth=float((value - seat * pool.size)[rosters[rosters >= 0]].sum()),
        cost_bound=min(cost_bound, float(cost.sum())),
    )


def _rank(value: Array, rosters: Array, cost: Array, hold: bool) -> tuple[int, float]:
    """What plans are compared by: matches first, unless some may be held, and what a plan is worth."""
    return (0 if hold else len(cost)), float(value[rosters[rosters >= 0]].sum() - cost.sum())


def reasons_left(pool: Pool, rules: TeamRules, rosters: Array, *, hold: bool) -> Array:
    """int8[n]: why each place would be in no match, given those that are; only meant for the others.

    First what keeps it from anybody who waits, seated or not, one by one and as a whole match; then what is the matter
    with those who are left. That they are too few is said by `even_account.too_few_left`, for any format.
    """
    reasons = np.full(len(pool.rows), int(Reason.NO_FITTING_PARTIES), np.int8)
    waits = np.ones(len(pool.rows), bool)
    waits[rosters[rosters >= 0]] = False
    (places,) = np.nonzero(waits)
    able = _able(pool)
    for place in places[:REASONED_MAX].tolist():
        near, reached, free = _around(pool, place, rules.policy)
        reason = _first_too_few(pool, rules, place, able, near, reached, free)
        if reason is None and not _spanned(pool, rules, place, free):
            reason = Reason.NO_OPPONENT_IN_WINDOW
        if reason is None and hold:
            reason = Reason.HELD
        if reason is None:
            reason = _first_too_few(pool, rules, place, able, near & waits, reached & waits, free & waits)
        if reason is None:
            reason = _among_free(pool, free & waits)
        reasons[place] = int(reason)
    return reasons


def _spanned(pool: Pool, rules: TeamRules, place: int, free: Array) -> bool:
    """Would windows let a match of some of these be, as a whole?"""
    return any(keeps_windows(pool, run, rules.policy) for run in runs(pool, place, free, rules.teams * rules.size))


def _around(pool: Pool, place: int, policy: int) -> tuple[Array, Array, Array]:
    """bool[n] each: who is within the window of a place, who of them in reach too, and who of these may meet it."""
    near = np.abs(pool.rating - pool.rating[place]) <= _windows(pool, place, policy)
    near[place] = False
    reached = near if not len(pool.reach) else near & (pool.reach & pool.reach[place] != 0)
    free = reached.copy()
    if len(pool.apart):
        mine = pool.apart[(pool.apart == place).any(axis=1)]
        free[mine[mine != place]] = False
    return near, reached, free


def _able(pool: Pool) -> Array | None:
    """float64[n, roles]: how many players of each place can play each role; None = everybody plays any."""
    can = np.isfinite(pool.role_cost)
    return None if can.all() else np.add.reduceat(can.astype(np.float64), pool.start[:-1])


def _first_too_few(
    pool: Pool, rules: TeamRules, place: int, able: Array | None, near: Array, reached: Array, free: Array
) -> Reason | None:
    """The first rule that leaves a place fewer others than a match needs; None = there are enough."""
    needed = rules.teams * rules.size - int(pool.size[place])
    for some, reason in (
        (near, Reason.NO_OPPONENT_IN_WINDOW),
        (reached, Reason.TOO_FAR),
        (free, Reason.KEPT_APART),
    ):
        if int(pool.size[some].sum()) < needed:
            return reason
    if able is not None:
        playing = free.astype(np.float64) @ able + able[place]
        if (playing < rules.teams * np.array(rules.places)).any():
            return Reason.ROLE_MISSING
    return None


def _among_free(pool: Pool, free: Array) -> Reason:
    """What is the matter with those who are left, though there are enough of them."""
    if len(pool.apart) and free[pool.apart].all(axis=1).any():
        return Reason.KEPT_APART
    return Reason.NO_FITTING_PARTIES if (pool.size[free] > 1).any() else Reason.LESS_EVEN


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


def cheap_plans(snapshot: Snapshot, pool: Pool, judge: Judge) -> list[tuple[Array, Array, Array]]:
    """Plans by simple rules: rosters and teams, int64[k, width], and costs."""
    by_rating = np.argsort(pool.rating, kind="stable")
    orders = (np.arange(len(pool.rows)), by_rating, by_rating[::-1].copy())
    plans = [_drained(pool, snapshot.format, order, judge) for order in orders]
    if len(snapshot.forbidden) or len(snapshot.reach):
        plans.append(_first_come(snapshot, pool, judge))
    return plans


def _first_come(snapshot: Snapshot, pool: Pool, judge: Judge) -> tuple[Array, Array, Array]:
    """What `first_come` plans itself, of its matches those that keep the rules here."""
    made = plan_in_reach(FirstCome(), snapshot, seed=0, trace=False)
    place = np.full(len(snapshot) + 1, -1)
    place[pool.rows] = np.arange(len(pool.rows))
    rosters, team_of = place[made.rosters], made.team_of.astype(np.int64)
    known = ((rosters >= 0) == (made.rosters >= 0)).all(axis=1)
    rosters, team_of = rosters[known], team_of[known]
    if not len(rosters):
        return rosters, team_of, np.empty(0)
    good, cost = judge(rosters, team_of)
    return rosters[good], team_of[good], cost[good]


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
