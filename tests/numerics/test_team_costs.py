"""Bounds on cost: the convex function below the lean, and how near the bounds come where nothing is in the way."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.numerics.match_terms import Weights
from evenmatch.numerics.team_costs import convex_lean, cost_bounds, least_blocks
from evenmatch.numerics.team_field import TeamPool, TeamRules, field_of
from evenmatch.numerics.team_plan import team_plan
from tests.numerics.team_pools import SEAT, crowd, pool_of
from tests.reference import teams as reference


@pytest.mark.parametrize("widest", [0.2, 0.7, 1.5, 12.0])
def test_the_convex_lean_is_convex_and_never_above_the_true_one(widest: float) -> None:
    lean = np.linspace(0.0, widest, 400)
    found = convex_lean(lean, widest)
    assert (found <= np.tanh(lean) ** 2 + 1e-12).all()
    assert (np.diff(found, 2) >= -1e-12).all()
    assert found[0] == 0
    assert found[-1] == pytest.approx(math.tanh(widest) ** 2, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 30).map(float), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 3))
def test_blocks_cost_no_more_than_the_least_by_trying_all(block: list[float], length: int, groups: int) -> None:
    places = range(len(block))

    def least(at: int, wanted: int) -> float:
        if not wanted:
            return 0.0
        return min((block[one] + least(one + length, wanted - 1) for one in places if one >= at), default=math.inf)

    best, reward = least_blocks(np.array(block), length, groups, 40)
    for other in range(len(block) + 1):
        assert best + reward * (other - groups) <= least(0, other) + 1e-9


SOLOS = st.lists(st.integers(0, 300).map(lambda points: 1500.0 + points), min_size=4, max_size=9)


@settings(deadline=None, max_examples=150)
@given(
    SOLOS,
    st.sampled_from([(4, 1), (3, 1), (2, 1), (2, 2), (4, 2), (3, 2)]),
    st.sampled_from([0.0, 80.0]),
    st.sampled_from([50.0, 200.0, np.inf]),
)
def test_no_plan_of_single_players_costs_less_than_the_bound(
    ratings: list[float], form: tuple[int, int], sigma: float, window: float
) -> None:
    pool = pool_of([[mu] for mu in ratings], sigma=sigma, window=window)
    rules = TeamRules(*form, weights=Weights(0.3, 2.0, 1.0))
    field = field_of(pool, rules)
    worth, most, least = reference.best(pool, rules)
    costs = cost_bounds(field, np.ones(len(ratings), bool), most)
    for matches, cost in least.items():
        assert costs.cost(matches) <= cost + 1e-9
    assert worth <= costs.worth(most) + 1e-9


def solos(count: int, seed: int) -> TeamPool:
    return crowd(count, 1, shares=(1,), seed=seed, window=(300.0, 600.0))


@pytest.mark.parametrize(("form", "gap"), [((8, 1), 0.1), ((2, 5), 0.25), ((1, 10), 0.05)])
def test_the_bound_is_near_for_single_players(form: tuple[int, int], gap: float) -> None:
    for seed in (1, 2):
        plan = team_plan(solos(400, seed), TeamRules(*form, work=150_000), seats_first=True)
        assert plan.cost_bound <= plan.cost.sum() + 1e-9
        assert plan.cost.sum() - plan.cost_bound <= gap * plan.cost.sum()


def test_what_a_plan_is_worth_at_the_most_counts_waits() -> None:
    value = [SEAT + 10 * at for at in range(20)]
    pool = pool_of([[1500.0]] * 20, value=value)
    plan = team_plan(pool, TeamRules(1, 3), seats_first=True)
    assert plan.worth_bound == pytest.approx(sum(value[2:]))
    assert reference.worth(pool, plan.rosters, plan.cost) == pytest.approx(plan.worth_bound)
