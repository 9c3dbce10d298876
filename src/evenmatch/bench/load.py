"""A load of keep-alive HTTP connections, each sending its next request as soon as the last is answered.

Runs in the process of the bench, on its own core; the server under load is another process. Requests are bytes made
beforehand, and answers are read just far enough to know where they end, so that the client costs little.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import cast

import msgspec
import numpy as np
import uvloop


class Load(msgspec.Struct, frozen=True):
    """What a load found."""

    requests: int
    seconds: float
    per_s: float
    p50_ms: float
    p99_ms: float
    refused: int
    """Answers with another status than expected."""


class _Caller(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], expected: bytes, latencies: list[float], done: asyncio.Event) -> None:
        self.requests, self.expected, self.latencies, self.done = requests, expected, latencies, done
        self.refused = 0
        self._buffer = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is not a subclass
        self._next()

    def _next(self) -> None:
        assert self._transport is not None
        request = next(self.requests, None)
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        place = self._buffer.find(b"content-length: ")
        length = int(self._buffer[place + 16 : self._buffer.find(b"\r", place)])
        if len(self._buffer) < end + 4 + length:
            return
        self.latencies.append(time.perf_counter() - self._sent)
        if not self._buffer.startswith(self.expected):
            self.refused += 1
        self._buffer = self._buffer[end + 4 + length :]
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.done.set()


def post(path: str, body: bytes) -> bytes:
    """A POST request, ready to send."""
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def run(port: int, requests: list[bytes], connections: int, expected_status: int) -> Load:
    """Send all requests over so many connections."""
    return uvloop.run(_run(port, requests, connections, f"HTTP/1.1 {expected_status}".encode()))


async def _run(port: int, requests: list[bytes], connections: int, expected: bytes) -> Load:
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    source = iter(requests)
    callers: list[_Caller] = []
    finished: list[asyncio.Event] = []
    started = time.perf_counter()
    for _ in range(connections):
        done = asyncio.Event()
        caller = _Caller(source, expected, latencies, done)
        await loop.create_connection(lambda caller=caller: caller, "127.0.0.1", port)  # type: ignore[misc]
        callers.append(caller)
        finished.append(done)
    for done in finished:
        await done.wait()
    seconds = time.perf_counter() - started
    spread = np.percentile(np.array(latencies) * 1000, [50, 99])
    refused = sum(caller.refused for caller in callers) + len(requests) - len(latencies)
    return Load(
        len(latencies),
        seconds,
        len(latencies) / seconds,
        round(float(spread[0]), 3),
        round(float(spread[1]), 3),
        refused,
    )
