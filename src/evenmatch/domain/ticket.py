"""A ticket: one party's wish to play in one queue; its states, and the moves between them.

    waiting --wave--> proposed --all accept--> matched          (where the game server confirms: once it has)
       |  ^              |
       |  +--innocent----+----declined, lapsed---> cancelled
       +--left--> cancelled       +--too long, unheard of--> expired

Without a ready check a wave leads from waiting straight to matched.
"""

import math
from enum import IntEnum
from typing import Any, Final

import msgspec


class Status(IntEnum):
    """Where a ticket stands. `FREE` marks an unused slot and is never shown."""

    FREE = 0
    WAITING = 1
    PROPOSED = 2
    MATCHED = 3
    CANCELLED = 4
    EXPIRED = 5

    @property
    def word(self) -> str:
        """The status as the API spells it."""
        return self.name.lower()


class Cause(IntEnum):
    """Why a ticket is no longer waiting for a match."""

    NONE = 0
    LEFT = 1
    """Its player left the queue."""
    DECLINED = 2
    """One of its players declined a proposal."""
    LAPSED = 3
    """One of its players did not answer a ready check in time."""
    TOO_LONG = 4
    """It was in the queue for as long as the queue's spec allows."""
    UNHEARD = 5
    """Its client was not heard of for as long as the queue's spec allows."""
    RULES_CHANGED = 6
    """The queue was given rules that it does not meet."""
    LOST = 7
    """One of its players did not answer a ready check, and its connection was lost."""
    START_FAILED = 8
    """The game server said that the match could not start."""
    NOT_CONFIRMED = 9
    """The game server did not say in time that the match has started."""
    OPERATOR = 10
    """An operator ended it."""
    DESERTED = 11
    """Of an offence: the player left a match, which asked for another."""
    NOT_NEEDED = 12
    """The match that it was invited to ended, or asks for nobody any more."""

    @property
    def word(self) -> str:
        """The cause as the API spells it."""
        return self.name.lower()

    @property
    def status(self) -> Status:
        """Where a ticket stands that is gone for this cause."""
        return Status.EXPIRED if self in (Cause.TOO_LONG, Cause.UNHEARD) else Status.CANCELLED


FACTS: Final = ("rating", "ping_ms")
"""The numbers that a player brings, one column each. NaN = not given."""

FACT_MAX: Final = 1e6
"""No fact is larger: sums and squares of such numbers stay far from overflow."""

SIGMA: Final = "profile.sigma"
"""The deviation of a player's rating: how far it may be off."""

RATING_DEFAULT: Final = 1500.0
"""The rating of a player who brings none."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """One player of a party, as the journal may know them: a number, and the facts that matching reads."""

    player: int
    rating: float = RATING_DEFAULT
    ping_ms: float = math.nan
    facts: dict[str, float] = {}
    """Further numbers, such as `ratings.bw`; a queue keeps those that its matcher reads."""
    traits: dict[str, Any] = {}
    """What is not a number, such as `region`; likewise."""


class TicketRequest(msgspec.Struct, frozen=True):
    """A party that wants to play."""

    members: tuple[Member, ...]
    attributes: dict[str, str | int | float | bool] = {}
    key: int = 0
    """Digest (128 bits) of the caller's idempotency key; 0 = none."""
    fingerprint: int = 0
    """Digest (63 bits) of what was asked under that key."""
    avoid: tuple[int, ...] = ()
    """Players whom this party does not want to meet."""
    backfill: bool | None = None
    """Whether it may be asked to join a running match; None = as the queue has it."""
