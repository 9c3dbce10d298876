"""Pairs under windows, latency, blocks and levels: the kernels are their twins, and the solver is never beaten."""

from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array
from evenmatch.numerics import pair_matching
from evenmatch.numerics.match_terms import TERMS, UNITS, Weights, plan_costs, plan_terms
from evenmatch.numerics.matching_proof import shared_duals
from evenmatch.numerics.pair_matching import best_pairs, most_pairs, worth_of
from evenmatch.numerics.pair_pool import PairPool, all_pairs, pool_of
from evenmatch.numerics.pair_pricing import ALL
from tests.reference import pair_pool as reference
from tests.reference.pair_pool import Pairs, Single

POLICIES = ("mean", "older", "both")
WEIGHTS = Weights(1.0, 1.0, 0.5, 0.3, 0.25, 1.0, 0.75)
BY_NAME = dict(zip(TERMS, WEIGHTS, strict=True))


@st.composite
def crowds(draw: st.DrawFn, most: int = 10) -> tuple[list[Single], str, Pairs, Pairs]:
    sided, regions = draw(st.booleans()), draw(st.integers(0, 2))
    rating = draw(st.sampled_from([st.integers(0, 20).map(lambda n: 1400.0 + 10 * n), st.floats(1000, 2000)]))
    window = draw(st.sampled_from([st.just(100.0), st.floats(0, 400), st.sampled_from([20.0, 150.0, np.inf])]))
    players = []
    for _ in range(draw(st.integers(0, most))):
        first = second = draw(rating)
        if sided:
            first, second = draw(st.sampled_from([(first, np.nan), (np.nan, first), (first, draw(rating))]))
        players.append(
            Single(
                *(first, second, draw(window), draw(st.sampled_from([0.0, 80.0, 350.0]))),
                tuple(draw(st.floats(0, 200)) for _ in range(regions)),
                draw(st.integers(0, 3)) if regions and draw(st.booleans()) else -1,
                draw(st.sampled_from([0, 0, 0, 1, 2])),
            )
        )
    pair = st.frozensets(st.integers(0, max(len(players) - 1, 1)), min_size=2, max_size=2)
    few = st.frozensets(pair, max_size=6) if len(players) > 1 else st.just(frozenset[frozenset[int]]())
    return players, draw(st.sampled_from(POLICIES)), draw(few), draw(few)


def listed(pairs: Pairs) -> Array:
    return np.array(sorted(sorted(pair) for pair in pairs), np.int64).reshape(-1, 2)


def pool(players: list[Single], policy: str, apart: Pairs = frozenset(), met: Pairs = frozenset()) -> PairPool:
    first = np.array([player.first for player in players], np.float64)
    second = np.array([player.second for player in players], np.float64)
    same = bool((first == second).all())
    return pool_of(
        first,
        first if same else second,
        np.array([player.window for player in players], np.float64),
        sigma=np.array([player.sigma for player in players], np.float64),
        latency=np.array([player.latency for player in players], np.float64).reshape(len(players), -1)
        if players
        else np.empty((0, 0)),
        reach=np.array([player.reach for player in players], np.int64),
        apart=listed(apart),
        met=listed(met),
        weights=WEIGHTS,
        policy=POLICIES.index(policy),
        scale=400.0,
    )


def edges_of(made: PairPool) -> dict[tuple[int, int], int]:
    return {(u, v): cost for u, v, cost in zip(*(column.tolist() for column in all_pairs(made)), strict=True)}


@settings(deadline=None, max_examples=200)
@given(crowd=crowds())
def test_who_may_meet_and_what_it_costs_is_as_the_twin_says(crowd: tuple[list[Single], str, Pairs, Pairs]) -> None:
    players, policy, apart, met = crowd
    found = edges_of(pool(*crowd))
    count = len(players)
    expected = {
        (u, v): reference.cost(players, u, v, BY_NAME, 400.0, met)
        for u in range(count)
        for v in range(u + 1, count)
        if reference.allowed(players, u, v, policy, apart)
    }
    assert found.keys() == expected.keys()
    for pair, units in found.items():
        assert abs(units - expected[pair] * UNITS) <= 0.6


@settings(deadline=None, max_examples=100)
@given(crowd=crowds(most=6))
def test_a_pair_costs_to_the_bit_what_its_match_does(crowd: tuple[list[Single], str, Pairs, Pairs]) -> None:
    players, _, _, met = crowd
    made = pool(*crowd)
    for (u, v), units in edges_of(made).items():
        one, other = abs(made.first[u] - made.second[v]), abs(made.second[u] - made.first[v])
        swapped = np.isnan(one) or other < one
        mu = np.zeros(len(players))
        mu[u], mu[v] = (made.second[u], made.first[v]) if swapped else (made.first[u], made.second[v])
        terms = plan_terms(
            np.array([[u, v]]),
            np.array([[0, 1]]),
            start=np.arange(len(players) + 1),
            mu=mu,
            sigma=np.array([player.sigma for player in players]),
            latency=made.latency,
            reach=made.reach,
            teams=2,
            size=1,
            scale=400.0,
            met=listed(met),
        )
        assert plan_costs(terms, WEIGHTS)[0] * UNITS == units


def outcome(made: PairPool, levels: Array, mate: Array) -> tuple[int, int, int]:
    earlier = np.flatnonzero(mate > np.arange(len(mate)))
    assert (mate[mate[mate >= 0]] == np.flatnonzero(mate >= 0)).all()
    edges = edges_of(made)
    pairs = [(int(u), int(mate[u])) for u in earlier]
    return len(pairs), int(levels[mate >= 0].sum()), -sum(edges[pair] for pair in pairs)


@settings(deadline=None, max_examples=300)
@given(crowd=crowds(most=12))
def test_no_plan_beats_the_solver_up_to_twelve(crowd: tuple[list[Single], str, Pairs, Pairs]) -> None:
    made = pool(*crowd)
    levels = np.array([player.level for player in crowd[0]], np.int64)
    found = best_pairs(made, worth_of(levels, made))
    assert found.weight == found.bound
    assert outcome(made, levels, found.mate) == reference.best(len(levels), edges_of(made), levels.tolist())


def many(count: int, seed: int, **about: Any) -> tuple[list[Single], Pairs, Pairs]:
    """A crowd by chance: ratings about 1500, windows of all widths."""
    dice = np.random.default_rng(seed)
    rating = np.round(dice.normal(1500, about.get("deviation", 300), count), about.get("digits", 0))
    kind = dice.integers(0, 3, count) if about.get("sided") else np.full(count, 3)
    second = np.where(kind == 0, np.nan, rating + (kind == 2) * np.round(dice.normal(0, 60, count)))
    window = 20 + np.round(dice.exponential(about.get("window", 60), count))
    window[dice.random(count) < about.get("free", 0.05)] = np.inf
    regions = about.get("regions", 0)
    latency = dice.integers(10, 200, (count, regions)).astype(float)
    reach = dice.integers(1, 2**regions, count) if regions else np.full(count, -1)
    level = (dice.random(count) < about.get("due", 0.1)) * dice.integers(1, 4, count)
    sigma = dice.choice([0.0, 60.0, 200.0], count)
    players = [
        Single(float(one), float(other), float(wide), float(unsure), tuple(far), int(bits), int(due))
        for one, other, wide, unsure, far, bits, due in zip(
            *(np.where(kind == 1, np.nan, rating), second, window, sigma, latency.tolist(), reach, level), strict=True
        )
    ]
    pairs = dice.integers(0, count, (2, about.get("pairs", count), 2))
    apart, met = (frozenset(frozenset(map(int, pair)) for pair in some if pair[0] != pair[1]) for some in pairs)
    return players, apart, met


CROWDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "narrow": {"window": 4},
    "sided": {"sided": True},
    "regions": {"regions": 4},
    "ties": {"deviation": 30},
    "free": {"free": 0.6, "due": 0.5},
    "blocked": {"pairs": 3000},
}


@pytest.mark.parametrize("kind", sorted(CROWDS))
@pytest.mark.parametrize("policy", POLICIES)
def test_priced_pairs_are_as_good_as_all_pairs_listed_and_as_networkx_says(
    kind: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    players, apart, met = many(140, 7, **CROWDS[kind])
    made = pool(players, policy, apart, met)
    levels = np.array([player.level for player in players], np.int64)
    worth = worth_of(levels, made)
    assert len(players) <= pair_matching.LISTED_MAX
    all_listed = best_pairs(made, worth)
    monkeypatch.setattr(pair_matching, "LISTED_MAX", 12)
    monkeypatch.setattr(pair_matching, "FEW", 20)
    priced = best_pairs(made, worth)
    assert priced.rounds > 0
    expected = outcome(made, levels, all_listed.mate)
    assert outcome(made, levels, priced.mate) == expected
    assert all_listed.weight == all_listed.bound == priced.weight == priced.bound
    graph = nx.Graph()
    for (u, v), units in edges_of(made).items():
        graph.add_edge(u, v, weight=int(2 * (worth[u] + worth[v] - units)))
    mate = np.full(len(players), -1)
    for u, v in nx.max_weight_matching(graph):
        mate[u], mate[v] = v, u
    assert outcome(made, levels, mate) == expected


@pytest.mark.parametrize("kind", sorted(CROWDS))
def test_larger_crowds_come_with_a_proof_over_all_pairs(kind: str) -> None:
    players, apart, met = many(1500, 3, **CROWDS[kind])
    made = pool(players, "mean", apart, met)
    levels = np.array([player.level for player in players], np.int64)
    worth = worth_of(levels, made)
    found = best_pairs(made, worth)
    assert found.weight == found.bound
    # The proof once more, over every pair that may meet.
    solution = pair_matching._priced(made, worth, ALL).solution
    mate, price, holder, dual = solution
    u, v, cost = all_pairs(made)
    covered = price[u] + price[v] + shared_duals(len(mate), holder, dual, u, v)
    assert (covered >= 2 * (worth[u] + worth[v] - cost)).all()
    assert (price >= 0).all()
    assert (dual >= 0).all()
    assert (price[mate < 0] == 0).all()


@pytest.mark.parametrize("kind", sorted(CROWDS))
@pytest.mark.parametrize("work", [0, 100_000])
def test_with_little_work_the_bounds_still_hold(kind: str, work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    players, apart, met = many(1500, 4, **CROWDS[kind])
    made = pool(players, "mean", apart, met)
    worth = worth_of(np.array([player.level for player in players], np.int64), made)
    best = best_pairs(made, worth)
    monkeypatch.setattr(pair_matching, "LOOK_LEAST", 4)
    brief = best_pairs(made, worth, work)
    assert brief.weight <= best.weight <= brief.bound
    assert best.bound == best.weight
    assert int((best.mate >= 0).sum()) // 2 <= most_pairs(made, worth, brief.bound)
    assert int((best.mate >= 0).sum()) // 2 == most_pairs(made, worth, best.bound)


def test_a_seat_that_is_worth_less_than_its_cost_is_left() -> None:
    players = [Single(rating, rating, np.inf) for rating in (1000.0, 1100.0, 2000.0, 2800.0)]
    made = pool(players, "mean")
    own = np.full(4, int(0.8 * UNITS), np.int64)
    found = best_pairs(made, worth_of(np.zeros(4, np.int64), made, own))
    assert found.mate.tolist() == [1, 0, -1, -1]
    due = best_pairs(made, worth_of(np.array([0, 0, 0, 1]), made, own))
    assert due.mate.tolist() == [1, 0, 3, 2]


def far_apart(weight: float) -> PairPool:
    """4,000 players, half of them a million points above the others."""
    rating = np.array([0.0, 1e6] * 2000)
    return pool_of(
        rating,
        rating,
        np.full(4000, np.inf),
        sigma=np.zeros(4000),
        latency=np.empty((4000, 0)),
        reach=NONE,
        apart=NO_PAIRS,
        met=NO_PAIRS,
        weights=Weights(spread=weight, distribution=0.0),
        policy=0,
        scale=1.0,
    )


def test_levels_that_do_not_fit_are_made_fewer_and_the_earliest_stay() -> None:
    made = far_apart(2.0)
    worth = worth_of(np.arange(4000)[::-1] // 63, made)
    assert worth[0] == worth.max()
    assert (np.diff(worth) <= 0).all()
    assert 2 * int(worth[0] + worth[1]) <= 2**58
    assert len(set(worth.tolist())) > 1


def test_costs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="too much for 4000 players"):
        worth_of(np.zeros(4000, np.int64), far_apart(1000.0))
