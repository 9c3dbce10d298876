"""How many can be seated at the most: bounds that hold for every plan.

Seats. Each step only loosens the rules, so what remains possible is never less than what is possible.
  1. Span. A match that holds a ticket spans no more than the ticket's span: its window (policy both), the widest of
     those who wait at least as long (older), or the mean of its own and of the widest windows for the other seats
     (mean). A ticket without a match's worth of players that share a region with it, within its span on either side, is
     in no match; without it others may be in none, and so on to a fixpoint.
  2. Islands. Where nobody's span reaches across a gap in the ratings, no match does. Regions that no ticket joins are
     islands too. What follows is asked of each island, and the answers are added up.
  3. The line. Players on a line, none of whom is bound to a party: the lowest is in a match with the next N - 1, if
     they are within its deadline, and otherwise in none. With deadlines (rating + span, never lower than for those
     below) that rise along the line this greedy choice is best: trading any other member for the next one keeps every
     group within its deadline.
  4. Sizes. Teams filled by whole parties, whatever their ratings: a linear programme over the patterns of a team. Its
     dual prices bound the teams from above, and are made feasible before they are believed.
  5. Roles. A set of roles has so many places in a match, and is played only by those who can play one of it. A party
     with more players for a set of roles than a team has places for it is in no match, and was left out in the first
     step.
  6. Regions. Who can play in one region only is seated there by whole matches; those who can choose fill what is
     missing, cheapest first.

What so many seats cost at the least is asked in `team_costs`.

Complexity. O(n log n).
"""

from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, INTS, kernel
from .team_field import MEAN, OLDER, Field

__all__ = [
    "SeatsBound",
    "groups_on_line",
    "regions_of",
    "seats_bound",
    "size_prices",
    "spans",
]

_ROUNDS: Final = 60
TINY: Final = 1e-9
HAIR: Final = 2e-6
"""More than any judge lets a range exceed its windows by."""
_ROLES_MAX: Final = 6
"""Up to so many roles every set of them is asked, of more only each by itself."""


class SeatsBound(NamedTuple):
    """How many can be seated at the most."""

    seats: int
    usable: Array
    """bool[n]: tickets that can be in a match, as far as the bound can tell."""


def size_prices(team: int, sizes: Array, counts: Array) -> tuple[Array, float]:
    """Prices of a party of each of these sizes, and the most teams that so many of each can fill, not rounded down.

    No pattern of a team is cheaper than 1, so the prices of all parties bound the teams. `sizes` are distinct.
    """
    rows = len(sizes)
    if not rows:
        return np.empty(0), 0.0
    basis = np.eye(rows)
    gains = np.zeros(rows)
    prices = np.zeros(rows)
    for _ in range(_ROUNDS * rows):
        inverse = np.linalg.inv(basis)
        prices = gains @ inverse
        pattern, price = _cheapest(team, sizes, prices)
        if price == np.inf:
            return np.zeros(rows), 0.0
        slack = int(prices.argmin())
        if prices[slack] < -TINY:
            pattern, gain = np.eye(rows)[slack], 0.0
        elif price < 1.0 - TINY:
            gain = 1.0
        else:
            break
        amount, use = inverse @ counts, inverse @ pattern
        ratio = np.where(use > TINY, amount / np.where(use > TINY, use, 1.0), np.inf)
        leaving = int(ratio.argmin())
        if ratio[leaving] == np.inf:
            break
        basis[:, leaving], gains[leaving] = pattern, gain
    prices = np.maximum(prices, 0.0)
    least = _cheapest(team, sizes, prices)[1]
    if least <= 0.0:
        prices, least = sizes / team, 1.0
    prices = np.minimum(prices / least, 1.0)
    return prices, float(min(prices @ counts, (sizes @ counts) / team))


def _cheapest(team: int, sizes: Array, prices: Array) -> tuple[Array, float]:
    """The pattern of a full team with the lowest price, and that price; inf = none fills a team."""
    least, last = np.full(team + 1, np.inf), np.full(team + 1, -1)
    least[0] = 0.0
    for filled in range(1, team + 1):
        for at, size in enumerate(sizes.tolist()):
            if size <= filled and least[filled - size] + prices[at] < least[filled]:
                least[filled], last[filled] = least[filled - size] + prices[at], at
    pattern, filled = np.zeros(len(sizes)), team
    while filled > 0 and last[filled] >= 0:
        pattern[last[filled]] += 1
        filled -= int(sizes[last[filled]])
    return pattern, float(least[team])


@kernel(FLOATS, FLOATS, INTS, INT)
def groups_on_line(rate: Array, deadline: Array, size: Array, seats: int) -> int:
    """The most groups of `seats` players on a line, parties not whole, each within the deadline of its lowest player.

    `rate`, `deadline`: float64[n], both rising; `size`, int64[n]: players who stand at each place.
    """
    groups, low, left = 0, 0, 0
    high, players = 0, 0
    if len(rate):
        left = size[0]
    while low < len(rate):
        while high < len(rate) and rate[high] <= deadline[low]:
            players += size[high]
            high += 1
        if players < seats:
            players -= left
            low += 1
            left = size[low] if low < len(rate) else 0
            continue
        groups += 1
        players -= seats
        taken = seats
        while taken >= left and low < len(rate):
            taken -= left
            low += 1
            left = size[low] if low < len(rate) else 0
            if taken == 0:
                break
        left -= taken
    return groups


def spans(field: Field, alive: Array) -> Array:
    """float64[n]: the widest match that each ticket can be in, and a hair."""
    widest: Array = field.window
    if field.policy == OLDER and alive.any():
        by_age = np.full(len(alive), -np.inf)
        by_age[field.elder[alive]] = field.window[alive]
        widest = np.maximum(np.maximum.accumulate(by_age)[field.elder], 0.0)
    elif field.policy == MEAN and alive.any():
        seats = field.teams * field.team_size
        most = np.sort(np.repeat(field.window[alive], field.size[alive]))[::-1][:seats]
        others = np.r_[0.0, np.cumsum(most)]
        widest = (field.window * field.size + others[np.clip(seats - field.size, 0, len(most))]) / seats
    return widest * (1 + TINY) + HAIR


def regions_of(field: Field, alive: Array) -> list[int]:
    """The regions that some ticket names, as bits; -1 = nobody names any."""
    named = field.reach[alive & (field.reach != -1)]
    if not len(named):
        return [-1]
    joined = int(np.bitwise_or.reduce(named))
    return [1 << bit for bit in range(63) if joined >> bit & 1]


def _role_sets(roles: int) -> list[list[int]]:
    """Sets of roles that are worth asking about."""
    few = range(1, roles + 1) if roles <= _ROLES_MAX else (1, roles)
    return [list(each) for count in few for each in combinations(range(roles), count)]


def _castable(field: Field) -> Array:
    """bool[n]: tickets whose players can be given different places of one team, as far as Hall's counts tell."""
    castable = np.ones(len(field.size), bool)
    can = np.isfinite(field.role_cost)
    if not len(field.slots) or can.all():
        return castable
    places = np.bincount(field.slots, minlength=can.shape[1])
    for few in [[], *_role_sets(can.shape[1])]:
        others = [role for role in range(can.shape[1]) if role not in few]
        asking = np.add.reduceat((~can[:, others].any(axis=1)).astype(np.int64), field.start[:-1])
        castable &= asking <= places[few].sum()
    return castable


def _usable(field: Field) -> Array:
    """bool[n]: step 1."""
    seats = field.teams * field.team_size
    alive: Array = (field.size <= field.team_size) & (field.reach != 0) & _castable(field)
    while True:
        span = spans(field, alive)
        first, last = (
            np.searchsorted(field.rate, field.rate - span, "left"),
            np.searchsorted(field.rate, field.rate + span, "right"),
        )
        enough = np.zeros(len(alive), bool)
        for region in regions_of(field, alive):
            inside = alive & ((field.reach & region) != 0)
            players = np.r_[0, np.cumsum(np.where(inside, field.size, 0))]
            enough |= inside & (players[last] - players[first] >= seats)
        if (enough == alive).all():
            return alive
        alive = enough


def _islands(field: Field, rows: Array, span: Array) -> list[Array]:
    """Step 2, for rows in order of rating: those of each island."""
    rate = field.rate[rows]
    upper = np.maximum.accumulate(rate + span[rows])
    lower = np.minimum.accumulate((rate - span[rows])[::-1])[::-1]
    cuts = np.flatnonzero((upper[:-1] < rate[1:]) | (lower[1:] > rate[:-1])) + 1
    return np.split(rows, cuts)


def _region_groups(field: Field, alive: Array) -> list[Array]:
    """Rows of regions that tickets join, group by group."""
    regions = regions_of(field, alive)
    groups = regions[:]
    for reach in np.unique(field.reach[alive]).tolist():
        touched = [group for group in groups if group & reach]
        groups = [group for group in groups if not group & reach]
        if touched:
            groups.append(int(np.bitwise_or.reduce(touched)))
    return [np.flatnonzero(alive & ((field.reach & group) != 0)) for group in sorted(groups)]


def _by_regions(field: Field, rows: Array, seats: int) -> int:
    """Step 6: matches at the most."""
    reach, size = field.reach[rows], field.size[rows]
    single = (reach & (reach - 1)) == 0
    named = np.unique(reach[single])
    if not len(named):
        return int(size.sum()) // seats
    bound = [int(size[reach == one].sum()) for one in named.tolist()]
    free = int(size[~single].sum())
    matches = sum(players // seats for players in bound)
    for missing in sorted(seats - players % seats for players in bound):
        if free < missing:
            return matches
        matches, free = matches + 1, free - missing
    return matches + free // seats


def _by_roles(field: Field, rows: Array) -> int:
    """Step 5: matches at the most."""
    roles = field.role_cost.shape[1]
    places = np.bincount(field.slots, minlength=roles) * field.teams
    inside = np.zeros(len(field.size), bool)
    inside[rows] = True
    can = np.isfinite(field.role_cost[np.repeat(inside, field.size)])
    return min(int(can[:, each].any(axis=1).sum()) // int(places[each].sum()) for each in _role_sets(roles))


def seats_bound(field: Field) -> SeatsBound:
    """How many players any plan can seat at the most."""
    usable = _usable(field)
    seats, matches = field.teams * field.team_size, 0
    if not usable.any():
        return SeatsBound(0, usable)
    span = spans(field, usable)
    for group in _region_groups(field, usable):
        for rows in _islands(field, group, span):
            rate, size = field.rate[rows], field.size[rows]
            with np.errstate(invalid="ignore"):
                deadline = np.maximum.accumulate(rate + span[rows])
            sizes, counts = np.unique(size, return_counts=True)
            _, teams = size_prices(field.team_size, sizes, counts)
            most = [groups_on_line(rate, deadline, size, seats), int(teams + 1e-6) // field.teams]
            most.append(_by_regions(field, rows, seats))
            if len(field.slots) and not np.isfinite(field.role_cost).all():
                most.append(_by_roles(field, rows))
            matches += min(most)
    return SeatsBound(matches * seats, usable)
