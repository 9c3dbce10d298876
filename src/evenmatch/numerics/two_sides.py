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


@kernel()
def _marked(marks: Array, mark: int) -> Array:
    """The places with this mark, ascending."""
    count = 0
    for value in marks:
        count += value == mark
    places = np.empty(count, np.int64)
    at = 0
    for place in range(len(marks)):
        if marks[place] == mark:
            places[at] = place
            at += 1
    return places


@kernel(FLOATS, FLOATS)
def divided(first: Array, second: Array) -> tuple[Array, Array, Array, Array]:
    """int64 places, ascending: who plays the first side only, the second only, both, neither."""
    marks = np.empty(len(first), np.int8)
    for place in range(len(first)):
        marks[place] = 2 * (not np.isnan(second[place])) + (not np.isnan(first[place]))
    return _marked(marks, 1), _marked(marks, 2), _marked(marks, 3), _marked(marks, 0)


@kernel(INTS, INTS, INTS, FLOATS, FLOATS)
def shared_out(
    first_only: Array, second_only: Array, both: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """int64 places, ascending, on the first side and on the second, and a mark for each of `both`: 1 = on the first."""
    short = len(second_only) - len(first_only)
    rest = max(len(both) - abs(short), 0)
    # Beyond the shortage the second side takes one from the front, the first one from the back, and so on.
    to_first = min(max(short, 0), len(both)) + rest // 2
    order = stable_order(first[both] - second[both])
    on_first = np.zeros(len(both), np.int8)
    on_first[order[len(both) - to_first :]] = 1
    marks = np.zeros(len(first), np.int8)
    marks[first_only] = 1
    marks[second_only] = 2
    for at in range(len(both)):
        marks[both[at]] = 1 if on_first[at] else 2
    return _marked(marks, 1), _marked(marks, 2), on_first


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
    kept = np.zeros(len(places), np.int8)
    kept[stable_order(-misses[places])[:count]] = 1
    return places[_marked(kept, 1)]
