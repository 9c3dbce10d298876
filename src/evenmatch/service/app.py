"""The server as one ASGI application: hot paths, sockets and lifespan here, everything else by Litestar."""

import asyncio
import contextlib

from evenmatch.settings import Settings

from .handlers import our_mistake
from .hot import hot, respond
from .matching import MatcherRoom
from .routes import litestar_app
from .runner import Runner
from .sockets import Hub, Message, Receive, Send


class App:
    """One server over one runner."""

    def __init__(
        self, runner: Runner, room: MatcherRoom, settings: Settings, version: str, *, fast: bool = True
    ) -> None:
        self.runner = runner
        self.room = room
        self.settings = settings
        self.hub = Hub(runner)
        self.fast = fast
        """Answer the hot paths ahead of Litestar."""
        self._litestar = litestar_app(runner, self.hub, settings, version)
        self._beat: asyncio.Task[None] | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD":
                scope, send = {**scope, "method": "GET"}, _without_body(send)
            answering = hot(self.runner, self.settings, scope, receive) if self.fast else None
            if answering is not None:
                try:
                    answer = await answering
                except Exception as error:
                    answer = our_mistake(error)
                self.runner.metrics.answered(scope["method"], answer.status)
                await respond(send, answer)
            else:
                await self._litestar(scope, receive, self._counted(scope["method"], send))  # type: ignore[arg-type]
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    def _counted(self, method: str, send: Send) -> Send:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.runner.metrics.answered(method, message["status"])
            await send(message)

        return counted

    async def _socket(self, scope: Message, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        parts = path.split("/")
        if len(parts) == 5 and parts[:3] == ["", "v1", "tickets"] and parts[4] == "events":
            await self.hub.serve(parts[3], scope.get("query_string", b""), receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 4404, "reason": "no such path"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.runner.start(asyncio.get_running_loop())
        queues = self.runner.engine.state.queues.values()
        shortest_s = min((queue.spec.ticket.heartbeat_s for queue in queues), default=60.0)
        self._beat = asyncio.create_task(self.hub.beat(shortest_s))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.hub.close()
        self._beat.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._beat
        await asyncio.to_thread(self.room.close)
        await self.runner.stop()
        self.runner.journal.close()
        await send({"type": "lifespan.shutdown.complete"})


def _without_body(send: Send) -> Send:
    """Answer as to a GET, but keep the body back: that is what HEAD means."""

    async def bodiless(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bodiless
