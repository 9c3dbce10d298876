"""Cinder, equation by equation, in loops; all pairs at once for larger queues; and the experiment's distribution."""

import math
from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

import numpy as np

from evenmatch.domain.arrays import Array

Lobby: TypeAlias = list[float]
"""The ratings of its players."""


class Rules(NamedTuple):
    """The parameters."""

    lcap: float = 0
    ucap: float = 3000
    n_bucket: int = 30
    w_min: float = 20
    overlap_min: float = 0.2
    sanction_max: float = 17
    mode: str = "best"
    normalize: str = "sum"


def normal_density(x: float) -> float:
    """The standard normal probability density."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def widths(lcap: float, ucap: float, n_bucket: int, w_min: float) -> list[float]:
    """Equation 3.1."""
    peak = normal_density(0)
    inverted = [peak - normal_density(-3 + 6 * (i - 0.5) / n_bucket) for i in range(1, n_bucket + 1)]
    total = 0.0
    for one in inverted:
        total += one
    if total == 0:
        return [ucap - lcap]
    return [w_min + one * ((ucap - lcap) - n_bucket * w_min) / total for one in inverted]


def edges(lcap: float, ucap: float, n_bucket: int, w_min: float) -> list[float]:
    """Where buckets begin and end: one half built, the other mirrored."""
    wide = widths(lcap, ucap, n_bucket, w_min)
    found = [math.nan] * (n_bucket + 1)
    reached = 0.0
    for i in range(n_bucket + 1):
        if i > n_bucket - i:
            break
        found[i] = lcap + reached
        found[n_bucket - i] = ucap - reached
        if i == n_bucket - i:
            found[i] = (lcap + ucap) / 2
        reached += wide[i]
    return found


def bucket(rating: float, bounds: list[float]) -> int:
    """The bucket [e_i, e_i+1) of a rating; the last holds its upper end too."""
    rating = min(max(rating, bounds[0]), bounds[-1])
    for i in range(len(bounds) - 1):
        if bounds[i] <= rating < bounds[i + 1]:
            return i
    return len(bounds) - 2


def non_outlier_range(lobby: Lobby, lcap: float, ucap: float, n_bucket: int) -> tuple[float, float]:
    """Equation 2.1."""
    ranks = sorted(min(max(rating, lcap), ucap) for rating in lobby)
    total = 0.0
    for rank in ranks:
        total += rank
    mu = total / len(ranks)
    squares = 0.0
    for rank in ranks:
        squares += (rank - mu) * (rank - mu)
    sigma = max(math.sqrt(squares / len(ranks)), (ucap - lcap) / n_bucket)
    return mu - sigma, mu + sigma


def overlap(a: Lobby, b: Lobby, lcap: float, ucap: float, n_bucket: int) -> float:
    """Equation 2.3 on the two ranges as indicator functions."""
    low_a, high_a = non_outlier_range(a, lcap, ucap, n_bucket)
    low_b, high_b = non_outlier_range(b, lcap, ucap, n_bucket)
    shared = min(high_a, high_b) - max(low_a, low_b)
    if shared <= 0:
        return 0.0
    return shared / (max(high_a, high_b) - min(low_a, low_b))


def sanction_score(a: Lobby, b: Lobby, bounds: list[float], normalize: str) -> float:
    """Equation 4.1; lobbies of unequal size are repeated until they are equally long."""
    u = sorted(bucket(rating, bounds) for rating in a)
    v = sorted(bucket(rating, bounds) for rating in b)
    longer_u = sorted(u * len(v))
    longer_v = sorted(v * len(u))
    total = sum(abs(x - y) for x, y in zip(longer_u, longer_v, strict=True))
    if normalize == "mean":
        return total / (len(u) * len(v))
    return total * max(len(u), len(v)) / (len(u) * len(v))


def cinder(lobbies: list[Lobby], rules: Rules) -> list[tuple[int, int, float, float]]:
    """(seeker, opponent, overlap, score) of each match, lobbies in canonical order."""
    bounds = edges(rules.lcap, rules.ucap, rules.n_bucket, rules.w_min)
    free = list(range(len(lobbies)))
    matches = []

    def judged(i: int, j: int) -> tuple[float, float] | None:
        similarity = overlap(lobbies[i], lobbies[j], rules.lcap, rules.ucap, rules.n_bucket)
        score = sanction_score(lobbies[i], lobbies[j], bounds, rules.normalize)
        if similarity >= rules.overlap_min and score <= rules.sanction_max:
            return similarity, score
        return None

    if rules.mode == "first":
        for seeker in range(len(lobbies)):
            if seeker not in free:
                continue
            for opponent in free:
                verdict = judged(seeker, opponent) if opponent != seeker else None
                if verdict is not None:
                    matches.append((seeker, opponent, *verdict))
                    free.remove(seeker)
                    free.remove(opponent)
                    break
        return matches
    while True:
        best: tuple[int, int, float, float] | None = None
        for seeker in free:
            for opponent in free:
                verdict = judged(seeker, opponent) if seeker < opponent else None
                if verdict is not None and (best is None or verdict[1] < best[3]):
                    best = (seeker, opponent, *verdict)
        if best is None:
            return matches
        matches.append(best)
        free.remove(best[0])
        free.remove(best[1])


def all_pairs(
    low: Array, high: Array, buckets: Array, limit: int, overlap_min: float, mode: str
) -> list[tuple[int, int, int, float]]:
    """(seeker, opponent, sum of index differences, overlap) of each match, from a matrix of all pairs."""
    i, j = np.triu_indices(len(low), 1)
    shared = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
    union = np.maximum(high[i], high[j]) - np.minimum(low[i], low[j])
    similar = np.maximum(shared, 0.0) / union
    total = np.abs(buckets[i] - buckets[j]).sum(axis=1)
    fine = np.flatnonzero((similar >= overlap_min) & (total <= limit))
    order = np.lexsort((j[fine], i[fine], total[fine])) if mode == "best" else np.lexsort((j[fine], i[fine]))
    taken = np.zeros(len(low), bool)
    matches = []
    for pair in fine[order].tolist():
        if not taken[i[pair]] and not taken[j[pair]]:
            taken[i[pair]] = taken[j[pair]] = True
            matches.append((int(i[pair]), int(j[pair]), int(total[pair]), float(similar[pair])))
    return matches


def score_distribution(bounds: list[float], size: int) -> list[float]:
    """The exact probability of each sanction score of two lobbies with ratings uniform between the outer bounds.

    W1 is the sum, over the inner bounds, of how many more players of the one lobby are below than of the other. So
    buckets are gone through from below, with the players of each lobby that are below so far, and the score so far.
    """
    most = size * (len(bounds) - 2)
    chance = {(0, 0): [1.0] + [0.0] * most}
    for begin, end in pairwise(bounds[:-1]):
        share = (end - begin) / (bounds[-1] - begin) if end > begin else 0.0
        following: dict[tuple[int, int], list[float]] = {}
        for (below_one, below_other), scores in chance.items():
            for more_one, more_other in product(range(size - below_one + 1), range(size - below_other + 1)):
                weight = binomial(size - below_one, more_one, share) * binomial(size - below_other, more_other, share)
                state = (below_one + more_one, below_other + more_other)
                into = following.setdefault(state, [0.0] * (most + 1))
                cost = abs(state[0] - state[1])
                for score in range(most + 1 - cost):
                    into[score + cost] += weight * scores[score]
        chance = following
    return [sum(scores[score] for scores in chance.values()) for score in range(most + 1)]


def binomial(tries: int, hits: int, share: float) -> float:
    """The probability of so many hits."""
    return math.comb(tries, hits) * share**hits * (1 - share) ** (tries - hits)


def xoshiro256(words: list[int]) -> Iterator[int]:
    """xoshiro256++ (Blackman and Vigna, 2019), on whole numbers."""
    mask = (1 << 64) - 1

    def rotated(word: int, by: int) -> int:
        return ((word << by) | (word >> (64 - by))) & mask

    a, b, c, d = words
    while True:
        yield (rotated((a + d) & mask, 23) + a) & mask
        kept = (b << 17) & mask
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= kept
        d = rotated(d, 45)
