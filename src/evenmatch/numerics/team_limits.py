"""How many can be seated at the most, asked more closely than by `team_bounds`: near each ticket, and region by region.

Asked only of plans that do not reach the first bound, and as far as `ROWS_MOST` goes, so that it costs nothing where
nothing is to be gained, and a few milliseconds elsewhere.

Near each ticket. Where windows are averaged, the first bound lets every match have the widest windows of the whole
queue. But the other members of a match whose lowest ticket is known are within its deadline, so only windows from
there count; that makes the deadline earlier, which leaves fewer windows, and so on. The windows of a stretch of the
line are counted in `BINS` bins, each at its upper edge, so what comes out is never too narrow. The same is asked from
above.

Regions. A set of regions has no more matches than those tickets make that reach one of them: f(set), the least of what
the line, the party sizes and the number of players allow. Every region is in exactly one part of a partition of all
regions, so the sum of f over any partition is a bound; the best partition is found over all subsets. Party sizes enter
by the prices of `size_prices`: no pattern of a team is cheaper than 1, whoever is there, so they need not be made anew
for every subset. Where there are too many subsets, the whole, each region beside all others, and each region by itself
are asked.

    44 players reach region 4, and 43 nothing else:    f({4}) = 4, f(the others) = 957 // 10 = 95:   99, not 100

Complexity. O(n * subsets), a few passes each; subsets are 2^regions, or, where these are too many, 2 * regions + 1.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, INTS, OUT_FLOATS, kernel
from .team_bounds import HAIR, TINY, SeatsBound, groups_on_line, regions_of, size_prices, spans
from .team_field import MEAN, Field

__all__ = ["closer_bound", "local_deadlines"]

ROWS_MOST: Final = 60_000
"""Tickets times subsets of regions that are looked at: with six regions some 900 tickets and every subset, or 4,600
and each region by itself; without regions all that are waiting in any queue."""
BINS: Final = 256
_PASSES: Final = 8


@kernel(FLOATS, INTS, FLOATS, INTS, FLOATS, INT, OUT_FLOATS)
def local_deadlines(
    rate: Array, size: Array, window: Array, bin_of: Array, edge: Array, seats: int, deadline: Array
) -> None:
    """Make deadlines earlier: the highest rating in a match of mean windows, by its lowest ticket.

    `rate` rises; `edge[bin_of]` is no less than `window`; `deadline` is right to begin with, and rises then and after.
    """
    count = len(rate)
    for _ in range(_PASSES):
        inside = np.zeros(len(edge), np.int64)
        high, changed, before = 0, False, -np.inf
        for low in range(count):
            if low:
                inside[bin_of[low - 1]] -= size[low - 1]
            while high < count and (high <= low or rate[high] <= deadline[low]):
                inside[bin_of[high]] += size[high]
                high += 1
            own, need, total = bin_of[low], seats - size[low], window[low] * size[low]
            inside[own] -= size[low]
            for at in range(len(edge) - 1, -1, -1):
                if need <= 0:
                    break
                taken = min(need, inside[at])
                if taken > 0:
                    total += taken * edge[at]
                    need -= taken
            inside[own] += size[low]
            latest = rate[low] + total / seats * (1 + TINY) + HAIR if need <= 0 else rate[low]
            latest = max(before, min(latest, deadline[low]))
            changed |= latest < deadline[low]
            deadline[low] = before = latest
        if not changed:
            break


def closer_bound(field: Field, bound: SeatsBound) -> int:
    """How many players any plan can seat, at the most: no more than the bound that is given."""
    seats = field.teams * field.team_size
    regions, count = regions_of(field, bound.usable), len(field.size)
    if not bound.seats or count * (2 * len(regions) + 1) > ROWS_MOST:
        return bound.seats
    sizes, counts = np.unique(field.size[bound.usable], return_counts=True)
    prices, teams = size_prices(field.team_size, sizes, counts)
    price = np.full(field.team_size + 1, 1.0 / field.team_size) * np.arange(field.team_size + 1)
    if len(prices) and teams > 0:
        price[sizes] = prices

    def most(chosen: int) -> int:
        reached = 0
        for at, region in enumerate(regions):
            reached |= region if chosen >> at & 1 else 0
        return _matches(field, bound.usable & ((field.reach & reached) != 0), price, seats)

    whole = (1 << len(regions)) - 1
    if count << len(regions) > ROWS_MOST:
        alone = [most(1 << at) for at in range(len(regions))]
        parted = [few + most(whole ^ 1 << at) for at, few in enumerate(alone)]
        matches = min(most(whole), sum(alone), *parted)
    else:
        matches = _best_partition([most(chosen) if chosen else 0 for chosen in range(whole + 1)])
    return min(bound.seats, matches * seats)


def _best_partition(most: list[int]) -> int:
    """The least sum over the parts of any partition of the whole; `most` is by subsets as masks."""
    best = most[:]
    for chosen in range(1, len(most)):
        part = (chosen - 1) & chosen
        while part:
            best[chosen] = min(best[chosen], best[part] + most[chosen ^ part])
            part = (part - 1) & chosen
    return best[-1]


def _matches(field: Field, inside: Array, price: Array, seats: int) -> int:
    """f: matches of these tickets at the most."""
    (rows,) = np.nonzero(inside)
    size = np.ascontiguousarray(field.size[rows])
    most = min(int(size.sum()) // seats, int(price[size].sum() + 1e-6) // field.teams)
    if not most:
        return 0
    rate, window, span = field.rate[rows], field.window[rows], spans(field, inside)[rows]
    for _ in range(2):
        deadline = np.maximum.accumulate(rate + span)
        if field.policy == MEAN:
            order = np.sort(window)
            edge = order[np.minimum(np.arange(1, BINS + 1) * len(order) // BINS, len(order) - 1)]
            bin_of = np.searchsorted(edge, window, "left")
            local_deadlines(rate, size, window, bin_of, edge, seats, deadline)
        most = min(most, groups_on_line(rate, deadline, size, seats))
        rate, size = -rate[::-1], np.ascontiguousarray(size[::-1])
        window, span = np.ascontiguousarray(window[::-1]), span[::-1]
        rate = np.ascontiguousarray(rate)
    return most
