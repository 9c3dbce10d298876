"""Divisions into teams: the cheapest of all where all are tried, full teams everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.team_draft import divide
from evenmatch.numerics.team_field import TeamPool, TeamRules, field_of
from evenmatch.numerics.team_plan import TeamPlan, searched_plan
from tests.numerics.team_pools import crowd, pool_of, small_pools
from tests.reference import teams as reference


def divided(pool: TeamPool, rules: TeamRules, group: tuple[int, ...]) -> tuple[list[int], float, int]:
    """The team of each ticket of a group, the cost, and the number of tickets; 0 tickets = it is no match."""
    field = field_of(pool, rules)
    place = np.empty(len(field.size), np.int64)
    place[field.elder] = np.arange(len(place))
    seats = rules.teams * rules.size
    rosters: Array = np.full((1, seats), -1, np.int32)
    rosters[0, : len(group)] = np.sort(place[list(group)])
    team_of, units, cost = np.full((1, seats), -1, np.int8), np.zeros(1, np.int64), np.zeros(1)
    match_of = np.full(len(place), -1)
    divide(field, rosters, team_of, units, cost, match_of, 0, 1)
    side = dict(zip(field.elder[rosters[0, : units[0]]].tolist(), team_of[0].tolist(), strict=False))
    return [side[one] for one in group] if units[0] else [], float(cost[0]), int(units[0])


@settings(deadline=None, max_examples=150)
@given(small_pools())
def test_two_teams_are_the_cheapest_of_all_divisions(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    for group, least in list(reference.all_matches(pool, rules).items())[:10]:
        team, cost, units = divided(pool, rules, group)
        teams = [tuple(one for one, side in zip(group, team, strict=True) if side == at) for at in range(rules.teams)]
        if rules.teams == 2:
            assert units == len(group)
            assert cost == pytest.approx(least, abs=2 / UNITS)
        if units:
            assert [int(pool.size[list(one)].sum()) for one in teams] == [rules.size] * rules.teams
            assert cost == pytest.approx(reference.cost(pool, rules, teams), abs=2 / UNITS)


@pytest.mark.parametrize(("teams", "size"), [(2, 8), (3, 4), (4, 4), (5, 5), (20, 5)])
def test_more_teams_are_full_and_nearly_even(teams: int, size: int) -> None:
    pool = crowd(400, size, shares=(1,), window=(9999.0, 9999.0))
    rules = TeamRules(teams, size)
    team, _, units = divided(pool, rules, tuple(range(teams * size)))
    assert units == teams * size
    means = [float(pool.mu[:units][np.array(team) == at].mean()) for at in range(teams)]
    assert max(means) - min(means) < 60


def test_parties_that_sum_up_but_do_not_pack_are_no_match() -> None:
    pool = pool_of([[1500.0] * size for size in (3, 3, 2)])
    assert divided(pool, TeamRules(2, 4), (0, 1, 2)) == ([], 0.0, 0)


def test_roles_decide_who_goes_with_whom() -> None:
    price = [[0.0, np.inf], [0.0, np.inf], [np.inf, 0.0], [np.inf, 0.0]]
    pool = pool_of([[1500.0], [1600.0], [1500.0], [1600.0]], roles=price)
    team, _, _ = divided(pool, TeamRules(2, 2, places=(1, 1)), (0, 1, 2, 3))
    assert team[0] != team[1]
    assert team[2] != team[3]


def teams_of(rules: TeamRules, plan: TeamPlan, match: int) -> list[tuple[int, ...]]:
    """The tickets of each team of a match."""
    seated = plan.rosters[match] >= 0
    roster, team_of = plan.rosters[match][seated], plan.team_of[match][seated]
    return [tuple(roster[team_of == team].tolist()) for team in range(rules.teams)]


@pytest.mark.parametrize("form", [(3, 2), (4, 2), (3, 3), (5, 2)], ids=str)
@pytest.mark.parametrize("shares", [(1,), (70, 30)], ids=["single", "parties"])
def test_matches_of_a_few_small_teams_are_dealt_as_cheaply_as_can_be(
    form: tuple[int, int], shares: tuple[int, ...]
) -> None:
    rules, judged = TeamRules(*form), 0
    for seed in range(3):
        pool = crowd(40, form[1], seed=seed, shares=shares, window=(300.0, 900.0))
        plan = searched_plan(pool, rules)
        for match, price in enumerate(plan.cost.tolist()):
            teams = teams_of(rules, plan, match)
            group = tuple(sorted(one for team in teams for one in team))
            least = min(reference.cost(pool, rules, other) for other in reference.divisions(pool, rules, group))
            assert price == pytest.approx(least, abs=2 / UNITS)
            judged += 1
    assert judged > 3


def test_the_same_plan_comes_of_one_thread_and_of_two() -> None:
    pool, rules = crowd(6_600, 3, seed=3, shares=(1,), window=(300.0, 900.0)), TeamRules(3, 2)
    plans, before = [], threads.count()
    try:
        for many in (1, 2, 3):
            threads.use(many)
            plans.append(searched_plan(pool, rules))
    finally:
        threads.use(before)
    assert len(plans[0].cost) > 1_000
    for plan in plans[1:]:
        assert (plan.rosters == plans[0].rosters).all()
        assert (plan.team_of == plans[0].team_of).all()
        assert (plan.cost == plans[0].cost).all()


@pytest.mark.parametrize("form", [(4, 3), (2, 8), (3, 5)], ids=str)
def test_no_change_of_two_places_makes_a_match_of_many_cheaper(form: tuple[int, int]) -> None:
    rules = TeamRules(*form)
    pool = crowd(60, form[1], seed=2, shares=(80, 20), window=(400.0, 900.0))
    plan = searched_plan(pool, rules)
    assert len(plan.cost)
    for match, price in enumerate(plan.cost.tolist()):
        side = {one: at for at, team in enumerate(teams_of(rules, plan, match)) for one in team}
        for one in side:
            for other in side:
                if side[one] < side[other] and pool.size[one] == pool.size[other]:
                    swapped = side | {one: side[other], other: side[one]}
                    teams = [tuple(who for who in side if swapped[who] == at) for at in range(rules.teams)]
                    assert reference.cost(pool, rules, teams) >= price - 2 / UNITS
