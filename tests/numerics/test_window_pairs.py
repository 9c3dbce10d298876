"""Greedy pairs within windows: the kernel is its twin, and large queues keep what can be checked without one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.numerics.window_classes import CLASSES_MAX
from evenmatch.numerics.window_pairs import RULES, window_pairs
from tests.reference import window_pairs as reference
from tests.reference.window_pairs import Member

HAIR = 2.0**-40
RATINGS = {
    "few": st.integers(0, 9).map(float),
    "zeros": st.sampled_from([0.0, -0.0, 7.5]),
    "a hair apart": st.integers(0, 30).map(lambda n: 1500 + n * HAIR),
    "any": st.floats(-100, 100),
}
MISSES = {"none": st.just(0.0), "few": st.integers(0, 3).map(float), "any": st.integers(0, 10**6).map(float)}
WINDOWS = {
    "nobody": st.just(0.0),
    "everybody": st.just(1e6),
    "touching": st.integers(0, 9).map(float),
    "any": st.floats(0, 50),
}


@st.composite
def sides(draw: st.DrawFn, *, most: int = 14) -> list[list[Member]]:
    """Two sides of one sort of ratings; misses and windows of another sort each."""
    rating = RATINGS[draw(st.sampled_from(sorted(RATINGS)))]
    found = []
    for _ in range(2):
        misses = MISSES[draw(st.sampled_from(sorted(MISSES)))]
        window = WINDOWS[draw(st.sampled_from(sorted(WINDOWS)))]
        found.append(draw(st.lists(st.builds(Member, rating, misses, window), max_size=most)))
    return found


def columns(members: list[Member]) -> list[Array]:
    table: Array = np.array(members, np.float64).reshape(-1, 3)
    return [np.ascontiguousarray(table[:, at]) for at in range(3)]


def found(rule: str, weight: float, leads: list[Member], follows: list[Member]) -> tuple[list[tuple[int, int]], int]:
    lead, follow, acceptable = window_pairs(RULES[rule], weight, *columns(leads), *columns(follows))
    return list(zip(lead.tolist(), follow.tolist(), strict=True)), acceptable


WEIGHT = st.sampled_from([0.0, 20.0, 0.1, 500.0, 1e6])


@settings(deadline=None, max_examples=300)
@given(both=sides(), rule=st.sampled_from(sorted(RULES)), weight=WEIGHT)
def test_pairs_their_order_and_their_number_are_those_of_the_sorted_list(
    both: list[list[Member]], rule: str, weight: float
) -> None:
    assert found(rule, weight, *both) == reference.window_pairs(rule, weight, *both)


@settings(deadline=None, max_examples=60)
@given(both=sides(most=5), rule=st.sampled_from(sorted(RULES)), weight=WEIGHT, data=st.data())
def test_so_are_they_with_more_classes_than_are_kept(
    both: list[list[Member]], rule: str, weight: float, data: st.DataObject
) -> None:
    rating = data.draw(st.sampled_from(sorted(RATINGS)))
    apart = [
        Member(data.draw(RATINGS[rating]), float(misses), data.draw(st.sampled_from([0.0, 3.0, 12.0, 1e6])))
        for misses in range(CLASSES_MAX + 4)
    ]
    leads, follows = both[0], apart + both[1]
    assert found(rule, weight, leads, follows) == reference.window_pairs(rule, weight, leads, follows)
    assert found(rule, weight, follows, leads) == reference.window_pairs(rule, weight, follows, leads)


def queue(kind: str, size: int) -> list[Array]:
    """Rating, misses and window of leads, then of followers."""
    rng = np.random.default_rng(7)
    rating = rng.normal(1500, 300, (2, size))
    misses = np.minimum(rng.geometric(0.5, (2, size)) - 1, 5).astype(np.float64)
    if kind == "equal leads":
        rating[0] = 1500
    elif kind == "all equal":
        rating[:], misses[:] = 1500, 0
    elif kind == "whole ratings":
        rating = np.round(rating)
    elif kind == "two clusters":
        rating = np.stack([1000 + 50 * rng.random(size), 1080 + 50 * rng.random(size)])
    elif kind == "different misses":
        misses = np.stack([rng.permutation(size), rng.permutation(size)]).astype(np.float64)
    return [column for side in range(2) for column in (rating[side], misses[side], 75 + 25 * misses[side])]


KINDS = ["normal", "equal leads", "all equal", "whole ratings", "two clusters", "different misses"]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("kind", KINDS)
def test_no_two_players_would_rather_have_each_other(kind: str, rule: str) -> None:
    lead_rating, lead_misses, lead_window, follow_rating, follow_misses, follow_window = given_ = queue(kind, 1200)
    lead, follow, acceptable = window_pairs(RULES[rule], 20.0, *given_)
    gap = np.abs(lead_rating[:, None] - follow_rating)
    score = gap * gap - 20.0 * (lead_misses[:, None] + follow_misses)
    widest = {
        "lead": np.broadcast_to(lead_window[:, None], gap.shape),
        "either": np.maximum(lead_window[:, None], follow_window),
        "both": np.minimum(lead_window[:, None], follow_window),
    }[rule]
    assert acceptable == int((gap <= widest).sum())
    score[gap > widest] = np.inf
    of_lead, of_follow = np.full(len(lead_rating), np.inf), np.full(len(follow_rating), np.inf)
    of_lead[lead] = of_follow[follow] = score[lead, follow]
    assert not ((score < of_lead[:, None]) & (score < of_follow)).any()
    assert np.isfinite(of_lead[lead]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_many_players_are_paired_once_within_their_windows_and_in_order(kind: str) -> None:
    lead_rating, lead_misses, lead_window, follow_rating, follow_misses, _ = given_ = queue(kind, 60_000)
    lead, follow, acceptable = window_pairs(RULES["lead"], 20.0, *given_)
    assert len(np.unique(lead)) == len(np.unique(follow)) == len(lead) > 15_000
    gap = np.abs(lead_rating[lead] - follow_rating[follow])
    assert (gap <= lead_window[lead]).all()
    score = gap * gap - 20.0 * (lead_misses[lead] + follow_misses[follow])
    assert (np.lexsort((lead, score)) == np.arange(len(lead))).all()
    sample = slice(0, None, 1000)
    ordered = np.sort(follow_rating)
    within = [
        int((np.abs(ordered - r) <= w).sum()) for r, w in zip(lead_rating[sample], lead_window[sample], strict=True)
    ]
    assert len(lead) <= acceptable <= len(lead_rating) * len(follow_rating)
    assert abs(acceptable / len(lead_rating) / np.mean(within) - 1) < 0.2


def test_one_side_may_be_empty_or_larger() -> None:
    one = [Member(5.0, 0.0, 1.0)]
    assert found("lead", 20.0, [], one) == ([], 0)
    assert found("lead", 20.0, one, []) == ([], 0)
    assert found("lead", 20.0, [], []) == ([], 0)
    assert found("lead", 20.0, one, [Member(7.0, 0.0, 9.0), Member(6.0, 0.0, 0.0), Member(4.0, 0.0, 0.0)]) == (
        [(0, 1)],
        2,
    )
