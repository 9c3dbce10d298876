"""Everybody who may call, for the tests of access: keys of each role, players' tokens, and an application to call."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import OctKey

from evenmatch.domain.queue import Format, MatchSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.service import keys
from evenmatch.service.app import App
from evenmatch.service.lanes import Lanes
from evenmatch.settings import Secret, Settings

SECRET = "a secret that only the game and its matchmaker know"

SPECS = (
    QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02), match=MatchSpec(600.0)),
    QueueSpec("checked", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0)),
    QueueSpec("pool", Format(2, 100)),
)


def settings_in(folder: Path, **more: Any) -> Settings:
    """Settings of a server with a key file of its own, and a secret for players."""
    given: dict[str, Any] = {"player_secret": Secret(SECRET), "player_rate": 0.0, "tick_ms": 5}
    return Settings(db=str(folder / "evenmatch.db"), keys=folder / "evenmatch.keys", **(given | more))


def key_in(folder: Path, role: keys.Role, name: str = "", rate: float | None = None) -> str:
    """A new key in that file."""
    return keys.add(folder / "evenmatch.keys", name or f"the {role}", role, rate)


def token(player: Any, secret: str = SECRET, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A player's token for an hour; a claim that is None is left out."""
    said = {"sub": player, "exp": int(time.time()) + 3600} | claims
    said = {name: value for name, value in said.items() if value is not None}
    return jwt.encode({"alg": "HS256"} | (header or {}), said, OctKey.import_key(secret))


def bearer(credential: str) -> dict[str, str]:
    """The header that shows a credential."""
    return {"authorization": f"Bearer {credential}"}


_Line = asyncio.Queue[dict[str, Any]]


def _open(
    app: App | Lanes, ticket: str, query: str, headers: dict[str, str] | None
) -> tuple[asyncio.Task[None], _Line, _Line]:
    """A ticket's WebSocket: who serves it, what the client says, and what it hears."""
    incoming: _Line = asyncio.Queue()
    outgoing: _Line = asyncio.Queue()
    incoming.put_nowait({"type": "websocket.connect"})
    scope = {
        "type": "websocket",
        "path": f"/v1/tickets/{ticket}/events",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    serving = asyncio.create_task(app(scope, incoming.get, outgoing.put))  # type: ignore[arg-type]
    return serving, incoming, outgoing


async def watch(
    app: App | Lanes, ticket: str, query: str = "", headers: dict[str, str] | None = None
) -> tuple[int | None, Any]:
    """Open a ticket's WebSocket and hear the first that is said: a close's code and reason, or None and a message."""
    serving, incoming, outgoing = _open(app, ticket, query, headers)
    async with asyncio.timeout(60):
        assert (await outgoing.get())["type"] == "websocket.accept"
        said = await outgoing.get()
        incoming.put_nowait({"type": "websocket.disconnect"})
        await serving
    return (said["code"], said["reason"]) if said["type"] == "websocket.close" else (None, said["text"])


async def stream(
    app: App | Lanes, ticket: str, query: str = "", headers: dict[str, str] | None = None, path: str = ""
) -> tuple[int, str]:
    """Open a ticket's stream of server-sent events, hear the first that is said, and leave: a status and the words."""
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    path = path or f"/v1/tickets/{ticket}/events"
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "server": ("here", 80),
        "client": ("there", 81),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    serving = asyncio.create_task(app(scope, incoming.get, outgoing.put))  # type: ignore[arg-type]
    async with asyncio.timeout(60):
        started = await outgoing.get()
        said = await outgoing.get()
        incoming.put_nowait({"type": "http.disconnect"})
        await serving
    return started["status"], said["body"].decode()


async def messages(
    app: App | Lanes, ticket: str, last: str, query: str = "", headers: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """All that a ticket's WebSocket tells, up to the first message of the type `last`."""
    serving, incoming, outgoing = _open(app, ticket, query, headers)
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        assert (await outgoing.get())["type"] == "websocket.accept"
        while not found or found[-1]["type"] != last:
            said = await outgoing.get()
            assert said["type"] == "websocket.send", said
            found.append(json.loads(said["text"]))
        incoming.put_nowait({"type": "websocket.disconnect"})
        await serving
    return found
