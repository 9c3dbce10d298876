"""What a matcher sees: the waiting tickets of a queue, as columns, at one moment.

A snapshot is a copy: whatever happens to the queue while a matcher thinks cannot reach it. Players stand ticket by
ticket in their own columns; the players of row r are `player_start[r] : player_start[r + 1]`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array
from evenmatch.domain.order import canonical_order
from evenmatch.domain.queue import NO_FORMAT, Format


class Snapshot(msgspec.Struct, frozen=True, eq=False):
    """The columns of the waiting tickets. Frozen: the arrays are not writeable either."""

    format: Format
    now_ms: int
    ticket: Array
    """int64[n]: ticket numbers."""
    waited_ms: Array
    """int64[n]: time spent waiting, ready checks not counted."""
    misses: Array
    """int32[n]: waves already lived through unmatched."""
    returned: Array
    """bool[n]: came back from a failed match."""
    group: Array
    """int32[n]: tickets of different groups must not meet."""
    player_start: Array
    """int64[n + 1]: where the players of each row begin."""
    player: Array
    """int64[m]: player numbers."""
    facts: dict[str, Array]
    """float64[m] each, a value a player, NaN = not given: `rating`, `ping_ms`, `ratings.SIDE` (NaN = can't play that
    side), `profile.FEATURE`."""
    traits: dict[str, tuple[Any, ...]] = {}
    """What is not a number, a value a player, None = not given: `region` (str), `vetoed_maps` and `roles` (tuples of
    str), `profile.FEATURE` of categorical features (str)."""
    active_population: int | None = None
    """Players seen lately, waiting or not; None = not known."""
    first_match: int = 1
    """The number that the first match of the plan will have."""
    forbidden: Array = NO_PAIRS
    """int64[k, 2]: pairs of rows that must not be in one match."""
    reach: Array = NONE
    """int64[n]: the regions that each ticket can play in, as bits: those of a match must share one. Empty = any can."""
    regions: tuple[str, ...] = ()
    """What the bits of `reach` stand for, the lowest first; none = not known."""
    met: Array = NO_PAIRS
    """int64[k, 2]: pairs of rows that played each other lately and may again, since one of them has waited long."""

    @classmethod
    def from_columns(
        cls,
        *,
        rating: ArrayLike | None = None,
        ping_ms: ArrayLike | None = None,
        waited_ms: ArrayLike | None = None,
        misses: ArrayLike | None = None,
        ratings: Mapping[str, ArrayLike] | None = None,
        profile: Mapping[str, ArrayLike] | ArrayLike | None = None,
        ids: Sequence[str] | None = None,
        format: Format = NO_FORMAT,
        active_population: int | None = None,
    ) -> "Snapshot":
        """A snapshot of single players, a row each, from columns of equal length; every one may be left out.

        `ratings` has a column a side, NaN = can't play that side. `profile` has a column a feature: a mapping of names
        to columns, or a matrix (rows x features) whose features are called x0, x1, ... `ids` settle ties by code point;
        without them the row number does. Without `format` a matcher plays its own. Rows of a plan refer to the
        columns as given. Raises ValueError that names the column.
        """
        from .columns import columns_of

        return cls(
            format=format,
            now_ms=0,
            active_population=active_population,
            **columns_of(rating, ping_ms, waited_ms, misses, ratings, profile, ids),
        )

    def __len__(self) -> int:
        return len(self.ticket)

    @property
    def size(self) -> Array:
        """int64[n]: players in each ticket."""
        size: Array = self.player_start[1:] - self.player_start[:-1]
        return size

    @property
    def solo(self) -> bool:
        """Every ticket is a single player, so that rows and players are the same."""
        return len(self.player) == len(self.ticket)

    def mean(self, fact: str) -> Array:
        """float64[n]: the mean of a player fact over each ticket's party."""
        if not len(self):
            return np.empty(0)
        column: Array = self.facts[fact]
        if self.solo:
            return column
        totals: Array = np.add.reduceat(column, self.player_start[:-1])
        means: Array = totals / self.size
        return means

    def canonical_order(self) -> Array:
        """int64[n]: rows by longer wait, then returned from a failed match, then ticket number."""
        return canonical_order(self.waited_ms, self.returned, self.ticket)

    def take(self, rows: Array) -> "Snapshot":
        """The snapshot of these rows only, in the order given."""
        player_start, where = self._players(rows)
        return Snapshot(
            format=self.format,
            now_ms=self.now_ms,
            ticket=self.ticket[rows],
            waited_ms=self.waited_ms[rows],
            misses=self.misses[rows],
            returned=self.returned[rows],
            group=self.group[rows],
            player_start=player_start,
            player=self.player[where],
            facts={name: column[where] for name, column in self.facts.items()},
            traits=_taken(self.traits, where),
            active_population=self.active_population,
            first_match=self.first_match,
            forbidden=self._pairs(self.forbidden, rows),
            reach=self.reach[rows] if len(self.reach) else self.reach,
            regions=self.regions,
            met=self._pairs(self.met, rows),
        )

    def _pairs(self, pairs: Array, rows: Array) -> Array:
        """The pairs among these rows, by their places in them."""
        if not len(pairs):
            return pairs
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        pairs = place[pairs]
        return pairs[(pairs >= 0).all(axis=1)]

    def _players(self, rows: Array) -> tuple[Array, Array]:
        """Where the players of these rows begin among themselves, int64[rows + 1], and their places here, int64."""
        if self.solo:
            return np.arange(len(rows) + 1), rows
        size = self.size[rows]
        player_start = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(size, out=player_start[1:])
        where = np.arange(player_start[-1]) + np.repeat(self.player_start[rows] - player_start[:-1], size)
        return player_start, where


def _taken(traits: dict[str, tuple[Any, ...]], where: Array) -> dict[str, tuple[Any, ...]]:
    """The traits of the players at these places."""
    if not traits:
        return {}
    places = where.tolist()
    return {name: tuple(map(values.__getitem__, places)) for name, values in traits.items()}
