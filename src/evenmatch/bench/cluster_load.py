"""The load of a cluster's bench: batches of joins, and single joins beside.

Batches come in three strengths: none; a steady thousand players a second (`steady`); or all that is taken, each batch
sent when the one before is answered, so many at a time that commits are as large as under a rush (`full`).
It runs on an event loop in a thread of its own. Every player joins once; a request that was refused, or whose
connection ended, is sent again under the same idempotency key until it is acknowledged.
"""

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final

import msgspec
import numpy as np
import uvloop

BATCH: Final = 100
SENDERS: Final = 12
"""Batches on their way at a time under full load, for each queue."""
STEADY_S: Final = 0.4
"""Between two batches to a queue under steady load."""
SINGLES_A_S: Final = 10.0
"""Single joins a second, in each queue."""
_AGAIN_S: Final = 0.05
_TIMEOUT_S: Final = 15.0


class Answered(msgspec.Struct, frozen=True):
    """A request that was acknowledged."""

    queue: str
    single: bool
    sent_s: float
    answered_s: float
    tries: int
    body: bytes


class Load:
    """Sends from `start` to `stop`."""

    def __init__(self, port: int, queues: tuple[str, ...], run: str) -> None:
        """`run` goes into the players' names, so that each run has others."""
        self._port, self._queues, self._run = port, queues, run
        self._numbers = itertools.count(1)
        self._over = threading.Event()
        self._strength = 0
        """Of batches: 0 = none, 1 = steady, 2 = full."""
        self.answered: list[Answered] = []
        self.refused: Counter[str] = Counter()
        """Answers that were no acknowledgement, by status or error."""
        self._thread = threading.Thread(target=lambda: uvloop.run(self._all()), name="load", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def steady(self) -> None:
        """Batches from now on, a few a second; until now there were single joins only."""
        self._strength = 1

    def full(self) -> None:
        """As many batches as are taken."""
        self._strength = 2

    def stop(self) -> None:
        """Let what was sent be answered, and end."""
        self._over.set()
        self._thread.join(2 * _TIMEOUT_S)

    async def _all(self) -> None:
        sending: list[Coroutine[Any, Any, None]] = []
        for queue in self._queues:
            sending += [self._batches(queue, sender) for sender in range(SENDERS)]
            sending.append(self._singles(queue))
        await asyncio.gather(*sending)

    async def _batches(self, queue: str, sender: int) -> None:
        line, due_s = _Line(self._port), 0.0
        while not self._over.is_set():
            if self._strength + (sender == 0) < 2:
                await asyncio.sleep(_AGAIN_S)
                continue
            if self._strength == 1:
                due_s = max(due_s + STEADY_S, time.perf_counter())
                await asyncio.sleep(due_s - time.perf_counter())
            players = b",".join(b'{"players":[%b]}' % self._player() for _ in range(BATCH))
            await self._send(line, queue, ":batch", b'{"tickets":[%b]}' % players)
        line.close()

    async def _singles(self, queue: str) -> None:
        line, due_s = _Line(self._port), time.perf_counter()
        while not self._over.is_set():
            await self._send(line, queue, "", b'{"players":[%b]}' % self._player())
            due_s = max(due_s + 1 / SINGLES_A_S, time.perf_counter() - 1 / SINGLES_A_S)
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
        line.close()

    def _player(self) -> bytes:
        number = next(self._numbers)
        return b'{"id":"%b-%d","rating":%d}' % (self._run.encode(), number, 1_000 + number % 1_000)

    async def _send(self, line: "_Line", queue: str, how: str, body: bytes) -> None:
        """Send a request until it is acknowledged, or the load is over."""
        head = (
            f"POST /v1/queues/{queue}/tickets{how} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"idempotency-key: {self._run}-{next(self._numbers)}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        request = head.encode() + body
        sent_s, tries = time.perf_counter(), 0
        while True:
            tries += 1
            try:
                status, answer = await asyncio.wait_for(line.ask(request), _TIMEOUT_S)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                line.close()
                status, answer = 0, type(error).__name__.encode()
            if status in (200, 201):
                now_s = time.perf_counter()
                self.answered.append(Answered(queue, not how, sent_s, now_s, tries, answer))
                return
            self.refused[str(status) if status else answer.decode()] += 1
            if self._over.is_set():
                return
            await asyncio.sleep(_AGAIN_S)

    def latencies_ms(self, from_s: float, to_s: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of single joins that were answered in a time, from the first try on."""
        found = [one for one in list(self.answered) if one.single and from_s <= one.answered_s < to_s]
        return np.array([(one.answered_s - one.sent_s) * 1_000 for one in found])

    def joined(self, from_s: float, to_s: float) -> int:
        """Joins that were acknowledged in a time; a batch counts as all its tickets."""
        return sum(1 if one.single else BATCH for one in list(self.answered) if from_s <= one.answered_s < to_s)

    def tickets(self) -> set[int]:
        """The numbers of all tickets that were acknowledged."""
        found: set[int] = set()
        for one in self.answered:
            told = msgspec.json.decode(one.body)
            rows = [told] if one.single else told["outcomes"]
            found.update(int(row["ticket"]["id"].removeprefix("t-")) for row in rows if row.get("ticket"))
        return found


class _Line:
    """One keep-alive connection, opened when it is needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """The status and body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        place = head.lower().find(b"content-length: ")
        length = int(head[place + 16 : head.find(b"\r", place)]) if place >= 0 else 0
        return int(head[9:12]), await reader.readexactly(length)

    def close(self) -> None:
        """Let go of it."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
