"""Other people's libraries: one function for each thing that one of them can do; none is needed by evenmatch itself."""

from importlib import import_module
from typing import Any

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = [
    "networkx_graph",
    "networkx_pairs",
    "ortools_near",
    "ortools_total",
    "pot_total",
    "rustworkx_graph",
    "rustworkx_pairs",
    "scipy_pairs",
]

FAR_ITERATIONS = 100_000_000


def networkx_graph(first: Array, second: Array, cost: Array) -> Any:
    """A graph whose heaviest matching of the most pairs is that of the least cost."""
    graph = import_module("networkx").Graph()
    most = int(cost.max(initial=0)) + 1
    graph.add_weighted_edges_from(zip(first.tolist(), second.tolist(), (most - cost).tolist(), strict=True))
    return graph


def networkx_pairs(graph: Any) -> list[tuple[int, int]]:
    """The most pairs, then the least cost."""
    return list(import_module("networkx").max_weight_matching(graph, maxcardinality=True))


def rustworkx_graph(count: int, first: Array, second: Array, cost: Array) -> Any:
    """The same for rustworkx."""
    graph = import_module("rustworkx").PyGraph(multigraph=False)
    most = int(cost.max(initial=0)) + 1
    graph.add_nodes_from(range(count))
    graph.add_edges_from(list(zip(first.tolist(), second.tolist(), (most - cost).tolist(), strict=True)))
    return graph


def rustworkx_pairs(graph: Any) -> list[tuple[int, int]]:
    """The most pairs, then the least cost."""
    solve = import_module("rustworkx").max_weight_matching
    return list(solve(graph, max_cardinality=True, weight_fn=int))


def scipy_pairs(cost: Array, fits: Array) -> tuple[Array, Array]:
    """int64[k] each: rows and columns of the most pairs that fit, then of the least cost; float64 and bool [a, b]."""
    never = float(cost[fits].max(initial=0.0)) * min(cost.shape) + 1.0
    rows, columns = import_module("scipy.optimize").linear_sum_assignment(np.where(fits, cost, never))
    fitting = fits[rows, columns]
    return rows[fitting], columns[fitting]


def pot_total(weights: Array, capacity: int) -> float:
    """The least total weight by POT's network simplex; float64[k, k * capacity]."""
    leaders, members = weights.shape
    supply, demand = np.full(leaders, float(capacity)), np.ones(members)
    _, told = import_module("ot").emd(supply, demand, weights, numItermax=FAR_ITERATIONS, log=True)
    assert told["warning"] is None, told["warning"]
    return float(told["cost"])


def ortools_total(leader: Array, member: Array, cost: Array, leaders: int, members: int, capacity: int) -> int:
    """The least total of whole costs by OR-tools' min-cost flow; an arc for each given leader and member."""
    flow = import_module("ortools.graph.python.min_cost_flow").SimpleMinCostFlow()
    flow.add_arcs_with_capacity_and_unit_cost(leader, leaders + member, np.ones(len(cost), np.int64), cost)
    supply = np.concatenate((np.full(leaders, capacity), np.full(members, -1)))
    flow.set_nodes_supplies(np.arange(leaders + members), supply)
    status = flow.solve()
    assert status == flow.OPTIMAL, f"OR-tools: {status}"
    return int(flow.optimal_cost())


def ortools_near(leaders: Array, members: Array, near: int, unit: float, capacity: int) -> float:
    """The least total on a sparse graph: each member with its nearest leaders only, by L1; float64[., dimensions].

    Unproven: the true optimum may use an edge that is not there. Where the sparse graph has no solution at all, more
    neighbours are taken.
    """
    near = min(near, len(leaders))
    tree = import_module("scipy.spatial").cKDTree(leaders)
    far, who = tree.query(members, k=np.arange(1, near + 1), p=1)
    member = np.repeat(np.arange(len(members)), near)
    cost = np.rint(far.ravel() / unit).astype(np.int64)
    try:
        return ortools_total(who.ravel(), member, cost, len(leaders), len(members), capacity) * unit
    except AssertionError:
        if near == len(leaders):
            raise
        return ortools_near(leaders, members, near * 2, unit, capacity)
