"""Facts of a journal that is one of several: a lane beside others on one database."""

from typing import TypeAlias

import msgspec

from evenmatch.domain.arrays import Array


class NumbersBegin(msgspec.Struct, frozen=True, tag="numbers_begin", eq=False):
    """The first event of a lane other than the main one: where its tickets and proposals are numbered from."""

    at_ms: int
    ticket: int
    proposal: int


class ClaimedElsewhere(msgspec.Struct, frozen=True, tag="claimed_elsewhere", eq=False):
    """Proposals or matches of other lanes have these players: their tickets here are suspended (I11)."""

    at_ms: int
    player: Array


class ReleasedElsewhere(msgspec.Struct, frozen=True, tag="released_elsewhere", eq=False):
    """They let go of them: the tickets resume with the wait they had (I6)."""

    at_ms: int
    player: Array


LaneEvent: TypeAlias = NumbersBegin | ClaimedElsewhere | ReleasedElsewhere
