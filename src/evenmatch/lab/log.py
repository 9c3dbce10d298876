"""What happened in a run, as columns: every ticket and every match, for the measures to read."""

from enum import IntEnum
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["End", "Log", "Matches", "Tickets"]

_FIRST_ROOM: Final = 4_096


class End(IntEnum):
    """How it ended for a ticket."""

    WAITING = 0
    """It did not, before the run did."""
    PROPOSED = 1
    """It was in a ready check when the run ended."""
    MATCHED = 2
    GAVE_UP = 3
    EXPIRED = 4
    BLAMED = 5
    """One of its players let a ready check fail."""


class Tickets:
    """Columns, a row a ticket; row r is ticket r + 1."""

    def __init__(self) -> None:
        self.count = 0
        self.session = np.zeros(_FIRST_ROOM, np.int64)
        self.game = np.zeros(_FIRST_ROOM, np.int64)
        self.size = np.zeros(_FIRST_ROOM, np.int64)
        self.joined_ms = np.zeros(_FIRST_ROOM, np.int64)
        self.ended_ms = np.zeros(_FIRST_ROOM, np.int64)
        self.end = np.zeros(_FIRST_ROOM, np.int8)
        self.rating = np.zeros(_FIRST_ROOM)
        self.skill = np.zeros(_FIRST_ROOM)
        self.region = np.zeros(_FIRST_ROOM, np.int64)
        self.tried = np.zeros(_FIRST_ROOM, np.int64)
        """Ready checks that failed through no fault of its own."""
        self.overtaken = np.zeros(_FIRST_ROOM, np.int64)

    def add(self, count: int) -> slice:
        """Room for so many more."""
        rows = slice(self.count, self.count + count)
        if rows.stop > len(self.session):
            for name, column in vars(self).items():
                if isinstance(column, np.ndarray):
                    setattr(self, name, np.concatenate([column, np.zeros(max(len(column), count), column.dtype)]))
        self.count = rows.stop
        return rows

    def column(self, name: str) -> Array:
        """The rows that are used."""
        found: Array = getattr(self, name)[: self.count]
        return found


class Matches(msgspec.Struct, eq=False):
    """Chunks of columns, a row a match that was played."""

    chunks: dict[str, list[Array]] = msgspec.field(default_factory=dict)

    def add(self, **columns: Array) -> None:
        """Some more."""
        for name, column in columns.items():
            self.chunks.setdefault(name, []).append(column)

    def column(self, name: str) -> Array:
        """All of it."""
        chunks = self.chunks.get(name)
        return np.concatenate(chunks) if chunks else np.empty(0)

    def __len__(self) -> int:
        return sum(map(len, self.chunks.get("at_ms", ())))


class Log(msgspec.Struct, eq=False):
    """A run."""

    until_ms: int
    tickets: Tickets = msgspec.field(default_factory=Tickets)
    matches: Matches = msgspec.field(default_factory=Matches)
    seats: Matches = msgspec.field(default_factory=Matches)
    """A row a player of a match."""
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    """Reason -> sessions that the queue turned away at the door"""
    skipped: int = 0
    """Sessions whose players were still there from an earlier one."""
    waves: int = 0
    failed_waves: int = 0
    wave_waiting: list[int] = msgspec.field(default_factory=list)
    wave_s: list[float] = msgspec.field(default_factory=list)
    """Processor time of each wave: the one thing here that is not the same every time."""
    started_skill_error: float = 0.0
    ended_skill_error: float = 0.0
    ended_mu: Array = msgspec.field(default_factory=lambda: np.empty(0))
    """float64[players]: what is believed of everybody when the run ends."""
    ended_games: Array = msgspec.field(default_factory=lambda: np.empty(0, np.int64))
    """int64[players]: results, with those before the run"""
    state_hash: str = ""
