"""WebSockets: a ticket's story, from where the client left off, then live.

A socket subscribes first and asks for the story second, so nothing can fall between the two; what it hears twice is
told once, by sequence. Each socket has its own bounded outbox: a reader who is too slow is closed (1013) and comes back
with `after=`, and never holds up anyone else. An open socket is a heartbeat for its ticket: all of them are sent as one
command, several times in the queue's `heartbeat_s`. When the last one of a ticket is closed by its client, contact is
lost until the ticket is heard of again: who lets a ready check lapse meanwhile is treated more mildly.

Closes: 1000 the story is over, 1001 the server stops, 1013 too slow or too busy, 4400 malformed `after`, 4401 no
credential that counts, 4403 not this caller's, 4404 unknown ticket, 4410 `after` is older than what is kept.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

import structlog

from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import numbers
from evenmatch.domain.ids import TICKET_PREFIX, number_of
from evenmatch.domain.refusals import Refusal

from . import messages
from .mailbox import CommandOrder, Unavailable
from .runner import Runner

log = structlog.get_logger("evenmatch.sockets")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_OUTBOX_MOST: Final = 256
_HEARTBEAT_SHARE: Final = 4
"""Heartbeats are sent so many times within the shortest `heartbeat_s`."""
_LOOK_S: Final = 1.0
_NO_SUCH_TICKET: Final = 4404
_TOO_OLD: Final = 4410
_MALFORMED: Final = 4400
_TRY_LATER: Final = 1013
_GOING_AWAY: Final = 1001


class _Overflow(Exception):
    """The outbox is full: the reader is too slow."""


class Subscriber:
    """One socket's outbox."""

    def __init__(self) -> None:
        self.outbox: asyncio.Queue[messages.Told | None] = asyncio.Queue(_OUTBOX_MOST)
        self.overflowed = False

    def tell(self, told: messages.Told | None) -> None:
        """Put a message into the outbox; None = the server stops."""
        try:
            self.outbox.put_nowait(told)
        except asyncio.QueueFull:
            self.overflowed = True


class Hub:
    """All open sockets, by ticket."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.by_ticket: dict[int, list[Subscriber]] = runner.listening
        self.open = 0
        runner.push = self.push

    def push(self, told: list[messages.Told]) -> None:
        """Hand fresh messages to those who listen."""
        for message in told:
            for subscriber in self.by_ticket.get(message.ticket, ()):
                subscriber.tell(message)

    def close(self) -> None:
        """Tell everyone that the server stops."""
        for subscribers in self.by_ticket.values():
            for subscriber in subscribers:
                subscriber.tell(None)

    async def beat(self) -> None:
        """Send heartbeats for all open sockets, for ever; rules may change, so their pace is looked at again."""
        loop = asyncio.get_running_loop()
        last_s = loop.time()
        while True:
            pause_s = min(15.0, self._shortest_s() / _HEARTBEAT_SHARE)
            await asyncio.sleep(min(_LOOK_S, max(0.0, last_s + pause_s - loop.time())))
            if loop.time() < last_s + pause_s:
                continue
            last_s = loop.time()
            tickets = numbers(list(self.by_ticket))
            if len(tickets) and not self.runner.full():
                self.runner.put(CommandOrder(lambda _, tickets=tickets: cmd.Heartbeat(tickets), None, None))  # type: ignore[misc]

    def _shortest_s(self) -> float:
        queues = list(self.runner.engine.state.queues.values())
        return min((queue.spec.ticket.heartbeat_s for queue in queues), default=60.0)

    async def serve(self, ticket: str, query: bytes, receive: Receive, send: Send) -> None:
        """One WebSocket connection, from handshake to close."""
        await receive()  # websocket.connect
        number = number_of(TICKET_PREFIX, ticket)
        await send({"type": "websocket.accept"})
        if number is None:
            await _close(send, _NO_SUCH_TICKET, "no such ticket")
            return
        after = _after(query)
        if after == -1:
            await _close(send, _MALFORMED, "after must be a sequence: a whole number, 0 or more")
            return
        subscriber = Subscriber()
        self.by_ticket.setdefault(number, []).append(subscriber)
        self.open += 1
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await self._talk(number, after, subscriber, send, gone)
        except _Overflow:
            await _close(send, _TRY_LATER, "too slow; come back with after=")
        finally:
            left = gone.done()
            gone.cancel()
            self.open -= 1
            self.by_ticket[number].remove(subscriber)
            if not self.by_ticket[number]:
                del self.by_ticket[number]
                if left and not self.runner.full():
                    self.runner.put(CommandOrder(lambda _: cmd.LoseContact(numbers([number])), None, None))

    async def _talk(
        self, ticket: int, after: int | None, subscriber: Subscriber, send: Send, gone: "asyncio.Future[None]"
    ) -> None:
        if self.runner.full():
            await _close(send, _TRY_LATER, "busy")
            return
        past = await self.runner.ask(lambda views, now_ms: messages.story(views, ticket, after, now_ms))
        if isinstance(past, Refusal):
            await _close(send, _NO_SUCH_TICKET, "no such ticket")
            return
        if isinstance(past, messages.TooOld):
            await _close(send, _TOO_OLD, f"kept from {past.oldest} on")
            return
        if isinstance(past, Unavailable):
            await _close(send, _TRY_LATER, "the journal cannot be read")
            return
        heartbeat = CommandOrder(lambda _: cmd.Heartbeat(numbers([ticket])), None, None)
        self.runner.put(heartbeat)
        told = past.last
        for message in past.told:
            if await _tell(send, message, gone):
                return
        if past.over:
            await _close(send, 1000, "the story is over")
            return
        while True:
            if subscriber.overflowed:
                raise _Overflow
            fresh = await _next(subscriber, gone)
            if fresh is _GONE:
                return
            if fresh is None:
                await _close(send, _GOING_AWAY, "the server stops; come back with after=")
                return
            if fresh.sequence > told:
                told = fresh.sequence
                if await _tell(send, fresh, gone):
                    return


_GONE: Any = object()


async def _next(subscriber: Subscriber, gone: "asyncio.Future[None]") -> Any:
    """The next message for a socket, or _GONE when its client left."""
    getting = asyncio.ensure_future(subscriber.outbox.get())
    await asyncio.wait((getting, gone), return_when=asyncio.FIRST_COMPLETED)
    if getting.done():
        return getting.result()
    getting.cancel()
    return _GONE


async def _tell(send: Send, message: messages.Told, gone: "asyncio.Future[None]") -> bool:
    """Send a message; True when nothing follows it."""
    if gone.done():
        return True
    await send({"type": "websocket.send", "text": message.text})
    if message.terminal:
        await _close(send, 1000, "the story is over")
    return message.terminal


async def _close(send: Send, code: int, reason: str) -> None:
    with contextlib.suppress(Exception):  # the client may have left already
        await send({"type": "websocket.close", "code": code, "reason": reason})


async def turn_away(code: int, reason: str, receive: Receive, send: Send) -> None:
    """Close a socket that may not come in: after the handshake, so that the client hears why."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    await _close(send, code, reason)


async def _until_gone(receive: Receive) -> None:
    """Read and ignore whatever a client sends until it leaves."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


def _after(query: bytes) -> int | None:
    """The `after` of a query string; None = not given, or 0: all that is kept; -1 = nonsense."""
    values = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("after")
    if values is None:
        return None
    text = values[-1]
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) <= 18 else -1
