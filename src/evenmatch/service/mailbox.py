"""What may be put before the engine, and what comes back.

An order waits in the mailbox until the engine thread takes it, together with all others that wait, into one group
commit. Its reply is a value, a refusal, or the word that it could not be done now; it is given only once the commit is
durable (I7).
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from evenmatch.core.engine import Engine
from evenmatch.domain.commands import Command, NoteAction
from evenmatch.domain.refusals import Refusal

from .bodies import Player, TicketBody
from .views import Views

if TYPE_CHECKING:
    from .desk import Carried
    from .group import Group


current: ContextVar["Carried | None"] = ContextVar("current", default=None)
"""The request of another node that is being carried out here, if it is one: its orders are marked with it."""


class Unavailable(msgspec.Struct, frozen=True):
    """The order was not carried out: the journal, or the server itself, cannot take it now. Nothing was changed."""

    reason: str
    detail: str
    status: int = 503


class JoinEntry(msgspec.Struct, frozen=True, gc=False):
    """One ticket that somebody wants, with players by name."""

    body: TicketBody
    key: int
    fingerprint: int


class Joined(msgspec.Struct, frozen=True, gc=False):
    """What became of the entries of one order: a ticket's number and when it joined, or a refusal."""

    outcomes: list[tuple[int, int] | Refusal]
    players: dict[int, list[Player]] = {}
    """Where the queue keeps ratings: the players of each ticket with the ratings that it waits with."""
    keeps: tuple[str, ...] = ()
    """What the queue keeps of a player, besides rating and ping."""


class JoinOrder:
    """Tickets for one queue."""

    __slots__ = ("entries", "queue", "reply", "request")

    def __init__(self, queue: str, entries: list[JoinEntry], reply: "Reply | None") -> None:
        self.queue, self.entries, self.reply = queue, entries, reply
        self.request = current.get()


class CommandOrder:
    """A command; `make` builds it in the engine thread, given the number of the player it names (0 = unknown).

    If it is granted, `audit` is noted in the same commit, and a ticket's new `attributes` are kept.
    """

    __slots__ = ("attributes", "audit", "make", "player", "reply", "request")

    def __init__(
        self,
        make: Callable[[int], Command | Refusal],
        player: str | None,
        reply: "Reply | None",
        audit: NoteAction | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.make, self.player, self.reply, self.audit = make, player, reply, audit
        self.attributes = attributes
        self.request = current.get()


class NamedOrder:
    """A command that names players who may never have been seen; `make` is given all their numbers."""

    __slots__ = ("make", "names", "reply", "request")

    def __init__(
        self, make: Callable[[dict[str, int]], Command], names: tuple[str, ...], reply: "Reply | None"
    ) -> None:
        self.make, self.names, self.reply = make, names, reply
        self.request = current.get()


class TaskOrder:
    """Something that takes more than one command, such as a result: `work` does it, and its value is the reply."""

    __slots__ = ("reply", "request", "work")

    def __init__(self, work: "Callable[[Group], Any]", reply: "Reply | None") -> None:
        self.work, self.reply = work, reply
        self.request = current.get()


class WaveOrder:
    """A matcher's answer. It counts only for the engine that asked."""

    __slots__ = ("command", "engine", "reply", "request")

    def __init__(self, command: Command, engine: Engine) -> None:
        self.command, self.engine = command, engine
        self.reply = None
        self.request = None


class Question:
    """Something to look up in committed state."""

    __slots__ = ("ask", "reply", "request")

    def __init__(self, ask: Callable[[Views, int], Any], reply: "Reply | None") -> None:
        self.ask, self.reply = ask, reply
        self.request = current.get()


class OutcomeOrder:
    """The answer to a request that no group has taken with it: durable by itself."""

    __slots__ = ("reply", "request")

    def __init__(self, request: "Carried") -> None:
        self.request: Carried | None = request
        self.reply = None


Reply: TypeAlias = "asyncio.Future[Any]"
Order: TypeAlias = JoinOrder | CommandOrder | NamedOrder | TaskOrder | WaveOrder | Question | OutcomeOrder


def give(replies: "list[tuple[Reply | None, Any]]") -> None:
    """Answer whoever waits still; on the event loop."""
    for reply, answer in replies:
        if reply is not None and not reply.done():
            reply.set_result(answer)
