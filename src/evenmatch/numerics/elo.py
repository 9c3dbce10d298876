"""Elo ratings, for teams as well: the expected result follows from the difference of mean ratings.

Two teams: expected = 1 / (1 + 10^((other - own) / scale)), and each player moves by k * (result - expected), where the
result is 1, 1/2 or 0. More teams: results and expectations are averaged over the other teams, so a match moves nobody
by more than k. A player's k may differ from another's: newcomers are placed with a larger one.

Source: Elo, "The Rating of Chessplayers, Past and Present" (1978); scale 400 as FIDE has it.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOAT, FLOATS, INTS, INTS2, kernel

__all__ = ["odds", "updated", "updated_many"]


@kernel()
def _means(rating: Array, start: Array) -> Array:
    means = np.zeros(len(start) - 1)
    for team in range(len(means)):
        means[team] = rating[start[team] : start[team + 1]].mean()
    return means


@kernel()
def _expected(mean: float, other: float, scale: float) -> float:
    expected: float = 1.0 / (1.0 + 10.0 ** ((other - mean) / scale))
    return expected


@kernel(FLOATS, FLOATS, INTS, INTS, FLOAT)
def updated(rating: Array, k: Array, start: Array, rank: Array, scale: float) -> Array:
    """float64[players]: new ratings after one match.

    `k`, float64[players]; `start`, int64[teams + 1]: the players of team t are start[t] : start[t + 1]; `rank`,
    int64[teams]: lower finished better, equal drew.
    """
    means, teams = _means(rating, start), len(rank)
    new = np.empty(len(rating))
    for team in range(teams):
        surplus = 0.0
        for other in range(teams):
            if other != team:
                result = 1.0 if rank[team] < rank[other] else 0.0 if rank[team] > rank[other] else 0.5
                surplus += result - _expected(means[team], means[other], scale)
        for player in range(start[team], start[team + 1]):
            new[player] = rating[player] + k[player] * surplus / (teams - 1)
    return new


@kernel(FLOATS, FLOATS, INTS, INTS2, FLOAT)
def updated_many(rating: Array, k: Array, start: Array, rank: Array, scale: float) -> Array:
    """The same after many matches of one shape, each with players of its own, who stand match by match.

    `rank`, int64[matches, teams].
    """
    seats = start[-1]
    new = np.empty(len(rating))
    for match in range(len(rank)):
        first, end = match * seats, (match + 1) * seats
        new[first:end] = updated(rating[first:end], k[first:end], start, rank[match], scale)
    return new


@kernel(FLOATS, INTS, FLOAT)
def odds(rating: Array, start: Array, scale: float) -> Array:
    """float64[teams]: how likely each team is to win, draws aside; the sum is 1."""
    means, teams = _means(rating, start), len(start) - 1
    chance = np.zeros(teams)
    for team in range(teams):
        for other in range(teams):
            if other != team:
                chance[team] += _expected(means[team], means[other], scale)
    shares: Array = chance / chance.sum()
    return shares
