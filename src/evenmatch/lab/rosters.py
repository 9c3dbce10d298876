"""Every proposal of a run, in columns: who is in it, and how far it has come. Row r is proposal r + 1."""

from enum import IntEnum
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Rosters", "Stage", "once"]

_FIRST_ROOM: Final = 1_024


class Stage(IntEnum):
    """How far a proposal has come."""

    UNKNOWN = 0
    ASKED = 1
    """Its players are to say whether they take part."""
    PLAYED = 2
    OVER = 3
    """It failed, or its match has ended."""


class Rosters:
    """Columns, a row a proposal; all have the same number of players."""

    def __init__(self, seats: int) -> None:
        self.stage = np.zeros(_FIRST_ROOM, np.int8)
        self.ticket = np.zeros((_FIRST_ROOM, seats), np.int64)
        """int64[n, seats], 0 = none"""
        self.row = np.zeros((_FIRST_ROOM, seats), np.int64)
        """int64[n, seats]: the players, ticket by ticket"""
        self.team = np.zeros((_FIRST_ROOM, seats), np.int8)
        """int8[n, seats]: the team that the matchmaker put each player in"""
        self.believed = np.zeros((_FIRST_ROOM, seats))
        """float64[n, seats]: their ratings when the match began"""
        self.lasts_ms = np.zeros(_FIRST_ROOM, np.int64)

    def add(self, first: int, roster: Array, row: Array, team: Array, lasts_ms: Array, stage: Stage) -> None:
        """Proposals are numbered on from `first`; `roster`, int64[k, width]: their tickets, -1 = none."""
        end = first - 1 + len(roster)
        if end > len(self.stage):
            for name, column in vars(self).items():
                room = np.zeros((max(end, len(column)), *column.shape[1:]), column.dtype)
                setattr(self, name, np.concatenate([column, room]))
        rows = slice(first - 1, end)
        self.stage[rows] = stage
        self.ticket[rows] = 0
        self.ticket[rows, : roster.shape[1]] = np.maximum(roster, 0)
        self.row[rows], self.team[rows], self.lasts_ms[rows] = row, team, lasts_ms

    def of(self, numbers: Array, stage: Stage) -> Array:
        """bool[n]: which of these proposals have come so far."""
        found: Array = self.stage[numbers - 1] == stage
        return found

    def tickets(self, numbers: Array) -> Array:
        """int64[m]: the tickets of these proposals, proposal by proposal."""
        found = self.ticket[numbers - 1]
        tickets: Array = found[found > 0]
        return tickets


def once(numbers: Array) -> Array:
    """Numbers that stand in runs, once each."""
    new = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    once: Array = numbers[new]
    return once
