"""The transportation solver and the greedy picks on profiles: against the matrix of all weights, and on hard shapes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.few_leaders import few_broken, few_costs, seat_few
from evenmatch.numerics.greedy_sessions import (
    leaders_pick_by_matrix,
    leaders_pick_by_profile,
    members_pick_by_matrix,
    members_pick_by_profile,
)
from evenmatch.numerics.leader_scales import grouped
from evenmatch.numerics.profiles import LEAF, Profiles, tree_of
from evenmatch.numerics.transport import (
    Problem,
    Transport,
    certificate_broken,
    matrix_problem,
    profile_problem,
    solve,
)
from tests.matchers.test_transport import public_optimum, total


def weights_of(profiles: Profiles, leaders: Array, members: Array) -> Array:
    """float64[k, m]: every weight, term by term."""
    weights = np.zeros((len(leaders), len(members)))
    for feature in range(len(profiles.factor)):
        one, other = profiles.points[leaders, feature][:, None], profiles.points[members, feature]
        if profiles.categorical[feature]:
            weights += profiles.factor[feature] * (one != other)
        else:
            weights += profiles.factor[feature] * np.abs(one - other) / profiles.scale[feature]
    return weights


def steps_of(problem: Problem) -> Array:
    """int64[k, m]: every cost of a profile problem in grid steps, rows and columns as the caller has them."""
    space = problem.space
    apart = np.abs(space.spots[:, None] - space.people)
    steps = np.where(space.charge < 0, apart, space.charge * (apart > 0)).sum(axis=2)
    given_order: Array = np.empty_like(steps)
    given_order[np.ix_(problem.rows, problem.columns)] = steps
    return given_order


@st.composite
def players(draw: st.DrawFn, most: int = 60) -> tuple[Profiles, Array, Array, int]:
    """Profiles on few values, leaders, members and a capacity."""
    capacity, leaders = draw(st.integers(1, 4)), draw(st.integers(1, most // 5))
    count = leaders * (1 + capacity) + draw(st.integers(0, 4))
    features = draw(st.integers(1, 3))
    values = draw(st.sampled_from([2, 5, 1000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    order = rng.permutation(count)
    categorical = np.array(draw(st.lists(st.booleans(), min_size=features, max_size=features)))
    profiles = Profiles(
        rng.integers(0, values, (count, features)).astype(np.float64),
        categorical,
        rng.choice([0.5, 1.0, 2.0], features),
        rng.choice([1.0, 7.0, 400.0], features),
    )
    return profiles, np.sort(order[:leaders]), np.sort(order[leaders:]), capacity


@settings(max_examples=150, deadline=None)
@given(players())
def test_greedy_picks_by_profile_are_those_by_matrix(drawn: tuple[Profiles, Array, Array, int]) -> None:
    profiles, leaders, members, capacity = drawn
    weights = weights_of(profiles, leaders, members)
    picked = members_pick_by_profile(profiles, leaders, members, capacity)
    assert picked.tolist() == members_pick_by_matrix(weights, capacity).tolist()
    picked = leaders_pick_by_profile(profiles, leaders, members, capacity)
    assert picked.tolist() == leaders_pick_by_matrix(weights, capacity).tolist()


@settings(max_examples=150, deadline=None)
@given(players(most=200))
def test_profiles_are_solved_as_cheaply_as_by_a_public_solver(drawn: tuple[Profiles, Array, Array, int]) -> None:
    profiles, leaders, members, capacity = drawn
    problem = profile_problem(profiles, leaders, members, capacity)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    weights = weights_of(profiles, leaders, members)
    best = public_optimum(weights, capacity)
    assert total(weights, found) == pytest.approx(best, rel=1e-13, abs=1e-13)
    steps = steps_of(problem)
    assert np.abs(steps * problem.step - weights).max() <= 4e-15 * max(1e-300, weights.max())
    assert (steps >= found.row_price[:, None] + found.column_price).all()
    bound = capacity * sum(found.row_price.tolist()) + sum(found.column_price.tolist())
    taken = np.flatnonzero(found.row_of >= 0)
    assert bound == sum(steps[found.row_of[taken], taken].tolist())


@settings(max_examples=150, deadline=None)
@given(players())
def test_a_few_players_are_seated_at_the_same_total_on_the_same_grid(drawn: tuple[Profiles, Array, Array, int]) -> None:
    profiles, leaders, members, capacity = drawn
    cost = np.empty((len(leaders), len(members)), np.int64)
    leader_of, v = np.empty((2, len(members)), np.int64)
    u = np.empty(len(leaders), np.int64)
    few_costs(*profiles, leaders, members, cost)
    problem = profile_problem(profiles, leaders, members, capacity)
    assert (cost == steps_of(problem)).all()
    seat_few(cost, capacity, leader_of, u, v)
    assert not few_broken(cost, capacity, leader_of, u, v)
    assert certificate_broken(problem, Transport(leader_of, u, v)) is None
    for wrong in (np.roll(leader_of, 1), np.full_like(leader_of, -1)):
        broken = certificate_broken(problem, Transport(wrong, u, v)) is not None
        assert few_broken(cost, capacity, wrong, u, v) == broken
    for off in (-1, 1):
        assert few_broken(cost, capacity, leader_of, u + off, v)
        assert few_broken(cost, capacity, leader_of, u, v + off)


SHAPES = [
    "cube", "line", "equal", "clusters", "one spot", "whole numbers", "categories", "mixed", "many features", "far off",
]  # fmt: skip


def shaped(shape: str, count: int) -> Profiles:
    rng = np.random.default_rng(count)
    points = rng.random((count, {"line": 1, "many features": 9}.get(shape, 3)))
    categorical = np.zeros(points.shape[1], bool)
    if shape == "equal":
        points[:] = 7.0
    elif shape == "clusters":
        points[::2] += 50.0
    elif shape == "one spot":
        points[: count // 10] = 0.5
    elif shape == "whole numbers":
        points = np.rint(points * 20)
    elif shape in ("categories", "mixed"):
        points = np.rint(points * 4) if shape == "categories" else points
        points[:, 2] = rng.integers(0, 6, count)
        categorical[2 if shape == "mixed" else 0 :] = True
    elif shape == "far off":
        points[-1] = 1e6
    ones = np.ones(points.shape[1])
    return Profiles(points, categorical, ones, ones)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("over", [0, 1, 9])
def test_hard_shapes_are_solved_as_by_a_public_solver(shape: str, over: int) -> None:
    count = 600 + over
    profiles = shaped(shape, count)
    leaders, members = np.arange(60), np.arange(60, count)
    problem = profile_problem(profiles, leaders, members, 9)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    weights = weights_of(profiles, leaders, members)
    assert total(weights, found) == pytest.approx(public_optimum(weights, 9), rel=1e-12)
    by_matrix = matrix_problem(weights, 9)
    assert total(weights, solve(by_matrix)) == pytest.approx(total(weights, found), rel=1e-12)
    picked = members_pick_by_profile(profiles, leaders, members, 9)
    assert picked.tolist() == members_pick_by_matrix(weights, 9).tolist()
    picked = leaders_pick_by_profile(profiles, leaders, members, 9)
    assert picked.tolist() == leaders_pick_by_matrix(weights, 9).tolist()


@pytest.mark.parametrize(("count", "capacity"), [(50, 49), (57, 20), (2, 1), (9, 1), (300, 1)])
def test_few_leaders_and_large_sessions(count: int, capacity: int) -> None:
    profiles = shaped("cube", count)
    leaders = np.arange(count // (capacity + 1))
    members = np.arange(len(leaders), count)
    problem = profile_problem(profiles, leaders, members, capacity)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    weights = weights_of(profiles, leaders, members)
    assert total(weights, found) == pytest.approx(public_optimum(weights, capacity), rel=1e-12)


@pytest.mark.parametrize("kind", ["profile", "independent", "equal", "whole"])
def test_a_matrix_of_many_members_is_proven(kind: str) -> None:
    rng = np.random.default_rng(8)
    costs = rng.random((500, 4505))
    if kind == "profile":
        at = rng.random((5005, 3))
        costs = np.sqrt(((at[:500, None] - at[500:]) ** 2).sum(axis=2))
    elif kind == "equal":
        costs[:] = 3.0
    elif kind == "whole":
        costs = np.rint(costs * 50)
    problem = matrix_problem(costs, 9)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    reduced = np.rint(costs / problem.step).astype(np.int64) - found.row_price[:, None] - found.column_price
    assert reduced.min() >= 0


@pytest.mark.parametrize("count", [20_003, 60_000])
def test_a_large_problem_is_proven_and_the_same_with_any_number_of_threads(count: int) -> None:
    profiles = shaped("cube", count)
    leaders, members = np.arange(count // 10), np.arange(count // 10, count)
    problem = profile_problem(profiles, leaders, members, 9)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    several = threads.count()
    threads.use(1)
    try:
        alone = solve(profile_problem(profiles, leaders, members, 9))
    finally:
        threads.use(several)
    assert all((one == other).all() for one, other in zip(found, alone, strict=True))


@pytest.mark.parametrize(("count", "capacity"), [(1_000, 9), (1_007, 9), (703, 2), (30, 9)])
def test_groups_keep_the_middle_and_the_share_of_seats(count: int, capacity: int) -> None:
    leaders = count // (capacity + 1)
    problem = profile_problem(shaped("mixed", count), np.arange(leaders), np.arange(leaders, count), capacity)
    space = problem.space
    smaller, group_of = grouped(space, capacity)
    groups = len(smaller.spots)
    assert len(smaller.people) >= groups * capacity
    assert sorted(set(group_of.tolist())) == list(range(groups))
    assert (np.diff(group_of) >= 0).all()
    for group in range(groups):
        inside = space.spots[group_of == group]
        assert len(inside) <= LEAF
        assert (np.abs(smaller.spots[group, :2] - inside[:, :2].mean(axis=0)) <= 8.0).all()
        assert smaller.spots[group, 2] in inside[:, 2]
    assert (smaller.low[0] == smaller.spots.min(axis=0)).all()
    assert (smaller.high[0] == smaller.spots.max(axis=0)).all()


@pytest.mark.parametrize("shape", ["plane", "clusters", "equal", "one spot"])
def test_many_players_are_proven_where_prices_reach_far(shape: str) -> None:
    count = 5_004
    profiles = shaped(shape, count)
    if shape == "plane":
        profiles = Profiles(profiles.points[:, :2].copy(), *(column[:2] for column in profiles[1:]))
    problem = profile_problem(profiles, np.arange(count // 10), np.arange(count // 10, count), 9)
    assert certificate_broken(problem, solve(problem)) is None


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("row_of", lambda f: np.where(f.row_of == 0, 1, f.row_of), "a row does not have exactly 9 columns"),
        ("column_price", lambda f: f.column_price + 10**15, "a column's price is positive"),
        ("column_price", lambda f: f.column_price - 1, "a free column has a price"),
        ("row_price", lambda f: f.row_price + 1, "a pair costs less than its prices"),
        ("row_price", lambda f: f.row_price - 1, "a chosen pair costs more than its prices"),
    ],
)
def test_a_wrong_proof_of_profiles_is_found_out(column: str, change: Any, words: str) -> None:
    profiles = shaped("cube", 1005)
    problem = profile_problem(profiles, np.arange(100), np.arange(100, 1005), 9)
    found: Transport = solve(problem)
    assert certificate_broken(problem, found) is None
    assert certificate_broken(problem, found._replace(**{column: change(found)})) == words


@pytest.mark.parametrize("count", [1, LEAF, LEAF + 1, 100, 1000])
def test_a_tree_holds_every_point_in_the_boxes_above_it(count: int) -> None:
    profiles = shaped("whole numbers", count)
    tree = tree_of(profiles)
    assert sorted(tree.order.tolist()) == list(range(count))
    assert (tree.points == profiles.points[tree.order]).all()
    ranges = [(0, count)]
    for node in range(len(tree.low)):
        first, end = ranges[node]
        inside = tree.points[first:end]
        assert (tree.low[node] == inside.min(axis=0)).all()
        assert (tree.high[node] == inside.max(axis=0)).all()
        ranges += [(first, (first + end) // 2), ((first + end) // 2, end)]
