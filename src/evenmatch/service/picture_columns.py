"""What is to be seen of those who wait, by the rules of their queue's matcher: a column for each thing.

It is made of a snapshot, the very thing a matcher sees, away from engine and event loop. A snapshot that the matcher
cannot read has no windows and no bands: the wave will say so; who waits is seen all the same.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import wave_ranges
from evenmatch.matchers.epgc import classify, tier_names
from evenmatch.matchers.looks import Overlaps, wave_leaders, wave_overlaps
from evenmatch.matchers.registry import build

_SIDES: Final = 2
_TURNS: Final = ("waits", "goes first")
_PARTS: Final = ("member", "leader")


class Seen(NamedTuple):
    """Those who wait, float64[n] each where nothing else is said."""

    matcher: Any
    """None = it cannot read the snapshot."""
    snapshot: Snapshot
    rating: Array
    waited_s: Array
    ranges: tuple[Array, Array] | None
    """From which and up to which rating each would take somebody now; None = there are no windows."""
    ping_ms: Array | None
    """None = the matcher does not go by ping."""
    band: Array
    """int64[n], into `bands`; -1 = none."""
    bands: list[str]
    bands_are: str
    """What the bands are: tier, side, turn or part; empty = there are none."""

    def overlaps(self, rows: Array) -> Overlaps | None:
        """How far the ranges of these rows overlap with others; None = the matcher does not ask."""
        return None if self.matcher is None else wave_overlaps(self.matcher, self.snapshot, rows)


def seen(spec: QueueSpec, snapshot: Snapshot, now_ms: int, seed: int) -> Seen:
    """Who waits; `seed`: of the wave that would lead them, or did."""
    rating = rating_of(snapshot)
    waited_s = (snapshot.waited_ms + (now_ms - snapshot.now_ms)) / 1000
    band, bands, bands_are = np.full(len(snapshot), -1), [], ""
    ranges = ping_ms = None
    try:
        matcher: Any = build(spec.matcher.name, spec.matcher.parameters)
        ranges = wave_ranges(matcher, snapshot) if len(snapshot) else None
        leads = wave_leaders(matcher, snapshot, seed)
    except MatcherError:
        matcher = ranges = leads = None
    if matcher is None:
        pass
    elif matcher.name == "epgc":
        bands, bands_are = tier_names(matcher.boundaries), "tier"
        ping_ms, band = snapshot.mean("ping_ms"), classify(rating, matcher.boundaries)
    elif leads is not None:
        band, bands, bands_are = leads.astype(np.int64), list(_PARTS), "part"
    elif matcher.name in ("ladder", "even") and matcher.sides:
        band, bands, bands_are = _side(snapshot, list(matcher.sides)), [*matcher.sides, "either"], "side"
    elif ranges is not None and hasattr(matcher, "due"):
        band, bands, bands_are = matcher.due(snapshot).astype(np.int64), list(_TURNS), "turn"
    return Seen(matcher, snapshot, rating, waited_s, ranges, ping_ms, band, bands, bands_are)


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
