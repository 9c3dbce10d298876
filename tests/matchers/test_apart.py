"""Tickets that must not meet: kept apart by every matcher, and nobody is left waiting for nothing."""

from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import check_plan, plan_wave
from evenmatch.matchers.registry import build, names

SOLO: dict[str, dict[str, Any]] = {
    "buckets": {"bucket": 200, "growth_s": 0.001},
    "cinder": {"sanction_max": 1000, "overlap_min": 0},
    "epgc": {"lobby_size": 3},
    "l2m": {"session_size": 3},
    "lom": {"session_size": 3},
    "m2l": {"session_size": 3},
    "random": {"session_size": 3},
}
every_matcher = pytest.mark.parametrize("name", names())


def crowd(ratings: list[int], waits: list[int], pairs: list[tuple[int, int]], groups: list[int]) -> Snapshot:
    rating = np.array(ratings, np.float64)
    found = Snapshot.from_columns(
        rating=rating,
        ping_ms=rating % 7,
        waited_ms=np.array(waits),
        ratings={"bw": rating, "sc2": rating},
    )
    return msgspec.structs.replace(found, forbidden=np.array(pairs, np.int64).reshape(-1, 2), group=np.array(groups))


@st.composite
def crowds(draw: st.DrawFn) -> Snapshot:
    count = draw(st.integers(2, 12))
    each = st.lists(st.integers(0, 9), min_size=count, max_size=count)
    pairs = draw(st.lists(st.sampled_from(list(combinations(range(count), 2))), max_size=12, unique=True))
    return crowd(
        [1500 + 10 * r for r in draw(each)], [1000 * w for w in draw(each)], pairs, [g % 2 for g in draw(each)]
    )


@every_matcher
@settings(max_examples=60, deadline=None)
@given(crowds(), st.randoms(use_true_random=False))
def test_no_match_holds_a_forbidden_pair_and_the_order_of_rows_does_not_matter(
    name: str, snapshot: Snapshot, dice: Any
) -> None:
    matcher = build(name, SOLO.get(name, {}))
    form = {"epgc": Format(1, 3), "l2m": Format(1, 3), "lom": Format(1, 3), "m2l": Format(1, 3), "random": Format(1, 3)}
    snapshot = msgspec.structs.replace(snapshot, format=form.get(name, Format(2, 1)))
    plan = plan_wave(matcher, snapshot, seed=3)
    assert check_plan(plan, snapshot) is None
    for roster in plan.rosters.tolist():
        for pair in snapshot.forbidden.tolist():
            assert not set(pair) <= set(roster)
    shuffled = list(range(len(snapshot)))
    dice.shuffle(shuffled)
    again = plan_wave(matcher, snapshot.take(np.array(shuffled)), seed=3)
    assert again.rosters.shape == plan.rosters.shape
    assert [[shuffled[row] for row in roster] for roster in again.rosters.tolist()] == plan.rosters.tolist()


@pytest.mark.parametrize("name", ["first_come", "buckets", "cinder", "ladder"])
def test_who_is_blocked_by_one_plays_with_another(name: str) -> None:
    matcher = build(name, SOLO.get(name, {}))
    snapshot = crowd([1500] * 3, [3000, 2000, 1000], [(0, 1)], [0] * 3)
    plan = plan_wave(matcher, msgspec.structs.replace(snapshot, format=Format(2, 1)))
    assert sorted(plan.rosters[0].tolist()) == [0, 2]


def test_two_alone_who_block_each_other_wait_and_know_why() -> None:
    snapshot = crowd([1500] * 2, [3000, 2000], [(0, 1)], [0] * 2)
    plan = plan_wave(build("first_come", {}), msgspec.structs.replace(snapshot, format=Format(2, 1)))
    assert len(plan.rosters) == 0
    assert plan.reasons.tolist() == [Reason.KEPT_APART] * 2
    assert plan.details["rounds"] == 2


def test_who_is_blocked_by_all_stands_in_nobodys_way() -> None:
    snapshot = crowd([1500] * 5, [5000, 4000, 3000, 2000, 1000], [(0, other) for other in range(1, 5)], [0] * 5)
    plan = plan_wave(build("first_come", {}), msgspec.structs.replace(snapshot, format=Format(2, 1)))
    assert len(plan.rosters) == 2
    assert plan.reasons[0] == Reason.KEPT_APART


def test_a_plan_that_puts_a_forbidden_pair_together_is_found_out() -> None:
    snapshot = msgspec.structs.replace(crowd([1500] * 2, [2, 1], [], [0] * 2), format=Format(2, 1))
    plan = plan_wave(build("first_come", {}), snapshot)
    apart = msgspec.structs.replace(snapshot, forbidden=np.array([[1, 0]]))
    assert check_plan(plan, apart) == "match 0 holds two tickets that must not meet"


def test_an_optimum_that_took_several_rounds_claims_no_proof() -> None:
    matcher = build("ladder", {"solver": "optimal", "window_of": "either"})
    snapshot = crowd([1500, 1501, 1502, 1503], [4000, 3000, 2000, 1000], [(0, 1)], [0] * 4)
    snapshot = msgspec.structs.replace(snapshot, format=Format(2, 1))
    plan = plan_wave(matcher, snapshot)
    assert check_plan(plan, snapshot) is None
    assert (plan.details["optimality_gap"] is None) == (plan.details.get("rounds", 1) > 1)
