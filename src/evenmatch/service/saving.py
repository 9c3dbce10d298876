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


class Saving:
    """Saves checkpoints of one journal, one at a time. Used from the engine thread."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._thread: threading.Thread | None = None
        self.debt = 0
        """What replaying the journal's tail, all that came after the newest checkpoint, would cost, in events."""

    def begin(self, state: State) -> None:
        """Count anew, from a state that was just recovered."""
        newest = self._journal.newest_checkpoint() if state.sequence else None
        self.debt = state.sequence - (newest.sequence if newest else 0)

    def owe(self, events: Iterable[Event]) -> None:
        """These were committed."""
        for event in events:
            self.debt += 1 + (len(event.size) // _TICKETS_PER_DEBT if isinstance(event, TicketsJoined) else 0)

    def save(self, state: State) -> None:
        """Save a state, or begin to, unless one is being saved still. One that fails is told to the log, and tried
        again after as many events more, not at once."""
        if not self.debt or (self._thread is not None and self._thread.is_alive()):
            return
        self.debt = 0
        if len(state.tickets_at) < _LARGE:
            _tried(lambda: self._journal.save_checkpoint(checkpoint_of(state)))
            return
        saved = checkpoint_in_pieces(state)
        write = functools.partial(_tried, lambda: self._journal.save_in_pieces(*saved))
        self._thread = threading.Thread(target=write, name="checkpoint", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for what is being saved."""
        if self._thread is not None:
            self._thread.join()


def _tried(save: Callable[[], None]) -> None:
    try:
        save()
    except JournalError as error:
        log.error("checkpoint not saved", error=str(error))
