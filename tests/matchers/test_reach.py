"""Whatever the matcher, the tickets of a match share a region; and who is too far from some plays with others."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import check_plan, own_format, plan_wave, with_format
from evenmatch.matchers.first_come import FirstCome
from evenmatch.matchers.reach import shared
from evenmatch.matchers.registry import build

SMALL = {
    "first_come": {},
    "exact": {"pool_max": 6},
    "epgc": {"lobby_size": 3},
    "ladder": {},
    "buckets": {},
    "lom": {"session_size": 3},
    "random": {"session_size": 3},
    "cinder": {},
}


def waiting(reach: list[int], form: Format, pairs: tuple[tuple[int, int], ...] = ()) -> Snapshot:
    count = len(reach)
    ratings = 1500.0 + 10 * (np.arange(count) % 7)
    snapshot = Snapshot.from_columns(
        rating=ratings,
        ping_ms=np.full(count, 30.0),
        waited_ms=1000 * np.arange(count, 0, -1),
        ratings={"bw": ratings, "sc2": ratings},
        format=form,
    )
    forbidden = np.array(pairs, np.int64).reshape(-1, 2)
    return msgspec.structs.replace(snapshot, reach=np.array(reach, np.int64), forbidden=forbidden)


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=25, deadline=None)
@given(reach=st.lists(st.integers(0, 7), min_size=0, max_size=12), seed=st.integers(0, 5))
def test_every_match_shares_a_region_and_everybody_else_has_a_reason(name: str, reach: list[int], seed: int) -> None:
    matcher = build(name, SMALL[name])
    snapshot = with_format(matcher, waiting(reach, own_format(matcher)))
    plan = plan_wave(matcher, snapshot, seed=seed)
    assert check_plan(plan, snapshot) is None
    if len(plan.rosters):
        assert (shared(plan.rosters, snapshot.reach) != 0).all()
    again = plan_wave(matcher, snapshot, seed=seed)
    assert (again.rosters.tolist(), again.reasons.tolist()) == (plan.rosters.tolist(), plan.reasons.tolist())


def test_nobody_waits_behind_those_who_cannot_play_each_other() -> None:
    plan = plan_wave(FirstCome(), waiting([1, 2, 4, 1, 2, 4], Format(2, 1)))
    assert sorted(sorted(match) for match in plan.rosters.tolist()) == [[0, 3], [1, 4], [2, 5]]
    assert plan.details["rounds"] == 4


def test_blocks_hold_in_every_round() -> None:
    plan = plan_wave(FirstCome(), waiting([1, 2, 1, 2, 1], Format(2, 1), ((0, 2),)))
    assert sorted(sorted(match) for match in plan.rosters.tolist()) in ([[0, 4], [1, 3]], [[1, 3], [2, 4]])


def test_who_reaches_nothing_or_nobody_is_told_so() -> None:
    plan = plan_wave(FirstCome(), waiting([0, 1, 2], Format(2, 1)))
    assert len(plan.rosters) == 0
    assert plan.reasons.tolist()[:2] == [Reason.TOO_FAR, Reason.TOO_FAR]
    assert Reason.SEATED not in plan.reasons.tolist()


def test_without_reach_the_matcher_is_simply_called() -> None:
    snapshot = msgspec.structs.replace(waiting([1, 2], Format(2, 1)), reach=np.empty(0, np.int64))
    plan = plan_wave(FirstCome(), snapshot)
    assert plan.rosters.tolist() == [[0, 1]]
    assert "rounds" not in plan.details


def test_a_plan_that_puts_those_together_who_share_nothing_is_found_out() -> None:
    snapshot = waiting([1, 2], Format(2, 1))
    plan = Plan(
        rosters=np.array([[0, 1]], np.int32),
        team_of=np.array([[0, 1]], np.int8),
        cost=np.zeros(1),
        reasons=np.zeros(2, np.int8),
    )
    assert check_plan(plan, snapshot) == "match 0 has no region that all its tickets can reach"
