"""The judge of the plans of `even`: does every match keep the hard rules, and cost what it says?

Problem. Solvers are fast and therefore complicated. A plan that breaks a rule must not leave the matcher, whoever made
it: this check runs on every plan, in production too, and a bad plan is refused.

Idea. It shares nothing with the solvers but the columns and the definition of the cost. Every rule is one plain
expression over all matches at once; the first that is broken is told, and where.

    once      no place is in two matches, or twice in one
    teams     every team has exactly as many players as the format says
    side      nobody plays a side without a rating on it
    apart     no match holds two who must not meet
    region    all tickets of a match share a region
    latency   the best region is within the cap
    window    the range of ratings keeps the window rule (`matchers/even_parameters`)
    role      every team can be given its roles
    cost      each match costs what `match_terms` says

Ranges and windows may be off by `HAIR`, for means of parties are rounded.

Complexity. Linear in places, tickets and forbidden pairs.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["breaches", "first_of"]

HAIR: Final = 1e-6
MEAN, OLDER, BOTH = range(3)


def breaches(
    rosters: Array,
    team_of: Array,
    *,
    teams: int,
    size: int,
    party: Array,
    rating: Array,
    first: Array,
    second: Array,
    sided: bool,
    window: Array,
    policy: int,
    latency: Array,
    latency_cap: float,
    reach: Array,
    apart: Array,
    role: Array,
    cost: Array,
    true_cost: Array,
) -> dict[str, Array]:
    """bool[k] for each rule: the matches that break it; rules that make no sense once one is broken are left out.

    `rosters` and `team_of`, int[k, width]: places and their teams, -1 = empty. Columns are by place, in order.
    `role`, float64[k]: what the roles of each match cost at the least, inf = they can't be given out.
    """
    if not len(rosters):
        return {}
    filled = rosters >= 0
    match_of, places = np.nonzero(filled)[0], rosters[filled]
    sides = team_of[filled]
    broken = {"once": _twice(match_of, places, len(party), len(rosters))}
    if broken["once"].any():
        return broken
    seats = np.zeros((len(rosters), teams), np.int64)
    astray = (sides < 0) | (sides >= teams)
    np.add.at(seats, (match_of[~astray], sides[~astray]), party[places[~astray]])
    broken["teams"] = (seats != size).any(axis=1) | _any_of(match_of, astray, len(rosters))
    if broken["teams"].any():
        return broken
    played = np.where(sides == 0, first[places], second[places]) if sided else rating[places]
    broken["side"] = _any_of(match_of, np.isnan(played), len(rosters))
    at = np.full(len(party), -1)
    at[places] = match_of
    if len(apart):
        together = (at[apart[:, 0]] == at[apart[:, 1]]) & (at[apart[:, 0]] >= 0)
        broken["apart"] = np.isin(np.arange(len(rosters)), at[apart[together, 0]])
    starts = np.searchsorted(match_of, np.arange(len(rosters)))
    if len(reach):
        broken["region"] = np.bitwise_and.reduceat(reach[places], starts) == 0
    if latency.shape[1] and latency_cap < np.inf:
        worst = np.maximum.reduceat(latency[places], starts, axis=0)
        broken["latency"] = worst.min(axis=1) > latency_cap
    ranges = np.maximum.reduceat(played, starts) - np.minimum.reduceat(played, starts)
    broken["window"] = ~(ranges <= _allowed(places, starts, party, window, policy) + HAIR)
    broken["role"] = role == np.inf
    broken["cost"] = cost != true_cost
    return broken


def _twice(match_of: Array, places: Array, count: int, matches: int) -> Array:
    """bool[k]: matches that name a place which there is not, or which was named before."""
    wrong = places >= count
    _, named_first = np.unique(places, return_index=True)
    again = np.ones(len(places), bool)
    again[named_first] = False
    return _any_of(match_of, again | wrong, matches)


def _any_of(match_of: Array, wrong: Array, matches: int) -> Array:
    found = np.zeros(matches, bool)
    found[match_of[wrong]] = True
    return found


def _allowed(places: Array, starts: Array, party: Array, window: Array, policy: int) -> Array:
    """float64[k]: the widest range that each match may have."""
    if policy == BOTH:
        return np.minimum.reduceat(window[places], starts)
    if policy == OLDER:
        oldest: Array = window[np.minimum.reduceat(places, starts)]
        return oldest
    weighed: Array = np.add.reduceat(window[places] * party[places], starts) / np.add.reduceat(party[places], starts)
    return weighed


def first_of(broken: dict[str, Array]) -> tuple[str, int] | None:
    """The name of the first rule that is broken, and the first match where it is; None = none."""
    for rule, where in broken.items():
        if where.any():
            return rule, int(where.argmax())
    return None
