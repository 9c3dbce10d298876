"""Which event made a proposal, and which ended it, for whoever asks what became of it (`fates`)."""

from collections import deque
from typing import Final

from evenmatch.domain.backfill_events import PlacesOffered
from evenmatch.domain.events import Event, ProposalsFailed, WaveFinished

KEPT: Final = 20_000
"""Events that made proposals, and proposals that failed: the newest of each."""


class Origins:
    """Which event made a proposal, and which ended it. Written by one thread; others may look."""

    def __init__(self) -> None:
        self._made: deque[tuple[int, int, int]] = deque(maxlen=KEPT)
        """First proposal, how many, sequence."""
        self._failed: dict[int, int] = {}

    def note(self, sequence: int, event: Event) -> None:
        """Take note of what has happened."""
        if isinstance(event, WaveFinished) and len(event.roster):
            self._made.append((event.first_proposal, len(event.roster), sequence))
        elif isinstance(event, PlacesOffered):
            self._made.append((event.first_proposal, len(event.ticket), sequence))
        elif isinstance(event, ProposalsFailed):
            for proposal in event.proposal.tolist():
                self._failed[proposal] = sequence
            while len(self._failed) > KEPT:
                del self._failed[next(iter(self._failed))]

    def made(self, proposal: int) -> int | None:
        """The sequence of the event that made it; None = not known."""
        found = (sequence for first, count, sequence in list(self._made) if first <= proposal < first + count)
        return next(found, None)

    def failed(self, proposal: int) -> int | None:
        """The sequence of the event that ended it; None = it did not fail, or that is not known."""
        return self._failed.get(proposal)
