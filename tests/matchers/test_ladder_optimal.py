"""The ladder's optimal solver: windows, counts and prices against twins, plans against public solvers and proofs."""

from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import networkx  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import Array
from evenmatch.matchers import ladder_optimal
from evenmatch.matchers.ladder_optimal import Optimum, best_pairs
from evenmatch.numerics import threads, window_matching
from evenmatch.numerics.acceptable_pairs import Side, all_pairs, count_pairs, money_for, weigh
from evenmatch.numerics.blossoms import least_cost_pairs
from evenmatch.numerics.matching import Matching, heaviest, total
from evenmatch.numerics.matching_proof import broken_proof, shared_duals
from evenmatch.numerics.near_ties import forced_pairs
from evenmatch.numerics.window_matching import match_in_windows
from evenmatch.numerics.window_pricing import nearest_pairs, underpriced
from tests.reference.acceptable_pairs import Pair, acceptable, squared

QUIET = settings(deadline=None, max_examples=100)


class Wave(NamedTuple):
    first: Array
    second: Array
    window: Array

    @property
    def sides(self) -> tuple[Side, Side]:
        return Side.of(*self), Side.of(self.second, self.first, self.window)

    def pairs(self, either: bool) -> dict[Pair, float]:
        return acceptable(self.first.tolist(), self.second.tolist(), self.window.tolist(), either=either)


@st.composite
def waves(draw: st.DrawFn, most: int, rating: st.SearchStrategy[float]) -> Wave:
    def player() -> tuple[float, float, float]:
        kind = draw(st.integers(0, 3))
        reach = draw(st.sampled_from([0.0, 1.0, 20.0, 75.0, 100.0, 1000.0]))
        return (np.nan if kind == 1 else draw(rating)), (np.nan if kind in (0, 3) else draw(rating)), reach

    players = [player() for _ in range(draw(st.integers(0, most)))]
    return Wave(*np.array(players, float).reshape(-1, 3).T.copy())


COARSE = st.integers(0, 12).map(lambda tens: 10.0 * tens)
WHOLE = st.integers(0, 300).map(float)
FINE = st.floats(0, 300, width=32) | st.floats(0, 300)
ANY = COARSE | WHOLE | FINE


@QUIET
@given(waves(14, ANY), st.booleans())
def test_pairs_are_listed_counted_and_found_near_as_by_the_twin(wave: Wave, either: bool) -> None:
    expected, count = wave.pairs(either), len(wave.first)
    u, v, gap = all_pairs(*wave, either)
    assert dict(zip(zip(u.tolist(), v.tolist(), strict=True), gap.tolist(), strict=True)) == expected
    assert list(zip(u.tolist(), v.tolist(), strict=True)) == sorted(expected)
    counted, has_one = count_pairs(*wave.sides, count, either=either)
    assert counted == len(expected)
    assert has_one.tolist() == [any(place in pair for pair in expected) for place in range(count)]
    near = list(zip(*(ends.tolist() for ends in nearest_pairs(*wave.sides, count, 2, 1, either=either)), strict=True))
    assert len({tuple(sorted(pair)) for pair in near}) == len(near)
    assert {tuple(sorted(pair)) for pair in near} <= set(expected)


@QUIET
@given(waves(14, ANY), st.booleans(), st.data())
def test_all_underpriced_pairs_are_found(wave: Wave, either: bool, data: st.DataObject) -> None:
    count = len(wave.first)
    money = money_for(count, wave.first, wave.second, 1000.0)
    pairs = sorted(wave.pairs(either))
    known = np.array([data.draw(st.booleans()) for _ in pairs], bool)
    u, v = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    weight = weigh(wave.first, wave.second, u, v, *money)
    solution = heaviest(count, u[known], v[known], weight[known])
    _, price, holder, dual = solution
    slack = price[u] + price[v] + shared_duals(count, holder, dual, u, v) - weight
    assert (slack[known] >= 0).all()
    limit = data.draw(st.sampled_from([0, 1, 10**6, 2**61]))
    one, other, complete = underpriced(*wave.sides, money, solution, either=either, limit=limit, keep=20)
    assert complete
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == [
        pair for pair, left in zip(pairs, slack.tolist(), strict=True) if left < limit
    ]
    some, others, _ = underpriced(*wave.sides, money, solution, either=either, limit=limit, keep=1)
    chosen = set(zip(some.tolist(), others.tolist(), strict=True))
    assert chosen <= set(zip(one.tolist(), other.tolist(), strict=True))
    assert bool(chosen) == bool(len(one))


def best_by_networkx(pairs: dict[Pair, float]) -> tuple[int, Fraction]:
    graph = networkx.Graph()
    # In whole numbers, since networkx halves other ones as floats.
    unit = max([squared(gap).denominator for gap in pairs.values()], default=1)
    graph.add_weighted_edges_from([(*pair, -int(squared(gap) * unit)) for pair, gap in pairs.items()])
    best = [tuple(sorted(pair)) for pair in networkx.max_weight_matching(graph, maxcardinality=True)]
    return len(best), sum((squared(pairs[pair]) for pair in best), Fraction(0))


def as_found(wave: Wave, found: Optimum) -> tuple[int, Fraction]:
    places = [*found.first.tolist(), *found.second.tolist()]
    assert len(set(places)) == len(places)
    earlier = np.minimum(found.first, found.second).tolist()
    assert earlier == sorted(earlier)
    gaps = np.abs(wave.first[found.first] - wave.second[found.second]).tolist()
    return len(gaps), sum((squared(gap) for gap in gaps), Fraction(0))


@settings(deadline=None, max_examples=150)
@given(waves(16, ANY), st.booleans())
def test_the_best_pairs_are_those_of_a_public_solver_to_the_last_bit(wave: Wave, either: bool) -> None:
    expected = best_by_networkx(wave.pairs(either))
    found = best_pairs(*wave, window_of="either" if either else "both")
    assert as_found(wave, found) == expected
    assert (found.bound, found.optimality_gap) == (float(expected[1]), 0.0)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask prices of a sample, and price pairs, from a few players on."""
    monkeypatch.setattr(ladder_optimal, "LISTED_MAX", 3)
    monkeypatch.setattr(window_matching, "FEW", 6)
    monkeypatch.setattr(window_matching, "NEAR", 1)
    monkeypatch.setattr(window_matching, "BEST", 1)


@pytest.mark.usefixtures("small_steps")
@settings(deadline=None, max_examples=150)
@given(waves(30, ANY), st.booleans())
def test_priced_pairs_are_as_good_as_listed_ones(wave: Wave, either: bool) -> None:
    pairs = wave.pairs(either)
    found = best_pairs(*wave, window_of="either" if either else "both")
    assert as_found(wave, found) == best_by_networkx(pairs)
    assert found.optimality_gap == 0
    assert found.candidates == len(pairs)


def normal_wave(count: int, seed: int, *, shift: float = 0, whole: bool = True) -> Wave:
    random = np.random.default_rng(seed)
    first, second = random.normal(1500, 300, count), random.normal(1500 + shift, 300, count)
    if whole:
        first, second = first.round(), second.round()
    kind = random.integers(0, 3, count)
    first[kind == 1], second[kind == 0] = np.nan, np.nan
    return Wave(first, second, 75.0 + 25 * random.integers(0, 5, count))


def two_clusters(count: int) -> Wave:
    places = np.arange(count)
    far = np.where(places % 5 < 2, 1000.0, 1800.0)
    return Wave(
        np.where(places % 3 == 0, np.nan, far), np.where(places % 3 == 1, np.nan, far + 1), np.full(count, 100.0)
    )


@pytest.mark.parametrize(
    "wave",
    [
        normal_wave(2000, 1),
        normal_wave(1501, 2, shift=150),
        two_clusters(800),
        Wave(np.full(601, 1500.0), np.full(601, 1500.0), np.full(601, 75.0)),
        Wave(np.arange(600) * 1000.0, np.full(600, np.nan), np.full(600, 75.0)),
        Wave(np.arange(600) * 1000.0, np.arange(600) * 1000.0 + 500, np.full(600, 75.0)),
        Wave(np.arange(501) % 17 + 1500.0, np.arange(501) % 19 + 1500.0, np.full(501, 1e6)),
    ],
    ids=["normal", "one side short", "two clusters", "all equal", "one side only", "nobody near", "everybody near"],
)
@pytest.mark.parametrize("either", [True, False])
def test_many_players_are_proven(wave: Wave, either: bool) -> None:
    count = len(wave.first)
    u, v, gap = all_pairs(*wave, either)
    found = best_pairs(*wave, window_of="either" if either else "both")
    assert found.optimality_gap == 0
    assert found.candidates == len(u)
    has_one = np.zeros(count, bool)
    has_one[np.concatenate([u, v])] = True
    assert found.has_opponent.tolist() == has_one.tolist()
    money = money_for(count, wave.first, wave.second, float(min(wave.window.max(), np.nanmax(gap, initial=1))))
    mate, price, holder, dual = match_in_windows(*wave, money, either=either)
    cost = (gap * gap).astype(np.int64)
    weight = 2 * (money.most - cost)
    covered = price[u] + price[v] + shared_duals(count, holder, dual, u, v)
    assert (covered >= weight).all()
    assert (price >= 0).all()
    assert (dual >= 0).all()
    assert (price[mate < 0] == 0).all()
    assert as_found(wave, found)[1] == total(cost[mate[u] == v])


def test_threads_do_not_change_the_plan() -> None:
    wave, before = normal_wave(4000, 5), threads.count()
    try:
        plans = []
        for number in (1, 2, 3):
            threads.use(number)
            plans.append(best_pairs(*wave))
    finally:
        threads.use(before)
    for plan in plans[1:]:
        assert (plan.first == plans[0].first).all()
        assert (plan.second == plans[0].second).all()
        assert plan.candidates == plans[0].candidates


def test_thousands_of_any_ratings_are_matched_with_a_bound_that_is_reached() -> None:
    found = best_pairs(*normal_wave(3000, 6, whole=False))
    assert found.optimality_gap == 0
    assert len(found.first) >= 1498


def test_almost_equal_gaps_beyond_count_are_told_by_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder_optimal, "OPEN_MAX", 3)
    random = np.random.default_rng(7)
    first, second = random.integers(0, 40, (2, 60)) * 0.1 + 1500.1
    wave = Wave(first, second, np.full(60, 100.0))
    exact = best_by_networkx(wave.pairs(True))
    found = best_pairs(*wave)
    pairs, paid = as_found(wave, found)
    assert pairs == exact[0]
    assert found.bound <= exact[1] <= paid
    assert 0 < found.optimality_gap < 1e-3
    monkeypatch.setattr(ladder_optimal, "OPEN_MAX", 10**6)
    assert as_found(wave, best_pairs(*wave)) == exact


@QUIET
@given(
    st.integers(2, 9).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.lists(st.sampled_from(list(combinations(range(count), 2))), unique=True),
            st.lists(st.booleans(), min_size=count, max_size=count),
        )
    )
)
def test_forced_pairs_are_in_every_matching_that_pairs_whom_it_must(graph: tuple[int, list[Pair], list[bool]]) -> None:
    count, edges, must = graph

    def all_matchings(left: list[Pair], taken: frozenset[int]) -> list[frozenset[Pair]]:
        found: list[frozenset[Pair]] = [frozenset()]
        for at, pair in enumerate(left):
            if not taken & set(pair):
                found += [rest | {pair} for rest in all_matchings(left[at + 1 :], taken | set(pair))]
        return found

    u, v = np.array(edges, np.int64).reshape(-1, 2).T.copy()
    mate, is_open = forced_pairs(count, u, v, np.array(must))
    forced = {(place, other) for place, other in enumerate(mate.tolist()) if place < other}
    assert is_open.tolist() == [other < 0 for other in mate.tolist()]
    for matching in all_matchings(edges, frozenset()):
        paired = {place for pair in matching for place in pair}
        if all(place in paired for place in range(count) if must[place]):
            assert forced <= matching


def test_the_judge_and_the_twin_agree_on_a_wave() -> None:
    wave = normal_wave(60, 8)
    u, v, gap = all_pairs(*wave, True)
    cost = (gap * gap).astype(np.int64)
    mate = np.array(least_cost_pairs(60, list(zip(u.tolist(), v.tolist(), cost.tolist(), strict=True))), np.int64)
    found = best_pairs(*wave)
    paid = total(cost[mate[u] == v])
    assert as_found(wave, found) == (int((mate >= 0).sum()) // 2, Fraction(paid))
    nothing = np.zeros(60, np.int64)
    unproven = Matching(mate, paid, paid, nothing, np.full(60, -1), np.empty(0, np.int64))
    assert broken_proof(60, u, v, cost, unproven) is not None
