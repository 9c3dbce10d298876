"""Most pairs at the least cost in general graphs: against all matchings, a public solver, and its own proof."""

import random
from itertools import combinations

import networkx  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.numerics.blossoms import Blossoms
from evenmatch.numerics.matching import Edge, Matching, broken_proof, least_cost_matching


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


def solved(count: int, edges: list[Edge]) -> tuple[int, int]:
    """The same by ours, its proof checked."""
    matching = least_cost_matching(count, edges)
    assert broken_proof(count, edges, matching) is None
    assert matching.bound == matching.cost
    return -len(matching.pairs), matching.cost


@st.composite
def graphs(draw: st.DrawFn, count_max: int, cost: st.SearchStrategy[int]) -> tuple[int, list[Edge]]:
    count = draw(st.integers(0, count_max))
    pairs = draw(st.lists(st.sampled_from(list(combinations(range(count), 2))), unique=True)) if count > 1 else []
    return count, [(u, v, draw(cost)) for u, v in pairs]


@settings(deadline=None, max_examples=150)
@given(graphs(8, st.integers(-5, 5) | st.integers(-(10**40), 10**40)))
def test_the_best_of_all_matchings_is_found(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    if len(edges) <= 14:
        assert solved(count, edges) == by_trying(edges)
    assert solved(count, edges) == by_networkx(edges)


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


def test_lattices_triangle_chains_and_complete_graphs_agree_with_a_public_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    happened = {"_contract": 0, "_expand": 0}
    for name in happened:
        original = getattr(Blossoms, name)

        def counted(self: Blossoms, *about: int, name: str = name, original: object = original) -> None:
            happened[name] += 1
            original(self, *about)  # type: ignore[operator]

        monkeypatch.setattr(Blossoms, name, counted)
    rng = random.Random(5)
    for round_ in range(60):
        count = rng.randrange(2, 45)
        for vertices, edges in [
            (count, neighbours(rng, count, rng.choice([4, 7, 20]), rng.choice([2, 5, 20]))),
            (3 * (count // 3), triangle_chain(rng, count // 3)),
            (count, [(u, v, rng.randrange(1 + 3**round_)) for u, v in combinations(range(count), 2)]),
        ]:
            assert solved(vertices, edges) == by_networkx(edges)
    assert happened["_contract"] > 500
    assert happened["_expand"] > 20


def test_more_pairs_beat_any_cost() -> None:
    assert solved(4, [(1, 2, 0), (0, 1, 10**50), (2, 3, 10**50)]) == (-2, 2 * 10**50)


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
    ],
)
def test_a_graph_that_is_none_is_refused(edges: list[Edge], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        least_cost_matching(3, edges)


FIVE: list[Edge] = [(0, 1, 2), (1, 2, 1), (2, 3, 1), (3, 4, 2), (0, 4, 2), (1, 3, 1)]


def corrupted() -> list[tuple[Matching, str]]:
    good = least_cost_matching(5, FIVE)
    assert [members for members, _ in good.blossoms] == [[1, 2, 3], [0, 1, 2, 3, 4]]
    inner, (members, z) = good.blossoms
    return [
        (good._replace(mate=[1, 2, 1, -1, -1]), "mates are not mutual"),
        (good._replace(mate=[7, -1, -1, -1, -1]), "mates are not mutual"),
        (good._replace(mate=[2, -1, 0, -1, -1]), "a pair is no edge"),
        (good._replace(cost=good.cost - 1), "the cost is not that of the pairs"),
        (good._replace(mate=[1, 0, -1, 4, 3], cost=4), "the bound does not reach the cost"),
        (good._replace(prices=[-1, *good.prices[1:]]), "a price is negative"),
        (good._replace(blossoms=[inner, (members, -z)]), "a price is negative"),
        (good._replace(blossoms=[inner, (members[1:], z)]), "a blossom is not an odd set"),
        (good._replace(blossoms=[inner]), "weighs more than its price"),
        (good._replace(prices=[good.prices[0] + 2, *good.prices[1:]]), "the bound does not reach the cost"),
        (good._replace(bound=good.bound + 1), "the bound does not reach the cost"),
    ]


@pytest.mark.parametrize("at", range(11))
def test_a_corrupted_proof_is_found_out(at: int) -> None:
    matching, words = corrupted()[at]
    assert words in (broken_proof(5, FIVE, matching) or "")
