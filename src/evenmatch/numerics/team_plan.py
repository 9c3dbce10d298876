"""A plan of teams for any number of tickets, with bounds on how much better any other could be.

Problem. Tickets (parties) into matches of T teams of S: parties whole, windows, regions, roles and those to be kept
apart as `team_judge` has it. Seat the most value, less cost; say how many could be seated at the most, and what so many
seats cost at the least.

Idea. Up to `TICKETS_MAX` tickets: everything is tried (`team_exact`). Otherwise:
  1. bounds (`team_bounds`), which also say who can play at all and which party sizes are scarce;
  2. several sweeps (`team_sweep`): region by region, the least populated first, each ticket at first only where it is
     nearest, and not to the last ticket; then all who are left, wherever they can play; then all regions at once. From
     below, from above, and from both ends inwards. With few tickets also those first who reach one region only, by
     themselves. The most valuable draft is kept;
  3. its matches are divided into teams (`team_split`), and it is made better while the budget lasts (`team_search`).
     Up to `_FEW` tickets several drafts are, since a few matches more or less count for much there.
  4. due tickets take the places of later ones where they can (`team_turns`), which costs no seat;
  5. where the plan does not reach the bound on seats, that is looked at more closely (`team_limits`).
A plan that is given as a start competes with the drafts, as far as its matches keep the rules.

Anytime: a budget that is used up ends the search with the best plan so far; the first sweep and its division are always
made. All choices are settled by value, cost and place: the same pool and rules give the same plan.

Complexity. O(n log n) for sorting, and a sweep's labels: a few dozen a ticket, hardly more in a large pool than in a
small one. Memory: under a kilobyte a player at the peak, columns included.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .team_bounds import SeatsBound, cost_bound, seats_bound, size_prices
from .team_codes import Codes, codes_of
from .team_draft import divide, rough_worth
from .team_exact import TICKETS_MAX, exact_teams
from .team_field import BOTH, MEAN, OLDER, Field, TeamPool, TeamRules, field_of
from .team_limits import closer_bound
from .team_search import improve
from .team_sweep import FROM_ABOVE, FROM_BELOW, INWARDS, swept
from .team_turns import TURN_WORK, give_turns
from .threads import in_parts

__all__ = ["TeamPlan", "TeamPool", "TeamRules", "searched_plan", "team_plan", "with_turns"]

TEAMS_MAX: Final = 127
_AHEAD_LEAST: Final = 160
_MORE_WAYS: Final = ((INWARDS, 0.25, True), (FROM_BELOW, 2.0, True), (FROM_ABOVE, 2.0, True), (FROM_BELOW, 0.0, True))
_FEW: Final = 300
"""With up to so many tickets more sweeps are made, and several drafts are made better."""
_STARTS: Final = 8
_HOME_FIRST, _BOUND_FIRST, _TOGETHER = range(3)
_BOUND_FIRST_MOST: Final = 2_000
"""Tickets up to which those who reach one region only are also tried first."""
_PART: Final = 500
"""Matches that are worth a thread of their own."""
_LABELS: Final = 8
"""Labels of a sweep that count as one unit of work."""
_WAYS: Final = ((FROM_BELOW, 100.0, False), (FROM_ABOVE, 100.0, False), (INWARDS, 4.0, True), (INWARDS, 1.0, True))
"""In which order sweeps are tried: from where, what it counts to pass a player over, whether they look far ahead."""
_ROLE_WAYS: Final = ((FROM_BELOW, 16.0, True), (FROM_ABOVE, 16.0, True), (INWARDS, 4.0, True), (INWARDS, 1.0, True))
"""The same where there are roles: who is next is not always who is needed."""
_NAMED_WAYS: Final = _ROLE_WAYS[2:]
"""The same where roles can't be exchanged: what the other two cost is better spent on moves."""


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
    steps: tuple[dict[str, Any], ...] = ()
    """What was done, for the trace."""


class _Draft(NamedTuple):
    """Matches as rows of places of a field, not divided yet."""

    rosters: Array
    made: int
    worth: float
    work: int


def team_plan(pool: TeamPool, rules: TeamRules, start: Array | None = None) -> TeamPlan:
    """The best plan that the budget allows.

    `start`, int[k, width]: matches to begin from, tickets by canonical place, -1 = empty; they are divided anew. Raises
    ValueError where the pool's columns and the rules do not go together.
    """
    if len(pool.size) <= TICKETS_MAX:
        _check(pool, rules)
        return _exact(field_of(pool, rules), pool.level)
    return searched_plan(pool, rules, start)


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


def searched_plan(pool: TeamPool, rules: TeamRules, start: Array | None = None) -> TeamPlan:
    """The plan that the search finds, however few tickets there are."""
    _check(pool, rules)
    field = field_of(pool, rules)
    bound = seats_bound(field)
    seats = rules.teams * rules.size
    if not bound.seats:
        return _plan(field, np.empty((0, seats), np.int32), np.empty((0, seats), np.int8), np.empty(0), bound, ())
    codes = codes_of(rules.teams, rules.size, np.unique(field.size[bound.usable]).tolist())
    price = _prices(field, bound.usable)
    drafts, steps = _drafts(field, codes, price, bound, rules.work)
    if start is not None and len(start):
        drafts.append(_from_start(field, start))
    plans = sorted((_divided(field, draft, bound.usable, steps) for draft in drafts), key=lambda plan: -plan.worth)
    plans = plans[: _STARTS if len(field.size) <= _FEW else 1]
    share = (rules.work - sum(step["work"] for step in steps)) // len(plans)
    if share > 0:
        plans = [_bettered(field, codes, price, plan, share, steps) for plan in plans]
    plan = max(plans, key=lambda plan: plan.worth)
    value = np.where(plan.rosters >= 0, field.value[plan.rosters], 0.0).sum(axis=1)
    kept = (plan.units > 0) & (value >= plan.cost)
    level = pool.level.copy()
    if len(level):
        level[field.elder[~bound.usable]] = 0
    matches = _turned(field, level, plan.rosters[kept], plan.team_of[kept], plan.cost[kept], steps)
    if len(matches[2]) * seats < bound.seats:
        bound = bound._replace(seats=closer_bound(field, bound))
        steps.append({"step": "closer bound", "seats": bound.seats})
    return _plan(field, *matches, bound, tuple(steps))


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
    return found._replace(cost_bound=plan.cost_bound)


def _turned(
    field: Field, level: Array, rosters: Array, team_of: Array, cost: Array, steps: list[dict[str, Any]]
) -> tuple[Array, Array, Array]:
    """These matches after due tickets have taken the places of later ones."""
    if not len(rosters) or not level.any():
        return rosters, team_of, cost
    seats = field.teams * field.team_size
    wide, teams = np.full((2, len(rosters), seats), -1)
    wide[:, : rosters.shape[1]], teams[:, : rosters.shape[1]] = rosters[:, :seats], team_of[:, :seats]
    wide, teams = wide.astype(np.int32), teams.astype(np.int8)
    units, cost = (wide >= 0).sum(axis=1), np.array(cost)
    match_of = np.full(len(field.size), -1)
    row, column = np.nonzero(wide >= 0)
    match_of[wide[row, column]] = row
    moves, whole = give_turns(
        *(field, np.array(level[field.elder], np.int64), wide, teams, units, cost, match_of, TURN_WORK)
    )
    steps.append({"step": "turns", "moves": int(moves), "whole": bool(whole)})
    return wide, teams, cost


def _exact(field: Field, level: Array) -> TeamPlan:
    """The plan of a few tickets."""
    count = len(field.size)
    rosters, team_of = np.full((count, count), -1, np.int32), np.full((count, count), -1, np.int8)
    cost, least = np.zeros(count), np.full(count + 1, np.inf)
    made = exact_teams(field, rosters, team_of, cost, least) if count else 0
    most = int(np.flatnonzero(np.isfinite(least)).max()) if count else 0
    steps: list[dict[str, Any]] = [{"step": "exact", "tickets": count, "matches": made}]
    bound = SeatsBound(most * field.teams * field.team_size, np.ones(count, bool))
    matches = _turned(field, level, rosters[:made], team_of[:made], cost[:made], steps)
    found = _plan(field, *matches, bound, tuple(steps))
    return found._replace(cost_bound=float(least[made]) if count else 0.0)


def _prices(field: Field, usable: Array) -> Array:
    """float64[size + 1]: what taking a party of a size costs beyond its players' share, in matches of usual gaps."""
    sizes, counts = np.unique(field.size[usable], return_counts=True)
    prices, _ = size_prices(field.team_size, sizes, counts)
    price = np.zeros(field.team_size + 1)
    if len(prices) and prices.any():
        price[sizes] = prices - sizes / field.team_size
    return price


def _drafts(
    field: Field, codes: Codes, price: Array, bound: SeatsBound, work: int
) -> tuple[list[_Draft], list[dict[str, Any]]]:
    """Several sweeps: of few tickets all, of many the most valuable one, as far as spread and latency tell.

    With many tickets a sweep that fills the bound is the last.
    """
    steps: list[dict[str, Any]] = []
    drafts: list[_Draft] = []
    best, spent = _Draft(np.empty((0, 1), np.int32), 0, -np.inf, 0), -1
    by_region, few = len(_homes(field)) > 1, len(field.size) <= _FEW
    named = _ROLE_WAYS if np.isfinite(field.off).all() else _NAMED_WAYS
    ways = (named if len(field.slots) else _WAYS) + (_MORE_WAYS if few else ())
    orders = [_HOME_FIRST, _BOUND_FIRST, _TOGETHER] if by_region else [_TOGETHER]
    if len(field.size) > _BOUND_FIRST_MOST and by_region:
        orders.remove(_BOUND_FIRST)
    for regions in orders:
        for mode, skip, far in ways:
            full = best.made * field.teams * field.team_size == bound.seats
            if spent > work // 2 or (full and (not few or regions == _BOUND_FIRST)):
                break
            draft = _swept_draft(field, codes, price, bound.usable, mode, skip, regions, far)
            spent += draft.work
            told = {
                "regions": ("home first", "bound first", "together")[regions],
                "from": ("below", "above", "outside")[mode],
                "skip": skip,
            }
            steps.append({"step": "sweep", **told, "matches": draft.made, "worth": draft.worth, "work": draft.work})
            drafts.append(draft)
            if draft.worth > best.worth:
                best = draft
    return drafts if few else [best], steps


def _homes(field: Field) -> list[tuple[int, Array]]:
    """Regions as bits, and bool[n]: the tickets that are nearest to each; the least populated first."""
    regions = field.latency.shape[1]
    named = field.reach[field.reach != -1]
    if len(named):
        regions = max(regions, int(np.bitwise_or.reduce(named)).bit_length())
    if regions < 2:
        return [(-1, np.ones(len(field.size), bool))]
    open_to = (field.reach[:, None] >> np.arange(regions) & 1).astype(bool)
    distance = np.zeros((len(field.size), regions))
    distance[:, : field.latency.shape[1]] = field.latency
    distance[:, field.latency.shape[1] :] = np.inf if field.latency.shape[1] else 0.0
    distance[~open_to] = np.inf
    population = (field.size[:, None] * open_to).sum(axis=0)
    home = np.lexsort((np.broadcast_to(-population, distance.shape), distance), axis=1)[:, 0]
    lived_in = np.bincount(home, weights=field.size, minlength=regions)
    return [(1 << int(region), home == region) for region in np.argsort(lived_in, kind="stable") if population[region]]


def _swept_draft(
    field: Field, codes: Codes, price: Array, usable: Array, mode: int, skip: float, regions: int, far: bool
) -> _Draft:
    """One draft: by regions or not, then all who are left."""
    seats = field.teams * field.team_size
    rosters = np.empty((int(field.size[usable].sum()) // seats, seats), np.int32)
    free, made, work = usable.copy(), 0, 0
    ahead = max(_AHEAD_LEAST, 4 * seats) if far or len(field.slots) or price.any() else seats + seats // 4 + 8
    check = not codes.exact or not np.isfinite(field.off).all()
    everybody = np.ones(len(free), bool)
    rounds: list[tuple[int, Array, int]] = []
    if regions == _BOUND_FIRST:
        rounds = [(region, field.reach == region, 0) for region, _ in _homes(field)]
    elif regions == _HOME_FIRST:
        rounds = [(region, home, 2 * seats) for region, home in _homes(field)]
        rounds += [(region, (field.reach & region) != 0, seats // 2) for region, _, _ in rounds]
    rounds.append((-1, everybody, 0))
    for region, inside, reserve in rounds:
        listed = np.flatnonzero(free & inside)
        before = made
        made, labels = swept(
            *(field, codes.players, codes.step, listed, price, mode, skip, ahead, region, check, reserve),
            *(_variety(field), rosters, made),
        )
        work += labels
        taken = rosters[before:made]
        free[taken[taken >= 0]] = False
    return _Draft(rosters, made, rough_worth(field, rosters, made), work // _LABELS)


def _variety(field: Field) -> int:
    """How many groups of a composition to keep: several where roles can't be exchanged."""
    return 1 if np.isfinite(field.off).all() else 8


def _from_start(field: Field, start: Array) -> _Draft:
    """The draft of matches that are given; of two that share a ticket the first."""
    seats = field.teams * field.team_size
    place = np.empty(len(field.size), np.int64)
    place[field.elder] = np.arange(len(place))
    rosters, free, made = np.full((len(start), seats), -1, np.int32), np.ones(len(place), bool), 0
    for match in start.tolist():
        places = np.unique(place[[one for one in match if one >= 0]])
        if field.size[places].sum() == seats and free[places].all():
            rosters[made, : len(places)], free[places] = places, False
            made += 1
    return _Draft(rosters, made, 0.0, 0)


class _Divided(NamedTuple):
    """A draft divided into teams, as `team_search` works on it."""

    rosters: Array
    team_of: Array
    units: Array
    cost: Array
    match_of: Array
    made: int
    worth: float


def _divided(field: Field, draft: _Draft, usable: Array, steps: list[dict[str, Any]]) -> _Divided:
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
    steps.append({"step": "divide", "matches": int((units > 0).sum()), "worth": worth, "work": work})
    return _Divided(rosters, team_of, units, cost, match_of, draft.made, worth)


def _bettered(
    field: Field, codes: Codes, price: Array, plan: _Divided, work: int, steps: list[dict[str, Any]]
) -> _Divided:
    """The plan made better, in place."""
    account = np.zeros(10, np.int64)
    improve(field, codes.players, codes.step, price, *plan[:5], plan.made, _variety(field), work, account)
    for at, move in enumerate(("bench", "regroup for seats", "exchange", "regroup for cost", "release")):
        steps.append({"step": move, "moves": int(account[2 * at]), "work": int(account[2 * at + 1])})
    return plan._replace(worth=float(field.value[plan.match_of >= 0].sum() - plan.cost.sum()))


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
        cost_bound(field, len(rosters), bound.usable),
        steps,
    )
