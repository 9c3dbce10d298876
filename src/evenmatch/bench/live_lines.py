"""Raw connections for very many clients in one process: keep-alive HTTP, and WebSockets read by hand.

Frames and answers are read just far enough to know where they end, so that a client costs little beside the server it
loads. What a client library would do besides (fragments, compression, checks of the handshake) is left out: the server
under test sends none of it.
"""

import asyncio
import base64
import itertools
import os
import sys
import time
from collections import deque
from typing import Final, cast

_TEXT: Final = 1
_CLOSE: Final = 8
_PING: Final = 9
_PONG: Final = 10
_SOURCES: Final = itertools.cycle([f"127.0.0.{last}" for last in range(2, 10)])
"""Each has its own range of ports, so that closed connections do not use up those of one address."""


def _source() -> tuple[str, int] | None:
    return (next(_SOURCES), 0) if sys.platform == "linux" else None


class Lost(Exception):
    """The connection is gone."""


class _Http(asyncio.Protocol):
    """A keep-alive connection; one request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class is not a subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Lost(str(exc)))

    def ask(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        assert self.transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._waiting is None:
            return
        place = self._buffer.find(b"content-length: ", 0, end)
        length = 0 if place < 0 else int(self._buffer[place + 16 : self._buffer.find(b"\r", place)])
        if len(self._buffer) < end + 4 + length:
            return
        body = self._buffer[end + 4 : end + 4 + length]
        status = int(self._buffer[9:12])
        self._buffer = b""
        if not self._waiting.done():
            self._waiting.set_result((status, body))


class Pool:
    """So many keep-alive connections, used in turn."""

    def __init__(self, port: int, connections: int) -> None:
        self._port = port
        self._free: deque[_Http] = deque(_Http() for _ in range(connections))
        self._room = asyncio.Semaphore(connections)
        self.retried = 0

    async def ask(self, request: bytes) -> tuple[int, bytes, float]:
        """Status and body of an answer, and when it was asked for: a wait for a free connection counts."""
        asked = time.perf_counter()
        async with self._room:
            line = self._free.popleft()
            try:
                for _ in range(5):
                    if line.transport is None or line.transport.is_closing():
                        line = _Http()
                        loop = asyncio.get_running_loop()
                        await loop.create_connection(lambda line=line: line, "127.0.0.1", self._port)  # type: ignore[misc]
                    try:
                        return *await line.ask(request), asked
                    except Lost:
                        self.retried += 1  # an idle connection that the server has just closed
                raise Lost("five times")
            finally:
                self._free.append(line)


class Socket(asyncio.Protocol):
    """A WebSocket; `heard` has its messages with the moment each came, and None at its end."""

    def __init__(self, path: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self._hello = (
            f"GET {path} HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            f"sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
        ).encode()
        self._buffer = b""
        self._open = False
        self.code = 1006
        self.opened = asyncio.get_running_loop().create_future()
        self.heard: asyncio.Queue[tuple[bytes, float] | None] = asyncio.Queue()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._hello)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(Lost(str(exc)))
        self.transport = None
        self.heard.put_nowait(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._open:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self._buffer.startswith(b"HTTP/1.1 101"):
                self.close()
                return
            self._open = True
            self._buffer = self._buffer[end + 4 :]
            if not self.opened.done():
                self.opened.set_result(None)
        while (frame := self._frame()) is not None:
            self._hear(*frame)

    def _frame(self) -> tuple[int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, start = buffer[1] & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(buffer) < start:
                return None
            length = int.from_bytes(buffer[2:start])
        if len(buffer) < start + length:
            return None
        self._buffer = buffer[start + length :]
        return buffer[0] & 0x0F, buffer[start : start + length]

    def _hear(self, kind: int, content: bytes) -> None:
        if kind == _TEXT:
            self.heard.put_nowait((content, time.perf_counter()))
        elif kind == _PING:
            self.send(content, _PONG)
        elif kind == _CLOSE:
            self.code = int.from_bytes(content[:2]) if len(content) >= 2 else 1005
            self.send(content[:2], _CLOSE)
            self.close()

    def send(self, content: bytes, kind: int = _TEXT) -> None:
        """Send a frame, masked with zeros."""
        if self.transport is None:
            return
        size = len(content)
        head = bytes((0x80 | kind, 0x80 | size)) if size < 126 else bytes((0x80 | kind, 0xFE)) + size.to_bytes(2)
        self.transport.write(head + b"\0\0\0\0" + content)

    def close(self) -> None:
        """Let go of the connection."""
        if self.transport is not None:
            self.transport.close()


async def open_socket(port: int, path: str) -> Socket:
    """A WebSocket that is open."""
    socket = Socket(path)
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: socket, "127.0.0.1", port, local_addr=_source())
    await socket.opened
    return socket
