"""Asking for game servers: letters of the outbox, sent until they are answered or given up.

    outbox ─> a line a queue: what is due first ─> at most 32 at once ─> POST ─> TaskOrder: what came of it, durable

1. A letter is pending in the journal before it is first sent, and until its answer is: whatever crashes in between, it
   is sent again (at least once). `Evenmatch-Id` stays the same, so that the receiver can tell.
2. Every queue has its own line. One whose server hangs or lies holds up nobody else, and the engine never waits.
3. Attempts are spaced by a backoff that doubles, with a jitter that hangs on match and attempt alone.
4. The secret is read from the environment when it is needed, and goes nowhere but into the signature.
"""

import asyncio
import functools
import heapq
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import numpy as np
import structlog

from evenmatch.domain.ids import match_id
from evenmatch.domain.venue import AllocateSpec
from evenmatch.numerics.seeds import uniforms
from evenmatch.storage.outbox import Letter, Server

from . import letters
from .letters import Asked, letter_id
from .mailbox import TaskOrder, Unavailable
from .posting import NotAnswered, Posted, post
from .runner import Runner
from .signing import secret_of, signature

log = structlog.get_logger("evenmatch.deliveries")

AT_ONCE: Final = 32
"""Requests under way for one queue."""
_PAUSE_S: Final = 1.0
"""After the journal could not be asked, or written."""
_WAIT_MOST_S: Final = 600.0
_ADDRESS_MOST: Final = 255
_TOKEN_MOST: Final = 4_096

Post = Callable[[str, bytes, dict[str, str], float], Awaitable[Posted]]


def wait_s(spec: AllocateSpec, match: int, attempts: int) -> float:
    """How long to wait after so many attempts: doubling, and between half of it and all of it."""
    most = min(_WAIT_MOST_S, spec.backoff_s * 2.0 ** (attempts - 1))
    return most * (0.5 + 0.5 * float(uniforms(match, np.array([attempts]), 3)[0]))


def server_in(answer: Posted) -> Server:
    """The server that an answer names; NotAnswered for what names none."""
    if not 200 <= answer.status < 300:
        raise NotAnswered(f"answered with status {answer.status}", "status")
    try:
        server = msgspec.json.decode(answer.body, type=Server)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAnswered(f'the answer is not {{"address", "port", "token"}}: {str(error)[:200]}') from None
    if not 0 < len(server.address) <= _ADDRESS_MOST or not server.address.isprintable():
        raise NotAnswered(f"the answer's address is not one of 1 to {_ADDRESS_MOST} printable characters")
    if not 0 < server.port < 65_536:
        raise NotAnswered(f"the answer's port is {server.port}: use 1 to 65535")
    if len(server.token) > _TOKEN_MOST:
        raise NotAnswered(f"the answer's token has more than {_TOKEN_MOST} characters")
    return server


class _Line:
    """The letters of one queue that are to be sent."""

    def __init__(self) -> None:
        self.due: list[tuple[float, int, Letter]] = []
        self.under_way = 0
        self.timer: asyncio.TimerHandle | None = None


class Deliveries:
    """Sends the letters of one server."""

    def __init__(self, runner: Runner, environ: Mapping[str, str] = os.environ, post: Post = post) -> None:
        self.runner = runner
        self._environ = environ
        self._post = post
        self._lines: dict[str, _Line] = {}
        self._known: set[int] = set()
        """Matches whose letters wait here or are under way."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Send what is pending, and what will be."""
        self.runner.posted = self.take
        self._keep(asyncio.create_task(self._catch_up()))

    async def close(self) -> None:
        """Stop; what was not answered stays pending."""
        self._closed = True
        for line in self._lines.values():
            if line.timer is not None:
                line.timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _catch_up(self) -> None:
        while True:
            found = await self.runner.ask(lambda views, _: views.journal.letters("pending"))
            if not isinstance(found, Unavailable):
                self.take(found)
                return
            await asyncio.sleep(_PAUSE_S)

    def take(self, fresh: list[Letter]) -> None:
        """Send these, if they are pending and new here."""
        for letter in fresh:
            if letter.status == "pending" and letter.match not in self._known:
                self._known.add(letter.match)
                self._later(letter, 0.0)

    def _later(self, letter: Letter, after_s: float) -> None:
        line = self._lines.setdefault(letter.queue, _Line())
        heapq.heappush(line.due, (time.monotonic() + after_s, letter.match, letter))
        self._pump(line)

    def _pump(self, line: _Line) -> None:
        """Send what is due, as long as there is room; come back for the rest."""
        if line.timer is not None:
            line.timer.cancel()
            line.timer = None
        while line.due and line.under_way < AT_ONCE and not self._closed:
            due_s, _, letter = line.due[0]
            early_s = due_s - time.monotonic()
            if early_s > 0:
                line.timer = asyncio.get_running_loop().call_later(early_s, self._pump, line)
                return
            heapq.heappop(line.due)
            line.under_way += 1
            self._keep(asyncio.create_task(self._deliver(line, letter)))

    async def _deliver(self, line: _Line, letter: Letter) -> None:
        again: tuple[Letter, float] | None = (letter, _PAUSE_S)
        try:
            again = await self._attempt(letter)
        except Exception:
            log.exception("a request for a game server failed", match=match_id(letter.match))
        finally:
            line.under_way -= 1
        if again is None:
            self._known.discard(letter.match)
            self._pump(line)
        else:
            self._later(*again)

    async def _attempt(self, letter: Letter) -> tuple[Letter, float] | None:
        """Send a letter once and note what came of it; what is to be sent again, and after how long."""
        asked = await self.runner.ask(lambda views, _: letters.asked(views, letter.match))
        if isinstance(asked, Unavailable):
            return letter, _PAUSE_S
        if asked is None:
            settled = await self._note(functools.partial(letters.drop, letter=letter))
            return (letter, _PAUSE_S) if settled is None else None
        try:
            outcome: Server | str = server_in(await self._send(asked, letter.match))
        except NotAnswered as error:
            outcome = str(error)
            self.runner.metrics.letters.failed(letter.queue, error.kind)
        work = functools.partial(letters.settle, letter=letter, outcome=outcome, most=asked.spec.attempts)
        settled = await self._note(work)
        if settled is None:
            return letter, _PAUSE_S
        if settled.status == "dead":
            log.error("no game server", match=match_id(letter.match), queue=letter.queue, why=settled.why)
        if settled.status != "pending":
            return None
        return settled, wait_s(asked.spec, letter.match, settled.attempts)

    async def _send(self, asked: Asked, match: int) -> Posted:
        secret = secret_of(self._environ, asked.spec)
        if isinstance(secret, NotAnswered):
            raise secret
        timestamp = str(int(time.time()))
        headers = {
            "Evenmatch-Id": letter_id(match),
            "Evenmatch-Timestamp": timestamp,
            "Evenmatch-Signature": signature(secret, timestamp, asked.body),
        }
        return await self._post(asked.spec.url, asked.body, headers, asked.spec.timeout_s)

    async def _note(self, work: Callable[[Any], Letter]) -> Letter | None:
        """Make what came of a letter durable; None = that was not possible now."""
        reply = self.runner.reply()
        self.runner.put(TaskOrder(work, reply))
        settled: Letter | Unavailable = await reply
        return None if isinstance(settled, Unavailable) else settled
