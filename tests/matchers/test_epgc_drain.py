"""EPGC's drain: agreement with all pairs in matrices, and at sizes without a twin, pick by pick on samples."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import MatcherError
from evenmatch.matchers import epgc as stages
from evenmatch.matchers.contract import check_plan
from evenmatch.matchers.epgc import Epgc
from evenmatch.numerics import greedy_clique, threads
from evenmatch.numerics.seeds import generator
from tests.reference import epgc_dense as twin
from tests.snapshots import snapshot_of


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = threads.count()
    threads.use(1)
    yield
    threads.use(before)


def falling(wait: Array) -> Array:
    return -np.sort(-wait.astype(np.int64))


def drained(ping: Array, wait: Array, size: int, alpha: float, beta: float) -> tuple[list[list[int]], list[float]]:
    edges = np.array([0, len(ping)])
    lobbies, weights, tiers = greedy_clique.drain(ping.astype(np.int64), wait, edges, size, alpha, beta)
    assert tiers.tolist() == [0] * len(lobbies)
    return lobbies.tolist(), weights.tolist()


Draws: TypeAlias = dict[str, Callable[[np.random.Generator, int], Array]]
PINGS: Draws = {
    "one": lambda _, n: np.full(n, 30),
    "two": lambda draw, n: draw.integers(0, 2, n),
    "two clusters": lambda draw, n: draw.integers(0, 9, n) + 999_900 * draw.integers(0, 2, n),
    "few": lambda draw, n: draw.integers(20, 40, n),
    "many": lambda draw, n: draw.integers(0, 400, n),
    "almost all distinct": lambda draw, n: draw.integers(0, 1_000_001, n),
    "all distinct": lambda draw, n: 7 * draw.permutation(n),
    "with a long tail": lambda draw, n: np.rint(draw.gamma(1, 60, n)),
}
WAITS: Draws = {
    "none": lambda _, n: np.zeros(n),
    "equal": lambda _, n: np.full(n, 7_000),
    "two": lambda draw, n: draw.integers(0, 2, n),
    "any": lambda draw, n: draw.integers(0, 600_001, n),
    "a few long": lambda draw, n: 600_000 * draw.random(n) ** 12,
    "as long as may be": lambda draw, n: 10**12 - draw.integers(0, 3, n),
}


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(0, 130),
    size=st.integers(1, 12),
    pings=st.sampled_from(sorted(PINGS)),
    waits=st.sampled_from(sorted(WAITS)),
    alpha=st.sampled_from([0.0, 1e-5, 0.1, 1.5, 1e6]),
    beta=st.sampled_from([0.0, 1e-5, 0.1, 0.5, 1e6]),
)
def test_it_agrees_with_all_pairs_in_matrices(
    seed: int, count: int, size: int, pings: str, waits: str, alpha: float, beta: float
) -> None:
    draw = generator(seed, 0)
    ping, wait = PINGS[pings](draw, count).astype(np.int64), falling(WAITS[waits](draw, count))
    assert drained(ping, wait, size, alpha, beta) == twin.drain(ping, wait, size, alpha, beta)


@pytest.mark.parametrize("waits", sorted(WAITS))
@pytest.mark.parametrize("pings", sorted(PINGS))
def test_it_agrees_over_many_lobbies(pings: str, waits: str) -> None:
    """Long enough for degrees to be lost track of and asked for again, and for blocks to run empty."""
    draw = generator(5, 1)
    ping, wait = PINGS[pings](draw, 400).astype(np.int64), falling(WAITS[waits](draw, 400))
    assert drained(ping, wait, 5, 1.5, 0.5) == twin.drain(ping, wait, 5, 1.5, 0.5)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 90), pings=st.sampled_from(sorted(PINGS)))
def test_degrees_are_the_sums_of_the_graph(seed: int, count: int, pings: str) -> None:
    draw = generator(seed, 2)
    ping, wait_s = PINGS[pings](draw, count), draw.integers(0, 5, count)
    apart, lesser = np.abs(ping[:, None] - ping).sum(axis=1), 1000 * np.minimum(wait_s[:, None], wait_s)
    np.fill_diagonal(lesser, 0)
    expected = greedy_clique.score(apart.astype(np.int64), lesser.sum(axis=1), 0.7, 0.1)
    assert stages.weighted_degrees(ping, wait_s, 0.7, 0.1).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("count", "pings", "waits"),
    [(100_000, "with a long tail", "any"), (50_000, "many", "a few long"), (50_000, "almost all distinct", "any")],
)
def test_a_large_drain_holds_wherever_one_looks(count: int, pings: str, waits: str) -> None:
    draw = generator(7, 3)
    ping, wait = PINGS[pings](draw, count).astype(np.int64), falling(WAITS[waits](draw, count))
    lobbies, weights, _ = greedy_clique.drain(ping, wait, np.array([0, count]), 10, 1.5, 0.5)
    assert len(np.unique(lobbies)) == lobbies.size == count
    seated_in = np.empty(count, np.int64)
    seated_in[lobbies] = np.arange(len(lobbies))[:, None]
    for number in [0, 1, *np.linspace(2, len(lobbies) - 1, 6).astype(int).tolist()]:
        left, lobby = np.flatnonzero(seated_in >= number), lobbies[number]
        degrees = np.empty(len(left))
        greedy_clique.weighted_degrees(ping[left], wait[left], np.arange(len(left)), 1.5, 0.5, degrees)
        assert left[degrees.argmax()] == lobby[0]
        for seat in range(1, 10):
            candidates = left[~np.isin(left, lobby[:seat])]
            scores = greedy_clique.scores(ping, wait, candidates, lobby[:seat], 1.5, 0.5)
            assert candidates[scores.argmax()] == lobby[seat]
        assert weights[number] == stages.lobby_weight(ping[lobby], wait[lobby] / 1000.0)


@pytest.mark.usefixtures("one_thread")
def test_tiers_do_not_touch_each_other() -> None:
    draw = generator(11, 4)
    edges = np.array([0, 0, 30_000, 30_009, 30_019, 71_000])
    ping = draw.integers(0, 300, edges[-1])
    wait = np.concatenate([falling(draw.integers(0, 600_001, end - begin)) for begin, end in pairwise(edges.tolist())])
    lobbies, weights, tiers = greedy_clique.drain(ping, wait, edges, 10, 1.5, 0.5)
    assert np.bincount(tiers, minlength=5).tolist() == [0, 3_000, 0, 1, 4_098]
    for tier, (begin, end) in enumerate(pairwise(edges.tolist())):
        alone, alone_weights = drained(ping[begin:end], wait[begin:end], 10, 1.5, 0.5)
        assert (lobbies[tiers == tier] - begin).tolist() == alone
        assert weights[tiers == tier].tolist() == alone_weights
    for count in (2, 3):
        threads.use(count)
        again = greedy_clique.drain(ping, wait, edges, 10, 1.5, 0.5)
        assert [column.tolist() for column in again] == [lobbies.tolist(), weights.tolist(), tiers.tolist()]


def test_a_large_plan_seats_all_but_fewer_than_a_lobby_a_tier() -> None:
    draw = generator(13, 5)
    count = 60_000
    rating, ping = draw.normal(1500, 400, count), draw.gamma(3, 15, count)
    snapshot = Snapshot.from_columns(
        rating=rating, ping_ms=ping, waited_ms=draw.integers(0, 300_000, count), format=Format(1, 10)
    )
    plan = Epgc().plan(snapshot)
    assert check_plan(plan, snapshot) is None
    tiers = stages.classify(rating)
    assert (tiers[plan.rosters] == tiers[plan.rosters][:, :1]).all()
    assert np.bincount(tiers[plan.reasons != 0], minlength=5).tolist() == (np.bincount(tiers) % 10).tolist()
    names = np.array(stages.tier_names())[tiers[plan.rosters[:, 0]]]
    assert [about["tier"] for about in plan.match_details[:50]] == names[:50].tolist()


def test_nobody_and_too_few_make_an_empty_plan() -> None:
    for ratings in ([], [[1500.0]], [[100.0], [2600.0]]):
        snapshot = snapshot_of(Format(1, 2), ratings, facts={"ping_ms": [1.0] * len(ratings)})
        plan = Epgc(lobby_size=2).plan(snapshot, trace=True)
        assert check_plan(plan, snapshot) is None
        assert (len(plan.rosters), list(plan.match_details), plan.trace) == (0, [], ())


def test_a_wait_of_ages_is_named() -> None:
    snapshot = snapshot_of(Format(1, 2), [[1], [1]], waited_ms=[10**12, 10**12 + 1], facts={"ping_ms": [1.0, 1.0]})
    with pytest.raises(MatcherError, match=r"^epgc: ticket 101 has waited 1000000000001 ms$"):
        Epgc(lobby_size=2).plan(snapshot)
