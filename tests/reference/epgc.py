"""EPGC as its document has it, with every pair of the graph written down; scores from exact sums, as NOTES.md asks."""

from typing import NamedTuple, TypeAlias


class Player(NamedTuple):
    """A player, in canonical order among the others."""

    mmr: float
    ping_ms: float
    wait_ms: int


Edge: TypeAlias = tuple[int, int]
"""Ping difference and lesser wait, both in whole ms."""
Graph: TypeAlias = dict[int, dict[int, Edge]]
Iteration: TypeAlias = tuple[int, dict[int, float]]
"""Who was added, and the score of every candidate: a line of Table III."""


def classify(players: list[Player], boundaries: list[float]) -> list[list[int]]:
    """Algorithm 1: the players of each tier, the lowest tier first."""
    tiers: list[list[int]] = [[] for _ in range(len(boundaries) + 1)]
    for index, player in enumerate(players):
        for tier, boundary in enumerate(boundaries):
            if player.mmr < boundary:
                tiers[tier].append(index)
                break
        else:
            tiers[-1].append(index)
    return tiers


def build_graph(players: list[Player], tier: list[int]) -> Graph:
    """Algorithm 2: an edge between every two players of a tier."""
    graph: Graph = {i: {} for i in tier}
    for i in tier:
        for j in tier:
            if i != j:
                delta_ping = abs(round(players[i].ping_ms) - round(players[j].ping_ms))
                graph[i][j] = delta_ping, min(players[i].wait_ms, players[j].wait_ms)
    return graph


def weight(edges: list[Edge], alpha: float, beta: float) -> float:
    """The sum of the weights of some edges: exact sums first, then one expression."""
    pings = sum(edge[0] for edge in edges)
    waits = sum(edge[1] for edge in edges)
    return -alpha * pings + beta * (waits / 1000.0)


def best_of(scores: dict[int, float]) -> int:
    """The candidate with the highest score; only a strictly better one replaces an earlier one."""
    best_score, best_player = float("-inf"), -1
    for candidate in sorted(scores):
        if scores[candidate] > best_score:
            best_score, best_player = scores[candidate], candidate
    return best_player


def find_lobby(graph: Graph, size: int, alpha: float, beta: float, seed: int | None = None) -> list[Iteration]:
    """Algorithm 3, line by line as in Table III."""
    degrees = {v: weight(list(graph[v].values()), alpha, beta) for v in graph}
    lobby = [best_of(degrees) if seed is None else seed]
    log = [(lobby[0], degrees)]
    while len(lobby) < size:
        scores = {c: weight([graph[c][m] for m in lobby], alpha, beta) for c in graph if c not in lobby}
        lobby.append(best_of(scores))
        log.append((lobby[-1], scores))
    return log


def lobby_weight(graph: Graph, lobby: list[int], alpha: float, beta: float) -> float:
    """The weight of all pairs of a lobby."""
    return weight([graph[i][j] for i in lobby for j in lobby if i < j], alpha, beta)


def epgc(
    players: list[Player], size: int, alpha: float, beta: float, boundaries: list[float]
) -> list[tuple[int, list[Iteration], float]]:
    """The lobbies as (tier, lines of Table III, weight), drained tier by tier."""
    found = []
    for tier, members in enumerate(classify(players, boundaries)):
        left = members
        while len(left) >= size:
            graph = build_graph(players, left)
            log = find_lobby(graph, size, alpha, beta)
            lobby = [added for added, _ in log]
            found.append((tier, log, lobby_weight(graph, lobby, alpha, beta)))
            left = [player for player in left if player not in lobby]
    return found
