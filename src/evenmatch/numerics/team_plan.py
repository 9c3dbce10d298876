"""A plan of teams for any number of tickets, with bounds on how much better any other could be.

Problem. Tickets (parties) into matches of T teams of S: parties whole, windows, regions, roles and those to be kept
apart as `team_judge` has it. Seat the most value, less cost; say how many could be seated at the most, and what so many
seats cost at the least.

Idea. Up to `TICKETS_MAX` tickets, and of a few more where rules leave little to try: everything is tried
(`team_exact`). Otherwise:
  1. bounds (`team_bounds`), which also say who can play at all and which party sizes are scarce;
  2. several sweeps (`team_drafts`), of which the most valuable draft is kept;
  3. its matches are divided into teams (`team_split`), and it is made better while the budget lasts (`team_search`).
     Up to `FEW` tickets several drafts are, since a few matches more or less count for much there.
  4. where the plan does not reach the bound on seats, that is looked at more closely (`team_limits`); of up to
     `PACKED_MAX` tickets the most matches are then looked for exactly (`team_pack`), if seats come first;
  5. due tickets take the places of later ones where they can (`team_turns`), which costs no seat;
  6. matches that the search could only divide in a hurry are divided once more (`team_split`).
A plan that is given as a start competes with the drafts, as far as its matches keep the rules.

Anytime: a budget that is used up ends the search with the best plan so far; the first sweep and its division are always
made. All choices are settled by value, cost and place: the same pool and rules give the same plan.

Complexity. O(n log n) for sorting, and a sweep's labels: a few dozen a ticket, hardly more in a large pool than in a
small one. Memory: under a kilobyte a player at the peak, columns included.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .team_bounds import SeatsBound, seats_bound, size_prices
from .team_codes import Codes, codes_of
from .team_costs import cost_bounds
from .team_draft import divide
from .team_drafts import FEW, Rough, given_draft, rough_drafts, variety_of
from .team_exact import TICKETS_MAX, TOO_MUCH, TRIED_MAX, exact_teams
from .team_field import BOTH, MEAN, OLDER, Field, TeamPool, TeamRules, field_of
from .team_limits import closer_bound
from .team_pack import PACKED_MAX, packed
from .team_search import improve
from .team_split import DEALT_MAX, DIVISIONS_MAX, deal_again
from .team_turns import TURN_WORK, give_turns
from .threads import in_parts

__all__ = ["TeamPlan", "TeamPool", "TeamRules", "searched_plan", "team_plan", "with_turns"]

TEAMS_MAX: Final = 127
_STARTS: Final = 8
_PART: Final = 500
"""Matches that are worth a thread of their own."""
ANY_WORK: Final = -1
"""So few tickets are tried whatever it takes."""


class TeamPlan(NamedTuple):
    """Matches over the tickets of a pool, by their canonical places."""

    rosters: Array
    """int32[k, width], -1 = empty."""
    team_of: Array
    """int8, same shape."""
    cost: Array
    """float64[k]."""
    seats_bound: int
    """Players that any plan can seat, at the most."""
    cost_bound: float
    """What any plan that seats as many costs, at the least."""
    worth_bound: float = np.inf
    """What any plan is worth, value less cost, at the most; where seats come first, any plan that seats as many."""
    steps: tuple[dict[str, Any], ...] = ()
    """What was done, for the trace."""


def team_plan(pool: TeamPool, rules: TeamRules, start: Array | None = None, *, seats_first: bool = False) -> TeamPlan:
    """The best plan that the budget allows.

    `start`, int[k, width]: matches to begin from, tickets by canonical place, -1 = empty; they are divided anew.
    `seats_first`: a match more is worth more than anything else, and values say so wherever a few matches are weighed
    against each other. Raises ValueError where the pool's columns and the rules do not go together.
    """
    if len(pool.size) <= TRIED_MAX:
        _check(pool, rules)
        work = ANY_WORK if len(pool.size) <= TICKETS_MAX else rules.work
        tried = _exact(field_of(pool, rules), pool.level, work)
        if tried is not None:
            return tried
    return searched_plan(pool, rules, start, seats_first=seats_first)


def _check(pool: TeamPool, rules: TeamRules) -> None:
    """Raise ValueError where a pool and rules do not go together."""
    if not 1 <= rules.teams <= TEAMS_MAX or rules.size < 1:
        raise ValueError(f"a match has 1 to {TEAMS_MAX} teams of at least one player, not {rules.teams}x{rules.size}")
    if rules.policy not in (MEAN, OLDER, BOTH):
        raise ValueError(f"the policy must be {MEAN} (mean), {OLDER} (older) or {BOTH} (both), not {rules.policy}")
    if rules.places and sum(rules.places) != rules.size:
        raise ValueError(f"a team of {rules.size} needs as many places for roles, not {sum(rules.places)}")
    if pool.role_cost.shape[1] != len(rules.places):
        raise ValueError(f"prices are for {pool.role_cost.shape[1]} roles, and a team has {len(rules.places)}")
    count, players = len(pool.size), int(pool.size.sum())
    for name, column, rows in (
        *((name, getattr(pool, name), count) for name in ("window", "value", "latency")),
        *((name, getattr(pool, name), players) for name in ("mu", "sigma", "role_cost")),
        ("start", pool.start, count + 1),
        ("reach", pool.reach, count if len(pool.reach) else 0),
    ):
        if len(column) != rows:
            raise ValueError(
                f"{name} must have {rows} rows for {count} tickets of {players} players, not {len(column)}"
            )


def searched_plan(
    pool: TeamPool, rules: TeamRules, start: Array | None = None, *, seats_first: bool = False
) -> TeamPlan:
    """The plan that the search finds, however few tickets there are."""
    _check(pool, rules)
    field = field_of(pool, rules)
    bound = seats_bound(field)
    seats = rules.teams * rules.size
    if not bound.seats:
        none = np.empty((0, seats), np.int32), np.empty((0, seats), np.int8), np.empty(0)
        return _plan(field, *none, bound, ())._replace(worth_bound=0.0)
    codes = codes_of(rules.teams, rules.size, np.unique(field.size[bound.usable]).tolist())
    price = _prices(field, bound.usable)
    drafts, steps = rough_drafts(field, codes, price, bound, rules.work)
    if start is not None and len(start):
        drafts.append(given_draft(field, start))
    plans = sorted((_divided(field, draft, bound.usable, steps) for draft in drafts), key=lambda plan: -plan.worth)
    plans = plans[: _STARTS if len(field.size) <= FEW else 1]
    share = (rules.work - sum(step["work"] for step in steps)) // len(plans)
    if share > 0:
        plans = [_bettered(field, codes, price, plan, share, steps) for plan in plans]
    plan = max(plans, key=lambda plan: plan.rank(seats_first))
    if seats_first and plan.matches * seats < bound.seats:
        bound = bound._replace(seats=closer_bound(field, bound))
        steps.append({"step": "closer bound", "seats": bound.seats})
        if plan.matches * seats < bound.seats and int(bound.usable.sum()) <= PACKED_MAX:
            plan, bound = _repacked(field, codes, price, plan, bound, rules.work, steps)
    value = np.where(plan.rosters >= 0, field.value[plan.rosters], 0.0).sum(axis=1)
    kept = (plan.units > 0) & (value >= plan.cost)
    level = pool.level.copy()
    if len(level):
        level[field.elder[~bound.usable]] = 0
    matches = _turned(field, level, plan.rosters[kept], plan.team_of[kept], plan.cost[kept], steps)
    if not seats_first and len(matches[2]) * seats < bound.seats:
        bound = bound._replace(seats=closer_bound(field, bound))
        steps.append({"step": "closer bound", "seats": bound.seats})
    made = len(matches[2])
    costs = cost_bounds(field, bound.usable, made if seats_first else bound.seats // seats)
    least = costs.cost(made)
    worth = float(costs.value[min(made, costs.most)]) - least if seats_first else costs.worth(bound.seats // seats)
    return _plan(field, *matches, bound, tuple(steps))._replace(cost_bound=least, worth_bound=worth)


def _repacked(
    field: Field,
    codes: Codes,
    price: Array,
    plan: "_Divided",
    bound: SeatsBound,
    work: int,
    steps: list[dict[str, Any]],
) -> tuple["_Divided", SeatsBound]:
    """A plan with more matches than this one, made better, if there is one; and what is then known of seats."""
    seats = field.teams * field.team_size
    check = not codes.exact or not np.isfinite(field.off).all()
    found = packed(field, codes, bound.usable, bound.seats // seats, check, work)
    most = bound.seats if found.most is None else min(bound.seats, found.most * seats)
    more = max(0, len(found.rosters) - plan.matches)
    steps.append({"step": "pack", "matches": more, "seats": most, "work": found.work})
    if more:
        other = _divided(field, Rough(found.rosters, len(found.rosters), 0.0, 0), bound.usable, steps)
        if work:
            other = _bettered(field, codes, price, other, work // 2, steps)
        plan = max(plan, other, key=lambda plan: plan.rank(True))
    return plan, bound._replace(seats=most)


def with_turns(pool: TeamPool, rules: TeamRules, plan: TeamPlan) -> TeamPlan:
    """Anybody's plan of this pool, in which due tickets take the places of later ones; bounds stay as they are."""
    field, steps = field_of(pool, rules), list(plan.steps)
    place = np.empty(len(field.elder) + 1, np.int64)
    place[field.elder], place[-1] = np.arange(len(field.elder)), -1
    rosters, team_of = np.full((2, len(plan.rosters), rules.teams * rules.size), -1)
    many = np.iinfo(np.int64).max
    order = np.argsort(np.where(plan.rosters >= 0, place[plan.rosters], many), axis=1, kind="stable")
    width = plan.rosters.shape[1]
    rosters[:, :width] = np.take_along_axis(place[plan.rosters], order, 1)
    team_of[:, :width] = np.take_along_axis(plan.team_of, order, 1)
    turned = _turned(field, pool.level, rosters.astype(np.int32), team_of.astype(np.int8), plan.cost.copy(), steps)
    found = _plan(field, *turned, SeatsBound(plan.seats_bound, np.zeros(len(pool.size), bool)), tuple(steps))
    return found._replace(cost_bound=plan.cost_bound, worth_bound=plan.worth_bound)


def _turned(
    field: Field, level: Array, rosters: Array, team_of: Array, cost: Array, steps: list[dict[str, Any]]
) -> tuple[Array, Array, Array]:
    """These matches after due tickets have taken the places of later ones, and all are divided once more."""
    if not len(rosters):
        return rosters, team_of, cost
    seats = field.teams * field.team_size
    wide, teams = np.full((2, len(rosters), seats), -1)
    wide[:, : rosters.shape[1]], teams[:, : rosters.shape[1]] = rosters[:, :seats], team_of[:, :seats]
    wide, teams = wide.astype(np.int32), teams.astype(np.int8)
    units, cost = (wide >= 0).sum(axis=1), np.array(cost)
    if level.any():
        match_of = np.full(len(field.size), -1)
        row, column = np.nonzero(wide >= 0)
        match_of[wide[row, column]] = row
        moves, whole = give_turns(
            *(field, np.array(level[field.elder], np.int64), wide, teams, units, cost, match_of, TURN_WORK)
        )
        steps.append({"step": "turns", "moves": int(moves), "whole": bool(whole)})
    before, looked = cost.copy(), list[int]()
    most = min(DIVISIONS_MAX, DEALT_MAX // len(cost))

    def part(first: int, end: int) -> None:
        looked.append(deal_again(field, wide, teams, units, cost, first, end, most))

    in_parts(len(cost), part, least=_PART)
    if sum(looked):
        gain = float(before.sum() - cost.sum())
        steps.append({"step": "deal", "matches": int((cost < before).sum()), "gain": gain, "work": sum(looked)})
    return wide, teams, cost


def _exact(field: Field, level: Array, work: int) -> TeamPlan | None:
    """The plan of a few tickets; None = trying everything would take more work than this."""
    count = len(field.size)
    rosters, team_of = np.full((count, count), -1, np.int32), np.full((count, count), -1, np.int8)
    cost, least = np.zeros(count), np.full(count + 1, np.inf)
    made = exact_teams(field, rosters, team_of, cost, least, work) if count else 0
    if made == TOO_MUCH:
        return None
    most = int(np.flatnonzero(np.isfinite(least)).max()) if count else 0
    steps: list[dict[str, Any]] = [{"step": "exact", "tickets": count, "matches": made}]
    bound = SeatsBound(most * field.teams * field.team_size, np.ones(count, bool))
    best = rosters[:made][rosters[:made] >= 0]
    worth = float(field.value[best].sum() - cost[:made].sum())
    matches = _turned(field, level, rosters[:made], team_of[:made], cost[:made], steps)
    found = _plan(field, *matches, bound, tuple(steps))
    return found._replace(cost_bound=float(least[made]) if count else 0.0, worth_bound=worth)


def _prices(field: Field, usable: Array) -> Array:
    """float64[size + 1]: what taking a party of a size costs beyond its players' share, in matches of usual gaps."""
    sizes, counts = np.unique(field.size[usable], return_counts=True)
    prices, _ = size_prices(field.team_size, sizes, counts)
    price = np.zeros(field.team_size + 1)
    if len(prices) and prices.any():
        price[sizes] = prices - sizes / field.team_size
    return price


class _Divided(NamedTuple):
    """A draft divided into teams, as `team_search` works on it."""

    rosters: Array
    team_of: Array
    units: Array
    cost: Array
    match_of: Array
    made: int
    worth: float

    @property
    def matches(self) -> int:
        """How many there are."""
        return int((self.units > 0).sum())

    def rank(self, seats_first: bool) -> tuple[int, float]:
        """What plans are compared by."""
        return (self.matches if seats_first else 0), self.worth


def _divided(field: Field, draft: Rough, usable: Array, steps: list[dict[str, Any]]) -> _Divided:
    """A draft with teams; matches that break a rule are none."""
    rows, seats = int(field.size.sum()) // (field.teams * field.team_size), field.teams * field.team_size
    rosters = np.full((rows, seats), -1, np.int32)
    rosters[: draft.made] = draft.rosters[: draft.made]
    team_of, units, cost = np.full(rosters.shape, -1, np.int8), np.zeros(rows, np.int64), np.zeros(rows)
    match_of = np.where(usable, -1, -2)
    looked: list[int] = []

    def part(first: int, end: int) -> None:
        looked.append(divide(field, rosters, team_of, units, cost, match_of, first, end))

    in_parts(draft.made, part, least=_PART)
    work = sum(looked)
    worth = float(field.value[match_of >= 0].sum() - cost.sum())
    told = {"matches": int((units > 0).sum()), "cost": float(cost.sum()), "worth": worth}
    steps.append({"step": "divide", **told, "work": work})
    return _Divided(rosters, team_of, units, cost, match_of, draft.made, worth)


def _bettered(
    field: Field, codes: Codes, price: Array, plan: _Divided, work: int, steps: list[dict[str, Any]]
) -> _Divided:
    """The plan made better, in place."""
    account, before, cost = np.zeros(10, np.int64), plan.matches, float(plan.cost.sum())
    improve(field, codes.players, codes.step, price, *plan[:5], plan.made, variety_of(field), work, account)
    for at, move in enumerate(("bench", "regroup for seats", "exchange", "regroup for cost", "release")):
        steps.append({"step": move, "moves": int(account[2 * at]), "work": int(account[2 * at + 1])})
    steps[-1]["more"] = steps[-1]["moves"]
    steps[-4]["more"] = plan.matches - before - steps[-1]["moves"]
    better = plan._replace(worth=float(field.value[plan.match_of >= 0].sum() - plan.cost.sum()))
    steps[-5]["before"] = (before, cost, plan.worth)
    steps[-1]["after"] = (better.matches, float(better.cost.sum()), better.worth)
    return better


def _plan(
    field: Field, rosters: Array, team_of: Array, cost: Array, bound: SeatsBound, steps: tuple[dict[str, Any], ...]
) -> TeamPlan:
    """A plan by canonical places, its matches in the order of their eldest tickets; a team is named by its eldest."""
    filled = rosters >= 0
    width = int(filled.sum(axis=1).max()) if len(rosters) else 0
    many = np.iinfo(np.int32).max
    elders = np.where(filled, field.elder[rosters], many)[:, :width]
    order = np.argsort(elders, axis=1, kind="stable")
    elders, teams = np.take_along_axis(elders, order, 1), np.take_along_axis(team_of[:, :width], order, 1)
    rows = np.argsort(elders[:, 0], kind="stable") if width else np.arange(len(rosters))
    elders, teams, cost = elders[rows], teams[rows], cost[rows]
    seated = elders < many
    firsts = np.full((len(teams), field.teams), width)
    for place in range(width - 1, -1, -1):
        inside = seated[:, place]
        firsts[np.flatnonzero(inside), teams[inside, place]] = place
    name = np.argsort(np.argsort(firsts, axis=1, kind="stable"), axis=1, kind="stable")
    named = np.take_along_axis(name, np.maximum(teams, 0).astype(np.int64), 1) if width else teams
    return TeamPlan(
        np.where(seated, elders, -1).astype(np.int32),
        np.where(seated, named, -1).astype(np.int8),
        cost,
        bound.seats,
        0.0,
        steps=steps,
    )
