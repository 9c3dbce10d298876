"""The last word on costs that 64 bits can't tell apart: exact, in whole numbers of any size.

Problem. `matching` needs whole costs of limited size, so costs may have to be rounded, each by at most some `error`.
The best matching by rounded costs has as many pairs as can be, but another may be better by a hair.

Idea. Let k be the number of pairs. The truly best matching is at most 2 * error * k worse by rounded costs. The dual
says what is lost: the weight of any matching is the proven sum less the slacks of its pairs and the prices of those
whom it leaves single. So, weights being twice the costs, it has no pair with a slack above 4 * error * k, and leaves
nobody single whose price is above that. Few pairs remain in question, and most of them are forced: who must be paired
and has one pair left to choose from is paired so, which takes that pair's players from all others, and so on. What is
still open then, usually nothing, is solved by `blossoms` with the true costs.

Why it is exact. Every truly best matching lies among the pairs in question, contains all forced ones, and is best on
the rest.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.blossoms import least_cost_pairs
from evenmatch.numerics.compiled import BOOLS, INT, INTS, kernel

__all__ = ["forced_pairs", "resolve"]


@kernel(INT, INTS, INTS, BOOLS)
def forced_pairs(count: int, first: Any, second: Any, must: Any) -> Any:
    """Pair who must be paired and has one choice, again and again: int64[count] mates, and bool[count] who is open."""
    start = np.zeros(count + 1, np.int64)
    for at in range(len(first)):
        start[first[at]] += 1
        start[second[at]] += 1
    total = 0
    for vertex in range(count + 1):
        total += start[vertex]
        start[vertex] = total
    near = np.empty(total, np.int64)
    for at in range(len(first)):
        u, v = first[at], second[at]
        start[u] -= 1
        near[start[u]] = v
        start[v] -= 1
        near[start[v]] = u
    choices = start[1:] - start[:-1]
    mate, is_open = np.full(count, -1, np.int64), np.ones(count, np.bool_)
    waiting, left = np.empty(count + total, np.int64), 0
    for vertex in range(count):
        if must[vertex] and choices[vertex] == 1:
            waiting[left] = vertex
            left += 1
    while left:
        left -= 1
        u = waiting[left]
        if not is_open[u] or choices[u] != 1:
            continue
        at = start[u]
        while not is_open[near[at]]:
            at += 1
        v = near[at]
        mate[u], mate[v] = v, u
        is_open[u] = is_open[v] = False
        for at in range(start[v], start[v + 1]):
            other = near[at]
            choices[other] -= 1
            if is_open[other] and must[other] and choices[other] == 1:
                waiting[left] = other
                left += 1
    return mate, is_open


def resolve(
    first: Array, second: Array, must: Array, true_costs: Callable[[Array, Array], Sequence[int]], *, most: int
) -> Array | None:
    """int64[n]: mates of the best matching among the pairs in question, -1 = single.

    `must`, bool[n]: who can't be left single. None if more than `most` pairs are still open after the forced ones.
    """
    mate: Array
    mate, is_open = forced_pairs(len(must), first, second, must)
    left = is_open[first] & is_open[second]
    if not left.any():
        return mate
    if int(left.sum()) > most:
        return None
    first, second = first[left], second[left]
    places, numbers = np.unique(np.concatenate([first, second]), return_inverse=True)
    u, v = numbers[: len(first)].tolist(), numbers[len(first) :].tolist()
    found = np.array(least_cost_pairs(len(places), list(zip(u, v, true_costs(first, second), strict=True))), np.int64)
    mate[places] = np.where(found >= 0, places[found], -1)
    return mate
