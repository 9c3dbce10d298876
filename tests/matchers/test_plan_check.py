"""The compiled check of a plan says what the plain one says, of good plans and of plans spoilt in any way."""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import check_plan, plan_wave
from evenmatch.matchers.registry import build
from evenmatch.numerics import plan_check
from tests.reference.plan_check import broken
from tests.snapshots import sized, snapshots

COLUMNS = ("rosters", "team_of", "reasons", "cost")


def spoilt(plan: Plan, column: str, at: int, value: float) -> Plan:
    """The plan with one number changed, if the column has any."""
    array = getattr(plan, column).copy()
    if array.size:
        array.flat[at % array.size] = value
    changed: Plan = msgspec.structs.replace(plan, **{column: array})
    return changed


@st.composite
def spoilt_plans(draw: st.DrawFn) -> tuple[Snapshot, Plan]:
    snapshot = draw(snapshots(tickets_max=16, groups=3))
    plan = plan_wave(build("first_come", {}), snapshot)
    for _ in range(draw(st.integers(0, 4))):
        column = draw(st.sampled_from(COLUMNS))
        value: Any = draw(st.sampled_from([0.0, np.nan]) if column == "cost" else st.integers(-3, 18))
        plan = spoilt(plan, column, draw(st.integers(0, 40)), value)
    return snapshot, plan


@settings(max_examples=250, deadline=None)
@given(spoilt_plans())
def test_it_agrees_with_the_plain_check(drawn: tuple[Snapshot, Plan]) -> None:
    snapshot, plan = drawn
    assert check_plan(plan, snapshot) == broken(plan, snapshot)


@settings(max_examples=60, deadline=None)
@given(spoilt_plans())
def test_wider_whole_numbers_and_other_layouts_are_judged_alike(drawn: tuple[Snapshot, Plan]) -> None:
    snapshot, plan = drawn
    wide = msgspec.structs.replace(
        plan,
        rosters=np.asfortranarray(plan.rosters.astype(np.int64)),
        team_of=plan.team_of.astype(np.int64),
        reasons=plan.reasons.astype(np.int16),
        cost=plan.cost[::-1].copy()[::-1],
    )
    assert plan_check.first_broken(wide, snapshot) == plan_check.first_broken(plan, snapshot)


def test_a_number_that_does_not_fit_is_not_taken_for_another() -> None:
    snapshot = sized(Format(2, 1), [1, 1, 1])
    plan = plan_wave(build("first_come", {}), snapshot)
    assert plan_check.first_broken(plan, snapshot) is None
    for column, value, rule in [
        ("rosters", 2**32, plan_check.NO_SUCH_ROW),
        ("rosters", 2**32 - 1, plan_check.NO_SUCH_ROW),
        ("team_of", 256, plan_check.NO_SUCH_TEAM),
        ("team_of", -256, plan_check.NO_SUCH_TEAM),
        ("reasons", 256, plan_check.REASON_WRONG),
    ]:
        wide = msgspec.structs.replace(plan, **{column: getattr(plan, column).astype(np.int64)})
        assert plan_check.first_broken(spoilt(wide, column, 0, value), snapshot) == (rule, 0)


def test_empty_places_before_tickets_may_be_allowed() -> None:
    snapshot = sized(Format(2, 1), [1, 1])
    gap = Plan(
        rosters=np.array([[0, -1, 1]], np.int32),
        team_of=np.array([[0, -1, 1]], np.int8),
        cost=np.zeros(1),
        reasons=np.zeros(2, np.int8),
    )
    assert plan_check.first_broken(gap, snapshot) == (plan_check.GAP, 0)
    assert plan_check.first_broken(gap, snapshot, gaps=True) is None


def test_one_wrong_ticket_among_many_is_found() -> None:
    snapshot = sized(Format(2, 5), [1] * 50_000)
    plan = plan_wave(build("first_come", {}), snapshot)
    assert check_plan(plan, snapshot) is None
    assert check_plan(spoilt(plan, "rosters", 49_999, 3), snapshot) == "row 3 is seated twice"
    assert check_plan(spoilt(plan, "reasons", 49_999, Reason.LESS_EVEN), snapshot) is not None
