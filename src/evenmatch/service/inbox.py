"""Requests of other nodes, carried out by the owner of their lane.

    inbox (table) ─> reading thread ─> event loop: the application, as for a client of its own ─> orders, marked
    ─> engine thread: a group, with the answers in its commit (`desk`)

A request that makes the engine raise is tried once more by itself, and then answered 500. One that could not be carried
out stays in the inbox, where whoever put it there may take it back.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any, Final

import msgspec
import structlog

from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import numbers
from evenmatch.errors import JournalError
from evenmatch.storage.inbox import Outcome, Request

from .bell import Bell
from .desk import Carried, Desk
from .errands import Capture, Errand, Response, decode, encode, scope_of
from .handlers import problem
from .mailbox import CommandOrder, Order, OutcomeOrder, current
from .owner import Owner
from .sockets import Message, Receive, Send
from .spells import Spells
from .wire import WireReasons

log = structlog.get_logger("evenmatch.inbox")

_DEAF_S: Final = 0.02
"""The inbox is looked at as often where rings are not heard."""
_HEARD_S: Final = 0.1
"""And as often where they are: one may be lost."""
_AGAIN_S: Final = 0.25
"""An inbox that could not be read is looked at again after so long."""
_SUSPECTED_MOST: Final = 2
Apply = Callable[[Message, Receive, Send], Awaitable[None]]


class Inbox:
    """Carries out what lies in the inbox of one lane, for as long as it is owned."""

    def __init__(self, runner: Owner, apply: Apply, look: Callable[[Collection[str]], list[Request]]) -> None:
        """`apply` answers a request that was let in; `look` reads what waits, in order, but not what is known."""
        self.runner, self._apply, self._look = runner, apply, look
        self._desk = Desk()
        self._known: set[str] = set()
        """Requests that are being carried out, or were, and may still be seen in the inbox."""
        self._durable: set[str] = set()
        """Those of them that were carried out for good."""
        self._suspected: dict[str, int] = {}
        """Requests with which the engine failed, and how often."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.bell = Bell(_DEAF_S, _HEARD_S)
        """Rung when something was put in."""
        self._spells = Spells(log, "the inbox cannot be read", "the inbox is read again")
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="inbox", daemon=True)
        self.depth = 0
        """Requests that waited, or were being carried out, at the last look."""

    def start(self) -> None:
        """Begin; on the event loop."""
        self._loop = asyncio.get_running_loop()
        self.runner.inbox = self
        self._thread.start()

    async def close(self) -> None:
        """Take nothing more, and let what was begun come to its end."""
        self._ending = True
        self.bell.ring()
        await asyncio.to_thread(self._thread.join)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5.0)

    # -- the reading thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending:
            self.bell.wait()
            self.bell.clear()
            before = list(self._durable)  # what was durable before this look cannot be seen in it
            known = list(self._known)
            try:
                found = self._look(known)
            except JournalError as error:
                self._spells.note(error)
                time.sleep(_AGAIN_S)
                continue
            self._spells.end()
            assert self._loop is not None
            self.depth = len(found) + len({*known} - {*before})
            if (found or before) and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._begin, found, before)

    # -- the event loop ----------------------------------------------------------------------------------------------

    def _begin(self, found: list[Request], before: list[str]) -> None:
        for request in found:
            if request.id not in self._known and not self._ending:
                self._known.add(request.id)
                task = asyncio.create_task(self._carry_out(request))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self._known.difference_update(before)
        self._durable.difference_update(before)

    async def _carry_out(self, request: Request) -> None:
        failed = self._suspected.get(request.id, 0)
        carried = Carried(request.id, self._desk, alone=failed > 0)
        current.set(carried)
        if failed >= _SUSPECTED_MOST:
            response = _fault("nothing was changed; please report this")
        else:
            response = await self._answered(request)
        if not self._desk.finish(carried, encode(response)) and not carried.void:
            self.runner.put(OutcomeOrder(carried))

    async def _answered(self, request: Request) -> Response:
        try:
            errand = decode(request.body)
        except msgspec.DecodeError as error:  # ValidationError is one; a node of ours writes nothing of the kind
            log.error("a request in the inbox cannot be read", request=request.id, error=str(error))
            return _fault("the request cannot be read; nothing was changed")
        if not errand.method:
            return await self._noted(errand)
        capture = Capture(errand.body)
        await self._apply(scope_of(errand), capture.receive, capture.send)
        return capture.response()

    async def _noted(self, errand: Errand) -> Response:
        """What a node says of lines to it; nothing, where it asks only whether anybody is there."""
        reply = self.runner.reply()
        make: Callable[[int], Any] = lambda _: cmd.Heartbeat(numbers(errand.seen))  # noqa: E731
        if errand.lost:
            make = lambda _: cmd.LoseContact(numbers(errand.lost))  # noqa: E731
        self.runner.put(CommandOrder(make, None, reply))
        await reply
        return Response(204, [], b"")

    # -- the engine thread -------------------------------------------------------------------------------------------

    def settled(self, outcomes: list[Outcome]) -> None:
        """These are carried out for good."""
        self._durable.update(outcome.id for outcome in outcomes)

    def undone(self, orders: Iterable[Order], *, fault: bool = False) -> None:
        """These were not; `fault`: the engine failed with them. They are in the inbox still, and are begun anew."""
        for order in orders:
            request = order.request
            if request is not None and not request.void:
                request.void = True
                if fault:
                    self._suspected[request.id] = self._suspected.get(request.id, 0) + 1
                self._known.discard(request.id)


def _fault(said: str) -> Response:
    answer = problem(WireReasons.INTERNAL_ERROR.problem(said))
    return Response(answer.status, [(b"content-type", answer.media)], answer.body)
