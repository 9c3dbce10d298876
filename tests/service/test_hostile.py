"""Clients that mean no good, over real sockets: they flood, send garbage, stop reading, never finish a handshake. Each
is cut off or costs next to nothing, and meanwhile everybody else is served."""

import asyncio
import base64
import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.service.messages import Told
from evenmatch.storage.memory import MemoryJournal

from .harness import PATIENCE_S, Server, eventually, queue
from .inside import app_over, living, until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("hostile"), queue("duel") + queue("idle", size=50))
    try:
        yield made.start()
    finally:
        made.close()


def raw(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def handshake(ticket: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /v1/tickets/{ticket}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    ).encode()


def opened(server: Server, ticket: str) -> socket.socket:
    """A WebSocket whose handshake is done."""
    made = raw(server)
    made.sendall(handshake(ticket))
    head = b""
    while b"\r\n\r\n" not in head:
        head += made.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), head
    return made


def frame(content: bytes, kind: int = 1) -> bytes:
    """A whole frame, masked with zeros."""
    size = len(content)
    length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2)
    return bytes((0x80 | kind,)) + length + b"\0\0\0\0" + content


def close_code(hostile: socket.socket) -> int | None:
    """The code with which the server closes, past whatever it says before; None = it just hangs up."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while part := hostile.recv(65_536):
            heard += part
    while len(heard) >= 2:
        kind, size, start = heard[0] & 0x0F, heard[1], 2
        if size == 126:
            size, start = int.from_bytes(heard[2:4]), 4
        if kind == 8:
            return int.from_bytes(heard[start : start + 2])
        heard = heard[start + size :]
    return None


def a_match_is_made(server: Server, name: str) -> None:
    """Two honest players, over their own sockets, from joining to the end."""
    ann, ben = server.join("duel", f"{name}-ann"), server.join("duel", f"{name}-ben")
    with server.listen(ann["id"]) as one, server.listen(ben["id"]) as two:
        proposal = one.until("proposed")["proposal"]["id"]
        for player in (f"{name}-ann", f"{name}-ben"):
            assert server.respond(proposal, player).status_code == 200
        assert one.until("matched")["match"] == two.until("matched")["match"]


def open_sockets(server: Server) -> int:
    for line in server.http.get("/metrics").text.splitlines():
        if line.startswith("evenmatch_sockets_open"):
            return int(float(line.rsplit(" ", 1)[1]))
    raise AssertionError("no such metric")


def test_who_floods_is_closed_and_nobody_else_notices(server: Server) -> None:
    ticket = server.join("idle", "flooder")["id"]
    floods = [opened(server, ticket) for _ in range(8)]
    for hostile in floods:
        with contextlib.suppress(OSError):  # it may be closed before all of it is sent
            hostile.sendall(frame(b"x" * 100) * 2_000)
    a_match_is_made(server, "flood")
    for hostile in floods:
        with hostile:
            assert close_code(hostile) in (1008, None)
    eventually(lambda: open_sockets(server) == 0)
    assert server.ticket(ticket)["status"] == "waiting"  # the ticket is none the worse for it
    server.http.delete(f"/v1/tickets/{ticket}")


def test_a_few_messages_are_passed_over(server: Server) -> None:
    ticket = server.join("idle", "chatty")["id"]
    with opened(server, ticket) as chatty:
        chatty.sendall(frame(b"hello") * 20 + frame(b"ping", 9))
        assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
        assert close_code(chatty) == 1000


@pytest.mark.parametrize(
    ("garbage", "code"),
    [
        (b"\x81\x05hello", 1002),  # a client's frame must be masked
        (b"\x8f\x80\0\0\0\0", 1002),  # no such opcode
        (b"\xff\xff" + b"\xff" * 12, 1002),
        (frame(b"\xff\xfe\xfd"), 1007),  # text that is none
        (b"\x81\xff" + (2**40).to_bytes(8) + b"\0\0\0\0", 1009),  # a terabyte is announced
        (os.urandom(4_096), None),
    ],
)
def test_garbage_ends_its_own_connection_only(server: Server, garbage: bytes, code: int | None) -> None:
    ticket = server.join("idle", "garbage")["id"]
    try:
        with server.listen(ticket) as honest, opened(server, ticket) as hostile:
            honest.until("queued")
            hostile.sendall(garbage)
            if code is not None:
                assert close_code(hostile) == code
            assert server.http.delete(f"/v1/tickets/{ticket}").status_code == 204
            assert honest.until("cancelled")["cause"] == "left"
    finally:
        server.http.delete(f"/v1/tickets/{ticket}")


def test_half_open_and_silent_connections_stall_nobody(server: Server) -> None:
    ticket = server.join("idle", "silent")["id"]
    with contextlib.ExitStack() as stack:
        for number in range(150):
            hostile = stack.enter_context(raw(server))
            hostile.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            # a third says nothing, a third stops in the middle of the handshake, a third never reads what it is told
            hostile.sendall((b"", handshake(ticket)[:40], handshake(ticket))[number % 3])
        a_match_is_made(server, "silent")
    eventually(lambda: open_sockets(server) == 0)
    assert "Traceback" not in server.log.read_text()
    server.http.delete(f"/v1/tickets/{ticket}")


class Stuck:
    """A line whose client reads nothing: what it is told never gets through."""

    idle_s: float | None = None

    def __init__(self) -> None:
        self.closes: list[int] = []
        self.telling = asyncio.Event()

    async def tell(self, message: Told) -> None:
        del message
        self.telling.set()
        await asyncio.Event().wait()

    async def still_here(self) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        del reason
        self.closes.append(code)

    async def until_gone(self) -> bool:
        await asyncio.Event().wait()
        return True


def test_a_reader_who_is_too_slow_is_cut_off_in_the_middle_of_a_message() -> None:
    async def run() -> None:
        app = app_over(MemoryJournal(), QueueSpec("pool", Format(2, 50)))
        async with living(app) as client:
            joined = await client.post("/v1/queues/pool/tickets", json={"players": [{"id": "ann"}]})
            line = Stuck()
            following = asyncio.create_task(app.hub.follow(joined.json()["ticket"]["id"], None, line))
            await asyncio.wait_for(line.telling.wait(), PATIENCE_S)
            for number in range(300):
                app.hub.push([Told(1, 1_000 + number, "{}", False)])
            await asyncio.wait_for(following, PATIENCE_S)
            assert line.closes == [1013]
            assert (app.hub.open, app.hub.by_ticket) == (0, {})
            await until(lambda: client.get("/healthz"), "an answer")

    asyncio.run(run())


@pytest.mark.parametrize("error", [RuntimeError("Unexpected ASGI message 'websocket.send'"), ConnectionResetError()])
def test_a_client_that_leaves_while_it_is_told_something_is_no_error(error: Exception) -> None:
    """The server may notice the end of a socket before anybody has heard of it."""

    async def receive() -> dict[str, Any]:
        if connected.is_set():
            await asyncio.Event().wait()
        connected.set()
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        if message["type"] == "websocket.send":
            raise error

    connected = asyncio.Event()

    async def run() -> None:
        app = app_over(MemoryJournal(), QueueSpec("pool", Format(2, 50)))
        async with living(app) as client:
            joined = await client.post("/v1/queues/pool/tickets", json={"players": [{"id": "ann"}]})
            ticket = joined.json()["ticket"]["id"]
            await asyncio.wait_for(app.hub.serve(ticket, b"", receive, send), PATIENCE_S)
            assert (app.hub.open, app.hub.by_ticket) == (0, {})

    asyncio.run(run())
