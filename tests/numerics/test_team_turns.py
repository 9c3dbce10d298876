"""Due tickets take the places of later ones: nobody due waits who could, and no seat is lost by it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics.team_plan import TeamPlan, TeamPool, TeamRules, searched_plan, team_plan, with_turns
from tests.numerics.team_pools import crowd, pool_of, small_pools
from tests.numerics.test_team_plan import assert_sound
from tests.reference import teams as reference


def passed_over(pool: TeamPool, rules: TeamRules, rosters: Array) -> list[tuple[int, tuple[int, ...]]]:
    """Due tickets that wait, each with tickets of lower levels in whose place it could sit; by trying all."""
    seated = {int(one) for one in rosters.ravel() if one >= 0}
    matches = [[one for one in match if one >= 0] for match in rosters.tolist()]
    return [
        (due, leaving)
        for due in range(len(pool.size))
        if due not in seated and pool.level[due]
        for match in matches
        for later in [[one for one in match if pool.level[one] < pool.level[due]]]
        for leaving in reference.could_sit(pool, rules, match, due, later)
    ]


def seats_of(pool: TeamPool, plan: TeamPlan) -> int:
    return int(pool.size[plan.rosters[plan.rosters >= 0]].sum())


@pytest.mark.parametrize("plan_of", [team_plan, searched_plan])
@settings(deadline=None, max_examples=120)
@given(drawn=small_pools(), data=st.data())
def test_nobody_due_waits_who_could_sit_where_a_later_one_sits(plan_of, drawn, data) -> None:  # type: ignore[no-untyped-def]
    pool, rules = drawn
    count = len(pool.size)
    level = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int64)
    before = plan_of(pool, rules)
    given_turns = pool._replace(level=level)
    plan = plan_of(given_turns, rules)
    assert_sound(given_turns, rules, plan)
    assert passed_over(given_turns, rules, plan.rosters) == []
    assert seats_of(pool, plan) == seats_of(pool, before)


@settings(deadline=None, max_examples=60)
@given(drawn=small_pools(), data=st.data())
def test_anybodys_plan_can_be_given_turns(drawn: tuple[TeamPool, TeamRules], data: st.DataObject) -> None:
    pool, rules = drawn
    plan = team_plan(pool, rules)
    count = len(pool.size)
    level = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.int64)
    mended = with_turns(pool._replace(level=level), rules, plan)
    assert_sound(pool, rules, mended)
    assert passed_over(pool._replace(level=level), rules, mended.rosters) == []
    assert (mended.seats_bound, mended.cost_bound) == (plan.seats_bound, plan.cost_bound)


def test_a_due_party_takes_the_place_of_single_players_who_came_later() -> None:
    pool = pool_of([[1500.0, 1500.0], [1500.0], [1500.0], [1500.0], [1500.0]], value=[1.0, 1000, 1000, 1000, 1000])
    rules = TeamRules(2, 2)
    assert team_plan(pool, rules).rosters.tolist() == [[1, 2, 3, 4]]
    due = team_plan(pool._replace(level=np.array([1, 0, 0, 0, 0])), rules)
    assert due.rosters[0, 0] == 0
    assert len(due.cost) == 1


def test_of_two_due_tickets_the_one_with_the_higher_level_sits() -> None:
    pool = pool_of([[1500.0]] * 3, value=[1.0, 1000, 1000])._replace(level=np.array([2, 1, 1]))
    assert 0 in team_plan(pool, TeamRules(2, 1)).rosters


@pytest.mark.parametrize(
    ("form", "about"), [((2, 4), {}), ((2, 5), {"roles": 5}), ((1, 30), {}), ((2, 5), {"regions": 4})]
)
def test_in_a_crowd_it_is_whole_and_costs_no_seat(form: tuple[int, int], about: dict[str, int]) -> None:
    pool = crowd(400, form[1], **about)  # type: ignore[arg-type]
    rules = TeamRules(*form, places=(1,) * 5 if "roles" in about else (), work=20_000)
    before = team_plan(pool, rules)
    level = np.random.default_rng(3).integers(0, 5, len(pool.size))
    plan = team_plan(pool._replace(level=level), rules)
    assert_sound(pool, rules, plan)
    assert seats_of(pool, plan) == seats_of(pool, before)
    assert next(step["whole"] for step in plan.steps if step["step"] == "turns")
    if form == (2, 4):
        assert passed_over(pool._replace(level=level), rules, plan.rosters) == []
