"""How even a match is expected to be, from the ratings of its teams.

Problem. People want one number from 0 (a walkover) to 1 (nobody can tell who will win) for a match that is proposed.

Idea. The Elo curve turns a rating gap into the probability p that the stronger side wins,
p = 1 / (1 + 10^(-gap / 400)). Evenness is 1 - |2p - 1|: 1 at p = 1/2, 0 at certainty. Since 2p - 1 is the hyperbolic
tangent of gap * ln(10) / 800, both are computed by `tanh`, which cannot overflow however large the gap.
A team is as strong as the mean of its players; with more than two teams the widest gap (strongest to weakest) counts.

A player without a rating counts as an average one (`RATING_DEFAULT`), so that no mean is ever NaN.

Complexity. Linear in the tickets seated; everything is compiled or vectorised over matches.
"""

import math
from functools import reduce
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import RATING_DEFAULT

from .compiled import FLOATS, FLOATS2, INT8S2, INT32S2, INTS, OUT_FLOATS, OUT_FLOATS2, kernel

__all__ = ["evenness", "match_quality", "rating_totals", "squared_gap", "team_means", "win_probability"]

_ELO: Final = math.log(10.0) / 800.0


def win_probability(gap: Array | float) -> Array:
    """float64, shape of `gap`: the probability that a side rated `gap` points above the other wins."""
    half: Array = 0.5 * np.tanh(np.asarray(gap, np.float64) * _ELO) + 0.5
    return half


def evenness(gap: Array | float) -> Array:
    """float64, shape of `gap`: predicted evenness, 1 for equals and towards 0 as the gap grows in either direction."""
    even: Array = 1.0 - np.tanh(np.abs(np.asarray(gap, np.float64)) * _ELO)
    return even


def rating_totals(snapshot: Snapshot) -> Array:
    """float64[n]: the sum of the ratings of each ticket's players."""
    if not len(snapshot):
        return np.empty(0)
    rating: Array = snapshot.facts["rating"]
    known: Array = np.where(np.isnan(rating), RATING_DEFAULT, rating)
    if snapshot.solo:
        return known
    totals: Array = np.add.reduceat(known, snapshot.player_start[:-1])
    return totals


def team_means(rosters: Array, team_of: Array, rating_total: Array, party_size: Array, teams: int) -> Array:
    """float64[k, teams]: mean rating of the players of each team; NaN for a team without players.

    `rosters` and `team_of` are those of a plan, int[k, width], -1 = empty; `rating_total` and `party_size` are [n].
    """
    means = np.empty((len(rosters), teams))
    _team_means(
        np.ascontiguousarray(rosters, np.int32),
        np.ascontiguousarray(team_of, np.int8),
        np.ascontiguousarray(rating_total, np.float64),
        np.ascontiguousarray(party_size, np.int64),
        means,
    )
    return means


@kernel(INT32S2, INT8S2, FLOATS, INTS, OUT_FLOATS2)
def _team_means(rosters: Array, team_of: Array, rating_total: Array, party_size: Array, means: Array) -> None:
    matches, width = rosters.shape
    teams = means.shape[1]
    players = np.empty(teams, np.int64)
    for match in range(matches):
        means[match] = 0.0
        players[:] = 0
        for place in range(width):
            row = rosters[match, place]
            if row >= 0:
                means[match, team_of[match, place]] += rating_total[row]
                players[team_of[match, place]] += party_size[row]
        for team in range(teams):
            means[match, team] = means[match, team] / players[team] if players[team] else np.nan


def match_quality(means: Array) -> Array:
    """float64[k]: evenness of strongest against weakest team, from float64[k, teams]; NaN where there is one team."""
    if means.shape[1] < 2:
        return np.full(len(means), np.nan)
    return evenness(reduce(np.maximum, means.T) - reduce(np.minimum, means.T))


def squared_gap(means: Array) -> Array:
    """float64[k]: the squared gap between the highest and the lowest of each row of float64[k, m], NaN passed over."""
    gaps = np.empty(len(means))
    _squared_gaps(np.ascontiguousarray(means, np.float64), gaps)
    return gaps


@kernel(FLOATS2, OUT_FLOATS)
def _squared_gaps(means: Array, gaps: Array) -> None:
    for row in range(len(means)):
        high = low = np.nan
        for mean in means[row]:
            if not np.isnan(mean):
                high = mean if np.isnan(high) or mean > high else high
                low = mean if np.isnan(low) or mean < low else low
        gaps[row] = (high - low) * (high - low)
