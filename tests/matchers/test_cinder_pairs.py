"""Pairs of lobbies by tree: those of the matrix of all pairs where that fits, and without a twin at large sizes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.cinder import Cinder, gap_most
from evenmatch.matchers.contract import check_plan
from evenmatch.numerics import lobby_pairs, skill_buckets, threads
from evenmatch.numerics.lobby_pairs import Pairs
from evenmatch.numerics.lobby_ranges import Lobbies, measure, similarities
from tests.reference import cinder as reference

Search = Callable[[Lobbies, int, float], Pairs]
SEARCH: dict[str, Search] = {"best": lobby_pairs.best_pairs, "first": lobby_pairs.first_pairs}
MODES = pytest.mark.parametrize("mode", SEARCH)


def lobbies_of(ratings: Array, n_bucket: int = 30, w_min: float = 20.0) -> Lobbies:
    """Lobbies on a scale of 0 to 3000, a row each."""
    edges = skill_buckets.edges(0.0, 3000.0, n_bucket, w_min)
    return measure(np.ravel(ratings), np.arange(len(ratings)), ratings.shape[1], 0.0, 3000.0, edges)


def listed(pairs: Pairs) -> list[tuple[int, int, int, float]]:
    return [
        (seeker, opponent, gap, overlap)
        for (seeker, opponent), gap, overlap in zip(
            pairs.places.tolist(), pairs.gaps.tolist(), pairs.overlaps.tolist(), strict=True
        )
    ]


def expected(lobbies: Lobbies, limit: int, overlap_min: float, mode: str) -> list[tuple[int, int, int, float]]:
    return reference.all_pairs(lobbies.low, lobbies.high, lobbies.buckets, limit, overlap_min, mode)


# Measuring.


@settings(max_examples=200, deadline=None)
@given(
    size=st.integers(1, 7),
    ratings=st.lists(st.floats(-500, 3500), min_size=7, max_size=7),
    n_bucket=st.integers(1, 40),
)
def test_ranges_and_buckets_are_those_of_the_transcription(size: int, ratings: list[float], n_bucket: int) -> None:
    lobby = ratings[:size]
    found = lobbies_of(np.array([lobby]), n_bucket, 5.0)
    assert (found.low[0], found.high[0]) == reference.non_outlier_range(lobby, 0.0, 3000.0, n_bucket)
    edges = skill_buckets.edges(0.0, 3000.0, n_bucket, 5.0)
    assert found.buckets[0].tolist() == skill_buckets.bucket_of(np.sort(lobby), edges).tolist()
    assert found.unrated == -1


def test_the_first_lobby_without_a_rating_is_told() -> None:
    ratings = np.full((4, 2), 1500.0)
    ratings[2, 1] = ratings[3, 0] = np.nan
    edges = skill_buckets.edges(0.0, 3000.0, 30, 20.0)
    assert measure(np.ravel(ratings), np.array([1, 3, 0, 2]), 2, 0.0, 3000.0, edges).unrated == 1


def test_ranges_without_a_length_do_not_overlap() -> None:
    point = np.array([5.0])
    assert similarities(point, point, point, point).tolist() == [0.0]
    assert similarities(point, point + 1, point + 1, point + 2).tolist() == [0.0]


@pytest.mark.parametrize(
    ("sanction_max", "divisor", "most"),
    [(17, 1, 17), (17.9, 1, 17), (0.3, 10, 3), (0.7, 5, 3), (3.4, 5, 17), (0, 5, 0)],
)
def test_the_greatest_gap_of_a_score(sanction_max: float, divisor: int, most: int) -> None:
    assert gap_most(sanction_max, divisor) == most
    assert most / divisor <= sanction_max < (most + 1) / divisor


# Where both run.


@st.composite
def crowds(draw: st.DrawFn) -> Array:
    """Few different lobbies, many of them several times, up to a hundred and of any size."""
    size = draw(st.integers(1, 6))
    step = draw(st.sampled_from([1, 50, 300, 1500]))
    row = st.lists(st.integers(0, 3000 // step), min_size=size, max_size=size)
    kinds = draw(st.lists(row, min_size=1, max_size=60))
    chosen = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=100))
    return np.array([kinds[kind] for kind in chosen], np.float64).reshape(len(chosen), size) * step


@settings(max_examples=300, deadline=None)
@given(
    ratings=crowds(),
    limit=st.sampled_from([0, 1, 2, 5, 17, 60, 10**6]),
    overlap_min=st.sampled_from([0.0, 0.2, 0.6, 0.95, 1.0]),
    n_bucket=st.sampled_from([1, 2, 3, 30]),
    mode=st.sampled_from(sorted(SEARCH)),
)
def test_pairs_are_those_of_all_pairs(ratings: Array, limit: int, overlap_min: float, n_bucket: int, mode: str) -> None:
    lobbies = lobbies_of(ratings, n_bucket)
    assert listed(SEARCH[mode](lobbies, limit, overlap_min)) == expected(lobbies, limit, overlap_min, mode)


@settings(max_examples=300, deadline=None)
@given(
    ratings=crowds(),
    limit=st.sampled_from([0, 1, 5, 17, 10**6]),
    overlap_min=st.sampled_from([0.0, 0.2, 0.95, 1.0]),
    n_bucket=st.sampled_from([1, 3, 30]),
    mode=st.sampled_from(sorted(SEARCH)),
)
def test_comparing_all_with_all_and_the_tree_give_the_same_pairs(
    ratings: Array, limit: int, overlap_min: float, n_bucket: int, mode: str
) -> None:
    lobbies, found = lobbies_of(ratings, n_bucket), []
    for few in (1, len(ratings)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(lobby_pairs, "FEW", few)
            found.append(listed(SEARCH[mode](lobbies, limit, overlap_min)))
    assert found[0] == found[1] == expected(lobbies, limit, overlap_min, mode)


@MODES
@pytest.mark.parametrize(("limit", "overlap_min"), [(17, 0.2), (145, 0.0), (3, 0.9), (17, 1.0)])
@pytest.mark.parametrize("step", [1, 300])
def test_pairs_of_thousands_are_those_of_all_pairs(mode: str, limit: int, overlap_min: float, step: int) -> None:
    # More than one round of `best`, and with steps of 300 many equal lobbies.
    rng = np.random.default_rng(limit + step)
    lobbies = lobbies_of(np.round(rng.uniform(0, 3000, (1500, 5)) / step) * step)
    assert listed(SEARCH[mode](lobbies, limit, overlap_min)) == expected(lobbies, limit, overlap_min, mode)


# Adversaries, at sizes where a matrix of all pairs would not fit.

MANY = 60_000


@MODES
def test_equal_lobbies_meet_in_order(mode: str) -> None:
    found = SEARCH[mode](lobbies_of(np.full((MANY + 1, 5), 1500.0)), 17, 0.2)
    assert (found.places == np.arange(MANY).reshape(-1, 2)).all()
    assert not found.gaps.any()
    assert (found.overlaps == 1.0).all()


@MODES
def test_two_clusters_do_not_mix(mode: str) -> None:
    ratings = np.where(np.arange(MANY)[:, None] % 2, 200.0, 2800.0) + np.zeros(5)
    found = SEARCH[mode](lobbies_of(ratings), 17, 0.0)
    # Places 0, 2, 1, 3, then 4, 6, 5, 7: each cluster in order, the one of the earliest lobby first.
    assert (found.places == np.arange(MANY).reshape(-1, 2, 2).transpose(0, 2, 1).reshape(-1, 2)).all()


@MODES
def test_nobody_is_acceptable(mode: str) -> None:
    ratings = np.random.default_rng(4).uniform(0, 3000, (MANY, 5))
    assert len(SEARCH[mode](lobbies_of(ratings), 17, 1.0).gaps) == 0
    # Five players one bucket further each: a gap of 5 from each lobby to the next.
    lowest_of_buckets = skill_buckets.edges(0.0, 3000.0, 30, 20.0)[:-1]
    apart = np.repeat(lowest_of_buckets[:, None], 5, axis=1)
    assert len(SEARCH[mode](lobbies_of(apart), 4, 0.0).gaps) == 0
    assert len(SEARCH[mode](lobbies_of(apart), 5, 0.0).gaps) == 15


def test_everybody_is_acceptable() -> None:
    ratings = np.random.default_rng(5).uniform(0, 3000, (MANY, 5))
    first, best = (SEARCH[mode](lobbies_of(ratings), 10**6, 0.0) for mode in ("first", "best"))
    assert (first.places == np.arange(MANY).reshape(-1, 2)).all()
    assert sorted(best.places.ravel().tolist()) == list(range(MANY))


# Random lobbies, by what must hold of the answer.


@pytest.fixture(scope="module")
def crowd() -> Lobbies:
    return lobbies_of(np.random.default_rng(6).uniform(0, 3000, (MANY, 5)))


def accepted_by(lobbies: Lobbies, place: int, limit: int, overlap_min: float) -> tuple[Array, Array]:
    """bool[n] and int64[n]: who is acceptable to a lobby, and all gaps to it."""
    gaps = np.abs(lobbies.buckets - lobbies.buckets[place]).sum(axis=1)
    low, high = (np.full(len(gaps), end[place]) for end in (lobbies.low, lobbies.high))
    fine = (gaps <= limit) & (similarities(low, high, lobbies.low, lobbies.high) >= overlap_min)
    fine[place] = False
    return fine, gaps


def test_no_pair_was_passed_over_by_best(crowd: Lobbies) -> None:
    found = lobby_pairs.best_pairs(crowd, 17, 0.2)
    assert len(np.unique(found.places)) == found.places.size > 0.99 * MANY
    assert (found.gaps == np.abs(np.diff(crowd.buckets[found.places], axis=1)).sum(axis=(1, 2))).all()
    key = found.gaps * MANY**2 + found.places[:, 0] * MANY + found.places[:, 1]
    assert (np.diff(key) > 0).all()
    left_at = np.full(MANY, np.iinfo(np.int64).max)
    left_at[found.places] = key[:, None]
    for place in range(0, MANY, MANY // 150):
        fine, gaps = accepted_by(crowd, place, 17, 0.2)
        others = np.flatnonzero(fine)
        pair = gaps[others] * MANY**2 + np.minimum(place, others) * MANY + np.maximum(place, others)
        assert (np.minimum(left_at[place], left_at[others]) <= pair).all()


def test_no_earlier_opponent_was_passed_over_by_first(crowd: Lobbies) -> None:
    found = lobby_pairs.first_pairs(crowd, 17, 0.2)
    assert len(np.unique(found.places)) == found.places.size > 0.99 * MANY
    assert (np.diff(found.places[:, 0]) > 0).all()
    turn, opponent = np.arange(MANY), np.full(MANY, MANY)
    turn[found.places[:, 1]] = found.places[:, 0]
    opponent[found.places[:, 0]] = found.places[:, 1]
    for place in np.flatnonzero(turn == np.arange(MANY))[:: MANY // 300].tolist():
        fine, _ = accepted_by(crowd, place, 17, 0.2)
        free = fine & (turn >= place)
        free[:place] = False
        assert opponent[place] == (free.argmax() if free.any() else MANY)


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = threads.count()
    threads.use(1)
    yield
    threads.use(before)


@pytest.mark.usefixtures("one_thread")
def test_one_thread_finds_the_same(crowd: Lobbies) -> None:
    alone = lobby_pairs.best_pairs(crowd, 17, 0.2)
    threads.use(3)
    together = lobby_pairs.best_pairs(crowd, 17, 0.2)
    assert (alone.places == together.places).all()
    assert (alone.overlaps == together.overlaps).all()


@pytest.mark.parametrize("parameters", [{}, {"mode": "first"}, {"normalize": "mean", "sanction_max": 3.4}])
def test_a_plan_of_many_lobbies_is_columns(parameters: dict[str, Any]) -> None:
    count = 20_000
    snapshot = big_snapshot(np.random.default_rng(7).uniform(0, 3000, (count, 5)))
    plan = Cinder(**parameters).plan(snapshot)
    assert check_plan(plan, snapshot) is None
    assert all(isinstance(column, np.ndarray) for column in plan.match_details.columns.values())
    assert [one["sanction"] for one in plan.match_details] == plan.cost.tolist()
    assert plan.cost.max() <= Cinder(**parameters).sanction_max


def big_snapshot(ratings: Array) -> Snapshot:
    count, size = ratings.shape
    return Snapshot(
        format=Format(2, size),
        now_ms=0,
        ticket=np.arange(count)[::-1].copy(),
        waited_ms=np.arange(count) % 7,
        misses=np.zeros(count, np.int32),
        returned=np.zeros(count, bool),
        group=np.zeros(count, np.int32),
        player_start=np.arange(count + 1) * size,
        player=np.arange(count * size),
        facts={"rating": np.ravel(ratings)},
    )
