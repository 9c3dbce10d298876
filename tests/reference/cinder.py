"""Cinder, equation by equation, in loops."""

import math
from typing import NamedTuple, TypeAlias

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
