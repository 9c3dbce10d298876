"""May these tickets be one match, and what does it cost? Asked by every part of the team search, answered here.

Rules of a match, beside full teams: its range of ratings is within what the policy makes of its tickets' windows; one
region is in reach of all; no two of its tickets are to be kept apart. Costs are those of `match_terms`; the roles of
each team are given out at the least price (`role_seats`).

A range may be wider than the windows allow by `HAIR`, for sums of windows are rounded in the order of adding.

A match is given by `roster`, places of the field in rising order, so its first and last tickets bound its range.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import kernel
from .match_terms import REPEAT, ROLE, cost_of, match_terms
from .role_seats import role_seats
from .team_field import MEAN, OLDER, Field

__all__ = ["HAIR", "are_apart", "cost_of_match", "holds", "limit_of", "repeats_of", "team_role_cost"]

HAIR: Final = 1e-9


@kernel()
def limit_of(field: Field, roster: Array) -> float:
    """The widest range of ratings that the tickets of a match allow together."""
    total, players, least, eldest = 0.0, 0, np.inf, roster[0]
    for place in roster:
        total += field.window[place] * field.size[place]
        players += field.size[place]
        least = min(least, field.window[place])
        if field.elder[place] < field.elder[eldest]:
            eldest = place
    if field.policy == OLDER:
        least = field.window[eldest]
    return total / players if field.policy == MEAN else least


@kernel()
def are_apart(field: Field, one: int, other: int) -> bool:
    """Whether two tickets must not meet."""
    apart = False
    for at in range(field.apart_start[one], field.apart_start[one + 1]):
        apart |= field.apart[at] == other
    return apart


@kernel()
def holds(field: Field, roster: Array) -> bool:
    """Whether these tickets may be one match, as far as windows, regions and those to be kept apart go."""
    common = -1
    for place in roster:
        common &= field.reach[place]
    if common == 0 or field.rate[roster[-1]] - field.rate[roster[0]] > limit_of(field, roster) + HAIR:
        return False
    for at in range(len(roster)):
        if field.apart_start[roster[at] + 1] > field.apart_start[roster[at]]:
            for before in range(at):
                if are_apart(field, roster[at], roster[before]):
                    return False
    return True


@kernel()
def team_role_cost(field: Field, roster: Array, team_of: Array, team: int) -> float:
    """What the roles of a team cost at the least; inf = they can't be given out, 0 = there are none."""
    if not len(field.slots):
        return 0.0
    players, seat_of = np.empty(field.team_size, np.int64), np.empty(field.team_size, np.int64)
    filled = 0
    for at in range(len(roster)):
        if team_of[at] == team:
            for player in range(field.start[roster[at]], field.start[roster[at] + 1]):
                players[filled] = player
                filled += 1
    return role_seats(field.role_cost, players, field.slots, seat_of)


@kernel()
def repeats_of(field: Field, roster: Array, team_of: Array) -> int:
    """Pairs of tickets that met lately and would meet again, as opponents or in a match of one team."""
    pairs = 0
    if not len(field.met):
        return pairs
    for at in range(len(roster)):
        for before in range(at):
            if field.teams == 1 or team_of[at] != team_of[before]:
                for met in range(field.met_start[roster[at]], field.met_start[roster[at] + 1]):
                    pairs += field.met[met] == roster[before]
    return pairs


@kernel()
def cost_of_match(field: Field, roster: Array, team_of: Array) -> float:
    """The cost of a match of full teams; inf = a team can't be given its roles."""
    terms = np.zeros(7)
    for team in range(field.teams):
        terms[ROLE] += team_role_cost(field, roster, team_of, team)
    if terms[ROLE] == np.inf:
        return np.inf
    terms[REPEAT] = repeats_of(field, roster, team_of)
    ratings = np.empty((field.teams, field.team_size))
    match_terms(
        *(roster, team_of, field.start, field.mu, field.sigma, field.latency, field.reach),
        *(field.teams, field.team_size, field.scale, ratings, terms),
    )
    return cost_of(terms, field.weights)
