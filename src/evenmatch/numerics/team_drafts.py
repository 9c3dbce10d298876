"""Rough drafts of a plan of teams: several sweeps over the pool, each in its own way, and a plan that is given.

Region by region, the least populated first, each ticket at first only where it is nearest, and not to the last ticket;
then all who are left, wherever they can play; then all regions at once. From below, from above, and from both ends
inwards. With few tickets also those first who reach one region only, by themselves. A draft says who plays with whom;
teams are made afterwards (`team_plan`).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .team_bounds import SeatsBound
from .team_codes import Codes
from .team_draft import rough_worth
from .team_field import Field
from .team_sweep import FROM_ABOVE, FROM_BELOW, INWARDS, swept

__all__ = ["FEW", "Rough", "given_draft", "rough_drafts", "variety_of"]

_AHEAD_LEAST: Final = 160
_MORE_WAYS: Final = ((INWARDS, 0.25, True), (FROM_BELOW, 2.0, True), (FROM_ABOVE, 2.0, True), (FROM_BELOW, 0.0, True))
FEW: Final = 300
"""With up to so many tickets more sweeps are made, and several drafts are made better."""
_HOME_FIRST, _BOUND_FIRST, _TOGETHER = range(3)
_BOUND_FIRST_MOST: Final = 2_000
"""Tickets up to which those who reach one region only are also tried first."""
_LABELS: Final = 8
"""Labels of a sweep that count as one unit of work."""
_WAYS: Final = ((FROM_BELOW, 100.0, False), (FROM_ABOVE, 100.0, False), (INWARDS, 4.0, True), (INWARDS, 1.0, True))
"""In which order sweeps are tried: from where, what it counts to pass a player over, whether they look far ahead."""
_ROLE_WAYS: Final = ((FROM_BELOW, 16.0, True), (FROM_ABOVE, 16.0, True), (INWARDS, 4.0, True), (INWARDS, 1.0, True))
"""The same where there are roles: who is next is not always who is needed."""
_NAMED_WAYS: Final = _ROLE_WAYS[2:]
"""The same where roles can't be exchanged: what the other two cost is better spent on moves."""


class Rough(NamedTuple):
    """Matches as rows of places of a field, not divided yet."""

    rosters: Array
    made: int
    worth: float
    work: int


def rough_drafts(
    field: Field, codes: Codes, price: Array, bound: SeatsBound, work: int
) -> tuple[list[Rough], list[dict[str, Any]]]:
    """Several sweeps: of few tickets all, of many the most valuable one, as far as spread and latency tell.

    With many tickets a sweep that fills the bound is the last.
    """
    steps: list[dict[str, Any]] = []
    drafts: list[Rough] = []
    best, spent = Rough(np.empty((0, 1), np.int32), 0, -np.inf, 0), -1
    by_region, few = len(_homes(field)) > 1, len(field.size) <= FEW
    named = _ROLE_WAYS if np.isfinite(field.off).all() else _NAMED_WAYS
    ways = (named if len(field.slots) else _WAYS) + (_MORE_WAYS if few else ())
    orders = [_HOME_FIRST, _BOUND_FIRST, _TOGETHER] if by_region else [_TOGETHER]
    if len(field.size) > _BOUND_FIRST_MOST and by_region:
        orders.remove(_BOUND_FIRST)
    for regions in orders:
        for mode, skip, far in ways:
            full = best.made * field.teams * field.team_size == bound.seats
            if spent > work // 2 or (full and (not few or regions == _BOUND_FIRST)):
                break
            draft = _swept_draft(field, codes, price, bound.usable, mode, skip, regions, far)
            spent += draft.work
            told = {
                "regions": ("home first", "bound first", "together")[regions],
                "from": ("below", "above", "outside")[mode],
                "skip": skip,
            }
            steps.append({"step": "sweep", **told, "matches": draft.made, "worth": draft.worth, "work": draft.work})
            drafts.append(draft)
            if draft.worth > best.worth:
                best = draft
    return drafts if few else [best], steps


def _homes(field: Field) -> list[tuple[int, Array]]:
    """Regions as bits, and bool[n]: the tickets that are nearest to each; the least populated first."""
    regions = field.latency.shape[1]
    named = field.reach[field.reach != -1]
    if len(named):
        regions = max(regions, int(np.bitwise_or.reduce(named)).bit_length())
    if regions < 2:
        return [(-1, np.ones(len(field.size), bool))]
    open_to = (field.reach[:, None] >> np.arange(regions) & 1).astype(bool)
    distance = np.zeros((len(field.size), regions))
    distance[:, : field.latency.shape[1]] = field.latency
    distance[:, field.latency.shape[1] :] = np.inf if field.latency.shape[1] else 0.0
    distance[~open_to] = np.inf
    population = (field.size[:, None] * open_to).sum(axis=0)
    home = np.lexsort((np.broadcast_to(-population, distance.shape), distance), axis=1)[:, 0]
    lived_in = np.bincount(home, weights=field.size, minlength=regions)
    return [(1 << int(region), home == region) for region in np.argsort(lived_in, kind="stable") if population[region]]


def _swept_draft(
    field: Field, codes: Codes, price: Array, usable: Array, mode: int, skip: float, regions: int, far: bool
) -> Rough:
    """One draft: by regions or not, then all who are left."""
    seats = field.teams * field.team_size
    rosters = np.empty((int(field.size[usable].sum()) // seats, seats), np.int32)
    free, made, work = usable.copy(), 0, 0
    ahead = max(_AHEAD_LEAST, 4 * seats) if far or len(field.slots) or price.any() else seats + seats // 4 + 8
    check = not codes.exact or not np.isfinite(field.off).all()
    everybody = np.ones(len(free), bool)
    rounds: list[tuple[int, Array, int]] = []
    if regions == _BOUND_FIRST:
        rounds = [(region, field.reach == region, 0) for region, _ in _homes(field)]
    elif regions == _HOME_FIRST:
        rounds = [(region, home, 2 * seats) for region, home in _homes(field)]
        rounds += [(region, (field.reach & region) != 0, seats // 2) for region, _, _ in rounds]
    rounds.append((-1, everybody, 0))
    for region, inside, reserve in rounds:
        listed = np.flatnonzero(free & inside)
        before = made
        made, labels = swept(
            *(field, codes.players, codes.step, listed, price, mode, skip, ahead, region, check, reserve),
            *(variety_of(field), rosters, made),
        )
        work += labels
        taken = rosters[before:made]
        free[taken[taken >= 0]] = False
    return Rough(rosters, made, rough_worth(field, rosters, made), work // _LABELS)


def variety_of(field: Field) -> int:
    """How many groups of a composition to keep: several where roles can't be exchanged."""
    return 1 if np.isfinite(field.off).all() else 8


def given_draft(field: Field, start: Array) -> Rough:
    """The draft of matches that are given; of two that share a ticket the first."""
    seats = field.teams * field.team_size
    place = np.empty(len(field.size), np.int64)
    place[field.elder] = np.arange(len(place))
    rosters, free, made = np.full((len(start), seats), -1, np.int32), np.ones(len(place), bool), 0
    for match in start.tolist():
        places = np.unique(place[[one for one in match if one >= 0]])
        if field.size[places].sum() == seats and free[places].all():
            rosters[made, : len(places)], free[places] = places, False
            made += 1
    return Rough(rosters, made, 0.0, 0)
