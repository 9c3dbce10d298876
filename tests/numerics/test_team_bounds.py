"""Bounds: the parts are their twins, and no plan is on the wrong side of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics.team_bounds import groups_on_line, seats_bound, size_prices
from evenmatch.numerics.team_codes import patterns_of
from evenmatch.numerics.team_costs import cost_bounds, least_spread
from evenmatch.numerics.team_field import TeamPool, TeamRules, field_of
from tests.numerics.team_pools import pool_of, small_pools
from tests.reference import teams as reference


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=9),
    st.integers(1, 4),
)
def test_groups_on_a_line_are_as_many_as_there_can_be(places: list[tuple[int, int]], seats: int) -> None:
    places.sort()
    rate = [float(at) for at, _ in places]
    deadline: Array = np.maximum.accumulate([at + room for at, room in places] or [0])[: len(places)].astype(float)
    found = groups_on_line(np.array(rate), deadline, np.ones(len(rate), np.int64), seats)
    assert found == reference.most_groups(rate, deadline.tolist(), seats)


def test_players_of_one_place_are_counted_one_by_one() -> None:
    rate, deadline = np.array([1.0, 2.0, 9.0]), np.array([3.0, 3.0, 12.0])
    assert groups_on_line(rate, deadline, np.array([3, 4, 1]), 2) == 3
    assert groups_on_line(rate, deadline, np.array([3, 5, 2]), 2) == 5


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.integers(0, 40).map(float), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_the_least_spread_is_never_above_the_true_one_and_mostly_is_it(
    rating: list[float], seats: int, groups: int
) -> None:
    rating.sort()
    true = reference.least_spread(rating, seats, groups)
    found = least_spread(np.array(rating), seats, groups)
    assert found <= true + 1e-9
    if len(rating) == seats * groups:
        assert abs(found - true) < 1e-6


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=9), st.integers(1, 5))
def test_prices_bound_the_teams_that_parties_can_fill(sizes: list[int], team: int) -> None:
    sizes = [size for size in sizes if size <= team]
    kinds, counts = np.unique(np.array(sizes, np.int64), return_counts=True)
    prices, most = size_prices(team, kinds, counts)
    assert reference.most_teams(team, sizes) <= most + 1e-6
    for pattern in patterns_of(team, tuple(kinds.tolist())):
        assert prices @ np.array(pattern) >= 1 - 1e-9


def test_threes_need_single_players() -> None:
    prices, most = size_prices(4, np.array([1, 3]), np.array([20, 100]))
    assert most == 20
    assert prices.tolist() == [1.0, 0.0]


@settings(deadline=None, max_examples=120)
@given(small_pools())
def test_no_plan_seats_more_than_the_bound_or_costs_less(drawn: tuple[TeamPool, TeamRules]) -> None:
    pool, rules = drawn
    field = field_of(pool, rules)
    bound = seats_bound(field)
    worth, most, least = reference.best(pool, rules)
    assert most * rules.teams * rules.size <= bound.seats
    for group in reference.all_matches(pool, rules):
        assert bound.usable[np.isin(field.elder, group)].all()
    costs = cost_bounds(field, bound.usable, bound.seats // (rules.teams * rules.size))
    for matches, cost in least.items():
        assert costs.cost(matches) <= cost + 1e-9
    assert worth <= costs.worth(costs.most) + 1e-9


def test_islands_and_regions_are_counted_by_themselves() -> None:
    ratings = [1000.0] * 7 + [2000.0] * 7
    far = field_of(pool_of([[mu] for mu in ratings], window=100.0), TeamRules(2, 2))
    assert seats_bound(far).seats == 8
    one_place = pool_of([[1500.0]] * 14, reach=[1] * 7 + [2] * 7)
    assert seats_bound(field_of(one_place, TeamRules(2, 2))).seats == 8
    joined = pool_of([[1500.0]] * 14, reach=[1] * 7 + [3] + [2] * 6)
    assert seats_bound(field_of(joined, TeamRules(2, 2))).seats == 12
