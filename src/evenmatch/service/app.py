"""The server as one ASGI application: hot paths, sockets and lifespan here, everything else by Litestar.

Every request passes the gate first (`access`), and every answer is dressed on its way out (`front`).
"""

import asyncio
import contextlib

import msgspec

from evenmatch.settings import Settings

from .access import Gate, close_of
from .deliveries import Deliveries
from .discretion import player_of
from .front import Front, dressed
from .handlers import PROBLEM, Answer, our_mistake
from .hot import hot, respond
from .matching import MatcherRoom
from .methods import other_method
from .routes import litestar_app
from .runner import Runner
from .sockets import Hub, Message, Receive, Send, turn_away


class _Said(msgspec.Struct, frozen=True):
    """What counts of a problem."""

    reason: str


class App:
    """One server over one runner."""

    def __init__(
        self,
        runner: Runner,
        room: MatcherRoom,
        settings: Settings,
        version: str,
        *,
        fast: bool = True,
        gate: Gate | None = None,
    ) -> None:
        self.runner = runner
        self.room = room
        self.settings = settings
        self.hub = Hub(runner)
        self.gate = Gate(runner, settings) if gate is None else gate
        self.front = Front(settings)
        self.deliveries = Deliveries(runner)
        self.fast = fast
        """Answer the hot paths ahead of Litestar."""
        self._litestar = litestar_app(runner, self.hub, settings, version)
        self._beat: asyncio.Task[None] | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":
                scope, send = {**scope, "method": "GET", "bodiless": True}, _without_body(send)
            answer = self.front.preflight(scope) or await self._quickly(scope, receive)
            if answer is not None:
                self.runner.metrics.answered(scope["method"], answer.status)
                if answer.media is PROBLEM:
                    self._refused(scope, answer.status, answer.body)
                await respond(send, answer, self.front.headers(scope))
            else:
                await self._litestar(scope, receive, self._counted(scope, send))  # type: ignore[arg-type]
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def _quickly(self, scope: Message, receive: Receive) -> Answer | None:
        """The answer to a request that is refused, or that comes on a hot path; None = Litestar's to answer."""
        try:
            refused = await self.gate.admit(scope)
            if refused is not None:
                return refused
            if "granted" not in scope:
                return other_method(scope)
            if not self.fast:
                return None
            answering = hot(self.runner, self.settings, scope, receive)
            return None if answering is None else await answering
        except Exception as error:
            return our_mistake(error)

    def _counted(self, scope: Message, send: Send) -> Send:
        """Count an answer of Litestar's, and dress it."""

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
        self.runner.start(asyncio.get_running_loop())
        self._beat = asyncio.create_task(self.hub.beat())
        self.deliveries.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.hub.close()
        self._beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._beat
        await self.deliveries.close()
        await asyncio.to_thread(self.room.close)
        await self.runner.stop()
        self.runner.journal.close()
        if self.runner.chronicle is not None:
            await asyncio.to_thread(self.runner.chronicle.close)
        await send({"type": "lifespan.shutdown.complete"})


def _without_body(send: Send) -> Send:
    """Answer as to a GET, but keep the body back: that is what HEAD means."""

    async def bodiless(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bodiless
