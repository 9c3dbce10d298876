"""Cinder: the document's numbers and those of the notes, the transcription, and everything that is refused."""

import math
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.match import Reason
from evenmatch.domain.queue import Format
from evenmatch.errors import MatcherError
from evenmatch.matchers.cinder import Cinder, bucket_edges, overlap, sanction_score
from evenmatch.matchers.contract import cannot_seat, check_plan
from evenmatch.matchers.registry import build
from evenmatch.numerics import wasserstein
from evenmatch.numerics.skill_buckets import bucket_of
from tests.reference import cinder as reference
from tests.snapshots import sized, snapshot_of

LEVEL = [12000, 13000, 14000, 15100, 16000]
SPREAD = [2000, 5000, 9000, 20000, 29000]


def test_the_checked_edges() -> None:
    assert bucket_edges(0, 100, 5, 10).round(4).tolist() == [0, 26.1941, 45, 55, 73.8059, 100]
    assert bucket_edges(0, 100, 4, 10).round(4).tolist() == [0, 33.6901, 50, 66.3099, 100]


def test_the_checked_pair_of_lobbies() -> None:
    edges = bucket_edges(0, 30_000, 30, 150)
    assert bucket_of(np.array(LEVEL), edges).tolist() == [8, 9, 11, 15, 18]
    assert bucket_of(np.array(SPREAD), edges).tolist() == [1, 3, 5, 23, 29]
    assert sanction_score(LEVEL, SPREAD, edges) == 38.0
    assert sanction_score(LEVEL, SPREAD, edges, normalize="mean") == 38 / 5
    assert overlap(LEVEL, SPREAD, 0, 30_000, 30) == pytest.approx(0.142035, abs=5e-7)
    assert overlap(SPREAD, LEVEL, 0, 30_000, 30) == overlap(LEVEL, SPREAD, 0, 30_000, 30)


def test_buckets_that_fill_the_range_are_equally_wide_and_more_are_refused() -> None:
    assert bucket_edges(0, 100, 10, 10).tolist() == [10.0 * i for i in range(11)]
    assert np.diff(bucket_edges(0, 0.3, 3, 0.1)) == pytest.approx([0.1] * 3)
    with pytest.raises(ValueError, match=r"11 buckets of at least 10 need 110, the range is 100"):
        bucket_edges(0, 100, 11, 10)
    assert bucket_edges(-5, 5, 1, 3).tolist() == [-5.0, 5.0]


CAPS = st.tuples(st.integers(-1000, 1000), st.integers(1, 5000)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@st.composite
def bucketings(draw: st.DrawFn) -> tuple[int, int, int, float]:
    lcap, ucap = draw(CAPS)
    n_bucket = draw(st.integers(1, 40))
    part = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return lcap, ucap, n_bucket, part * (ucap - lcap) / n_bucket


@settings(max_examples=200, deadline=None)
@given(bucketings())
def test_edges_are_symmetric_ascending_and_those_of_the_transcription(bucketing: tuple[int, int, int, float]) -> None:
    lcap, ucap, n_bucket, w_min = bucketing
    edges = bucket_edges(*bucketing)
    assert (edges.dtype.name, edges.shape) == ("float64", (n_bucket + 1,))
    assert (edges[0], edges[-1]) == (lcap, ucap)
    assert (np.diff(edges) >= 0).all()
    assert (np.diff(edges) >= w_min - 1e-9 * (ucap - lcap)).all()
    assert edges + edges[::-1] == pytest.approx(np.full(n_bucket + 1, lcap + ucap), abs=1e-9)
    assert edges.tolist() == pytest.approx(reference.edges(*bucketing), abs=1e-9)


def test_caps_belong_to_the_outer_buckets_and_an_edge_to_the_upper_one() -> None:
    edges = bucket_edges(0, 100, 4, 10)
    at = np.array([-50, 0, edges[1], np.nextafter(edges[1], 0), 50, 100, 1e6])
    assert bucket_of(at, edges).tolist() == [0, 0, 1, 0, 2, 3, 3]


LOBBY = st.lists(st.integers(-200, 3300), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(a=LOBBY, b=LOBBY, normalize=st.sampled_from(["sum", "mean"]))
def test_both_stages_are_those_of_the_transcription(a: list[float], b: list[float], normalize: str) -> None:
    edges = bucket_edges(0, 3000, 30, 20)
    assert overlap(a, b, 0, 3000, 30) == reference.overlap(a, b, 0, 3000, 30)
    slow = reference.sanction_score(a, b, reference.edges(0, 3000, 30, 20), normalize)
    assert sanction_score(a, b, edges, normalize) == slow
    assert sanction_score(b, a[::-1], edges, normalize) == slow
    assert 0 <= overlap(a, b, 0, 3000, 30) <= 1
    assert (overlap(a, a, 0, 3000, 30), sanction_score(a, a, edges, normalize)) == (1.0, 0.0)


def test_unequal_lobbies_are_compared_by_quantiles() -> None:
    # F^-1 = 0 up to 1/2 and 6 above; G^-1 = 0, 3, 6 in thirds: they differ by 3 from 1/3 to 2/3.
    assert wasserstein.distance(np.array([6, 0]), np.array([0, 6, 3])) == 1.0
    edges = [float(edge) for edge in range(8)]
    assert sanction_score([0, 6], [0, 3, 6], edges, "mean") == 1.0
    assert sanction_score([0, 6], [0, 3, 6], edges, "sum") == 3.0


LOBBIES = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 40).map(lambda step: 75 * step), min_size=size, max_size=size), max_size=9
    )
)


@settings(max_examples=250, deadline=None)
@given(
    lobbies=LOBBIES,
    overlap_min=st.sampled_from([0, 0.2, 0.6, 1.0]),
    sanction_max=st.sampled_from([0, 3, 17, 60.0]),
    mode=st.sampled_from(["best", "first"]),
    normalize=st.sampled_from(["sum", "mean"]),
)
def test_a_plan_is_that_of_the_transcription(lobbies: list[list[int]], **parameters: Any) -> None:
    form = Format(2, len(lobbies[0]) if lobbies else 2)
    parties = [[float(rating) for rating in lobby] for lobby in lobbies]
    snapshot = snapshot_of(form, parties)
    plan = Cinder(**parameters).plan(snapshot, trace=True)
    assert check_plan(plan, snapshot) is None
    expected = reference.cinder(parties, reference.Rules(**parameters))
    assert plan.rosters.tolist() == [[seeker, opponent] for seeker, opponent, _, _ in expected]
    assert [(one["overlap"], one["sanction"]) for one in plan.match_details] == [pair[2:] for pair in expected]
    assert plan.cost.tolist() == [score for _, _, _, score in expected]
    assert [step["tickets"] for step in plan.trace] == [[100 + i, 100 + j] for i, j, _, _ in expected]
    left = len(lobbies) - 2 * len(expected)
    reason = Reason.TOO_FEW_PLAYERS if left < 2 else Reason.NO_FAIR_OPPONENT
    assert [r for r in plan.reasons.tolist() if r] == [reason] * left
    assert plan.details == {"bound": None, "optimality_gap": None}


def test_best_takes_the_closest_pair_and_first_the_earliest() -> None:
    lobbies = [[1000.0, 1000.0], [1200.0, 1200.0], [1010.0, 1010.0], [1190.0, 1190.0]]
    snapshot = snapshot_of(Format(2, 2), lobbies)
    best = Cinder(overlap_min=0).plan(snapshot)
    # The last two are in one bucket; an edge lies between the other two.
    assert (best.rosters.tolist(), best.cost.tolist()) == ([[1, 3], [0, 2]], [0.0, 2.0])
    assert Cinder(overlap_min=0, mode="first").plan(snapshot).rosters.tolist() == [[0, 1], [2, 3]]


def test_all_equal_lobbies_meet_in_order_and_the_odd_one_waits() -> None:
    for mode in ("best", "first"):
        plan = Cinder(mode=mode).plan(sized(Format(2, 3), [3] * 5))
        assert plan.rosters.tolist() == [[0, 1], [2, 3]]
        assert plan.reasons.tolist() == [0, 0, 0, 0, Reason.TOO_FEW_PLAYERS]
        assert plan.match_details == ({"overlap": 1.0, "sanction": 0.0},) * 2
        assert len(Cinder(mode=mode).plan(sized(Format(2, 3), [])).reasons) == 0
        assert Cinder(mode=mode).plan(sized(Format(2, 3), [3])).reasons.tolist() == [Reason.TOO_FEW_PLAYERS]


def test_the_order_of_players_in_a_lobby_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    lobbies = rng.uniform(0, 3000, (60, 5))
    plans = [Cinder().plan(snapshot_of(Format(2, 5), rng.permuted(lobbies, axis=1).tolist())) for _ in range(3)]
    for one, other in pairwise(plans):
        assert one.rosters.tolist() == other.rosters.tolist()
        assert one.match_details == other.match_details


def test_thousands_of_lobbies_are_planned() -> None:
    rng = np.random.default_rng(9)
    snapshot = snapshot_of(Format(2, 5), rng.uniform(0, 3000, (3000, 5)).tolist())
    best, first = Cinder().plan(snapshot), Cinder(mode="first").plan(snapshot)
    assert check_plan(best, snapshot) is check_plan(first, snapshot) is None
    assert best.cost.tolist() == sorted(best.cost.tolist())
    assert best.cost.mean() < first.cost.mean() <= 17


def test_a_sample_of_the_experiment_has_the_checked_distribution() -> None:
    # 200,000 of the 140,000,000 pairings; the tolerances are some four standard errors of such a sample.
    rng = np.random.default_rng(14)
    edges = bucket_edges(0, 30_000, 30, 150)
    one, other = np.sort(bucket_of(rng.uniform(0, 30_000, (2, 200_000, 5)), edges), axis=2)
    scores = np.abs(one - other).sum(axis=1)
    mean, sd = scores.mean(), scores.std()
    assert 21 <= np.bincount(scores).argmax() <= 23
    assert mean == pytest.approx(30.8, abs=0.2)
    assert sd == pytest.approx(16.9, abs=0.15)
    assert ((scores - mean) ** 3).mean() / sd**3 == pytest.approx(1.03, abs=0.03)
    assert (scores <= 14).mean() == pytest.approx(0.150, abs=0.004)
    assert (scores <= 56).mean() == pytest.approx(0.913, abs=0.003)
    # The score up to which a pairing is among the best fifth: the default threshold.
    assert (scores <= 16).mean() == pytest.approx(0.199, abs=0.004)
    assert (scores <= 17).mean() == pytest.approx(0.226, abs=0.004)
    assert scores[0] == sanction_score_of_indices(one[0], other[0])


def sanction_score_of_indices(u: Any, v: Any) -> float:
    return sanction_score(u, v, [float(edge) for edge in range(31)])


# What is refused.


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lcap": math.nan}, "lcap must be a number from -1e+09 to 1e+09, not nan"),
        ({"ucap": math.inf}, "ucap must be a number from -1e+09 to 1e+09, not inf"),
        ({"ucap": True}, "not True (bool)"),
        ({"lcap": 3000}, "ucap must be more than lcap (3000), not 3000"),
        ({"n_bucket": 0}, "n_bucket must be a whole number from 1 to 10000, not 0"),
        ({"n_bucket": 3.5}, "n_bucket must be a whole number from 1 to 10000, not 3.5 (float)"),
        ({"w_min": -1}, "w_min must be a number from 0"),
        ({"w_min": 101}, "w_min is too large for n_bucket: 30 buckets of at least 101 need 3030, the range is 3000"),
        ({"overlap_min": 1.01}, "overlap_min must be a number from 0 to 1, not 1.01"),
        ({"overlap_min": "0.2"}, "overlap_min must be a number from 0 to 1, not '0.2' (str)"),
        ({"sanction_max": -1}, "sanction_max must be a number from 0"),
        ({"sanction_max": math.nan}, "sanction_max must be a number from 0"),
        ({"mode": "bset"}, "mode must be 'best' or 'first', not 'bset': did you mean 'best'?"),
        ({"normalize": "men"}, "normalize must be 'sum' or 'mean', not 'men': did you mean 'mean'?"),
        ({"n_buckets": 3}, "unknown parameter 'n_buckets': did you mean 'n_bucket'?"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(MatcherError) as caught:
        build("cinder", parameters)
    assert words in str(caught.value)


def test_parameters_are_stored_unchanged() -> None:
    given_ones = {"lcap": 0, "ucap": 3000, "n_bucket": 30, "w_min": 20, "overlap_min": 0.2, "sanction_max": 17}
    assert vars(build("cinder", {})) == {**given_ones, "mode": "best", "normalize": "sum"}
    assert type(vars(build("cinder", {"w_min": 5}))["w_min"]) is int


def test_formats_and_parties_that_it_cannot_seat() -> None:
    assert cannot_seat(Cinder(), Format(2, 5), 5) is None
    assert cannot_seat(Cinder(), Format(2, 5), 4) == "a ticket must be a full team of 5, not a party of 4"
    assert "the format must have 2 teams, not 3" in str(cannot_seat(Cinder(), Format(3, 5), 5))
    with pytest.raises(MatcherError, match="ticket 101: a ticket must be a full team of 2, not a party of 1"):
        Cinder().plan(sized(Format(2, 2), [2, 1]))


def test_a_player_without_a_rating_is_named() -> None:
    snapshot = snapshot_of(Format(2, 2), [[1500.0, 1500.0], [1500.0, math.nan]])
    with pytest.raises(MatcherError, match="ticket 101 has a player without a usable rating"):
        Cinder().plan(snapshot)
    with pytest.raises(MatcherError, match="ticket 100 has a player without a usable rating"):
        Cinder().plan(msgspec.structs.replace(snapshot, facts={}))


@pytest.mark.parametrize("lobby", [[], [math.nan], [math.inf, 3], ["a"], [[1, 2]], 5, None, [1, None]])
def test_lobbies_that_are_no_ratings_are_refused(lobby: Any) -> None:
    edges = bucket_edges(0, 3000, 30, 20)
    with pytest.raises(MatcherError, match="a must be the ratings of one or more players"):
        overlap(lobby, [1], 0, 3000, 30)
    with pytest.raises(MatcherError, match="b must be the ratings of one or more players"):
        sanction_score([1], lobby, edges)


@pytest.mark.parametrize("edges", [[], [1], [3, 1], [1, math.nan], "edges", [[1, 2]]])
def test_edges_that_are_none_are_refused(edges: Any) -> None:
    with pytest.raises(MatcherError, match="edges must be two or more ascending numbers"):
        sanction_score([1], [2], edges)


def test_bad_arguments_of_the_parts_are_named() -> None:
    with pytest.raises(MatcherError, match="ucap must be more than lcap"):
        overlap([1], [2], 5, 5, 3)
    with pytest.raises(MatcherError, match="n_bucket must be a whole number"):
        overlap([1], [2], 0, 5, 0)
    with pytest.raises(MatcherError, match="normalize must be 'sum' or 'mean'"):
        sanction_score([1], [2], [0, 1], "median")
