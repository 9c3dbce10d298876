"""The best plan of teams for a few tickets, by trying everything.

Problem. Of all plans over a few tickets, the one that seats the most value less cost. What a search finds is measured
by it, and for so few tickets it is quick enough to be the answer itself: always up to `TICKETS_MAX` tickets, up to
`TRIED_MAX` where it takes no more work than allowed.

Idea. Two stages, over sets of tickets as masks of bits:
  1. every set with a match's players that keeps the rules is divided into full teams in all ways, and keeps the
     cheapest (`team_split`).
  2. best(tickets that remain): leave the lowest of them, or seat it in any of its sets; what remains is a lesser mask,
     which is solved already.

The same second stage also yields the least cost of every number of matches, so both bounds are exact here.

Ties. Seating goes before leaving, and of several sets the one of the lowest places.

Complexity. 3^n steps at the most for stage 2, half a million for 12 tickets; fewer where rules leave few sets, since
only these are gone through. As many divisions as there are. Both are counted: a division is `DIVISION` units of work,
which take about as long as that many units of the search, and `STEPS_A_UNIT` steps are one.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, OUT_FLOATS, OUT_INT8S2, OUT_INT32S2, kernel
from .team_field import FIELD, Field
from .team_judge import holds
from .team_split import cheapest_division

__all__ = ["TICKETS_MAX", "TOO_MUCH", "TRIED_MAX", "exact_teams"]

TICKETS_MAX: Final = 12
TRIED_MAX: Final = 16
DIVISION: Final = 10
STEPS_A_UNIT: Final = 250
TOO_MUCH: Final = -1
"""It would take more work than allowed."""


@kernel(FIELD, OUT_INT32S2, OUT_INT8S2, OUT_FLOATS, OUT_FLOATS, INT)
def exact_teams(field: Field, rosters: Array, team_of: Array, cost: Array, least_cost: Array, work: int) -> int:
    """Write the matches of the best plan, and the least cost of each number of matches; how many there are.

    `work`: what may be done, negative = whatever it takes; beyond it nothing is written, and the answer is `TOO_MUCH`.
    `rosters` and `team_of`, [n, n], and `cost`, [n], are written from the first row on, -1 = empty; `least_cost`,
    float64[n + 1], inf = so many matches can't be made.
    """
    count, seats = len(field.size), field.teams * field.team_size
    sets = 1 << count
    players = np.zeros(sets, np.int64)
    price, worth = np.full(sets, np.inf), np.zeros(sets)
    teams = np.full((sets, count), np.int8(-1))
    roster, tried = np.empty(count, np.int32), np.zeros(1, np.int64)
    start = np.zeros(count + 1, np.int64)
    for mask in range(1, sets):
        low = 0
        while not mask >> low & 1:
            low += 1
        rest = mask & (mask - 1)
        players[mask], worth[mask] = players[rest] + field.size[low], worth[rest] + field.value[low]
        if players[mask] == seats:
            units = 0
            for place in range(count):
                if mask >> place & 1:
                    roster[units] = place
                    units += 1
            if holds(field, roster[:units]):
                price[mask] = cheapest_division(field, roster[:units], teams[mask, :units], tried)
                if price[mask] < np.inf:
                    start[low + 1] += 1
                if 0 <= work < DIVISION * tried[0]:
                    return TOO_MUCH
    steps = 0
    for low in range(count):
        steps += start[low + 1] << (count - 1 - low)
        start[low + 1] += start[low]
    if 0 <= work < DIVISION * tried[0] + steps // STEPS_A_UNIT:
        return TOO_MUCH
    # The sets that make a match by their lowest ticket, the highest masks first.
    groups, put = np.empty(start[count], np.int64), start[1:].copy()
    for mask in range(1, sets):
        if price[mask] < np.inf:
            low = 0
            while not mask >> low & 1:
                low += 1
            put[low] -= 1
            groups[put[low]] = mask
    best, choice = np.zeros(sets), np.zeros(sets, np.int64)
    most = players[sets - 1] // seats
    least = np.full((sets, most + 1), np.inf)
    least[0, 0] = 0.0
    for mask in range(1, sets):
        without = mask & (mask - 1)
        best[mask] = best[without]
        least[mask] = least[without]
        low = 0
        while not mask >> low & 1:
            low += 1
        for at in range(start[low], start[low + 1]):
            group = groups[at]
            if group & mask != group:
                continue
            rest = mask ^ group
            gain = best[rest] + worth[group] - price[group]
            if gain >= best[mask]:
                best[mask], choice[mask] = gain, group
            for matches in range(most):
                least[mask, matches + 1] = min(least[mask, matches + 1], least[rest, matches] + price[group])
    least_cost[:] = np.inf
    least_cost[: most + 1] = least[sets - 1]
    mask, made = sets - 1, 0
    while mask:
        group = choice[mask]
        if group == 0:
            mask &= mask - 1
            continue
        units = 0
        for place in range(count):
            if group >> place & 1:
                rosters[made, units] = place
                units += 1
        rosters[made, units:], team_of[made] = -1, teams[group]
        cost[made] = price[group]
        made += 1
        mask ^= group
    return made
