"""The application inside the test's own process, over any journal: for failures that no real disk has on demand."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
import msgspec

from evenmatch.core.hashing import state_hash
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import JournalUnavailable, JournalUnsure
from evenmatch.recovery import recover
from evenmatch.service.app import App
from evenmatch.service.lanes import Lanes
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.protocol import Commit, Journal
from evenmatch.storage.sqlite import SqliteJournal
from evenmatch.wiring import build_app

from .harness import PATIENCE_S

SETTINGS = Settings(tick_ms=5)


@contextlib.asynccontextmanager
async def living(app: App | Lanes) -> AsyncIterator[httpx.AsyncClient]:
    """The application from startup to shutdown, and a client for it."""
    to_app: asyncio.Queue[Any] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan"}, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    assert (await from_app.get())["type"] == "lifespan.startup.complete"
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=PATIENCE_S) as client:
            yield client
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        async with asyncio.timeout(PATIENCE_S):
            assert (await from_app.get())["type"] == "lifespan.shutdown.complete"
            await life


def app_over(journal: Journal, *specs: QueueSpec, fast: bool = True, settings: Settings = SETTINGS) -> App:
    """The application over a journal; keys only where the settings name a file of them."""
    if settings.keys == Settings().keys:
        settings = msgspec.structs.replace(settings, keys=Path(__file__).with_name("no.keys"))
    return build_app(journal, specs, settings, fast=fast)


async def until(look: Callable[[], Any], what: str) -> Any:
    """The first truthy answer of a function, or of what it returns to be awaited."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.005)
    raise AssertionError(what)


async def memory_and_journal(app: App) -> tuple[str, str]:
    """The hash of the engine's state, and of what the journal alone gives."""
    found: tuple[str, str] = await app.runner.ask(
        lambda views, _: (state_hash(views.engine.state), state_hash(recover(views.journal)))
    )
    return found


class Failing(Protocol):
    """A journal that fails when it is told to."""

    failures: list[str]
    broken: bool
    gate: threading.Event
    reached: threading.Event


class _Fails:
    """Put before a journal's class: makes its `append` fail, before or after the commit has really happened."""

    def __init__(self, *arguments: Any) -> None:
        self.failures: list[str] = []
        """What the next commits do, in order: "before", "after" or "" for nothing."""
        self.broken = False
        """Nothing can be read or written."""
        self.gate = threading.Event()
        """While it is closed, commits wait."""
        self.gate.set()
        self.reached = threading.Event()
        """A commit waits at the gate."""
        super().__init__(*arguments)

    def append(self, commit: Commit) -> None:
        self.reached.set()
        assert self.gate.wait(PATIENCE_S)
        failure = self.failures.pop(0) if self.failures else ""
        if failure == "before" or self.broken:
            raise JournalUnavailable("the disk is full")
        super().append(commit)  # type: ignore[misc]
        if failure == "after":
            raise JournalUnsure("the disk did not say that it was written")

    def newest_checkpoint(self) -> Any:
        if self.broken:
            raise JournalUnavailable("the disk cannot be read")
        return super().newest_checkpoint()  # type: ignore[misc]


class FailingMemory(_Fails, MemoryJournal):
    """The twin in memory."""


class FailingSqlite(_Fails, SqliteJournal):
    """The journal on disk."""


class FailingPostgres(_Fails, PostgresJournal):
    """The journal in a database."""
