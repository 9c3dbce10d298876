"""What lies between people and the engine: nothing, or a network and a machine that fail."""

from typing import Protocol

from evenmatch.core.engine import Engine, Step
from evenmatch.core.hashing import state_hash
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import Array

from .agenda import Agenda, Kind

__all__ = ["Crashed", "PlainWire", "Wire"]


class Crashed(Exception):
    """The engine died before a command was durable: nobody was answered."""


class Wire(Protocol):
    """How commands reach the engine."""

    def carried(self, agenda: Agenda, kind: Kind, what: Array, now_ms: int) -> Array:
        """Of what people do now, what arrives now; the rest is on the agenda for later."""

    def step(self, command: cmd.Command, now_ms: int) -> Step:
        """What a command leads to; Crashed if nobody will ever know."""

    def key(self, wish: int) -> int:
        """The idempotency key of a join; 0 = none is needed."""

    def finished(self) -> str:
        """The state hash at the end."""


class PlainWire:
    """Everything arrives, once, at once."""

    def __init__(self) -> None:
        self.engine = Engine(records=False)

    def carried(self, agenda: Agenda, kind: Kind, what: Array, now_ms: int) -> Array:  # noqa: ARG002
        """All of it."""
        return what

    def step(self, command: cmd.Command, now_ms: int) -> Step:
        """What the engine says."""
        return self.engine.step(command, now_ms)

    def key(self, wish: int) -> int:  # noqa: ARG002
        """Nothing is sent twice."""
        return 0

    def finished(self) -> str:
        """Of the engine's state."""
        return state_hash(self.engine.state)
