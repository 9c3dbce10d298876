"""How even a match is expected to be, from the ratings of its teams.

Problem. People want one number from 0 (a walkover) to 1 (nobody can tell who will win) for a match that is proposed.

Idea. The Elo curve turns a rating gap into the probability p that the stronger side wins,
p = 1 / (1 + 10^(-gap / 400)). Evenness is 1 - |2p - 1|: 1 at p = 1/2, 0 at certainty. Since 2p - 1 is the hyperbolic
tangent of gap * ln(10) / 800, both are computed by `tanh`, which cannot overflow however large the gap.
A team is as strong as the mean of its players; with more than two teams the widest gap (strongest to weakest) counts.

A player without a rating counts as an average one (`RATING_DEFAULT`), so that no mean is ever NaN.

Complexity. Linear in the tickets seated; everything is vectorised over matches.
"""

import math
from functools import reduce
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import RATING_DEFAULT

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
    if len(known) == len(snapshot):
        return known
    totals: Array = np.add.reduceat(known, snapshot.player_start[:-1])
    return totals


def team_means(rosters: Array, team_of: Array, rating_total: Array, party_size: Array, teams: int) -> Array:
    """float64[k, teams]: mean rating of the players of each team; NaN for a team without players.

    `rosters` and `team_of` are those of a plan, int[k, width], -1 = empty; `rating_total` and `party_size` are [n].
    """
    matches = len(rosters)
    filled = rosters >= 0
    rows = rosters[filled]
    seat_team = (np.arange(matches)[:, None] * teams + team_of)[filled]
    total = np.bincount(seat_team, weights=rating_total[rows], minlength=matches * teams)
    players = np.bincount(seat_team, weights=party_size[rows], minlength=matches * teams)
    means: Array = np.full(matches * teams, np.nan)
    np.divide(total, players, out=means, where=players > 0)
    return means.reshape(matches, teams)


def match_quality(means: Array) -> Array:
    """float64[k]: evenness of strongest against weakest team, from float64[k, teams]; NaN where there is one team."""
    if means.shape[1] < 2:
        return np.full(len(means), np.nan)
    return evenness(reduce(np.maximum, means.T) - reduce(np.minimum, means.T))


def squared_gap(means: Array) -> Array:
    """float64[k]: the squared gap between the highest and the lowest of each row of float64[k, m], NaN passed over."""
    # Column by column: rows are short and many, which reductions along an axis are slow at.
    gap: Array = reduce(np.fmax, means.T) - reduce(np.fmin, means.T)
    return gap * gap
