"""Which pairs matter: the nearest of each player, and all that prices without them have wrong.

`acceptable_pairs` has the sides, the rule and the costs; `matching` the prices. The slack of a pair is the sum of both
prices and of the duals that hold both, less its weight; a pair whose slack is 0 or more can't improve a matching.

`underpriced` looks from every player over his window on the far side, block by block of `BLOCK` in order of rating. A
block is passed over if the least price in it, at the least gap to it, is enough; so all pairs are judged though few
are looked at. Of the pairs below the limit each player names the `keep` with the least slack.
"""

from functools import partial
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.acceptable_pairs import Money, Side, pair_cost, windows_over
from evenmatch.numerics.compiled import BOOL, BOOLS, FLOAT, FLOATS, INT, INTS, INTS2, OUT_INTS2, kernel
from evenmatch.numerics.threads import in_parts

__all__ = ["blossom_chains", "distinct_pairs", "nearest_pairs", "shared_dual", "underpriced"]

BLOCK: Final = 64


@kernel(INTS, FLOATS, INTS, FLOATS, FLOATS, INTS, INTS, BOOL, INT, INT, OUT_INTS2)
def _nearest(
    place: Any,
    rating: Any,
    far_place: Any,
    far_rating: Any,
    far_window: Any,
    low: Any,
    high: Any,
    either: bool,
    near: int,
    column: int,
    chosen: Any,
) -> None:
    """For each player of a side: acceptable players of the far side, the nearest below and above, then ever farther."""
    middle, each = 0, chosen.shape[1] // 4
    for at in range(len(place)):
        while middle < len(far_place) and far_rating[middle] < rating[at]:
            middle += 1
        for step in (-1, 1):
            to = middle if step > 0 else middle - 1
            found, apart = 0, 1.0
            # Steps grow from somewhere between one and two, so that neighbours see different distances.
            stretch = 1.5 + (at * 0.6180339887498949) % 1.0
            while found < each and low[at] <= to < high[at]:
                if far_place[to] != place[at] and (either or abs(far_rating[to] - rating[at]) <= far_window[to]):
                    chosen[place[at], column + found + (each if step > 0 else 0)] = far_place[to]
                    found += 1
                if found >= near:
                    apart *= stretch
                to += step * int(apart)


@kernel(INTS2)
def distinct_pairs(chosen: Any) -> Any:
    """The pairs that one of both has chosen, each once."""
    first, second = np.empty(chosen.size, np.int64), np.empty(chosen.size, np.int64)
    size = 0
    for u in range(len(chosen)):
        for at in range(chosen.shape[1]):
            v = chosen[u, at]
            if v < 0 or v in chosen[u, :at]:
                continue
            if u < v or u not in chosen[v]:
                first[size], second[size] = u, v
                size += 1
    return first[:size].copy(), second[:size].copy()


def nearest_pairs(first: Side, second: Side, count: int, near: int, far: int, *, either: bool) -> tuple[Array, Array]:
    """Everybody with the `near` nearest acceptable players below and above him, and `far` farther ones."""
    chosen = np.full((count, 4 * (near + far)), -1, np.int64)
    for column, side, other in ((0, first, second), (2 * (near + far), second, first)):
        low, high = windows_over(side.rating, side.window, other.rating)
        _nearest(
            *(side.place, side.rating, other.place, other.rating, other.window),
            *(low, high, either, near, column, chosen),
        )
    one, other_one = distinct_pairs(chosen)
    return one, other_one


@kernel(INT, INTS, INTS)
def blossom_chains(count: int, holder: Any, dual: Any) -> Any:
    """For each node the top of its chain, and for each blossom the sum of z over it and all that hold it.

    A chain goes from a node to the largest that it holds directly, so few chains lie between any vertex and the top.
    Then, bool[count], who is in the largest blossom of all, and its z.
    """
    nodes = len(holder)
    size, largest, head = np.ones(nodes, np.int64), np.full(nodes, -1, np.int64), np.arange(nodes)
    sums = dual.copy()
    giant = -1
    for node in range(nodes):
        above = holder[node]
        if above >= 0:
            size[above] += size[node]
            if largest[above] < 0 or size[node] > size[largest[above]]:
                largest[above] = node
        elif node >= count and (giant < 0 or size[node] > size[giant]):
            giant = node
    inside = np.zeros(nodes, np.bool_)
    for node in range(nodes - 1, -1, -1):
        above = holder[node]
        inside[node] = node == giant or (above >= 0 and inside[above])
        if above >= 0:
            if largest[above] == node:
                head[node] = head[above]
            if node >= count:
                sums[node - count] += sums[above - count]
    return head, sums, inside[:count].copy(), dual[giant - count] if giant >= 0 else 0


@kernel()
def shared_dual(holder: Any, head: Any, sums: Any, count: int, u: int, v: int) -> int:
    """The sum of z over the blossoms that hold both."""
    while head[u] != head[v]:
        # A holder's number is the higher one, so what holds both is not in the chain with the lower head.
        if head[u] < head[v]:
            u = holder[head[u]]
        else:
            v = holder[head[v]]
        if u < 0 or v < 0:
            return 0
    return int(sums[max(u, v) - count])


@kernel()
def _look(
    u: int,
    mine: float,
    own: int,
    inside: bool,
    first: int,
    last: int,
    far_place: Any,
    far_rating: Any,
    far_window: Any,
    rest: Any,
    giant: Any,
    extra: int,
    holder: Any,
    head: Any,
    sums: Any,
    count: int,
    scale: float,
    exact: bool,
    either: bool,
    limit: int,
    found: Any,
    slacks: Any,
    size: int,
    worst: int,
    below: int,
) -> Any:
    """Look at each player of a block: how many are kept now, where the worst of them is, and what is below him."""
    for to in range(first, last):
        v = far_place[to]
        gap = abs(far_rating[to] - mine)
        slack = own + rest[v] + 2 * pair_cost(gap, scale, exact)
        known = extra if inside and giant[v] else 0
        if slack + known >= below or v == u or (not either and gap > far_window[to]):
            continue
        slack += shared_dual(holder, head, sums, count, u, v)
        if slack >= below:
            continue
        spot = worst
        if size < len(found):
            spot = size
            size += 1
        found[spot], slacks[spot] = v, slack
        if size == len(found):
            worst = int(slacks.argmax())
            below = min(limit, slacks[worst])
    return size, worst, below


@kernel(
    *(INTS, FLOATS, INTS, INTS, INTS, FLOATS, FLOATS, INTS2, INTS, BOOLS, INT, INTS),
    *(INTS, INTS, INT, FLOAT, BOOL, BOOL, INT, OUT_INTS2, OUT_INTS2, INT, INT),
)
def _underpriced(
    place: Any,
    rating: Any,
    low: Any,
    high: Any,
    far_place: Any,
    far_rating: Any,
    far_window: Any,
    least: Any,
    rest: Any,
    giant: Any,
    extra: int,
    holder: Any,
    head: Any,
    sums: Any,
    count: int,
    scale: float,
    exact: bool,
    either: bool,
    limit: int,
    found: Any,
    slacks: Any,
    begin: int,
    end: int,
) -> None:
    """The places with the least slack below the limit for each player of a side from `begin` to `end`.

    `rest` is what each place's price is above half the weight of a pair without a gap; pairs of two in the `giant`
    blossom have at least `extra` beyond that; `least` is the least of each block for players outside and inside it.
    """
    lowest = (least[0].min(), least[1].min())
    for at in range(begin, end):
        u, mine, size = place[at], rating[at], 0
        own, below, worst = rest[u], limit, 0
        inside = giant[u]
        # From the nearest block downwards, then upwards, so that what is farther has the harder limit.
        nearest, above = low[at], high[at]
        while nearest < above:
            middle = (nearest + above) >> 1
            if far_rating[middle] < mine:
                nearest = middle + 1
            else:
                above = middle
        for step in (-1, 1):
            block = nearest // BLOCK + max(step, 0)
            while low[at] < (block + 1) * BLOCK and block * BLOCK < high[at]:
                first, last = max(low[at], block * BLOCK), min(high[at], (block + 1) * BLOCK)
                gap = max(far_rating[first] - mine, mine - far_rating[last - 1], 0.0)
                enough = own + 2 * pair_cost(gap, scale, exact) - below
                if enough + lowest[int(inside)] >= 0:
                    break
                if enough + least[int(inside), block] < 0:
                    size, worst, below = _look(
                        *(u, mine, own, inside, first, last, far_place, far_rating, far_window, rest, giant, extra),
                        *(holder, head, sums, count, scale, exact, either, limit, found[at], slacks[at]),
                        *(size, worst, below),
                    )
                block += step
        found[at, size:] = -1


def underpriced(
    first: Side,
    second: Side,
    money: Money,
    solution: tuple[Array, Array, Array, Array],
    *,
    either: bool,
    limit: int = 0,
    keep: int,
) -> tuple[Array, Array, bool]:
    """All pairs whose slack is below the limit, or for each player of each side the `keep` of least slack.

    Each pair once, earlier place first, in ascending order; and whether all are among them.
    """
    _, price, holder, dual = solution
    count = len(price)
    rest = price - money.most
    head, sums, giant, extra = blossom_chains(count, holder, dual)
    keys, complete = [np.empty(0, np.int64)], True
    for side, far in ((first, second), (second, first))[: 1 + either]:
        low, high = windows_over(side.rating, side.window, far.rating)
        if not len(side.place) or not len(far.place):
            continue
        blocks = np.arange(0, len(far.place), BLOCK)
        seen = rest[far.place]
        least = np.stack([np.minimum.reduceat(each, blocks) for each in (seen, seen + extra * giant[far.place])])
        found = np.empty((len(side.place), keep), np.int64)
        slacks = np.empty((len(side.place), keep), np.int64)
        given: Any = (
            *(side.place, side.rating, low, high, far.place, far.rating, far.window, least, rest),
            *(giant, extra, holder, head, sums, count, money.scale, money.exact, either, limit, found, slacks),
        )
        in_parts(len(side.place), partial(_underpriced, *given), least=1000)
        complete = complete and bool((found[:, -1] < 0).all())
        at, column = np.nonzero(found >= 0)
        u, v = side.place[at], found[at, column]
        keys.append(np.minimum(u, v) * count + np.maximum(u, v))
    together = np.unique(np.concatenate(keys))
    return together // count, together % count, complete
