"""Greedy cliques of heavy weight among players who differ in ping and wait.

Problem. Players of one pool; the weight of a pair is -alpha * |ping_i - ping_j| + beta * min(wait_i, wait_j), with ping
in ms and wait in s. Take the player with the highest weighted degree (the sum of weights to all others), then again and
again the one with the highest sum of weights to those already taken, until the lobby is full. Ties go to the earlier.

Scores. A sum of weights is `score(a, b)` of two exact integers, the sum of ping differences and the sum of lesser
waits, both in ms: one float expression compares them. Adding up float weights instead would let ties hang on the order
of adding.

Why the graph is not built. Places are in order of falling wait. Among players of one ping the sum of ping differences
is the same, and the sum of lesser waits does not fall with the wait; so, with beta >= 0, the earliest of them scores
highest and wins ties. Only the first of each ping, its head, needs to be looked at. Degrees have the same shape: the
lesser waits of the player at place v are his own with everybody before him, and theirs with everybody after him, and
ping differences are sums of counts below and above; running sums give both. All this survives rounding, which is
monotone: a larger sum never scores less.

Invariants.
  1. `wait` never rises along the places, so the first free place of a ping is its best candidate.
  2. Nothing but `seat` changes a pool.

Complexity. A lobby of N from V players with G different pings: O(V) for the degrees, O(G) a pick, all vectorised.
"""

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Pool", "score", "total_weight"]


def score(ping_sum: Array, wait_sum: Array, alpha: float, beta: float) -> Array:
    """float64: a sum of weights, from the sums of ping differences and of lesser waits, both exact, in ms."""
    weights: Array = -float(alpha) * ping_sum + float(beta) * (wait_sum / 1000.0)
    return weights


def total_weight(ping_ms: Array, wait_ms: Array, alpha: float, beta: float) -> float:
    """The sum of the weights of all pairs, from int64[n] columns."""
    pairs = np.triu_indices(len(ping_ms), 1)
    ping_sum = np.abs(ping_ms[:, None] - ping_ms)[pairs].sum()
    wait_sum = np.minimum(wait_ms[:, None], wait_ms)[pairs].sum()
    return float(score(ping_sum, wait_sum, alpha, beta))


class Pool:
    """The players of one pool by their places, some of them seated already."""

    def __init__(self, ping_ms: Array, wait_ms: Array, alpha: float, beta: float) -> None:
        """`ping_ms` and `wait_ms`, int64[n]: a value for each place; waits must not rise."""
        assert (np.diff(wait_ms) <= 0).all()
        self.ping, self.wait = ping_ms, wait_ms
        self.alpha, self.beta = alpha, beta
        self.free = np.ones(len(ping_ms), bool)
        self.pings, self.of_ping = np.unique(ping_ms, return_inverse=True)
        self.by_ping = np.argsort(self.of_ping, kind="stable")
        """int64[n]: the places, ping by ping, in order within each."""
        self.end = np.cumsum(np.bincount(self.of_ping, minlength=len(self.pings)))
        self.head = np.concatenate(([0], self.end[:-1]))[: len(self.pings)]
        """int64[pings]: where in `by_ping` the first free place of each ping stands; its `end` if there is none."""

    def __len__(self) -> int:
        return int(self.free.sum())

    def degrees(self, places: Array) -> Array:
        """float64, shape of `places`: weighted degrees of free places, over all that are free."""
        count = np.bincount(self.of_ping[self.free], minlength=len(self.pings))
        players, pings = np.cumsum(count), np.cumsum(count * self.pings)
        group = self.of_ping[places]
        below = self.ping[places] * players[group] - pings[group]
        above = pings[-1:] - pings[group] - self.ping[places] * (players[-1:] - players[group])
        waits = np.cumsum(np.where(self.free, self.wait, 0))
        earlier = np.cumsum(self.free)[places] - 1
        lesser = self.wait[places] * earlier + waits[-1:] - waits[places]
        return score(below + above, lesser, self.alpha, self.beta)

    def scores(self, places: Array, lobby: Array) -> Array:
        """float64, shape of `places`: the sum of weights of each place to all of a lobby."""
        ping_sum = np.abs(self.ping[places][:, None] - self.ping[lobby]).sum(axis=1)
        wait_sum = np.minimum(self.wait[places][:, None], self.wait[lobby]).sum(axis=1)
        return score(ping_sum, wait_sum, self.alpha, self.beta)

    def find_lobby(self, size: int, first: int | None = None) -> Array:
        """int64[size]: free places in order of selection, beginning with `first` or the highest degree.

        At least `size` places must be free.
        """
        heads = self.by_ping[self.head[self.head < self.end]]
        seed = earliest_best(heads, self.degrees(heads)) if first is None else first
        group = self.of_ping[heads]
        apart, lesser = np.zeros_like(heads), np.zeros_like(heads)
        """For each head: the sums of ping differences and of lesser waits to the lobby so far."""
        lobby = [seed]
        while len(lobby) < size:
            newest = lobby[-1]
            apart += np.abs(self.ping[heads] - self.ping[newest])
            lesser += np.minimum(self.wait[heads], self.wait[newest])
            at = int(np.searchsorted(group, self.of_ping[newest]))
            if heads[at] == newest:
                follower = self._following(int(group[at]), lobby)
                if follower is None:
                    heads, group, apart, lesser = (np.delete(each, at) for each in (heads, group, apart, lesser))
                else:
                    heads[at] = follower
                    lesser[at] = np.minimum(self.wait[follower], self.wait[lobby]).sum()
            lobby.append(earliest_best(heads, score(apart, lesser, self.alpha, self.beta)))
        return np.array(lobby, np.int64)

    def _following(self, group: int, lobby: list[int]) -> int | None:
        """The first place of a ping that is free and not in the lobby, or None."""
        for place in range(int(self.head[group]), int(self.end[group])):
            follower = int(self.by_ping[place])
            if self.free[follower] and follower not in lobby:
                return follower
        return None

    def seat(self, places: Array) -> None:
        """Take these places out of the pool."""
        self.free[places] = False
        for group in self.of_ping[places].tolist():
            head, end = int(self.head[group]), int(self.end[group])
            while head < end and not self.free[self.by_ping[head]]:
                head += 1
            self.head[group] = head


def earliest_best(places: Array, scores: Array) -> int:
    """The place with the highest score, the earliest of several."""
    return int(places[scores == scores.max()].min())
