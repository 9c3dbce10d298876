"""Who was seen lately, for matchers that count active players.

A log of sightings in the order of time: a player's last one counts, and a mapping says where it stands. Seeing a
hundred thousand players is a few array steps; those who were not seen for the time that counts stand at the beginning
and are cut off there. Sightings that were followed by another are dropped when they are the most of the log.
"""

import numpy as np

from evenmatch.domain.arrays import Array

from .paged import Paged

_PAGE_BITS = 6
_SPARE = 1_024


class Active:
    """The players of one queue and when each was last seen, the longest unseen first."""

    def __init__(self, entries: Array | None = None) -> None:
        """`entries`, int64[n, 2]: players and times as `entries` gives them."""
        self._player = np.empty(0, np.int64)
        self._seen_ms = np.empty(0, np.int64)
        self._first = self._end = 0
        """The log is the rows from here to there."""
        self._base = 0
        """Sightings are numbered through: row r is number base + r."""
        self._last = Paged(_PAGE_BITS)
        """Player -> the number of the last sighting."""
        if entries is not None and len(entries):
            self._append(entries[:, 0], entries[:, 1])

    def __len__(self) -> int:
        return len(self._last)

    def see(self, players: Array, now_ms: int, before_ms: int) -> None:
        """Note that players are there now, and forget those who were last seen at `before_ms` or earlier."""
        if len(players) > 1:
            _, first = np.unique(players[::-1], return_index=True)
            if len(first) < len(players):
                players = players[np.sort(len(players) - 1 - first)]
        self._append(players, now_ms)
        old = self._old(before_ms)
        if old > self._first:
            self._last.drop(self._player[self._first : old][self._counts(old)])
            self._first = old
        if self._end - self._first > 2 * len(self._last) + _SPARE:
            entries = self.entries
            self._first = self._end
            self._append(entries[:, 0], entries[:, 1])

    def _append(self, players: Array, seen_ms: Array | int) -> None:
        end = self._end + len(players)
        if end > len(self._player):
            log = slice(self._first, self._end)
            self._base += self._first
            self._first, self._end = 0, self._end - self._first
            end = self._end + len(players)
            self._player, self._seen_ms = (_grown(column[log], 2 * end) for column in (self._player, self._seen_ms))
        self._player[self._end : end] = players
        self._seen_ms[self._end : end] = seen_ms
        self._last.put(players, np.arange(self._base + self._end, self._base + end))
        self._end = end

    def _old(self, before_ms: int) -> int:
        """The first row that is later than that."""
        return self._first + int(np.searchsorted(self._seen_ms[self._first : self._end], before_ms, side="right"))

    def _counts(self, end: int) -> Array:
        """bool: which rows of the log up to here are a player's last sighting."""
        if self._end - self._first == len(self._last):
            return np.ones(end - self._first, bool)
        numbers = np.arange(self._base + self._first, self._base + end)
        last: Array = self._last.find(self._player[self._first : end]) == numbers
        return last

    @property
    def entries(self) -> Array:
        """int64[n, 2]: players and when they were last seen, the longest unseen first."""
        log, counts = slice(self._first, self._end), self._counts(self._end)
        return np.column_stack((self._player[log][counts], self._seen_ms[log][counts]))

    def seen_after(self, before_ms: int) -> int:
        """Players who were seen later than that."""
        return len(self._last) - int(np.count_nonzero(self._counts(self._old(before_ms))))


def _grown(column: Array, rows: int) -> Array:
    grown = np.empty(rows, np.int64)
    grown[: len(column)] = column
    return grown
