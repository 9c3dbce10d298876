"""The best pairs of two sides under windows, of more acceptable ones than can be listed: most, then least squared gaps.

Problem. As in `acceptable_pairs`: tens of millions of acceptable pairs at 20,000 players. `matching` is fast on a few
hundred thousand edges.

Idea. Solve for a few pairs of each player, the core, and let the prices judge all the others (`window_pricing`): pairs
that are underpriced are added, and the search goes on from where it was, until none is left. Then the prices prove the
matching best among all pairs.

Which core. The nearest will do where everybody finds somebody near. Where one side is short in some region, the most
matches need gaps as wide as the windows, and prices that no nearest pair tells of. So the problem is solved first for
every third player of each kind, in the same way: prices are a smooth function of the rating, so the few tell the price
of the many. The core is the nearest pairs and those that look best at these prices, and the search begins with them.
A core with too few of the latter has to be added to again and again, which costs far more than a larger one.

Exactness. Nothing depends on guesses but the time: the last pricing covers every pair.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.numerics.acceptable_pairs import Money, Side, weigh
from evenmatch.numerics.matching import GrowingMatching
from evenmatch.numerics.window_pricing import nearest_pairs, underpriced

__all__ = ["match_in_windows"]

FEW: Final = 400
"""Players for whom no prices are asked of a sample."""
SAMPLE: Final = 3
"""A sample is one player in so many."""
CLASSES: Final = 8
"""Classes of windows that a sample tells apart, at most."""
NEAR: Final = 2
"""Pairs of the core to each player's nearest, below and above on each side."""
FAR: Final = 6
"""And to ever farther ones, where no sample tells which."""
BEST: Final = 24
"""Pairs of the core that look best at the prices of the sample."""
KEPT: Final = 4
"""Underpriced pairs that each player adds in a round, at most."""
_ANY: Final = 2**61

Solution = tuple[Array, Array, Array, Array]


class Group(NamedTuple):
    """Players who are alike but for their ratings, by rating: the sum of both for those who play both sides."""

    place: Array
    rating: Array


def match_in_windows(first: Array, second: Array, window: Array, money: Money, *, either: bool) -> Solution:
    """`mate`, `price`, `holder` and `dual` (see `Matching`) of the best pairs of all that keep the window rule."""
    count = len(first)
    sides = Side.of(first, second, window), Side.of(second, first, window)
    guess = _guess(first, second, window, money, either) if count > FEW else NONE
    u, v = nearest_pairs(*sides, count, NEAR, 0 if len(guess) else FAR, either=either)
    if len(guess):
        alone = np.full(count, -1, np.int64)
        w, x, _ = underpriced(*sides, money, (alone, guess, alone, NONE), either=either, limit=_ANY, keep=BEST)
        keys = np.unique(np.concatenate([np.minimum(u, v) * count + np.maximum(u, v), w * count + x]))
        u, v = keys // count, keys % count
    growing = GrowingMatching(count, u, v, weigh(first, second, u, v, *money), guess)
    while True:
        solution = growing.solution()
        u, v, _ = underpriced(*sides, money, solution, either=either, keep=KEPT)
        if not len(u):
            return solution
        growing.add(u, v, weigh(first, second, u, v, *money))


def _guess(first: Array, second: Array, window: Array, money: Money, either: bool) -> Array:
    """int64[n]: the price of everybody, as a sample tells it."""
    groups = _groups(first, second, window)
    sample = np.concatenate([group.place[1::SAMPLE] for kinds in groups for group in kinds])
    chosen = first[sample], second[sample], window[sample]
    _, price, holder, dual = match_in_windows(*chosen, money, either=either)
    fair = np.empty(len(first))
    fair[sample] = price + _half_duals(len(sample), holder, dual)
    guess = np.zeros(len(first))
    for of_first, of_second, of_both in groups:
        for group in (of_first, of_second, of_both):
            guess[group.place] = _told(group, fair, group.rating)
        if len(of_first.place) >= SAMPLE <= len(of_second.place):
            # Who plays both sides is worth what he is worth on the better one.
            both = of_both.place
            guess[both] = np.maximum(_told(of_first, fair, first[both]), _told(of_second, fair, second[both]))
    return guess.astype(np.int64)


def _groups(first: Array, second: Array, window: Array) -> list[list[Group]]:
    """Players by window, then by kind: first side only, second side only, both."""
    marks = np.unique(window)
    if len(marks) > CLASSES:
        marks = np.unique(np.quantile(window, np.arange(CLASSES) / CLASSES))
    mark = np.searchsorted(marks, window, "right") - 1
    rating = np.nansum([first, second], axis=0)
    order = np.lexsort((np.arange(len(first)), rating))
    kind = np.where(np.isnan(second), 0, np.where(np.isnan(first), 1, 2))[order]
    groups = []
    for each in range(len(marks)):
        chosen = [order[(mark[order] == each) & (kind == which)] for which in range(3)]
        groups.append([Group(place, rating[place]) for place in chosen])
    return groups


def _told(group: Group, fair: Array, rating: Array) -> Array:
    """float64, shape of `rating`: the price of a player of a group at these ratings, by those in the sample."""
    known = group.place[1::SAMPLE]
    return np.interp(rating, group.rating[1::SAMPLE], fair[known]) if len(known) else np.zeros(len(rating))


def _half_duals(count: int, holder: Array, dual: Array) -> Array:
    """int64[count]: half of what the blossoms that hold each vertex add to the price of pairs within them."""
    sums = np.append(dual, 0)
    for blossom in range(len(dual) - 1, -1, -1):
        above = int(holder[count + blossom])
        if above >= 0:
            sums[blossom] += sums[above - count]
    return sums[np.where(holder[:count] >= 0, holder[:count] - count, len(dual))] // 2
