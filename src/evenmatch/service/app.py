"""The server as one ASGI application: hot paths, sockets and lifespan here, everything else by Litestar.

Every request passes the gate first (`access`), and every answer is dressed on its way out (`front`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from evenmatch.settings import Settings

from .access import Gate, close_of
from .deliveries import Deliveries
from .discretion import player_of
from .forwarding import goes_to_owner
from .front import Front, dressed
from .handlers import PROBLEM, Answer, our_mistake
from .hot import hot, respond
from .matching import MatcherRoom
from .methods import other_method
from .routes import litestar_app
from .runner import Runner
from .served import Served, ServedLanes
from .sockets import Hub, Message, Receive, Send, turn_away

Forward = Callable[[Message, Receive], Awaitable[Answer]]
PART: Final = "part"
"""In the scope of a request: it was granted by somebody in front, who counts and dresses the answer made of it."""


class _Said(msgspec.Struct, frozen=True):
    """What counts of a problem."""

    reason: str


class App:
    """One server over one runner."""

    def __init__(
        self,
        runner: Runner,
        room: MatcherRoom | None,
        settings: Settings,
        version: str,
        *,
        fast: bool = True,
        gate: Gate | None = None,
        forward: Forward | None = None,
    ) -> None:
        """`forward`: the runner only follows, and this has requests answered by the owner of the lane."""
        self.runner = runner
        self.room = room
        self.settings = settings
        self.hub = Hub(runner)
        self.gate = Gate(runner, settings) if gate is None else gate
        self.front = Front(settings)
        self.deliveries = Deliveries(runner)
        self.fast = fast
        """Answer the hot paths ahead of Litestar."""
        self._forward = forward
        self.served = ServedLanes({1: Served(runner, self.hub)})
        """What readiness, metrics and the dashboard's stream tell of: this lane, unless `Lanes` adds others."""
        self._litestar = litestar_app(runner, self.hub, settings, version, self.served)
        self._beat: asyncio.Task[None] | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":
                scope, send = {**scope, "method": "GET", "bodiless": True}, without_body(send)
            answer = self.front.preflight(scope) or await self._quickly(scope, receive)
            if answer is not None:
                await self.reply(scope, send, answer)
            else:
                await self._litestar(scope, receive, self._counted(scope, send))  # type: ignore[arg-type]
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def reply(self, scope: Message, send: Send, answer: Answer) -> None:
        """Count an answer, dress it and send it."""
        if PART in scope:
            await respond(send, answer)
            return
        self.runner.metrics.answered(scope["method"], answer.status)
        if answer.media == PROBLEM:
            self._refused(scope, answer.status, answer.body)
        await respond(send, answer, self.front.headers(scope))

    async def _quickly(self, scope: Message, receive: Receive) -> Answer | None:
        """The answer to a request that is refused, or that comes on a hot path; None = Litestar's to answer."""
        try:
            refused = None if "granted" in scope else await self.gate.admit(scope)
            if refused is not None:
                return refused
            if "granted" not in scope:
                return other_method(scope)
            if self._forward is not None and goes_to_owner(scope):
                return await self._forward(scope, receive)
            if not self.fast:
                return None
            answering = hot(self.runner, self.settings, scope, receive)
            return None if answering is None else await answering
        except Exception as error:
            return our_mistake(error)

    async def apply(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request that another node has let in."""
        answering = hot(self.runner, self.settings, scope, receive)
        if answering is None:
            await self._litestar(scope, receive, send)  # type: ignore[arg-type]
            return
        try:
            answer = await answering
        except Exception as error:
            answer = our_mistake(error)
        await respond(send, answer)

    def _counted(self, scope: Message, send: Send) -> Send:
        """Count an answer of Litestar's, and dress it."""
        if PART in scope:
            return send
        refusing, status = False, 0

        async def counted(message: Message) -> None:
            nonlocal refusing, status
            if message["type"] == "http.response.body" and refusing:
                self._refused(scope, status, message.get("body", b""))
            if message["type"] == "http.response.start":
                refusing = any(name == b"content-type" and PROBLEM in value for name, value in message["headers"])
                status = message["status"]
                self.runner.metrics.answered(scope["method"], status)
                more = self.front.headers(scope)
                message = {**message, "headers": dressed(message.get("headers", ()), more)}
            await send(message)

        return counted

    def _refused(self, scope: Message, status: int, body: bytes) -> None:
        """Count a refusal by its reason, of which there are as many as the code knows."""
        with contextlib.suppress(msgspec.DecodeError):
            reason = msgspec.json.decode(body, type=_Said).reason
            self.runner.metrics.refused(reason)
            if self.runner.chronicle is not None:
                self.runner.chronicle.refused(scope.get("method", "WEBSOCKET"), scope["path"], status, reason)

    async def _socket(self, scope: Message, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        parts = path.split("/")
        refused = await self.gate.admit(scope)
        if refused is not None:
            self._refused(scope, refused.status, refused.body)
            await turn_away(*close_of(refused), receive, send)
        elif "granted" in scope and len(parts) == 5 and parts[:3] == ["", "v1", "tickets"] and parts[4] == "events":
            await self.hub.serve(parts[3], scope.get("query_string", b""), receive, send, player_of(scope))
        else:
            await receive()
            await send({"type": "websocket.close", "code": 4404, "reason": "no such path"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.begin()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.end()
        await send({"type": "lifespan.shutdown.complete"})

    def begin(self) -> None:
        """Start what works beside requests; on the event loop."""
        self.runner.start(asyncio.get_running_loop())
        self._beat = asyncio.create_task(self.hub.beat())
        if self._forward is None:  # a follower's letters are its owner's to send
            self.deliveries.start()

    async def end(self) -> None:
        """Close all lines, carry out what waits, and let go of the journal."""
        self.hub.close()
        if self._beat is not None:
            self._beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beat
        await self.deliveries.close()
        if self.room is not None:
            await asyncio.to_thread(self.room.close)
        await self.runner.stop()
        await asyncio.to_thread(self.runner.journal.close)
        if self.runner.chronicle is not None:
            await asyncio.to_thread(self.runner.chronicle.close)


def without_body(send: Send) -> Send:
    """Answer as to a GET, but keep the body back: that is what HEAD means."""

    async def bodiless(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bodiless
