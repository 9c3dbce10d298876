"""Most pairs at the least cost in general graphs: against all matchings, public solvers, a twin, and its own proof."""

import random
from collections.abc import Callable
from itertools import combinations
from typing import Any, TypeAlias

import networkx  # type: ignore[import-untyped]
import numpy as np
import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree  # type: ignore[import-untyped]

from evenmatch.domain.arrays import NONE, Array
from evenmatch.numerics.blossom_search import BUDGET
from evenmatch.numerics.blossom_tree import TALLY
from evenmatch.numerics.blossoms import least_cost_pairs
from evenmatch.numerics.matching import (
    WEIGHT_MAX,
    GrowingMatching,
    Matching,
    heaviest_matching,
    least_cost_matching,
    total,
    weights_of_costs,
)
from evenmatch.numerics.matching_kernels import adjacency, extract, solve
from evenmatch.numerics.matching_proof import broken_proof

Edge: TypeAlias = tuple[int, int, int]
Columns: TypeAlias = tuple[Array, Array, Array]


def columns(edges: list[Edge]) -> Columns:
    table = np.array(edges, np.int64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(column) for column in table.T)  # type: ignore[return-value]


def by_trying(edges: list[Edge], taken: frozenset[int] = frozenset()) -> tuple[int, int]:
    """(- pairs, cost) of the best matching, by trying all of them."""
    best = (0, 0)
    for at, (u, v, cost) in enumerate(edges):
        if u not in taken and v not in taken:
            pairs, rest = by_trying(edges[at + 1 :], taken | {u, v})
            best = min(best, (pairs - 1, rest + cost))
    return best


def by_networkx(edges: list[Edge]) -> tuple[int, int]:
    """The same by a public solver."""
    graph = networkx.Graph()
    graph.add_weighted_edges_from([(u, v, -cost) for u, v, cost in edges])
    price = {(min(u, v), max(u, v)): cost for u, v, cost in edges}
    pairs = networkx.max_weight_matching(graph, maxcardinality=True)
    return -len(pairs), sum(price[min(pair), max(pair)] for pair in pairs)


def by_twin(count: int, edges: list[Edge]) -> tuple[int, int]:
    """The same by the twin in plain Python, whose costs may have any size."""
    mate = least_cost_pairs(count, edges)
    assert all(other < 0 or mate[other] == vertex for vertex, other in enumerate(mate))
    matched = [cost for u, v, cost in edges if mate[u] == v]
    assert 2 * len(matched) == sum(other >= 0 for other in mate)
    return -len(matched), sum(matched)


def solved(count: int, edges: list[Edge]) -> tuple[int, int]:
    """The same by ours, its proof checked."""
    matching = least_cost_matching(count, *columns(edges))
    assert broken_proof(count, *columns(edges), matching) is None
    assert matching.optimality_gap == 0
    return -len(matching.pairs), matching.cost


@st.composite
def graphs(draw: st.DrawFn, count_max: int, cost: st.SearchStrategy[int]) -> tuple[int, list[Edge]]:
    count = draw(st.integers(0, count_max))
    pairs = draw(st.lists(st.sampled_from(list(combinations(range(count), 2))), unique=True)) if count > 1 else []
    return count, [(u, v, draw(cost)) for u, v in pairs]


@settings(deadline=None, max_examples=200)
@given(graphs(9, st.integers(-5, 5) | st.integers(-(10**15), 10**15)))
def test_the_best_of_all_matchings_is_found(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    if len(edges) <= 14:
        assert solved(count, edges) == by_trying(edges)
    assert solved(count, edges) == by_networkx(edges) == by_twin(count, edges)


@settings(deadline=None, max_examples=100)
@given(graphs(8, st.integers(-5, 5) | st.integers(-(10**40), 10**40)))
def test_the_twin_finds_the_best_whatever_the_size_of_costs(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    assert by_twin(count, edges) == by_networkx(edges)


def neighbours(rng: random.Random, count: int, side: int, reach: int) -> list[Edge]:
    """Points on a lattice, joined when near: full of ties, odd cycles and nested blossoms."""
    points = [(rng.randrange(side), rng.randrange(side)) for _ in range(count)]
    apart = [
        (u, v, (points[u][0] - points[v][0]) ** 2 + (points[u][1] - points[v][1]) ** 2)
        for u, v in combinations(range(count), 2)
    ]
    return [edge for edge in apart if edge[2] <= reach]


def triangle_chain(rng: random.Random, triangles: int) -> list[Edge]:
    """Triangles in a row, each joined to the next: hardly anything else expands as many blossoms."""
    edges = []
    for at in range(0, 3 * triangles, 3):
        edges += [(at, at + 1, rng.randrange(4)), (at + 1, at + 2, rng.randrange(4)), (at, at + 2, rng.randrange(4))]
        if at:
            edges.append((at - 1 - rng.randrange(3), at + rng.randrange(3), rng.randrange(40)))
    return edges


def stars(rng: random.Random, count: int) -> list[Edge]:
    """A few centres, and leaves of which most can't be matched."""
    centres = max(1, count // 8)
    return [(leaf, rng.randrange(centres), rng.randrange(9)) for leaf in range(centres, count)]


def families(rng: random.Random, most: int) -> list[tuple[int, list[Edge]]]:
    count, spread = rng.randrange(2, most), 3 ** rng.randrange(20)
    share = rng.choice([0.1, 0.3, 1])
    return [
        (count, neighbours(rng, count, rng.choice([3, 7, 20]), rng.choice([2, 5, 20, 200]))),
        (3 * (count // 3), triangle_chain(rng, count // 3)),
        (count, [(u, v, rng.randrange(spread)) for u, v in combinations(range(count), 2) if rng.random() < share]),
        (count, stars(rng, count)),
        (2 * count, stars(rng, count) + [(u + count, v + count, c) for u, v, c in triangle_chain(rng, count // 3)]),
    ]


def test_lattices_triangle_chains_stars_and_complete_graphs_agree_with_a_public_solver() -> None:
    rng = random.Random(5)
    for _ in range(60):
        for count, edges in families(rng, 45):
            assert solved(count, edges) == by_networkx(edges)


def test_any_budget_leads_to_the_same_total() -> None:
    rng, done = random.Random(6), np.zeros(len(TALLY), np.int64)
    for round_ in range(500):
        for count, edges in families(rng, 40):
            first, second, cost = columns(edges)
            weight = weights_of_costs(count, cost)
            start, near, _, _ = adjacency(count, first, second, weight)
            nodes, _, now = solve(start, near, NONE, (0, 1, 5, BUDGET, 10**6)[round_ % 5])
            done += now[list(TALLY)]
            mate, price, holder, dual = extract(nodes, count)
            paid = total(cost[mate[first] == second])
            assert broken_proof(count, first, second, cost, Matching(mate, paid, paid, price, holder, dual)) is None
    searches, stopped, contracted, expanded, _ = done.tolist()
    assert (searches > 5000, stopped > 1000, contracted > 5000, expanded > 300) == (True,) * 4


def test_a_graph_that_grows_is_solved_as_if_it_had_been_given_at_once() -> None:
    rng = random.Random(7)
    for _ in range(300):
        for count, edges in families(rng, 30):
            rng.shuffle(edges)
            first, second, cost = columns(edges)
            weight = weights_of_costs(count, cost)
            known = rng.randrange(len(edges) + 1)
            guess = np.array([rng.randrange(int(weight.max(initial=0)) + 1) for _ in range(count)], np.int64)
            growing = GrowingMatching(
                count, first[:known], second[:known], weight[:known], guess if rng.random() < 0.5 else NONE
            )
            while known < len(edges):
                more = slice(known, known + rng.randrange(1, 12))
                growing.add(first[more], second[more], weight[more])
                known = more.stop
            mate, price, holder, dual = growing.solution()
            paid = total(cost[mate[first] == second])
            assert broken_proof(count, first, second, cost, Matching(mate, paid, paid, price, holder, dual)) is None


def near_points(count: int, seed: int, most: int = 10**6) -> Columns:
    """16 nearest neighbours of points in a square, by squared distance."""
    points = np.random.default_rng(seed).integers(0, most, (count, 2))
    near = cKDTree(points).query(points, 17)[1]
    pairs = np.column_stack([np.repeat(np.arange(count), 17), near.ravel()])
    first, second = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0).T.copy()
    return first, second, ((points[first] - points[second]) ** 2).sum(axis=1)


def test_a_thousand_points_agree_with_a_public_solver() -> None:
    for seed, most in [(1, 10**6), (2, 30)]:
        first, second, cost = near_points(1000, seed, most)
        matching = least_cost_matching(1000, first, second, cost)
        assert broken_proof(1000, first, second, cost, matching) is None
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(1000))
        graph.add_edges_from(list(zip(first.tolist(), second.tolist(), cost.tolist(), strict=True)))
        best = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=lambda paid: -paid)
        price = {(u, v): paid for u, v, paid in zip(first.tolist(), second.tolist(), cost.tolist(), strict=True)}
        assert len(best) == len(matching.pairs)
        assert sum(price[min(pair), max(pair)] for pair in best) == matching.cost


def lattice(side: int, seed: int) -> Columns:
    """A lattice with one diagonal in each square, and costs of 0 to 3."""
    places = np.arange(side * side).reshape(side, side)
    pairs = [(places[:, :-1], places[:, 1:]), (places[:-1], places[1:]), (places[:-1, :-1], places[1:, 1:])]
    first, second = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return first, second, np.random.default_rng(seed).integers(0, 4, len(first))


def random_graph(count: int, seed: int) -> Columns:
    """Five edges a vertex, to anybody: blossoms nest thousands deep."""
    pairs = np.random.default_rng(seed).integers(0, count, (5 * count, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    return first, second, np.random.default_rng(seed).integers(0, 10**6, len(pairs))


@pytest.mark.parametrize(
    ("count", "make"),
    [
        (20_001, lambda: near_points(20_001, 3)),
        (141**2, lambda: lattice(141, 4)),
        (20_000, lambda: random_graph(20_000, 5)),
        (244**2, lambda: lattice(244, 6)),
        (20_000, lambda: columns(stars(random.Random(7), 20_000))),
    ],
    ids=["points", "lattice", "random", "large lattice", "stars"],
)
def test_large_graphs_are_proven(count: int, make: Callable[[], Columns]) -> None:
    edges = make()
    matching = least_cost_matching(count, *edges)
    assert broken_proof(count, *edges, matching) is None
    again = least_cost_matching(count, *edges)
    assert (again.mate == matching.mate).all()


@settings(deadline=None, max_examples=150)
@given(graphs(10, st.integers(-6, 9)))
def test_the_heaviest_matching_may_leave_pairs_out(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    matching = heaviest_matching(count, *columns(edges))
    own = networkx.Graph()
    own.add_weighted_edges_from([edge for edge in edges if edge[2] > 0])
    weight = {(min(u, v), max(u, v)): w for u, v, w in edges}
    best = sum(weight[min(pair), max(pair)] for pair in networkx.max_weight_matching(own))
    assert -matching.cost == -matching.bound == best
    assert sum(weight[u, v] for u, v in matching.pairs.tolist()) == best


def test_more_pairs_beat_any_cost() -> None:
    assert solved(4, [(1, 2, 0), (0, 1, 10**16), (2, 3, 10**16)]) == (-2, 2 * 10**16)


def test_nothing_alone_and_a_triangle() -> None:
    assert solved(0, []) == (0, 0)
    assert solved(3, []) == (0, 0)
    assert solved(3, [(0, 1, 5), (1, 2, 3), (0, 2, 4)]) == (-1, 3)


def test_two_hundred_in_a_complete_graph() -> None:
    rng = random.Random(1)
    ratings = [rng.gauss(1500, 300) for _ in range(200)]
    edges = [(u, v, round((ratings[u] - ratings[v]) ** 2 * 1e6)) for u, v in combinations(range(200), 2)]
    ratings.sort()
    # On a line with squared gaps, neighbours in order are the best perfect matching.
    best = sum(round((high - low) ** 2 * 1e6) for low, high in zip(ratings[::2], ratings[1::2], strict=True))
    assert solved(200, edges) == (-100, best)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([(1, 1, 0)], "edge 1-1 does not join two different vertices of 0 to 2"),
        ([(0, 3, 0)], "edge 0-3 does not join two different vertices of 0 to 2"),
        ([(0, -1, 0)], "edge 0--1 does not join two different vertices of 0 to 2"),
        ([(0, 1, 0), (1, 0, 2)], "edge 1-0 is given twice"),
        ([(0, 1, 0), (1, 2, 2**57)], "costs from 0 to 144115188075855872 are too far apart for 3 vertices"),
    ],
)
def test_a_graph_that_is_none_is_refused(edges: list[Edge], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        least_cost_matching(3, *columns(edges))


def test_a_weight_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="a weight is beyond"):
        heaviest_matching(2, *columns([(0, 1, WEIGHT_MAX)]))


FIVE: list[Edge] = [(0, 1, 2), (1, 2, 1), (2, 3, 1), (3, 4, 2), (0, 4, 2), (1, 3, 1)]


def changed(array: Array, at: int, value: int) -> Array:
    copy = array.copy()
    copy[at] = value
    return copy


def corrupted() -> list[tuple[dict[str, Any], str]]:
    good = least_cost_matching(5, *columns(FIVE))
    assert good.holder.tolist() == [6, 5, 5, 5, 6, 6, -1]
    mate, price, dual = good.mate, good.price, good.dual
    single = int((mate < 0).argmax())
    return [
        ({"mate": changed(mate, single, (single + 1) % 5)}, "mates are not mutual"),
        ({"mate": np.array([7, -1, -1, -1, -1])}, "mates are not mutual"),
        ({"mate": np.array([0, -1, -1, -1, -1])}, "mates are not mutual"),
        ({"mate": mate[1:]}, "mates are not mutual"),
        ({"mate": np.array([2, -1, 0, -1, -1])}, "a pair is no edge"),
        ({"cost": good.cost - 1}, "the cost is not that of the pairs"),
        ({"mate": np.array([1, 0, -1, 4, 3]), "cost": 4}, "the bound does not reach the cost"),
        ({"mate": np.full(5, -1), "cost": 0, "bound": 0}, "the bound does not reach the cost"),
        ({"price": changed(price, 0, -1)}, "a price is negative"),
        ({"dual": changed(dual, 0, -2)}, "a price is negative"),
        ({"holder": changed(good.holder, 1, -1)}, "a blossom is not an odd set"),
        ({"holder": changed(good.holder, 5, 5)}, "a blossom is not an odd set"),
        ({"holder": changed(good.holder, 5, 3)}, "a blossom is not an odd set"),
        ({"holder": np.array([-1] * 5), "dual": NONE}, "weighs more than its price"),
        ({"dual": dual - 2}, "weighs more than its price"),
        ({"price": changed(price, 0, int(price[0]) + 2)}, "the bound does not reach the cost"),
        ({"bound": good.bound + 1}, "the bound does not reach the cost"),
    ]


@pytest.mark.parametrize("at", range(17))
def test_a_corrupted_proof_is_found_out(at: int) -> None:
    good = least_cost_matching(5, *columns(FIVE))
    change, words = corrupted()[at]
    assert words in (broken_proof(5, *columns(FIVE), good._replace(**change)) or "")


def test_a_large_corrupted_proof_is_found_out() -> None:
    edges = near_points(3000, 8)
    good = least_cost_matching(3000, *edges)
    rng = random.Random(9)
    for _ in range(20):
        vertex = rng.randrange(3000)
        for step in (-2, 2):
            wrong = good._replace(price=changed(good.price, vertex, int(good.price[vertex]) + step))
            assert broken_proof(3000, *edges, wrong) is not None
    u, v = good.pairs[0].tolist()
    torn = changed(changed(good.mate, u, -1), v, -1)
    paid = total(edges[2][torn[edges[0]] == edges[1]])
    assert broken_proof(3000, *edges, good._replace(mate=torn, cost=paid, bound=paid)) is not None
