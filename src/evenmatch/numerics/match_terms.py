"""What is wrong with a match, in named terms: the one place where the cost of the matcher `even` is defined.

Problem. A match may be unlike in ratings, lopsided, slow for somebody, or one party against single players. A plan is
judged by one number, and whoever reads it wants to know what it is made of.

Idea. A sum of terms, each 0 where nothing is wrong and counted for all players of the match, so that weights mean the
same in every format. N players in T teams of S; ratings mu with deviations sigma; scale is `rating_scale`:

    spread        sum of |mu - median of the match| / scale
    imbalance     N * (2p - 1)^2, p: the probability that the team of highest mean mu beats the one of lowest
    distribution  N * W / scale, W: the Wasserstein distance between the ratings of two teams, of the worst two teams
    latency       N * the worst player's latency in the region that is best for the match / 100 ms
    premade       N * (most - least) / S^2, over teams: the sum of squared party sizes
    role          what it costs that players do not play the roles they prefer, added up
    repeat        pairs of tickets that met lately and meet again, as opponents or in a match of one team

    cost = sum of weight * term, rounded to whole parts of 1 / UNITS

p is the Elo curve on `scale`, flattened by doubt as Glicko does: 2p - 1 = tanh(q/2 * gap / sqrt(1 + 3 q^2 v / pi^2)),
with q = ln 10 / scale, gap the difference of both means and v the variance of that difference. It enters squared,
since |p - 1/2| added up would prefer one perfect and one bad match to two fair ones.

Why rounded. Whole parts of a power of two are added without rounding in any order, so equal plans have equal costs, and
solvers that need whole numbers solve the very problem that is stated.

The functions for one match are for kernels that search; `plan_terms` is for plans. Both are the same code. A twin that
only follows the table above is in tests/reference/match_terms.py.

Complexity. Sorting the players of each match; with more than two teams every two of them are compared.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOAT, FLOATS, FLOATS2, INT, INT8S2, INT32S2, INTS, OUT_FLOATS, OUT_FLOATS2, kernel

__all__ = [
    "LATENCY_MOST_MS",
    "TERMS",
    "UNITS",
    "Weights",
    "cost_of",
    "distribution_of",
    "doubt_of",
    "imbalance_of",
    "latency_of",
    "match_terms",
    "plan_costs",
    "plan_terms",
    "premade_of",
    "repeats",
    "spread_of",
    "units_of",
]

TERMS: Final = ("spread", "imbalance", "distribution", "latency", "premade", "role", "repeat")
SPREAD, IMBALANCE, DISTRIBUTION, LATENCY, PREMADE, ROLE, REPEAT = range(7)
UNITS: Final = 65536.0
"""Costs are whole multiples of one in so many."""
LATENCY_UNIT_MS: Final = 100.0
LATENCY_MOST_MS: Final = 1000.0
"""A match without a region that all its players name counts as this slow; so does a slower one."""
_LN10: Final = math.log(10.0)
_DOUBT: Final = 3.0 / math.pi**2


class Weights(NamedTuple):
    """What each term counts for, 0 or more; in the order of `TERMS`."""

    spread: float = 1.0
    imbalance: float = 1.0
    distribution: float = 0.5
    latency: float = 0.1
    premade: float = 0.25
    role: float = 1.0
    repeat: float = 0.5

    @property
    def array(self) -> Array:
        """float64[7]."""
        return np.array(self, np.float64)


@kernel()
def spread_of(ordered: Array, scale: float) -> float:
    """Spread of a match, from the ratings of all its players in ascending order."""
    total, last = 0.0, len(ordered) - 1
    for at in range(len(ordered) // 2):
        total += ordered[last - at] - ordered[at]
    return total / scale


@kernel()
def doubt_of(variance: float, scale: float) -> float:
    """What the gap between two means is divided by, from the variance of that gap: 1 or more."""
    slope = _LN10 / scale
    return math.sqrt(1.0 + _DOUBT * slope * slope * variance)


@kernel()
def imbalance_of(gap: float, doubt: float, players: int, scale: float) -> float:
    """Imbalance of a match whose strongest and weakest team have means so far apart."""
    lean = math.tanh(0.5 * _LN10 / scale * gap / doubt)
    return players * (lean * lean)


@kernel()
def distribution_of(one: Array, other: Array, players: int, scale: float) -> float:
    """Distribution of a match of two teams of one size, from the ratings of each in ascending order."""
    moved = 0.0
    for at in range(len(one)):
        moved += abs(one[at] - other[at])
    return players * (moved / len(one)) / scale


@kernel()
def latency_of(worst_ms: float, players: int) -> float:
    """Latency of a match, from that of its worst player in the region that is best for it; inf = there is none."""
    return players * min(worst_ms, LATENCY_MOST_MS) / LATENCY_UNIT_MS


@kernel()
def premade_of(most: int, least: int, players: int, size: int) -> float:
    """Premade of a match, from the highest and the lowest sum of squared party sizes of its teams."""
    return players * (most - least) / (size * size)


@kernel()
def units_of(cost: float) -> int:
    """A cost as a whole number of 1 / UNITS."""
    return math.floor(cost * UNITS + 0.5)


@kernel()
def cost_of(terms: Array, weights: Array) -> float:
    """The cost of a match, from its terms and their weights, float64[7] each."""
    total = 0.0
    for at in range(len(weights)):
        total += weights[at] * terms[at]
    return units_of(total) / UNITS


@kernel()
def _best_region_ms(roster: Array, latency: Array, reach: Array) -> float:
    """The worst ticket's latency in the best region that all can reach; inf = none, 0 = nobody tells any."""
    regions = latency.shape[1]
    if regions == 0:
        return 0.0
    best = np.inf
    for region in range(regions):
        worst, open_to_all = 0.0, True
        for row in roster:
            if row >= 0:
                worst = max(worst, latency[row, region])
                open_to_all &= len(reach) == 0 or (reach[row] >> region) & 1 == 1
        if open_to_all:
            best = min(best, worst)
    return best


@kernel()
def match_terms(
    roster: Array,
    team_of: Array,
    start: Array,
    mu: Array,
    sigma: Array,
    latency: Array,
    reach: Array,
    teams: int,
    size: int,
    scale: float,
    ratings: Array,
    terms: Array,
) -> None:
    """Write the terms of one match, but for `role` and `repeat`, which are added to what stands there.

    `roster` and `team_of`, int[width]: rows and their teams, -1 = empty; the rest is as in `plan_terms`. `ratings`,
    float64[teams, size], is to be used freely and holds the sorted ratings of each team afterwards.
    """
    players = teams * size
    filled = np.zeros(teams, np.int64)
    squares = np.zeros(teams, np.int64)
    totals, variances = np.zeros(teams), np.zeros(teams)
    for place in range(len(roster)):
        row = roster[place]
        if row < 0:
            continue
        team, party = team_of[place], start[row + 1] - start[row]
        squares[team] += party * party
        for player in range(start[row], start[row + 1]):
            ratings[team, filled[team]] = mu[player]
            filled[team] += 1
            totals[team] += mu[player]
            variances[team] += sigma[player] * sigma[player]
    for team in range(teams):
        ratings[team].sort()
    terms[SPREAD] = spread_of(np.sort(ratings.ravel()), scale)
    terms[IMBALANCE] = terms[DISTRIBUTION] = terms[PREMADE] = 0.0
    if teams > 1:
        strong, weak = totals.argmax(), totals.argmin()
        doubt = doubt_of((variances[strong] + variances[weak]) / (size * size), scale)
        terms[IMBALANCE] = imbalance_of((totals[strong] - totals[weak]) / size, doubt, players, scale)
        terms[PREMADE] = premade_of(squares.max(), squares.min(), players, size)
        if size == 1:
            low, high = ratings[weak], ratings[strong]
            terms[DISTRIBUTION] = distribution_of(low, high, players, scale)
        else:
            for one in range(teams):
                for other in range(one):
                    apart = distribution_of(ratings[one], ratings[other], players, scale)
                    terms[DISTRIBUTION] = max(terms[DISTRIBUTION], apart)
    terms[LATENCY] = latency_of(_best_region_ms(roster, latency, reach), players)


@kernel(INT32S2, INT8S2, INTS, FLOATS, FLOATS, FLOATS2, INTS, INT, INT, FLOAT, OUT_FLOATS2)
def _plan_terms(
    rosters: Array,
    team_of: Array,
    start: Array,
    mu: Array,
    sigma: Array,
    latency: Array,
    reach: Array,
    teams: int,
    size: int,
    scale: float,
    terms: Array,
) -> None:
    ratings = np.empty((teams, size))
    for match in range(len(rosters)):
        match_terms(
            *(rosters[match], team_of[match], start, mu, sigma, latency, reach, teams, size, scale),
            *(ratings, terms[match]),
        )


@kernel(FLOATS2, FLOATS, OUT_FLOATS)
def _costs(terms: Array, weights: Array, costs: Array) -> None:
    for match in range(len(terms)):
        costs[match] = cost_of(terms[match], weights)


def plan_terms(
    rosters: Array,
    team_of: Array,
    *,
    start: Array,
    mu: Array,
    sigma: Array,
    latency: Array,
    reach: Array,
    teams: int,
    size: int,
    scale: float,
    role: Array | None = None,
    met: Array | None = None,
) -> Array:
    """float64[k, 7]: the terms of each match of a plan's `rosters` and `team_of`, int[k, width], in order of `TERMS`.

    `start`, int64[n + 1]: where the players of each row begin; `mu`, `sigma`, float64[m]: of each player; `latency`,
    float64[n, regions]: milliseconds of a row's worst player, inf = not told, no regions = nobody tells any; `reach`,
    int64[n]: regions as bits, empty = all; `role`, float64[k]: what the roles of each match cost; `met`, int64[p, 2]:
    pairs of rows that met lately. Every team must be full.
    """
    terms = np.zeros((len(rosters), len(TERMS)))
    _plan_terms(
        np.ascontiguousarray(rosters, np.int32),
        np.ascontiguousarray(team_of, np.int8),
        np.ascontiguousarray(start, np.int64),
        np.ascontiguousarray(mu, np.float64),
        np.ascontiguousarray(sigma, np.float64),
        np.ascontiguousarray(latency, np.float64),
        np.ascontiguousarray(reach, np.int64),
        teams,
        size,
        float(scale),
        terms,
    )
    if role is not None:
        terms[:, ROLE] = role
    if met is not None and len(met):
        terms[:, REPEAT] = repeats(rosters, team_of, met, len(start) - 1, teams)
    return terms


def repeats(rosters: Array, team_of: Array, met: Array, rows: int, teams: int) -> Array:
    """int64[k]: in each match, the pairs of `met` that meet again as opponents, or in a match of one team."""
    match_of, side_of = np.full(rows, -1), np.full(rows, -1)
    filled = rosters >= 0
    match_of[rosters[filled]], side_of[rosters[filled]] = np.nonzero(filled)[0], team_of[filled]
    one, other = met.T
    again = (match_of[one] == match_of[other]) & (match_of[one] >= 0)
    if teams > 1:
        again &= side_of[one] != side_of[other]
    return np.bincount(match_of[one[again]], minlength=len(rosters))


def plan_costs(terms: Array, weights: Weights) -> Array:
    """float64[k]: the cost of each match, from its terms."""
    costs = np.empty(len(terms))
    _costs(np.ascontiguousarray(terms, np.float64), weights.array, costs)
    return costs
