"""Divisions into teams: the cheapest of all where all are tried, full teams everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings

from evenmatch.domain.arrays import Array
from evenmatch.numerics.match_terms import UNITS
from evenmatch.numerics.team_draft import divide
from evenmatch.numerics.team_field import TeamPool, TeamRules, field_of
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
