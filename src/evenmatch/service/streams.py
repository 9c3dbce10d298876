"""Server-sent events: the same story as over a WebSocket, for those who cannot open one.

    id: 17
    event: proposed
    data: {"sequence":17,"type":"proposed", ...}

A browser's EventSource comes back by itself with `Last-Event-ID`, and nothing is missed. When the story is over and all
of it was told, it is answered 204, which is what makes an EventSource stop. While nothing happens a comment is sent now
and then, so that proxies keep the line open and a client that has vanished is noticed.
"""

import asyncio
import contextlib
from typing import Final
from urllib.parse import parse_qs

from evenmatch.domain.refusals import Reasons

from . import wire
from .discretion import player_of
from .handlers import Answer, problem, unknown
from .messages import Told
from .sockets import (
    GOING_AWAY,
    MALFORMED,
    NO_SUCH_TICKET,
    STORY_OVER,
    TOO_OLD,
    Hub,
    Message,
    Receive,
    Send,
    sequence_of,
)
from .wire import WireReasons

_IDLE_S: Final = 15.0
_COME_BACK_MS: Final = 1_000
MEDIA: Final = b"text/event-stream"


class Stream:
    """A response that goes on, as a line."""

    idle_s: float | None = _IDLE_S

    def __init__(self, ticket: str, scope: Message, receive: Receive, send: Send) -> None:
        self._ticket = ticket
        self._receive, self._send = receive, send
        self._bodiless = bool(scope.get("bodiless"))
        self._begun = self._ended = False
        self._answered = asyncio.Event()
        """A HEAD has all that it wants."""

    async def tell(self, message: Told) -> None:
        """Send a message."""
        await self._write(f"id: {message.sequence}\nevent: {message.kind}\ndata: {message.text}\n\n")

    async def still_here(self) -> None:
        """Send a comment."""
        await self._write(": still here\n\n")

    async def close(self, code: int, reason: str) -> None:
        """End the stream; one that has not begun is refused instead."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(Exception):  # the client may have left already
            if self._begun:
                await self._send({"type": "http.response.body", "body": f": {reason}\n\n".encode()})
            else:
                await self._refuse(self._refusal(code, reason))

    def _refusal(self, code: int, reason: str) -> Answer:
        if code == STORY_OVER:
            return Answer(204)
        if code == NO_SUCH_TICKET:
            return unknown(Reasons.UNKNOWN_TICKET, "ticket", self._ticket)
        if code == MALFORMED:
            return problem(WireReasons.MALFORMED.problem(f"{reason}; without `after` it is Last-Event-ID that counts"))
        if code == TOO_OLD:
            return problem(WireReasons.TOO_OLD.problem(f"{reason}; leave it out, or read the ticket"))
        return problem(wire.STOPPING if code == GOING_AWAY else wire.BUSY)

    async def _refuse(self, answer: Answer) -> None:
        headers = [(b"content-length", str(len(answer.body)).encode()), *answer.headers]
        if answer.body:
            headers.append((b"content-type", answer.media))
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": answer.body})

    async def _write(self, text: str) -> None:
        if self._ended:
            return
        if not self._begun:
            self._begun = True
            # x-accel-buffering: a proxy that gathers the answer first would hold the events back
            headers = [(b"content-type", MEDIA), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            text = f"retry: {_COME_BACK_MS}\n\n{text}"
        self._ended = self._bodiless
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": not self._ended})
        if self._ended:
            self._answered.set()

    async def until_gone(self) -> bool:
        """Wait until the client has left; a HEAD is answered at once, and nobody is lost with it."""
        if self._bodiless:
            await self._answered.wait()
            return False
        while (await self._receive())["type"] != "http.disconnect":
            pass
        return True


def after_of(scope: Message) -> int | None:
    """Where a client left off: `after`, or else Last-Event-ID; None = all that is kept; -1 = nonsense."""
    given = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True).get("after")
    if given is not None:
        return sequence_of(given[-1])
    for name, value in scope["headers"]:
        if name == b"last-event-id":
            return sequence_of(value.decode("latin-1"))
    return None


async def serve(hub: Hub, ticket: str, scope: Message, receive: Receive, send: Send) -> None:
    """One stream, from its first event to its end."""
    line = Stream(ticket, scope, receive, send)
    await hub.follow(ticket, after_of(scope), line, player_of(scope))
    await line.close(STORY_OVER, "the end")
