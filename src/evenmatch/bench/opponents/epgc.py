"""EPGC as its paper has it, with every weight of the graph written down; and a drain in numba without our shortcut."""

import numba
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOAT, INT, INTS

__all__ = ["paper_drain", "paper_lobby", "quadratic_drain"]


def paper_lobby(ping_ms: list[int], waited_s: list[float], size: int, alpha: float, beta: float) -> list[int]:
    """BUILD GRAPH and FIND LOBBY over one tier; the earliest of equals is taken."""
    players = list(zip(ping_ms, waited_s, strict=True))
    weights = [[-alpha * abs(p - q) + beta * min(w, x) for q, x in players] for p, w in players]
    for player, row in enumerate(weights):
        row[player] = 0.0
    degrees = [sum(row) for row in weights]
    lobby = [max(range(len(players)), key=degrees.__getitem__)]
    candidates = [player for player in range(len(players)) if player != lobby[0]]
    while len(lobby) < size:
        best, best_score = -1, float("-inf")
        for candidate in candidates:
            row = weights[candidate]
            score = sum([row[member] for member in lobby])
            if score > best_score:
                best, best_score = candidate, score
        lobby.append(best)
        candidates.remove(best)
    return lobby


def paper_drain(ping_ms: list[int], waited_s: list[float], size: int, alpha: float, beta: float) -> list[list[int]]:
    """One lobby after the other, the graph built anew for those who are left."""
    left, lobbies = list(range(len(ping_ms))), []
    while len(left) >= size:
        lobby = paper_lobby([ping_ms[p] for p in left], [waited_s[p] for p in left], size, alpha, beta)
        lobbies.append([left[place] for place in lobby])
        left = [player for player in left if player not in lobbies[-1]]
    return lobbies


@numba.njit((INTS, INTS, INT, FLOAT, FLOAT), nogil=True, error_model="numpy")
def quadratic_drain(ping: Array, wait: Array, size: int, alpha: float, beta: float) -> Array:
    """int64[lobbies, size]: every free player is looked at in every pick; degrees are kept up to date."""
    count = len(ping)
    free = np.ones(count, np.bool_)
    far, long = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for one in range(count):
        for other in range(count):
            if one != other:
                far[one] += abs(ping[one] - ping[other])
                long[one] += min(wait[one], wait[other])
    lobbies = np.empty((count // size, size), np.int64)
    for lobby in lobbies:
        apart, lesser = np.zeros(count, np.int64), np.zeros(count, np.int64)
        best, best_score = -1, -np.inf
        for player in range(count):
            score = -alpha * far[player] + beta * (long[player] / 1000.0)
            if free[player] and score > best_score:
                best, best_score = player, score
        lobby[0] = best
        free[best] = False
        for place in range(1, size):
            newest, best, best_score = best, -1, -np.inf
            for player in range(count):
                if free[player]:
                    apart[player] += abs(ping[player] - ping[newest])
                    lesser[player] += min(wait[player], wait[newest])
                    score = -alpha * apart[player] + beta * (lesser[player] / 1000.0)
                    if score > best_score:
                        best, best_score = player, score
            lobby[place] = best
            free[best] = False
        for player in range(count):
            far[player] -= apart[player] + abs(ping[player] - ping[best])
            long[player] -= lesser[player] + min(wait[player], wait[best])
    return lobbies
