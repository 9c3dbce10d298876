"""One ownership of a lane by this process, from the lease to its return.

The engine, its matchers and the letters to game servers run here as in a server that is alone; but nobody connects to
it: what is asked of it comes through the inbox, and what it has to tell is read from the journal by others. After every
commit they are woken.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
import numpy as np
import structlog

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import JournalError
from evenmatch.settings import Settings
from evenmatch.storage import postgres_inbox
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_line import Line

from .app import App
from .inbox import Inbox
from .matching import MatcherRoom
from .owner import Owner

log = structlog.get_logger("evenmatch.tenure")

_RUNG_EVERY_S: Final = 0.003
"""Others are woken as often at most."""
_REASONS_EVERY_S: Final = 0.5
_REASONS_MOST: Final = 100_000
"""Reasons of a wave that left more tickets waiting are not written down for others."""


class Tenure:
    """A lane that this process owns."""

    def __init__(
        self,
        journal: PostgresJournal,
        lane: int,
        specs: Iterable[QueueSpec],
        settings: Settings,
        version: str,
        lost: Callable[[str], None],
    ) -> None:
        """Takes as long as it takes to read the journal; in any thread. `lost` is called when another owner came."""
        self.lane, self.journal = lane, journal
        self.room = MatcherRoom()
        self.owner = Owner(journal, specs, settings, self.room.run)
        self.room.waved = self.owner.metrics.wave
        self.owner.fatal = lost
        journal.when_lost(lost)
        self.app = App(self.owner, self.room, settings, version)
        self._reading = Line(journal.place, journal.name)
        self.inbox = Inbox(self.owner, self.app.apply, lambda known: postgres_inbox.waiting(self._reading, lane, known))
        self._courier = Courier(self.owner, journal, lane)
        self.owner.moved = self._courier.moved

    def begin(self) -> None:
        """Go to work; on the event loop."""
        self.app.begin()
        self._courier.start()
        self.inbox.start()
        log.info("lane taken", lane=self.lane, fence=self.journal.fence)

    async def end(self) -> None:
        """Finish what was begun, save a checkpoint and give the lease back."""
        await self.inbox.close()
        await self.app.end()
        self._courier.close()
        self._reading.close()
        log.info("lane given back", lane=self.lane)


def _bytes(column: Array) -> bytes:
    """Numbers as whoever reads them expects them; a matcher may keep reasons in fewer bytes."""
    return column.astype(np.int64).tobytes()


class Courier:
    """A thread that wakes others after commits, and writes down why tickets wait."""

    def __init__(self, owner: Owner, journal: PostgresJournal, lane: int) -> None:
        self._owner, self._lane = owner, lane
        self._line = Line(journal.place, journal.name)
        self._moved = threading.Event()
        self._ending = threading.Event()
        self._told_s = 0.0
        self._told: dict[str, int] = {}
        """Queue -> the wave whose reasons were written down."""
        self._thread = threading.Thread(target=self._work, name="courier", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def moved(self) -> None:
        """There is a new commit; from the engine thread."""
        self._moved.set()

    def _work(self) -> None:
        while not self._ending.is_set():
            if self._moved.wait(_REASONS_EVERY_S):
                self._moved.clear()
                postgres_inbox.ring(self._line, postgres_inbox.MOVED, self._lane)
                self._ending.wait(_RUNG_EVERY_S)
            try:
                self._tell_reasons()
            except JournalError:
                self._ending.wait(_REASONS_EVERY_S)

    def _tell_reasons(self) -> None:
        if time.monotonic() < self._told_s + _REASONS_EVERY_S:
            return
        self._told_s = time.monotonic()
        fresh: list[tuple[str, int, Any]] = []
        for queue, (wave, tickets, reasons) in self._owner.engine.known_reasons().items():
            if wave != self._told.get(queue) and len(tickets) <= _REASONS_MOST:
                fresh.append((queue, wave, msgspec.msgpack.encode((_bytes(tickets), _bytes(reasons)))))
        if fresh:
            postgres_inbox.tell_reasons(self._line, self._lane, fresh)
            self._told.update((queue, wave) for queue, wave, _ in fresh)

    def close(self) -> None:
        """Wake others once more, and end."""
        self._ending.set()
        self._moved.set()
        self._thread.join()
        postgres_inbox.ring(self._line, postgres_inbox.MOVED, self._lane)
        self._line.close()
