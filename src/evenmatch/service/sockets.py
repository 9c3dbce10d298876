"""A ticket's story, from where the client left off, then live: over a WebSocket, or over any other `Line`.

A line subscribes first and asks for the story second, so nothing can fall between the two; what it hears twice is told
once, by sequence. Each has its own bounded outbox: a reader who is too slow is cut off (1013), in the middle of a
message if need be, comes back with `after=`, and never holds up anyone else. A client has nothing to say here: who
sends more than a few messages is closed (1008). An open line is a heartbeat for its ticket: all of them are sent as one
command, several times in the queue's `heartbeat_s`. When the last one of a ticket is closed by its client, contact is
lost until the ticket is heard of again: who lets a ready check lapse meanwhile is treated more mildly.

Closes: 1000 the story is over, 1001 the server stops, 1008 the client talks too much, 1013 too slow or too busy, 4400
malformed `after`, 4401 no credential that counts, 4403 not this caller's, 4404 unknown ticket, 4410 `after` is older
than what is kept.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol
from urllib.parse import parse_qs

import structlog

from evenmatch.domain.arrays import numbers
from evenmatch.domain.ids import TICKET_PREFIX, number_of
from evenmatch.domain.refusals import Refusal

from . import messages
from .mailbox import Unavailable
from .runner import Runner

log = structlog.get_logger("evenmatch.sockets")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_OUTBOX_MOST: Final = 256
_HEARTBEAT_SHARE: Final = 4
"""Heartbeats are sent so many times within the shortest `heartbeat_s`."""
_GREET_S: Final = 0.02
_LOOK_S: Final = 1.0
_INBOUND_MOST: Final = 32
"""Messages that a client may send over a socket on which it has nothing to say."""
_LAST_WORDS_S: Final = 1.0
"""So long a close may take with a client that does not read."""
STORY_OVER: Final = 1000
GOING_AWAY: Final = 1001
TALKS_TOO_MUCH: Final = 1008
TRY_LATER: Final = 1013
MALFORMED: Final = 4400
NO_SUCH_TICKET: Final = 4404
TOO_OLD: Final = 4410


class Gone(Exception):
    """The client has left while it was being told something."""


class Line(Protocol):
    """A way to tell a client something, and to notice that it has left."""

    idle_s: float | None
    """After so long without a message `still_here` is called; None = never."""

    async def tell(self, message: messages.Told) -> None:
        """Send a message; Gone if there is nobody any more."""

    async def still_here(self) -> None:
        """Send something that says nothing, to keep the line open."""

    async def close(self, code: int, reason: str) -> None:
        """Say why nothing follows."""

    async def until_gone(self) -> bool:
        """Wait until the client has left (True), or says more than it may (False)."""


class Subscriber:
    """The outbox of one line."""

    def __init__(self) -> None:
        self.outbox: asyncio.Queue[messages.Told | None] = asyncio.Queue(_OUTBOX_MOST)
        self.cut: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when it cannot be told all, with the reason: its outbox was full, or something was missed."""

    def tell(self, told: messages.Told | None) -> None:
        """Put a message into the outbox; None = the server stops."""
        try:
            self.outbox.put_nowait(told)
        except asyncio.QueueFull:
            self.end("too slow")

    def end(self, why: str) -> None:
        """Let nothing more be told; the client comes back for the rest."""
        if not self.cut.done():
            self.cut.set_result(why)


class Hub:
    """All open lines, by ticket."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.by_ticket: dict[int, list[Subscriber]] = runner.listening
        self.open = 0
        self.closing: list[Callable[[], None]] = []
        """Others with open lines, who hear too that the server stops."""
        self._arrived: list[int] = []
        """Tickets of lines that were opened just now; their first heartbeat goes out with others'."""
        runner.push, runner.cut = self.push, self.cut

    def push(self, told: list[messages.Told]) -> None:
        """Hand fresh messages to those who listen."""
        for message in told:
            for subscriber in self.by_ticket.get(message.ticket, ()):
                subscriber.tell(message)

    def cut(self, tickets: list[int]) -> None:
        """Close the lines of these tickets: something was missed that cannot be told any more."""
        for ticket in tickets:
            for subscriber in self.by_ticket.get(ticket, ()):
                subscriber.end("something was missed")

    def close(self) -> None:
        """Tell everyone that the server stops."""
        for subscribers in self.by_ticket.values():
            for subscriber in subscribers:
                subscriber.tell(None)
        for close in self.closing:
            close()

    async def beat(self) -> None:
        """Send heartbeats for all open lines, for ever; rules may change, so their pace is looked at again."""
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
                self.runner.seen(tickets)

    def _greet(self, ticket: int) -> None:
        """The first heartbeat of a line: one command, and so one event, for all that come at about the same time."""
        if not self._arrived:
            asyncio.get_running_loop().call_later(_GREET_S, self._beat_for_arrived)
        self._arrived.append(ticket)

    def _beat_for_arrived(self) -> None:
        still_here = [ticket for ticket in self._arrived if ticket in self.by_ticket]
        tickets, self._arrived = numbers(still_here), []
        self.runner.seen(tickets)

    def _shortest_s(self) -> float:
        queues = list(self.runner.engine.state.queues.values())
        return min((queue.spec.ticket.heartbeat_s for queue in queues), default=60.0)

    async def serve(self, ticket: str, query: bytes, receive: Receive, send: Send, player: str | None = None) -> None:
        """One WebSocket connection, from handshake to close; `player`: who listens, if it is one."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        await self.follow(ticket, _after(query), _Socket(receive, send), player)

    async def follow(self, ticket: str, after: int | None, line: Line, player: str | None = None) -> None:
        """Tell a ticket's story over a line, to its end or until the client leaves; `player`: who listens, if one."""
        number = number_of(TICKET_PREFIX, ticket)
        if number is None:
            await line.close(NO_SUCH_TICKET, "no such ticket")
            return
        if after == -1:
            await line.close(MALFORMED, "after must be a sequence: a whole number, 0 or more")
            return
        subscriber = Subscriber()
        self.by_ticket.setdefault(number, []).append(subscriber)
        self.open += 1
        gone = asyncio.ensure_future(line.until_gone())
        talking = asyncio.ensure_future(self._talk(number, after, subscriber, line, player))
        left = False
        try:
            await asyncio.wait((talking, gone, subscriber.cut), return_when=asyncio.FIRST_COMPLETED)
            if talking.done():
                await talking
            else:
                await _cut(talking)
                if not gone.done():
                    await _last_words(line, TRY_LATER, f"{subscriber.cut.result()}; come back with after=")
                elif not gone.result():
                    await _last_words(line, TALKS_TOO_MUCH, "nothing is to be said here; come back with after=")
        except Gone:
            left = True
        finally:
            left |= gone.done() and not gone.cancelled() and gone.exception() is None and gone.result()
            for task in (gone, talking):
                task.cancel()
            self.open -= 1
            self.by_ticket[number].remove(subscriber)
            if not self.by_ticket[number]:
                del self.by_ticket[number]
                if left and not self.runner.full():
                    self.runner.lost(numbers([number]))

    async def _talk(
        self, ticket: int, after: int | None, subscriber: Subscriber, line: Line, player: str | None
    ) -> None:
        if self.runner.full():
            await line.close(TRY_LATER, "busy")
            return
        past = await self.runner.ask(lambda views, now_ms: messages.story(views, ticket, after, now_ms))
        if isinstance(past, Refusal):
            await line.close(NO_SUCH_TICKET, "no such ticket")
            return
        if isinstance(past, messages.TooOld):
            await line.close(TOO_OLD, f"kept from {past.oldest} on")
            return
        if isinstance(past, Unavailable):
            await line.close(TRY_LATER, "the journal cannot be read")
            return
        self._greet(ticket)
        told = past.last
        for message in past.told:
            await line.tell(messages.heard_by(player, message))
        if past.over:
            await line.close(STORY_OVER, "the story is over")
            return
        if not past.told:
            await line.still_here()
        while True:
            try:
                async with asyncio.timeout(line.idle_s):
                    fresh = await subscriber.outbox.get()
            except TimeoutError:
                await line.still_here()
                continue
            if fresh is None:
                await line.close(GOING_AWAY, "the server stops; come back with after=")
                return
            if fresh.sequence > told:
                told = fresh.sequence
                await line.tell(messages.heard_by(player, fresh))
                if fresh.terminal:
                    await line.close(STORY_OVER, "the story is over")
                    return


class _Socket:
    """A WebSocket as a line. The server's own pings keep it open, and find out that nobody is there."""

    idle_s: float | None = None

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send

    async def tell(self, message: messages.Told) -> None:
        try:
            await self._send({"type": "websocket.send", "text": message.text})
        except (RuntimeError, OSError) as error:  # uvicorn has noticed the end before we heard of it
            raise Gone from error

    async def still_here(self) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        with contextlib.suppress(Exception):  # the client may have left already
            await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def until_gone(self) -> bool:
        for _ in range(_INBOUND_MOST + 1):
            if (await self._receive())["type"] == "websocket.disconnect":
                return True
        return False


async def _cut(talking: "asyncio.Future[None]") -> None:
    """End a talk wherever it is."""
    talking.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await talking


async def _last_words(line: Line, code: int, reason: str) -> None:
    """Close a line whose client may not read."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_S):
            await line.close(code, reason)


async def turn_away(code: int, reason: str, receive: Receive, send: Send) -> None:
    """Close a socket that may not come in: after the handshake, so that the client hears why."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    await _Socket(receive, send).close(code, reason)


def _after(query: bytes) -> int | None:
    """The `after` of a query string, as `sequence_of` reads it."""
    values = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("after")
    return None if values is None else sequence_of(values[-1])


def sequence_of(text: str) -> int | None:
    """A sequence to go on after; None = 0: all that is kept; -1 = nonsense."""
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) <= 18 else -1
