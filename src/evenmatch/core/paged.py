"""Numbers that lead to numbers: a dictionary of integers that a whole wave can be looked up in at once.

Problem. The state must find a ticket's slot, a proposal's slot and a player's ticket by number. A wave touches a
million of them, and a Python dictionary costs a hundred nanoseconds and a hundred bytes for each.

Idea. Tickets, proposals and players are numbered one after the other, so numbers in use stand close together. They are
cut into pages; a page that has an entry owns a row of one array, and a directory says which. Looking up is two reads
of arrays, for one number or for many; entries cost eight bytes, pages that empty are used again.

    number - base = page * length + place   directory[page] -> row          values[row * length + place]

Where numbers do not begin at 1 (a lane's tickets), `base` is what they stand above. Numbers that are negative or far
beyond (an embedder may call players what it likes) live in a dictionary beside it. Values are 0 or more.

Values stand one higher in the array, so that 0 is no entry: fresh rows cost nothing until they are used, and room is
made for twice as many as are needed, so that growing is rare.

Memory. Eight bytes an entry while pages are full; in the worst case, one entry a page, a page an entry: so players, of
whom any few may be around, have short pages, and tickets and proposals, whose numbers are used up in order, long ones.
"""

from collections.abc import Iterator, MutableMapping

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import pages

_PAGES_MOST = 2**22
_EMPTY = -1


class Paged(MutableMapping[int, int]):
    """A mapping of numbers to numbers, each 0 or more."""

    __slots__ = (
        *("_base", "_bits", "_count", "_directory", "_far", "_filled", "_free", "_mask", "_page_of", "_rows"),
        "_values",
    )

    def __init__(self, bits: int, base: int = 0) -> None:
        """`bits`: a page holds 2^bits numbers; `base`: they stand above this."""
        self._bits, self._mask, self._base = bits, (1 << bits) - 1, base
        self._count = 0
        """Entries in pages."""
        self._directory = np.full(1, _EMPTY, np.int64)
        """Page -> row."""
        self._values = np.empty(0, np.int64)
        """Row after row, one more than each value, 0 = no entry."""
        self._filled = np.zeros(0, np.int64)
        """Entries in each row."""
        self._page_of = np.zeros(0, np.int64)
        self._rows = 0
        """Rows ever handed out."""
        self._free: list[int] = []
        self._far: dict[int, int] = {}

    # -- one number --------------------------------------------------------------------------------------------------

    def _place(self, number: int) -> int:
        """Where a number's value stands; -1 = its page has no row, or it is a far one."""
        number -= self._base
        page = number >> self._bits
        if not 0 <= page < len(self._directory):
            return -1
        row = self._directory.item(page)
        return -1 if row < 0 else row << self._bits | number & self._mask

    def __getitem__(self, number: int) -> int:
        place = self._place(number)
        value = self._values.item(place) - 1 if place >= 0 else self._far.get(number, _EMPTY)
        if value < 0:
            raise KeyError(number)
        return value

    def get(self, number: int, default: int | None = None) -> int | None:  # type: ignore[override]
        """The value of a number, or the default."""
        place = self._place(number)
        value = self._values.item(place) - 1 if place >= 0 else self._far.get(number, _EMPTY)
        return default if value < 0 else value

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        place = self._place(number)
        return self._values.item(place) > 0 if place >= 0 else number in self._far

    def __setitem__(self, number: int, value: int) -> None:
        assert value >= 0
        page = number - self._base >> self._bits
        if not 0 <= page < _PAGES_MOST:
            self._far[number] = value
            return
        if page >= len(self._directory) or self._directory.item(page) < 0:
            self._own(np.array([page]))
        row = self._directory.item(page)
        place = row << self._bits | number - self._base & self._mask
        if not self._values.item(place):
            self._filled[row] += 1
            self._count += 1
        self._values[place] = value + 1

    def __delitem__(self, number: int) -> None:
        place = self._place(number)
        if place < 0:
            del self._far[number]
            return
        if not self._values.item(place):
            raise KeyError(number)
        self._values[place] = 0
        self._count -= 1
        row = place >> self._bits
        self._filled[row] -= 1
        if not self._filled.item(row):
            self._give(np.array([row]))

    def __len__(self) -> int:
        return self._count + len(self._far)

    def __iter__(self) -> Iterator[int]:
        yield from np.sort(self._numbers()).tolist()
        yield from sorted(self._far)

    def _numbers(self) -> Array:
        places = np.flatnonzero(self._values[: self._rows << self._bits])
        numbers: Array = self._page_of[places >> self._bits] << self._bits | places & self._mask
        return numbers + self._base

    # -- many at once ------------------------------------------------------------------------------------------------

    def find(self, numbers: Array) -> Array:
        """int64[n]: the value of each number, -1 = none."""
        if self._far:
            return np.array([self.get(number, _EMPTY) for number in numbers.tolist()], np.int64)
        return pages.find(self._shifted(numbers), self._directory, self._values, self._bits)

    def find_all(self, numbers: Array) -> Array:
        """int64[n]: the value of each number; KeyError where one has none."""
        found = self.find(numbers)
        if len(found) and found.min() < 0:
            raise KeyError(f"{int(numbers[found.argmin()])} is not there")
        return found

    def put(self, numbers: Array, values: Array) -> None:
        """Enter distinct numbers with their values."""
        if not len(numbers):
            return
        columns = self._shifted(numbers), np.ascontiguousarray(values)
        new = -1 if self._far else self._enter(*columns)
        if new < 0:  # some are far, or new pages are needed
            if self._has_far(numbers):
                self.update(zip(numbers.tolist(), values.tolist(), strict=True))
                return
            wanted = np.unique(columns[0] >> self._bits)
            self._make_room(int(wanted[-1]))
            self._own(wanted[self._directory[wanted] < 0])
            new = self._enter(*columns)
        self._count += new

    def _enter(self, numbers: Array, values: Array) -> int:
        return pages.enter(numbers, values, self._directory, self._values, self._filled, self._bits)

    def drop(self, numbers: Array) -> None:
        """Take distinct numbers out; those that are not there do not matter."""
        if self._far:
            for number in numbers.tolist():
                self.pop(number, None)
            return
        columns = self._directory, self._values, self._filled
        gone, emptied = pages.drop(self._shifted(numbers), *columns, self._bits)
        self._count -= gone
        if len(emptied):
            self._give(np.sort(emptied))

    def _has_far(self, numbers: Array) -> bool:
        if not len(numbers):
            return False
        least, most = int(numbers.min()) - self._base, int(numbers.max()) - self._base
        return bool(self._far) or least < 0 or most >> self._bits >= _PAGES_MOST

    def _shifted(self, numbers: Array) -> Array:
        return np.ascontiguousarray(numbers - self._base if self._base else numbers)

    # -- pages -------------------------------------------------------------------------------------------------------

    def _make_room(self, page: int) -> None:
        """Let the directory reach a page."""
        known = len(self._directory)
        if page >= known:
            directory = np.full(max(page + 1, 2 * known), _EMPTY, np.int64)
            directory[:known] = self._directory
            self._directory = directory

    def _own(self, wanted: Array) -> None:
        """Give rows to pages that have none."""
        self._make_room(int(wanted.max()))
        fresh = len(wanted) - len(self._free)
        if fresh > 0:
            self._free += range(self._rows, self._rows + fresh)
            self._rows += fresh
            if self._rows > len(self._filled):
                self._grow(2 * self._rows)
        rows = np.array(self._free[len(self._free) - len(wanted) :])
        del self._free[len(self._free) - len(wanted) :]
        self._directory[wanted] = rows
        self._page_of[rows] = wanted

    def _grow(self, rows: int) -> None:
        values = np.zeros(rows << self._bits, np.int64)
        values[: len(self._values)] = self._values
        before = len(self._filled)
        self._values = values
        self._filled = np.concatenate((self._filled, np.zeros(rows - before, np.int64)))
        self._page_of = np.concatenate((self._page_of, np.full(rows - before, _EMPTY)))

    def _give(self, rows: Array) -> None:
        """Take the rows of empty pages back."""
        self._directory[self._page_of[rows]] = _EMPTY
        self._page_of[rows] = _EMPTY
        self._free += rows.tolist()
