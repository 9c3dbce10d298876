"""Players who can play one of two sides, or both: who plays which, and whom the larger side keeps.

Problem. Columns of ratings on a first and a second side, NaN = can't play it; a player is a place in them. Those who
can play both are shared out so that counts are as equal as can be, those better on the first side going there; then the
larger side keeps as many as the smaller has, those with the most misses, the earlier on equal misses.

Idea. Both are the same: an order, cut at a number that is known beforehand. Places are marked and read off in one scan,
so that all answers are in ascending order without sorting them again.

Why it is exact. Only comparisons, and the differences of ratings that the ladder's document asks for.

Complexity. O(n), with the sorting of `stable_order`. Memory: 40 bytes a player for the time of a call.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import FLOATS, INT, INTS, kernel
from evenmatch.numerics.sorting import stable_order

__all__ = ["divided", "longest_waiting", "most_neutral", "shared_out"]


@kernel(FLOATS, FLOATS)
def divided(first: Array, second: Array) -> tuple[Array, int, int, int]:
    """int64[n] places: who plays the first side only, the second only, both, neither, each ascending; three ends."""
    on_first, on_second, on_both = 0, 0, 0
    for place in range(len(first)):
        plays_first, plays_second = not np.isnan(first[place]), not np.isnan(second[place])
        on_first += plays_first
        on_second += plays_second
        on_both += plays_first & plays_second
    # Where the next of each kind is written. Nobody can foretell the kind, so all of them go on by 0 or 1.
    first_at, second_at = 0, on_first - on_both
    both_at, neither_at = second_at + on_second - on_both, second_at + on_second
    places = np.empty(len(first), np.int64)
    for place in range(len(first)):
        plays_first, plays_second = not np.isnan(first[place]), not np.isnan(second[place])
        with_first, without = (both_at if plays_second else first_at), (second_at if plays_second else neither_at)
        places[with_first if plays_first else without] = place
        first_at += plays_first & (not plays_second)
        second_at += plays_second & (not plays_first)
        both_at += plays_first & plays_second
        neither_at += (not plays_first) & (not plays_second)
    return places, first_at, second_at, both_at


@kernel(INTS, INTS, INTS, FLOATS, FLOATS)
def shared_out(first_only: Array, second_only: Array, both: Array, first: Array, second: Array) -> tuple[Array, int]:
    """int64 places, ascending, on the first side and behind them on the second, and how many are on the first."""
    short = len(second_only) - len(first_only)
    rest = max(len(both) - abs(short), 0)
    # Beyond the shortage the second side takes one from the front, the first one from the back, and so on.
    to_first = min(max(short, 0), len(both)) + rest // 2
    bias, marks = np.empty(len(both)), np.zeros(len(first), np.int8)
    for at in range(len(both)):
        bias[at] = first[both[at]] - second[both[at]]
    order = stable_order(bias)
    for place in first_only:
        marks[place] = 1
    for place in second_only:
        marks[place] = 2
    for rank in range(len(both)):
        marks[both[order[rank]]] = 1 if rank >= len(both) - to_first else 2
    count = len(first_only) + to_first
    total = len(first_only) + len(second_only) + len(both)
    # Those on no side are written behind everybody else, where there is room for one.
    places, first_at, second_at = np.empty(total + 1, np.int64), 0, count
    for place in range(len(first)):
        mark = marks[place]
        places[first_at if mark == 1 else (second_at if mark == 2 else total)] = place
        first_at += mark == 1
        second_at += mark == 2
    return places[:total], count


@kernel(INTS, FLOATS, FLOATS)
def most_neutral(places: Array, first: Array, second: Array) -> int:
    """The place whose ratings on both sides differ least, the earliest of several; -1 = there is none."""
    neutral, least = -1, np.inf
    for place in places:
        apart = abs(first[place] - second[place])
        if apart < least:
            neutral, least = place, apart
    return neutral


@kernel(INTS, FLOATS, INT)
def longest_waiting(places: Array, misses: Array, count: int) -> Array:
    """int64[count]: those of ascending places with the most misses, the earlier on equal misses; ascending."""
    fewer, kept, found = np.empty(len(places)), np.zeros(len(places), np.int8), np.empty(count, np.int64)
    for at in range(len(places)):
        fewer[at] = -misses[places[at]]
    order = stable_order(fewer)
    for rank in range(count):
        kept[order[rank]] = 1
    rank = 0
    for at in range(len(places)):
        if kept[at]:
            found[rank] = places[at]
            rank += 1
    return found
