"""EPGC's drain of one tier with every pair in matrices: what the plain transcription does, at sizes it can't reach."""

import numpy as np

from evenmatch.domain.arrays import Array


def drain(ping: Array, wait: Array, size: int, alpha: float, beta: float) -> tuple[list[list[int]], list[float]]:
    """Lobbies as places in order of selection, and their weights; int64[n] columns in ms, in canonical order."""
    apart, lesser = np.abs(ping[:, None] - ping), np.minimum(wait[:, None], wait)
    np.fill_diagonal(lesser, 0)
    free = np.ones(len(ping), bool)
    lobbies, weights = [], []
    while free.sum() >= size:
        lobby: list[int] = []
        pings = waits = 0
        for _ in range(size):
            others = np.flatnonzero(free) if not lobby else np.array(lobby)
            candidates = np.setdiff1d(np.flatnonzero(free), lobby)
            ping_sums = apart[np.ix_(candidates, others)].sum(axis=1)
            wait_sums = lesser[np.ix_(candidates, others)].sum(axis=1)
            best = int((-alpha * ping_sums + beta * (wait_sums / 1000.0)).argmax())
            if lobby:
                pings, waits = pings + int(ping_sums[best]), waits + int(wait_sums[best])
            lobby.append(int(candidates[best]))
        free[lobby] = False
        lobbies.append(lobby)
        weights.append(-alpha * pings + beta * (waits / 1000.0))
    return lobbies, weights
