"""The slow twin of `evenmatch.numerics.match_terms`: its table, term by term, over lists."""

import math
from itertools import combinations
from statistics import median

Player = tuple[float, float]
"""mu, sigma"""
Ticket = tuple[list[Player], list[float]]
"""The players, and the worst latency in each region."""


def terms(teams: list[list[Ticket]], scale: float, open_regions: list[int], met: int = 0) -> dict[str, float]:
    """The terms of one match; `open_regions`: those that all its tickets can reach."""
    mus = [[mu for players, _ in team for mu, _ in players] for team in teams]
    everybody = [mu for team in mus for mu in team]
    count, size = len(everybody), len(mus[0])
    middle = median(everybody)
    tickets = [ticket for team in teams for ticket in team]
    regions = range(len(tickets[0][1]))
    best = min((max(latency[r] for _, latency in tickets) for r in regions if r in open_regions), default=math.inf)
    found = {
        "spread": sum(abs(mu - middle) for mu in everybody) / scale,
        "imbalance": 0.0,
        "distribution": 0.0,
        "latency": count * min(best, 1000.0) / 100.0 if len(regions) else 0.0,
        "premade": 0.0,
        "role": 0.0,
        "repeat": float(met),
    }
    if len(teams) > 1:
        means = [sum(team) / size for team in mus]
        strong, weak = means.index(max(means)), means.index(min(means))
        variance = sum(sigma**2 for at in (strong, weak) for players, _ in teams[at] for _, sigma in players) / size**2
        slope = math.log(10) / scale
        flat = math.sqrt(1 + 3 * slope**2 * variance / math.pi**2)
        probability = 1 / (1 + math.exp(-slope * (means[strong] - means[weak]) / flat))
        found["imbalance"] = count * (2 * probability - 1) ** 2
        apart = [
            sum(abs(x - y) for x, y in zip(sorted(a), sorted(b), strict=True)) / size for a, b in combinations(mus, 2)
        ]
        found["distribution"] = count * max(apart) / scale
        squares = [sum(len(players) ** 2 for players, _ in team) for team in teams]
        found["premade"] = count * (max(squares) - min(squares)) / size**2
    return found
