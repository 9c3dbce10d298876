"""A picture of those who wait in a queue: at most `CELLS` points or bins, however many there are.

1. Few tickets are points, each with its id and, where the matcher has one, its window or range. Many are counted in
   bins over rating (for `epgc` over tier and ping) and wait; a bin stands at the mean of its tickets.
2. It is made of a snapshot, the very thing a matcher sees, away from engine and event loop.
3. Proposals that were made since the last picture are groups of seats, in the matcher's order of selection (so the
   leader of a session is the first), at most `GROUPS` of them.
"""

from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.state import QueueState, State
from evenmatch.domain.arrays import Array
from evenmatch.domain.ids import proposal_id, ticket_id
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import wave_ranges
from evenmatch.matchers.epgc import classify, tier_names
from evenmatch.matchers.registry import build

from .picture_words import words_of
from .waits import ratings_of

CELLS: Final = 400
GROUPS: Final = 40
SEATS: Final = 400
"""Seats of all groups together."""
_GRID: Final = (40, 10)
"""Bins over rating and wait; where there are bands, of all of them together."""
_TIER_GRID: Final = (20, 4)
"""Bins over ping and wait, for each tier: of these there may be many, then only the fullest bins are shown."""
_SIDES: Final = 2
_DUE: Final = ("waits", "goes first")


class Seat(msgspec.Struct, frozen=True):
    """A ticket of a proposal."""

    ticket: str
    team: int
    rating: float
    waited_s: float
    ping_ms: float | None = None
    """The mean of its players, where all brought one."""


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
    """Where the matcher has windows or ranges: from which rating on a ticket would take somebody now; one that takes
    anybody reaches as far beyond the crowd as the crowd is wide."""
    high: list[float] = []
    ping_ms: list[float | None] = []
    """Where the matcher goes by ping."""
    band: list[int] = []
    """Into `bands`; -1 = none."""
    bands: list[str] = []
    """Tiers (epgc), sides and "either" (ladder, even), or who goes first (even)."""
    edges: list[float] = []
    """The lowest rating of each tier but the first."""
    ticket: list[str] = []
    groups: list[Group] = []
    groups_more: int = 0
    """Proposals that are not shown."""
    words: str = ""
    """What is to be seen, by the matcher's rules."""


def picture_of(spec: QueueSpec, snapshot: Snapshot, now_ms: int, groups: list[Group], more: int) -> Picture:
    """The picture of a snapshot."""
    name = spec.matcher.name
    columns: dict[str, Array] = {
        "rating": rating_of(snapshot),
        "waited_s": (snapshot.waited_ms + (now_ms - snapshot.now_ms)) / 1000,
        "players": snapshot.size.astype(np.float64),
    }
    bands: list[str] = []
    edges: list[float] = []
    band = np.full(len(snapshot), -1)
    matcher: Any = None
    try:
        matcher = build(name, spec.matcher.parameters)
        ranges = wave_ranges(matcher, snapshot) if len(snapshot) else None
    except MatcherError:  # the wave will say so; who waits is shown all the same
        matcher = ranges = None
    if ranges is not None:
        columns["low"], columns["high"] = _drawable(*ranges, columns["rating"])
    if name == "epgc" and matcher is not None:
        edges, bands = [float(edge) for edge in matcher.boundaries], tier_names(matcher.boundaries)
        columns["ping_ms"] = snapshot.mean("ping_ms")
        band = classify(columns["rating"], matcher.boundaries)
    elif name in ("ladder", "even") and matcher is not None and matcher.sides:
        bands = [*matcher.sides, "either"]
        band = _side(snapshot, list(matcher.sides))
    elif ranges is not None and hasattr(matcher, "due"):
        bands, band = list(_DUE), matcher.due(snapshot).astype(np.int64)
    binned = len(snapshot) > CELLS
    count = np.ones(len(snapshot))
    ticket: list[str] = []
    if binned:
        cell = _cells(columns, band)
        count, band, columns = _binned(cell, columns, band)
    else:
        ticket = [ticket_id(number) for number in snapshot.ticket.tolist()]
    return Picture(
        queue=spec.name,
        matcher=name,
        as_of_ms=snapshot.now_ms,
        waiting=len(snapshot),
        binned=binned,
        rating=_shown(columns["rating"]),
        waited_s=_shown(columns["waited_s"]),
        count=count.astype(np.int64).tolist(),
        players=columns["players"].astype(np.int64).tolist(),
        low=_shown(columns.get("low", np.empty(0))),
        high=_shown(columns.get("high", np.empty(0))),
        ping_ms=[None if value != value else value for value in _shown(columns.get("ping_ms", np.empty(0)))],
        band=band.tolist() if bands else [],
        bands=bands,
        edges=edges,
        ticket=ticket,
        groups=groups,
        groups_more=more,
        words="" if matcher is None else words_of(matcher),
    )


def _drawable(low: Array, high: Array, rating: Array) -> tuple[Array, Array]:
    """Ranges without end end a crowd's width beyond the crowd; who can't be seated has none."""
    least, most = float(rating.min()), float(rating.max())
    wide = max(most - least, 1.0)
    ends = (np.where(np.isnan(end), rating, end).clip(least - wide, most + wide) for end in (low, high))
    first, last = ends
    return first, last


def rating_of(snapshot: Snapshot) -> Array:
    """float64[n]: the mean rating of each ticket; where the queue has a rating a side, of those."""
    sides = [name for name in sorted(snapshot.facts) if name.startswith("ratings.")]
    if not sides:
        rating = snapshot.mean("rating") if "rating" in snapshot.facts else np.full(len(snapshot), np.nan)
    else:
        given = np.stack([snapshot.mean(name) for name in sides])
        known = ~np.isnan(given)
        total = np.where(known, given, 0.0).sum(axis=0)
        rating = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
    found: Array = np.where(np.isnan(rating), RATING_DEFAULT, rating)
    return found


def _side(snapshot: Snapshot, sides: list[str]) -> Array:
    """int64[n]: the side that each can play, 2 = both, -1 = neither."""
    nobody = np.full(len(snapshot), np.nan)
    first, second = (
        ~np.isnan(snapshot.mean(f"ratings.{side}") if f"ratings.{side}" in snapshot.facts else nobody)
        for side in sides[:_SIDES]
    )
    found: Array = np.where(first & second, 2, np.where(first, 0, np.where(second, 1, -1)))
    return found


def _cells(columns: dict[str, Array], band: Array) -> Array:
    """int64[n]: the bin of each ticket."""
    across = columns.get("ping_ms", columns["rating"])
    bands = int(band.max(initial=-1)) + 1
    wide, tall = _TIER_GRID if "ping_ms" in columns else (_GRID[0] // max(1, bands), _GRID[1])
    cell = _bin(np.where(np.isnan(across), 0.0, across), wide) * tall + _bin(columns["waited_s"], tall)
    if bands:
        cell = cell * (bands + 1) + band + 1
    return cell


def _bin(values: Array, bins: int) -> Array:
    """int64[n]: which of so many equal parts of the span each value is in."""
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return np.zeros(len(values), np.int64)
    return np.minimum(((values - low) / (high - low) * bins).astype(np.int64), bins - 1)


def _binned(cell: Array, columns: dict[str, Array], band: Array) -> tuple[Array, Array, dict[str, Array]]:
    """How many tickets each bin has, its band, and its means (of players: their sum); the fullest bins only."""
    _, first, place, count = np.unique(cell, return_index=True, return_inverse=True, return_counts=True)
    fullest = np.sort(np.argsort(-count, kind="stable")[:CELLS])
    means = {name: np.bincount(place, column, len(count)) / count for name, column in columns.items()}
    means["players"] *= count
    return count[fullest], band[first][fullest], {name: column[fullest] for name, column in means.items()}


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
