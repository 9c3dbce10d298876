"""LOM and the algorithms it is compared with, as their document says them: a flow network, and three simple loops."""

import math
from itertools import permutations
from typing import TypeAlias

Weights: TypeAlias = list[list[float]]
"""A row for each leader, a column for each member."""


class Network:
    """Edges as [to, capacity left, weight, place of the reverse edge]."""

    def __init__(self, nodes: int) -> None:
        self.edges: list[list[list[float]]] = [[] for _ in range(nodes)]

    def connect(self, start: int, end: int, capacity: int, weight: float) -> None:
        self.edges[start].append([end, capacity, weight, len(self.edges[end])])
        self.edges[end].append([start, 0, -weight, len(self.edges[start]) - 1])

    def cheapest_path(self, source: int, target: int) -> list[tuple[int, int]] | None:
        """The (node, edge) steps of a path with room, of the least weight, by Bellman and Ford."""
        weight = [math.inf] * len(self.edges)
        step: list[tuple[int, int] | None] = [None] * len(self.edges)
        weight[source] = 0
        for _ in self.edges:
            for node, edges in enumerate(self.edges):
                for place, (end, room, price, _) in enumerate(edges):
                    if room > 0 and weight[node] + price < weight[int(end)]:
                        weight[int(end)] = weight[node] + price
                        step[int(end)] = (node, place)
        if weight[target] == math.inf:
            return None
        path = []
        node = target
        while node != source:
            before = step[node]
            assert before is not None
            path.append(before)
            node = before[0]
        return path


def minimum_cost_maximum_flow(weights: Weights, session_size: int) -> list[int]:
    """The leader of each member or -1, by the flow network of Figure 2."""
    leaders, members = len(weights), len(weights[0])
    source, target = leaders + members, leaders + members + 1
    network = Network(leaders + members + 2)
    for leader in range(leaders):
        network.connect(source, leader, session_size - 1, 0)
        for member in range(members):
            network.connect(leader, leaders + member, 1, weights[leader][member])
    for member in range(members):
        network.connect(leaders + member, target, 1, 0)
    while (path := network.cheapest_path(source, target)) is not None:
        for node, place in path:
            edge = network.edges[node][place]
            edge[1] -= 1
            network.edges[int(edge[0])][int(edge[3])][1] += 1
    leader_of = [-1] * members
    for leader in range(leaders):
        for end, room, _, _ in network.edges[leader]:
            if leaders <= end < leaders + members and room == 0:
                leader_of[int(end) - leaders] = leader
    return leader_of


def least_total(weights: Weights, session_size: int) -> float:
    """The least total weight, by trying every order of the members and cutting it into sessions."""
    leaders, members = len(weights), len(weights[0])
    seats = [leader for leader in range(leaders) for _ in range(session_size - 1)]
    return min(
        sum(weights[leader][member] for leader, member in zip(seats, chosen, strict=True))
        for chosen in permutations(range(members), len(seats))
    )


def m2l(weights: Weights, session_size: int) -> list[list[int]]:
    """The members of each leader: every member in turn selects the open leader with the least weight."""
    chosen: list[list[int]] = [[] for _ in weights]
    for member in range(len(weights[0])):
        best = None
        for leader in range(len(weights)):
            fully_matched = len(chosen[leader]) == session_size - 1
            if not fully_matched and (best is None or weights[leader][member] < weights[best][member]):
                best = leader
        if best is not None:
            chosen[best].append(member)
    return chosen


def l2m(weights: Weights, session_size: int) -> list[list[int]]:
    """The members of each leader: every leader in turn selects the nearest members that are not selected."""
    free = list(range(len(weights[0])))
    chosen: list[list[int]] = []
    for row in weights:
        chosen.append([])
        for _ in range(session_size - 1):
            nearest = free[0]
            for member in free:
                if row[member] < row[nearest]:
                    nearest = member
            free.remove(nearest)
            chosen[-1].append(nearest)
    return chosen


def association_weight(one: dict[str, float | str], other: dict[str, float | str]) -> float:
    """The weight of two profiles under the features that the tests declare."""
    weight = 0.0
    weight += 2 * abs(float(one["rating"]) - float(other["rating"])) / 300
    weight += 0.5 * (one["language"] != other["language"])
    weight += 1 * abs(float(one["hours"]) - float(other["hours"])) / 10
    return weight
