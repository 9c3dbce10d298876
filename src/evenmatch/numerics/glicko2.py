"""Glicko-2: a rating with a deviation, and a volatility that says how steady a player is.

Problem. A rating should move far while little is known of a player and little once much is, and become unsure again
while the player is away.

Idea. On an inner scale, mu = (rating - 1500) / 173.7178 and phi = deviation / 173.7178. Against opponents j with
results s_j

    g_j = 1 / sqrt(1 + 3 phi_j^2 / pi^2)        E_j = 1 / (1 + exp(-g_j (mu - mu_j)))
    v = 1 / sum g_j^2 E_j (1 - E_j)             improvement = v * sum g_j (s_j - E_j)

the volatility is where a function f crosses zero, found by the Illinois variant of regula falsi; then
phi* = sqrt(phi^2 + volatility^2), phi' = 1 / sqrt(1 / phi*^2 + 1 / v) and mu' = mu + phi'^2 * sum g_j (s_j - E_j).

Teams (ours; the paper knows single players): a player meets every other team as one opponent, whose mu is the team's
mean and whose phi is the root of its mean square. In `odds` both teams' deviations count, as g of their joint phi.

Away. Each period without a match adds volatility^2 to phi^2, up to the deviation of a newcomer.

Complexity. O(teams^2 + players * teams) a match.

Source: Glickman, "Example of the Glicko-2 system" (2013), whose example is a test.
"""

import math

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOAT, FLOATS, INTS, INTS2, kernel

__all__ = ["after_periods", "away", "odds", "updated", "updated_many"]

CENTRE = 1500.0
SCALE = 173.7178
_CLOSE = 1e-6


@kernel()
def _g(phi: float) -> float:
    return 1.0 / math.sqrt(1.0 + 3.0 * phi * phi / (math.pi * math.pi))


@kernel()
def _f(x: float, improvement: float, phi: float, v: float, centre: float, tau: float) -> float:
    spread = phi * phi + v + math.exp(x)
    return math.exp(x) * (improvement * improvement - spread) / (2.0 * spread * spread) - (x - centre) / (tau * tau)


@kernel()
def _new_volatility(improvement: float, phi: float, v: float, volatility: float, tau: float) -> float:
    """Step 5 of the paper."""
    centre = math.log(volatility * volatility)
    low = centre
    if improvement * improvement > phi * phi + v:
        high = math.log(improvement * improvement - phi * phi - v)
    else:
        steps = 1
        while _f(centre - steps * tau, improvement, phi, v, centre, tau) < 0.0:
            steps += 1
        high = centre - steps * tau
    at_low, at_high = _f(low, improvement, phi, v, centre, tau), _f(high, improvement, phi, v, centre, tau)
    while abs(high - low) > _CLOSE:
        middle = low + (low - high) * at_low / (at_high - at_low)
        at_middle = _f(middle, improvement, phi, v, centre, tau)
        if at_middle * at_high <= 0.0:
            low, at_low = high, at_high
        else:
            at_low /= 2.0
        high, at_high = middle, at_middle
    return math.exp(low / 2.0)


@kernel()
def _after(
    mu: float, phi: float, volatility: float, other_mu: Array, other_phi: Array, result: Array, tau: float
) -> tuple[float, float, float]:
    """Steps 3 to 7 of the paper, on the inner scale."""
    information, surplus = 0.0, 0.0
    for other in range(len(result)):
        g = _g(other_phi[other])
        expected = 1.0 / (1.0 + math.exp(-g * (mu - other_mu[other])))
        information += g * g * expected * (1.0 - expected)
        surplus += g * (result[other] - expected)
    v = 1.0 / information
    volatility = _new_volatility(v * surplus, phi, v, volatility, tau)
    widened = phi * phi + volatility * volatility
    phi = 1.0 / math.sqrt(1.0 / widened + 1.0 / v)
    return mu + phi * phi * surplus, phi, volatility


@kernel(FLOAT, FLOAT, FLOAT, FLOATS, FLOATS, FLOATS, FLOAT)
def after_periods(
    rating: float, deviation: float, volatility: float, others: Array, deviations: Array, results: Array, tau: float
) -> tuple[float, float, float]:
    """One player's rating, deviation and volatility after a period of games; results are 1, 0.5 or 0."""
    mu, phi, volatility = _after(
        (rating - CENTRE) / SCALE,
        deviation / SCALE,
        volatility,
        (others - CENTRE) / SCALE,
        deviations / SCALE,
        results,
        tau,
    )
    return mu * SCALE + CENTRE, phi * SCALE, volatility


@kernel()
def _teams(rating: Array, deviation: Array, start: Array) -> tuple[Array, Array]:
    """The mean mu and the root mean square phi of each team."""
    teams = len(start) - 1
    mu, phi = np.zeros(teams), np.zeros(teams)
    for team in range(teams):
        for player in range(start[team], start[team + 1]):
            mu[team] += (rating[player] - CENTRE) / SCALE
            phi[team] += (deviation[player] / SCALE) ** 2
        size = start[team + 1] - start[team]
        mu[team], phi[team] = mu[team] / size, math.sqrt(phi[team] / size)
    return mu, phi


@kernel(FLOATS, FLOATS, FLOATS, INTS, INTS, FLOAT)
def updated(
    rating: Array, deviation: Array, volatility: Array, start: Array, rank: Array, tau: float
) -> tuple[Array, Array, Array]:
    """New rating, deviation and volatility, float64[players] each, after one match, taken as a period of its own.

    `start`, int64[teams + 1]: the players of team t are start[t] : start[t + 1]; `rank`, int64[teams]: lower finished
    better, equal drew.
    """
    teams, count = len(rank), len(rating)
    mu, phi = _teams(rating, deviation, start)
    new_rating, new_deviation, new_volatility = np.empty(count), np.empty(count), np.empty(count)
    other_mu, other_phi, result = np.empty(teams - 1), np.empty(teams - 1), np.empty(teams - 1)
    for team in range(teams):
        at = 0
        for other in range(teams):
            if other != team:
                other_mu[at], other_phi[at] = mu[other], phi[other]
                result[at] = 1.0 if rank[team] < rank[other] else 0.0 if rank[team] > rank[other] else 0.5
                at += 1
        for player in range(start[team], start[team + 1]):
            one, unsure, steady = _after(
                (rating[player] - CENTRE) / SCALE,
                deviation[player] / SCALE,
                volatility[player],
                other_mu,
                other_phi,
                result,
                tau,
            )
            new_rating[player] = one * SCALE + CENTRE
            new_deviation[player], new_volatility[player] = unsure * SCALE, steady
    return new_rating, new_deviation, new_volatility


@kernel(FLOATS, FLOATS, FLOATS, INTS, INTS2, FLOAT)
def updated_many(
    rating: Array, deviation: Array, volatility: Array, start: Array, rank: Array, tau: float
) -> tuple[Array, Array, Array]:
    """The same after many matches of one shape, each with players of its own, who stand match by match.

    `rank`, int64[matches, teams].
    """
    seats, count = start[-1], len(rating)
    new_rating, new_deviation, new_volatility = np.empty(count), np.empty(count), np.empty(count)
    for match in range(len(rank)):
        first, end = match * seats, (match + 1) * seats
        one, unsure, steady = updated(
            rating[first:end], deviation[first:end], volatility[first:end], start, rank[match], tau
        )
        new_rating[first:end] = one
        new_deviation[first:end] = unsure
        new_volatility[first:end] = steady
    return new_rating, new_deviation, new_volatility


@kernel(FLOATS, FLOATS, INTS)
def odds(rating: Array, deviation: Array, start: Array) -> Array:
    """float64[teams]: how likely each team is to win, draws aside; the sum is 1."""
    mu, phi = _teams(rating, deviation, start)
    teams = len(mu)
    chance = np.zeros(teams)
    for team in range(teams):
        for other in range(teams):
            if other != team:
                g = _g(math.sqrt(phi[team] ** 2 + phi[other] ** 2))
                chance[team] += 1.0 / (1.0 + math.exp(-g * (mu[team] - mu[other])))
    shares: Array = chance / chance.sum()
    return shares


def away(deviation: Array, volatility: Array, periods: Array | float, most: float) -> Array:
    """Deviations after so many periods without a match; none grows beyond `most`."""
    grown: Array = np.sqrt(deviation**2 + periods * (volatility * SCALE) ** 2)
    return np.minimum(grown, np.maximum(most, deviation))
