"""Growable columns with slots that are used again.

A table is a set of numpy arrays of one length. `take` hands out slots, `give` returns them; a slot keeps its place for
as long as it is taken, so that others can point at it. `Blocks` does the same for runs of neighbouring rows (the
players of a party).

A table that is full doubles. Copying all columns of a million rows at once would take a tenth of a second, so a large
table begins when it is half full: now and then one more column moves to an array twice as long, of which it shows the
first half, and when the table is full all have moved. Memory that was never written to costs nothing. Arrays that were
left stay as they were, for whoever still reads them.

Neither knows what its columns mean. Which slots are handed out depends on history, so nothing that
leaves the core (hash, snapshot, answer) may depend on them.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.run_rows import run_rows

_FIRST_CAPACITY = 64
_LARGE = 32_768
"""From twice so many rows on, a table grows a column at a time."""


class Columns:
    """Named arrays of one length; `columns.name` is the array itself."""

    def __init__(self, dtypes: dict[str, str], widths: dict[str, int] | None = None) -> None:
        self._dtypes = dict(dtypes)
        self._widths = dict(widths or {})
        self.capacity = _FIRST_CAPACITY
        self.used = 0
        """Rows ever handed out; those beyond hold zeros."""
        self._ahead: dict[str, Array] = {}
        """Columns that have moved: the whole of their longer arrays."""
        for name, dtype in dtypes.items():
            setattr(self, name, np.zeros(self._shape(name, self.capacity), dtype))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def _shape(self, name: str, rows: int) -> tuple[int, ...]:
        width = self._widths.get(name)
        return (rows,) if width is None else (rows, width)

    @property
    def names(self) -> list[str]:
        """The columns' names, in the order they were declared."""
        return list(self._dtypes)

    def add_column(self, name: str, dtype: str, fill: float) -> None:
        """Declare one more column, filled for the rows that are there."""
        self._dtypes[name] = dtype
        setattr(self, name, np.full(self._shape(name, self.capacity), fill, dtype))

    def widen(self, names: tuple[str, ...], width: int, fill: int) -> None:
        """Make these two-dimensional columns at least so wide."""
        for name in names:
            old: Array = getattr(self, name)
            if old.shape[1] < width:
                self._widths[name] = width
                new = np.full((self.capacity, width), fill, old.dtype)
                new[:, : old.shape[1]] = old
                setattr(self, name, new)
                self._ahead.pop(name, None)

    def extend(self, count: int) -> int:
        """Hand out `count` fresh rows at the end; returns the first."""
        first = self.used
        self.used += count
        while self.used > self.capacity:
            self._double(first)
        if self.used > self.capacity >> 1 >= _LARGE:
            due = len(self._dtypes) * (self.used - (self.capacity >> 1)) // (self.capacity >> 2) + 1
            self._move(due, first)
        return first

    def _double(self, rows: int) -> None:
        """Let all columns be twice as long, with the rows that are in use."""
        self._move(len(self._dtypes), rows)
        for name, longer in self._ahead.items():
            setattr(self, name, longer)
        self._ahead = {}
        self.capacity *= 2

    def _move(self, columns: int, rows: int) -> None:
        """Let so many columns have moved to longer arrays, with the rows that are in use."""
        for name, dtype in self._dtypes.items():
            if len(self._ahead) >= columns:
                return
            if name not in self._ahead:
                longer = np.zeros(self._shape(name, 2 * self.capacity), dtype)
                old: Array = getattr(self, name)
                longer[:rows] = old[:rows]
                self._ahead[name] = longer
                setattr(self, name, longer[: self.capacity])

    def dump(self) -> dict[str, Any]:
        """The rows handed out so far, column by column."""
        return {name: getattr(self, name)[: self.used].copy() for name in self._dtypes}

    def load(self, arrays: dict[str, Array]) -> None:
        """Put back what `dump` gave."""
        for name, array in arrays.items():
            if name not in self._dtypes:
                self.add_column(name, str(array.dtype), 0)
            if array.ndim == 2:
                self.widen((name,), array.shape[1], 0)
        self.used = 0
        count = len(next(iter(arrays.values())))
        while self.capacity < 2 * count:  # room enough, so that a table that was full need not grow first of all
            self._double(0)
        self.extend(count)
        for name, array in arrays.items():
            getattr(self, name)[: self.used] = array


class Slots:
    """Which rows of a table are free: a pile, the last returned on top."""

    def __init__(self, free: Array | None = None) -> None:
        self._pile = np.empty(0, np.int64) if free is None else free.astype(np.int64)
        self._count = len(self._pile)

    def __len__(self) -> int:
        return self._count

    @property
    def free(self) -> Array:
        """int64: the free slots, those on top last."""
        return self._pile[: self._count]

    def take(self, columns: Columns, count: int) -> Array:
        """int64[count]: slots to use, the freed ones first."""
        taken = np.empty(count, np.int64)
        reused = min(count, self._count)
        self._count -= reused
        taken[:reused] = self._pile[self._count : self._count + reused][::-1]
        if reused < count:
            first = columns.extend(count - reused)
            taken[reused:] = np.arange(first, first + count - reused)
        return taken

    def take_one(self, columns: Columns, length: int = 1) -> int:
        """One slot to use; where none is free, the first of `length` fresh rows."""
        if not self._count:
            return columns.extend(length)
        self._count -= 1
        return int(self._pile.item(self._count))

    def give(self, slots: Array) -> None:
        """Return slots. They are handed out again in ascending order: what comes together stands together in memory."""
        end = self._count + len(slots)
        if end > len(self._pile):
            pile = np.empty(max(end, 2 * len(self._pile)), np.int64)
            pile[: self._count] = self.free
            self._pile = pile
        self._pile[self._count : end] = np.sort(slots)[::-1]
        self._count = end


class Blocks:
    """Runs of neighbouring rows, kept by length."""

    def __init__(self) -> None:
        self.free: dict[int, Slots] = {}

    def take(self, columns: Columns, size: Array) -> Array:
        """int64[n]: the first row of a run of each size."""
        one_length = _only(size)
        if one_length:
            return self._take(columns, one_length, len(size))
        start = np.empty(len(size), np.int64)
        for length in np.unique(size).tolist():
            wanted = size == length
            start[wanted] = self._take(columns, length, int(np.count_nonzero(wanted)))
        return start

    def take_one(self, columns: Columns, length: int) -> int:
        """The first row of a run of this length."""
        slots = self.free.get(length)
        return columns.extend(length) if slots is None else slots.take_one(columns, length)

    def _take(self, columns: Columns, length: int, count: int) -> Array:
        slots = self.free.get(length)
        reused = min(count, len(slots)) if slots is not None else 0
        start = np.empty(count, np.int64)
        if slots is not None and reused:
            start[:reused] = slots.take(columns, reused)
        if reused < count:
            first = columns.extend((count - reused) * length)
            start[reused:] = np.arange(first, columns.used, length)
        return start

    def give(self, start: Array, size: Array) -> None:
        """Return runs."""
        for length in np.unique(size).tolist():
            self.free.setdefault(length, Slots()).give(start[size == length])


def _only(size: Array) -> int:
    """The one value of an array, or 0 where there are several."""
    first = int(size[0])
    return first if len(size) == 1 or (size == first).all() else 0


def run_of(rows: Array) -> Array | slice:
    """The same rows as a slice where they are neighbours in ascending order: several times faster to index with."""
    first, count = int(rows[0]), len(rows)
    if count == 1 or (int(rows[-1]) - first == count - 1 and (rows[1:] - rows[:-1] == 1).all()):
        return slice(first, first + count)
    return rows


def spans(start: Array, size: Array) -> Array:
    """int64[sum of size]: the rows of all the runs, one run after the other."""
    return run_rows(np.ascontiguousarray(start), np.ascontiguousarray(size))


def lowest(slots: Array, numbers: Array, most: int) -> Array:
    """The slots with the lowest numbers, `most` of them at most, in the order of their numbers."""
    if len(slots) > most:
        chosen = np.argpartition(numbers, most)[:most]
        slots, numbers = slots[chosen], numbers[chosen]
    chosen_slots: Array = slots[np.argsort(numbers)]
    return chosen_slots
