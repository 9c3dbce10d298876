"""Checkpoints of a live engine: small ones at once, large ones by a thread of their own while the engine goes on."""

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from evenmatch.core.state import State
from evenmatch.domain.events import Event, TicketsJoined
from evenmatch.errors import JournalError
from evenmatch.recovery import checkpoint_in_pieces, checkpoint_of
from evenmatch.storage.protocol import Journal

log = structlog.get_logger("evenmatch.runner")

_LARGE: Final = 20_000
"""From so many tickets on, a checkpoint is written by a thread of its own."""


_TICKETS_PER_DEBT: Final = 20
"""Replaying so many tickets of array events costs about as much as replaying one event."""


def debt_of(events: Iterable[Event]) -> int:
    """What replaying these would cost, in events."""
    return sum(1 + (len(e.size) // _TICKETS_PER_DEBT if isinstance(e, TicketsJoined) else 0) for e in events)


class Saving:
    """Saves checkpoints of one journal, one at a time. Used from the engine thread."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._thread: threading.Thread | None = None

    def save(self, state: State) -> bool:
        """Save a state, or begin to; False = one is being saved still. One that fails is told to the log."""
        if self._thread is not None and self._thread.is_alive():
            return False
        if len(state.tickets_at) < _LARGE:
            _tried(lambda: self._journal.save_checkpoint(checkpoint_of(state)))
            return True
        saved = checkpoint_in_pieces(state)
        write = functools.partial(_tried, lambda: self._journal.save_in_pieces(*saved))
        self._thread = threading.Thread(target=write, name="checkpoint", daemon=True)
        self._thread.start()
        return True

    def finish(self) -> None:
        """Wait for what is being saved."""
        if self._thread is not None:
            self._thread.join()


def _tried(save: Callable[[], None]) -> None:
    try:
        save()
    except JournalError as error:
        log.error("checkpoint not saved", error=str(error))
