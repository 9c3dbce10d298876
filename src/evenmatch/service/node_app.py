"""A node as one ASGI application: what its role serves, and its beginning and end.

A worker has nothing for clients; it answers those who watch over it.
"""

import msgspec

from .handlers import JSON, Answer, problem
from .hot import respond
from .node import Node
from .served import Served, ServedLanes, in_one_line, metrics_of
from .sockets import Message, Receive, Send
from .wire import WireReasons

_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class NodeApp:
    """What a node listens with."""

    def __init__(self, node: Node) -> None:
        self.node = node

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self.node.lanes is not None:
            await self.node.lanes(scope, receive, send)
        elif scope["type"] == "http":
            await respond(send, await self._of_worker(scope))
        else:
            await receive()
            await send({"type": "websocket.close", "code": 4404, "reason": "a worker serves no clients"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.node.begin()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.node.end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _of_worker(self, scope: Message) -> Answer:
        match scope["path"]:
            case "/healthz":
                return Answer(200, b'{"status":"ok"}')
            case "/readyz":
                why = in_one_line(self.node.hindrances())
                said = {"status": "not ready", "why": why} if why else {"status": "ready"}
                return Answer(503 if why else 200, msgspec.json.encode(said), JSON)
            case "/metrics":
                return Answer(200, await self._metrics(), _TEXT)
        detail = "a worker serves /healthz, /readyz and /metrics only: ask a process with --role api"
        return problem(WireReasons.NOT_FOUND.problem(detail))

    async def _metrics(self) -> bytes:
        tenures = {} if self.node.candidacy is None else self.node.candidacy.tenures
        served = ServedLanes({lane: Served(tenure.owner, tenure.app.hub) for lane, tenure in tenures.items()})
        served.beside = self.node.counted
        return await metrics_of(served)
