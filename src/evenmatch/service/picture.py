"""A picture of those who wait in a queue: at most `CELLS` points or bins, however many there are.

1. Few tickets are points, each with its id and, where the matcher has one, its window or range. Many are counted in
   bins over rating (for `epgc` over tier and ping) and wait; a bin stands at the mean of its tickets. Where all have
   waited about as long, bins are over rating alone, and stand in its middle (`picture_scale`).
2. It is made of a snapshot, the very thing a matcher sees, away from engine and event loop (`picture_columns`).
3. Proposals that were made since the last picture are groups of seats, in the matcher's order of selection (so the
   leader of a session is the first), at most `GROUPS` of them.
"""

from typing import Final

import msgspec
import numpy as np

from evenmatch.core.state import QueueState, State
from evenmatch.domain.arrays import Array
from evenmatch.domain.ids import proposal_id, ticket_id
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.epgc import classify

from .picture_columns import Seen, seen
from .picture_scale import CELLS, Scale, alike, binned, cells_of, columns_of, scale_of
from .picture_words import beyond_words, words_of
from .waiting import WITHOUT_END, Waiting, longest_waiting
from .waits import ratings_of

GROUPS: Final = 40
OLDEST: Final = 10
SEATS: Final = 400
"""Seats of all groups together."""


class Seat(msgspec.Struct, frozen=True):
    """A ticket of a proposal."""

    ticket: str
    team: int
    rating: float
    waited_s: float
    ping_ms: float | None = None
    """The mean of its players, where all brought one."""
    band: int = -1
    """Into the picture's `bands`; -1 = not known."""


class Group(msgspec.Struct, frozen=True):
    """A proposal."""

    id: str
    quality: float | None
    seats: list[Seat]


class Picture(msgspec.Struct, frozen=True):
    """Those who wait, as columns of equal length, and the proposals made just now."""

    queue: str
    matcher: str
    as_of_ms: int
    waiting: int
    """Tickets that could be matched."""
    binned: bool
    """Each entry stands for `count` tickets, and has no id."""
    rating: list[float]
    waited_s: list[float]
    count: list[int]
    players: list[int]
    low: list[float] = []
    """Where the matcher has windows or ranges: from which rating on a ticket would take somebody now, without end (a
    thousand million) where it takes anybody; of a bin the mean, in which such a one reaches as far beyond the crowd as
    the crowd is wide."""
    high: list[float] = []
    ping_ms: list[float | None] = []
    """Where the matcher goes by ping."""
    band: list[int] = []
    """Into `bands`; -1 = none."""
    bands: list[str] = []
    """Tiers (epgc), sides and "either" (ladder, even), who goes first (even), members and leaders (lom, l2m, m2l)."""
    bands_are: str = ""
    """tier, side, turn or part; empty = there are no bands."""
    edges: list[float] = []
    """The lowest rating of each tier but the first."""
    bucket: float | None = None
    """How wide a bucket is, where ratings are sorted into buckets of one width; one of them begins at 0."""
    ticket: list[str] = []
    oldest: list[Waiting] = []
    """The ten that have waited longest, however many wait."""
    groups: list[Group] = []
    groups_more: int = 0
    """Proposals that are not shown."""
    words: str = ""
    """What is to be seen, by the matcher's rules."""
    scale: Scale | None = None
    """From where to where to draw, so that one who is far from all others does not leave them in a corner."""
    beyond: str = ""
    """Who is beyond the scale, in words; empty = nobody."""
    by_count: bool = False
    """All have waited about as long: each entry stands for those of its ratings, and `count` is to be seen."""
    bin: float | None = None
    """With `by_count`: how wide an entry is, which stands in its middle."""
    overlap: list[float | None] = []
    """Where the matcher compares ranges (cinder): how far each overlaps with that other one with which it does most."""
    shared_low: list[float | None] = []
    """From which rating on the two have the same; null = nothing."""
    shared_high: list[float | None] = []


def picture_of(
    spec: QueueSpec, snapshot: Snapshot, now_ms: int, groups: list[Group], more: int, seed: int = 0
) -> Picture:
    """The picture of a snapshot; `seed`: of its wave, or of the next one."""
    found = seen(spec, snapshot, now_ms, seed)
    matcher = found.matcher
    columns: dict[str, Array] = {
        "rating": found.rating,
        "waited_s": found.waited_s,
        "players": snapshot.size.astype(np.float64),
    }
    if found.ranges is not None:
        columns["low"], columns["high"] = _drawable(*found.ranges, found.rating, binned=len(snapshot) > CELLS)
    if found.ping_ms is not None:
        columns["ping_ms"] = found.ping_ms
    across = columns.get("ping_ms", found.rating)
    scale = scale_of(across, found.waited_s)
    many, band, ticket = len(snapshot) > CELLS, found.band, list[str]()
    by_count = many and scale is not None and alike(found.waited_s)
    count, wide = np.ones(len(snapshot)), None
    if many:
        fixed = scale or Scale(0.0, 1.0, float(found.waited_s.max()))
        by_ping, bands = found.ping_ms is not None, int(band.max(initial=-1)) + 1
        cell = cells_of(across, found.waited_s, band, bands, fixed, by_ping=by_ping, by_count=by_count)
        count, band, columns = binned(cell, columns, band)
        if by_count:
            name, parts = ("ping_ms" if by_ping else "rating"), columns_of(bands)
            wide = max((fixed.high - fixed.low) / parts, 0.1)
            columns[name] = _middles(columns[name], fixed, wide)
    else:
        ticket = [ticket_id(number) for number in snapshot.ticket.tolist()]
        if (shared := found.overlaps(np.arange(len(snapshot)))) is not None:
            columns |= {"overlap": shared.share, "shared_low": shared.low, "shared_high": shared.high}
    bucket = getattr(matcher, "bucket", None) if spec.matcher.name == "buckets" else None
    words = "" if matcher is None else words_of(matcher, many, len(snapshot))
    return Picture(
        queue=spec.name,
        matcher=spec.matcher.name,
        as_of_ms=snapshot.now_ms,
        waiting=len(snapshot),
        binned=many,
        rating=_shown(columns["rating"]),
        waited_s=_shown(columns["waited_s"]),
        count=count.astype(np.int64).tolist(),
        players=columns["players"].astype(np.int64).tolist(),
        low=_shown(columns.get("low", np.empty(0))),
        high=_shown(columns.get("high", np.empty(0))),
        ping_ms=_or_null(columns.get("ping_ms", np.empty(0))),
        band=band.tolist() if found.bands else [],
        bands=found.bands,
        bands_are=found.bands_are,
        edges=[float(edge) for edge in matcher.boundaries] if found.bands_are == "tier" else [],
        bucket=None if isinstance(bucket, str) else bucket,
        ticket=ticket,
        oldest=longest_waiting(found, 0, OLDEST),
        groups=_in_bands(groups, found),
        groups_more=more,
        words=words,
        scale=scale,
        beyond="" if scale is None else beyond_words(scale, by_ping="ping_ms" in columns),
        by_count=by_count,
        bin=None if wide is None else round(wide, 4),
        overlap=_or_null(columns.get("overlap", np.empty(0)), 3),
        shared_low=_or_null(columns.get("shared_low", np.empty(0))),
        shared_high=_or_null(columns.get("shared_high", np.empty(0))),
    )


def _middles(mean: Array, scale: Scale, wide: float) -> Array:
    """Where bins over rating alone stand: in their middle, those beyond the scale at their means."""
    middle = scale.low + (np.floor(np.maximum(mean - scale.low, 0.0) / wide) + 0.5) * wide
    inside = (mean >= scale.low) & (mean <= scale.high)
    found: Array = np.where(inside, np.minimum(middle, scale.high - wide / 2), mean)
    return found


def _in_bands(groups: list[Group], found: Seen) -> list[Group]:
    """Proposals, with the tiers of those in them."""
    if found.bands_are != "tier":
        return groups
    told = []
    for group in groups:
        tiers = classify([seat.rating for seat in group.seats], found.matcher.boundaries).tolist()
        seats = [msgspec.structs.replace(seat, band=tier) for seat, tier in zip(group.seats, tiers, strict=True)]
        told.append(msgspec.structs.replace(group, seats=seats))
    return told


def _drawable(low: Array, high: Array, rating: Array, *, binned: bool) -> tuple[Array, Array]:
    """Ranges as they are; who can't be seated has none. For means, those without end get one beyond the crowd."""
    least, most = float(rating.min()), float(rating.max())
    wide = max(most - least, 1.0)
    below, above = (least - wide, most + wide) if binned else (-WITHOUT_END, WITHOUT_END)

    def end(of: Array) -> Array:
        known = np.where(np.isnan(of), rating, of)
        found: Array = np.where(known <= -WITHOUT_END, below, np.where(known >= WITHOUT_END, above, known))
        return found

    return end(low), end(high)


def _or_null(column: Array, digits: int = 1) -> list[float | None]:
    """For JSON, which has no NaN."""
    return [None if value != value else value for value in np.round(column, digits).tolist()]


def _shown(column: Array) -> list[float]:
    shown: list[float] = np.round(column, 1).tolist()
    return shown


def _mean_ping(queue: QueueState, slot: int) -> float | None:
    start, size = int(queue.tickets.start[slot]), int(queue.tickets.size[slot])
    mean = float(queue.players.ping_ms[start : start + size].mean())
    return None if mean != mean else round(mean, 1)


def groups_since(state: State, queue: QueueState, after_ms: int, now_ms: int) -> tuple[list[Group], int]:
    """The proposals made after a moment, the newest of them, and how many more there are; in the engine thread."""
    p = queue.proposals
    made = np.flatnonzero((p.made_ms[: p.used] > after_ms) & (p.standing[: p.used] != 0))
    wide = max(1, p.roster.shape[1])
    shown = made[np.argsort(p.proposal[made])][-min(GROUPS, max(1, SEATS // wide)) :]
    groups = []
    for slot in shown.tolist():
        tickets, teams = queue.roster(slot)
        places = state.tickets_at.find(tickets)
        here = places >= 0
        slots = places[here] & 0xFFFFFFFF
        waited_s = (queue.waited_ms(slots, now_ms) / 1000).round(1).tolist()
        ping = [_mean_ping(queue, one) for one in slots.tolist()]
        columns = (tickets[here].tolist(), teams[here].tolist(), _shown(ratings_of(queue, slots)), waited_s, ping)
        quality = float(p.quality[slot])
        groups.append(
            Group(
                proposal_id(int(p.proposal[slot])),
                None if quality != quality else round(quality, 4),
                [Seat(ticket_id(ticket), *others) for ticket, *others in zip(*columns, strict=True)],
            )
        )
    return groups, len(made) - len(shown)
