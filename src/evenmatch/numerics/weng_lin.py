"""Ratings of players in teams, learned from finishing orders: Weng and Lin's approximation of the Plackett-Luce model.

Problem. After a match of any number of teams, of any sizes, with draws, say how good each player now seems (mu) and how
unsure that is (sigma).

Idea. A team is as strong as the sum of its players, N(sum mu, sum sigma^2). Finishing orders follow Plackett-Luce: the
winner is drawn in proportion to exp(strength / c), then the next from those who are left, where c^2 = sum over teams
of (team variance + beta^2). One step of moment matching gives for team i, over the teams q that finished no later,

    p_iq  = exp(mu_i / c) / sum of exp(mu_s / c) over the teams s that finished no earlier than q
    omega = variance_i / c   * sum of ([q = i] - p_iq) / (teams drawn with q)
    delta = variance_i / c^2 * sum of p_iq * (1 - p_iq) / (teams drawn with q) * sqrt(variance_i) / c

and each player takes a share of both in proportion to his own variance: mu += share * omega and
sigma *= sqrt(max(1 - share * delta, kappa)). Before that, tau^2 is added to every variance: skill drifts.

Numbers. Exponents are taken relative to the strongest team, so no rating is too large. Scales are free: multiply mu,
sigma, beta and tau by one number, and everything else scales along.

Complexity. O(teams^2 + players) a match.

Source: Weng and Lin, "A Bayesian Approximation Method for Online Ranking", JMLR 12 (2011), algorithm 4.
"""

import math

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOAT, FLOATS, INTS, INTS2, kernel

__all__ = ["odds", "updated", "updated_many"]


@kernel()
def _teams(mu: Array, sigma: Array, start: Array, drift: float) -> tuple[Array, Array]:
    """The strength and the variance of each team; `drift` is added to each player's variance."""
    teams = len(start) - 1
    strength, variance = np.zeros(teams), np.zeros(teams)
    for team in range(teams):
        for player in range(start[team], start[team + 1]):
            strength[team] += mu[player]
            variance[team] += sigma[player] * sigma[player] + drift
    return strength, variance


@kernel(FLOATS, FLOATS, INTS, INTS, FLOAT, FLOAT, FLOAT)
def updated(
    mu: Array, sigma: Array, start: Array, rank: Array, beta: float, tau: float, kappa: float
) -> tuple[Array, Array]:
    """New mu and sigma, float64[players] each, after one match.

    `start`, int64[teams + 1]: the players of team t are start[t] : start[t + 1]; `rank`, int64[teams]: lower finished
    better, equal drew.
    """
    teams = len(rank)
    strength, variance = _teams(mu, sigma, start, tau * tau)
    c = math.sqrt(variance.sum() + teams * beta * beta)
    power = np.exp((strength - strength.max()) / c)
    later, drawn = np.zeros(teams), np.zeros(teams)
    for one in range(teams):
        for other in range(teams):
            if rank[other] >= rank[one]:
                later[one] += power[other]
            if rank[other] == rank[one]:
                drawn[one] += 1.0
    new_mu, new_sigma = np.empty(len(mu)), np.empty(len(mu))
    for team in range(teams):
        omega, delta = 0.0, 0.0
        for other in range(teams):
            if rank[other] <= rank[team]:
                chance = power[team] / later[other]
                omega += ((1.0 if other == team else 0.0) - chance) / drawn[other]
                delta += chance * (1.0 - chance) / drawn[other]
        omega *= variance[team] / c
        delta *= variance[team] / (c * c) * math.sqrt(variance[team]) / c
        for player in range(start[team], start[team + 1]):
            own = sigma[player] * sigma[player] + tau * tau
            share = own / variance[team]
            new_mu[player] = mu[player] + share * omega
            new_sigma[player] = math.sqrt(own * max(1.0 - share * delta, kappa))
    return new_mu, new_sigma


@kernel(FLOATS, FLOATS, INTS, INTS2, FLOAT, FLOAT, FLOAT)
def updated_many(
    mu: Array, sigma: Array, start: Array, rank: Array, beta: float, tau: float, kappa: float
) -> tuple[Array, Array]:
    """The same after many matches of one shape, each with players of its own, who stand match by match.

    `rank`, int64[matches, teams].
    """
    seats = start[-1]
    new_mu, new_sigma = np.empty(len(mu)), np.empty(len(mu))
    for match in range(len(rank)):
        first, end = match * seats, (match + 1) * seats
        one, unsure = updated(mu[first:end], sigma[first:end], start, rank[match], beta, tau, kappa)
        new_mu[first:end] = one
        new_sigma[first:end] = unsure
    return new_mu, new_sigma


@kernel(FLOATS, FLOATS, INTS, FLOAT)
def odds(mu: Array, sigma: Array, start: Array, beta: float) -> Array:
    """float64[teams]: how likely each team is to win, draws aside; the sum is 1.

    Two teams: the chance that one normal strength exceeds the other. More: each team's mean chance against the others.
    """
    teams = len(start) - 1
    strength, variance = _teams(mu, sigma, start, 0.0)
    chance = np.zeros(teams)
    for one in range(teams):
        for other in range(teams):
            if other != one:
                spread = math.sqrt(2.0 * beta * beta + variance[one] + variance[other])
                chance[one] += 0.5 * math.erfc((strength[other] - strength[one]) / (spread * math.sqrt(2.0)))
    shares: Array = chance / chance.sum()
    return shares
