"""What a matcher answers: a plan, as arrays, with objects built only when somebody asks."""

import math
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.table import Choice, Column, Table


class Reason(IntEnum):
    """Why a ticket of a snapshot is in no proposal of the plan (I10), with the same in words. SEATED: it is in one."""

    text: str

    def __new__(cls, code: int, text: str = "") -> "Reason":
        """A code that carries its words."""
        reason = int.__new__(cls, code)
        reason._value_ = code
        reason.text = text
        return reason

    SEATED = 0, "it is in a match"
    TOO_FEW_PLAYERS = 1, "fewer players are left than a match needs"
    NO_FITTING_PARTIES = 2, "the parties that are left cannot be put together into full teams with this one"
    PARTY_TOO_LARGE = 3, "the party is larger than a team"
    BEYOND_POOL = 4, "the matcher looks at the longest waiting tickets only, and this one is not among them"
    LESS_EVEN = 5, "seating this ticket would have cost a better plan"
    PLAN_OVERTAKEN = 6, "it was seated, but its match no longer held when the plan came back"
    TIER_TOO_SMALL = 7, "fewer players are left in its tier than a lobby needs"
    FILTERED = 8, "the other side is smaller, and others on its own side have missed more waves or waited longer"
    NO_OPPONENT_IN_WINDOW = 9, "too few whom it could play are left within the window"
    NOBODY_IN_RANGE = 10, "no ticket is within range that would have this one in range too"
    LEFT_OVER = 11, "the sessions are full, and this ticket is the least loss to leave out"
    NO_FAIR_OPPONENT = 12, "no free lobby overlaps enough and is close enough"
    CANNOT_PLAY_SIDE = 13, "it has a rating for none of the queue's sides"
    KEPT_APART = 14, "those it would play with are blocked, avoided or met too lately"
    TOO_FAR = 15, "no region is near enough to all whom it would play with"
    HELD = 16, "a better match than those it could have now is to be expected soon"
    ROLE_MISSING = 17, "too few of those that it could play with can play some role of a team"
    SIDE_MISSING = 18, "nobody waits who could play the other side"

    @property
    def word(self) -> str:
        """The reason as the API spells it."""
        return self.name.lower()


class Seating(msgspec.Struct, frozen=True):
    """One suggested match: rows of the snapshot, team by team, in order of selection."""

    teams: tuple[tuple[int, ...], ...]
    cost: float


class Plan(msgspec.Struct, frozen=True, eq=False):
    """Suggested matches over the rows of one snapshot, and a reason for every row that is in none."""

    rosters: Array
    """int32[matches, tickets]: rows in order of selection, -1 = empty."""
    team_of: Array
    """int8, same shape: the team of each ticket, -1 = empty."""
    cost: Array
    """float64[matches]: lower is better; what it measures is the matcher's own."""
    reasons: Array
    """int8[n]: a `Reason` for each row of the snapshot."""
    details: dict[str, Any] = {}
    """What the matcher has to say of the plan as a whole."""
    match_details: Table = Table()
    """What it has to say of each match; empty = nothing."""
    trace: tuple[dict[str, Any], ...] = ()
    """The matcher's own account of its steps, on request."""

    @property
    def matches(self) -> list[Seating]:
        """The suggested matches as objects."""
        rosters, teams, costs = self.rosters.tolist(), self.team_of.tolist(), self.cost.tolist()
        return [Seating(_by_team(*match), cost) for *match, cost in zip(rosters, teams, costs, strict=True)]


def _by_team(roster: list[int], team_of: list[int]) -> tuple[tuple[int, ...], ...]:
    teams: list[list[int]] = [[] for _ in range(max(team_of) + 1)]
    for row, team in zip(roster, team_of, strict=True):
        if row >= 0:
            teams[team].append(row)
    return tuple(map(tuple, teams))


_TICKET_KEYS: Final = frozenset(
    {"ticket", "tickets", "leader", "leaders", "members", "anchor", "added", "lead", "follow"}
)
"""Keys of details and traces whose values are ticket numbers; `sides` and `scores` are tables with such in them."""


def in_plain(table: Table) -> Table:
    """Details of matches as the journal can keep them: arrays of plain kinds, and words that JSON can hold."""
    return Table({name: _in_plain(name, column) for name, column in table.columns.items()})


def _in_plain(name: str, column: Column) -> Column:
    if isinstance(column, Table):
        return in_plain(column)
    if isinstance(column, Choice):
        return Choice(column.code, (_in_names_under(name, word, int) for word in column.words))
    if column.dtype.kind == "f":
        return np.ascontiguousarray(column, np.float64)
    if column.dtype.kind in "bi":
        return np.ascontiguousarray(column)
    return _in_plain(name, Choice(np.arange(len(column)), column.tolist()))


def in_names(value: Any, name_of: Callable[[int], str | int]) -> Any:
    """Details or a trace with names in place of ticket numbers, in plain values that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _in_names_under(str(key), inner, name_of) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [in_names(inner, name_of) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _in_names_under(key: str, value: Any, name_of: Callable[[int], str | int]) -> Any:
    def name(number: Any) -> Any:
        return name_of(int(number)) if isinstance(number, int | np.integer) else number

    if key == "sides" and isinstance(value, Mapping):
        return {side: name(number) for side, number in value.items()}
    if key == "scores" and isinstance(value, Mapping):
        return {name(number): in_names(score, name_of) for number, score in value.items()}
    if key in _TICKET_KEYS:
        return [name(one) for one in value] if isinstance(value, list | tuple | np.ndarray) else name(value)
    return in_names(value, name_of)
