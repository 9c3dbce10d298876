"""Who has waited longest, ticket by ticket; a list of any queue begins with them, however many wait."""

from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.ids import ticket_id

from .picture_columns import Seen

WITHOUT_END: Final = 1e9
"""A window that ends no nearer than this takes anybody."""


class Waiting(msgspec.Struct, frozen=True):
    """A ticket that waits, by itself."""

    ticket: str
    players: int
    rating: float
    waited_s: float
    low: float | None = None
    """From which rating on it would take somebody now, without end where it takes anybody; null = it has no window."""
    high: float | None = None
    ping_ms: float | None = None
    band: str | None = None
    """Its tier, side, turn or part, by the matcher's rules; null = there is none."""
    overlap: float | None = None
    """Where the matcher compares ranges: the overlap with that other one with which it is largest, 0 to 1."""


def longest_waiting(found: Seen, skip: int, limit: int) -> list[Waiting]:
    """The longest waiting tickets, longest first, without the first `skip`."""
    rows = np.argsort(-found.waited_s, kind="stable")[skip : skip + limit]
    shared = found.overlaps(rows)
    told = []
    for at, row in enumerate(rows.tolist()):
        low, high = (None, None) if found.ranges is None else (_end(end[row]) for end in found.ranges)
        band = int(found.band[row])
        told.append(
            Waiting(
                ticket_id(int(found.snapshot.ticket[row])),
                int(found.snapshot.size[row]),
                round(float(found.rating[row]), 1),
                round(float(found.waited_s[row]), 1),
                low,
                high,
                None if found.ping_ms is None else _end(found.ping_ms[row]),
                found.bands[band] if found.bands and band >= 0 else None,
                None if shared is None or shared.share[at] != shared.share[at] else round(float(shared.share[at]), 3),
            )
        )
    return told


def _end(value: float) -> float | None:
    """For JSON, which has no number without end: one that large stands for it."""
    return None if value != value else round(min(max(float(value), -WITHOUT_END), WITHOUT_END), 1)
