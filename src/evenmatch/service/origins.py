"""Which event made a proposal, and which ended it, for whoever asks what became of it (`fates`)."""

from bisect import bisect_right
from typing import Final

from evenmatch.domain.backfill_events import PlacesOffered
from evenmatch.domain.events import Event, ProposalsFailed, WaveFinished

KEPT: Final = 20_000
"""Proposals that failed, the newest, and up to twice as many events that made some."""


class Origins:
    """Which event made a proposal, and which ended it. Written by one thread; others may look."""

    def __init__(self) -> None:
        self._made: list[tuple[int, int, int]] = []
        """First proposal, how many, sequence; in the order in which proposals are numbered."""
        self._failed: dict[int, int] = {}

    def note(self, sequence: int, event: Event) -> None:
        """Take note of what has happened."""
        if isinstance(event, WaveFinished) and len(event.roster):
            self._note_made((event.first_proposal, len(event.roster), sequence))
        elif isinstance(event, PlacesOffered):
            self._note_made((event.first_proposal, len(event.ticket), sequence))
        elif isinstance(event, ProposalsFailed):
            for proposal in event.proposal.tolist():
                self._failed[proposal] = sequence
            while len(self._failed) > KEPT:
                del self._failed[next(iter(self._failed))]

    def _note_made(self, origin: tuple[int, int, int]) -> None:
        self._made.append(origin)
        if len(self._made) > 2 * KEPT:
            self._made = self._made[-KEPT:]  # another list: whoever looks at the old one may go on

    def made(self, proposal: int) -> int | None:
        """The sequence of the event that made it; None = not known."""
        made = self._made
        at = bisect_right(made, proposal, key=lambda origin: origin[0]) - 1
        return made[at][2] if at >= 0 and proposal < made[at][0] + made[at][1] else None

    def failed(self, proposal: int) -> int | None:
        """The sequence of the event that ended it; None = it did not fail, or that is not known."""
        return self._failed.get(proposal)
