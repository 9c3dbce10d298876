"""What `decide` answers when it does not refuse."""

from typing import TypeAlias

import msgspec

from evenmatch.domain.events import Event
from evenmatch.domain.refusals import Refusal

Outcome: TypeAlias = int | Refusal
"""What became of one join: the ticket's number, or why there is none."""


class Decision(msgspec.Struct, frozen=True):
    """The events that a command leads to, and for joins what became of each request."""

    events: tuple[Event, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


NOTHING = Decision()
"""Granted, and nothing changes."""
