"""Buckets: two tickets meet when each is within the other's range, and ranges grow while they wait.

Problem. Opponents close in skill, found without comparing everybody with everybody, and loosened with time.

Idea. A ticket stands in the bucket of its rating (by default the nearest whole number) and looks as many buckets away
as its range, which begins at 0 and grows by 1 every `growth_s`:

    range = min(range_max, floor(waited / growth))
    A may take B  if  distance <= range_A  and  100 * range_B >= reciprocity * distance

With a reciprocity of 100 % B must have A in range too; with 50 % B's range must reach half-way; with 0 % B isn't asked.
Seekers come in canonical order; each takes the nearest ticket that it may take, the earlier of two equally near. `look`
says who seeks whom: both ways, only `below` (the higher bucket takes the lower) or only `above`; equals always may.

    Pawn20 joins at 0 s, Grunt17 at 20 s, distance 3:    60 s   ranges 3 and 2   no: Grunt's is too small
                                                         80 s   ranges 4 and 3   match

Parties. Parties of equal size meet, in the bucket of their mean rating: a ticket is a whole team, so in the format
2 x size only parties of exactly `size` players can be seated, and both teams are one ticket each.

Settled here, where the document leaves it open.
  - Halves are rounded away from zero, as the document's language does: 16.5 -> 17, -16.5 -> -17.
  - A width w makes buckets [i * w, (i + 1) * w), so that a width of 1 is "floor". Ranges and distances count buckets.
  - range_max as "20%" is floor(20 * |rating| / 100) buckets of the ticket's own mean rating; [10, "20%"] the smaller.
  - A player without a rating counts as average.

The skip flag. Nothing can change by time alone until some ticket may newly take another; `next_change_ms` is exactly
that moment. (The document sets its flag to true on a join; it means the opposite. Joins are the engine's business.)

One pass suffices: what a seeker may take only becomes less as others are matched. The walk along the buckets is in
`numerics/growing_ranges`, the moment of the next change in `numerics/growing_moments`, with their invariants and costs.

Source: the bucket proposal (../shared/seeds, 002); NOTES.md there settles what it leaves open.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import SECONDS_MAX, Format, milliseconds
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import plan_from_matches, require_seatable
from evenmatch.matchers.explaining import near_at, nearest_of, of_pairs
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics.bucket_columns import standing
from evenmatch.numerics.exact_steps import floors, rounded, shares
from evenmatch.numerics.growing_moments import next_acceptable_ms
from evenmatch.numerics.growing_ranges import pairs, ranges_needed
from evenmatch.numerics.quality import rating_totals

__all__ = ["Buckets", "bucket_of", "range_limit"]

RangeMax: TypeAlias = int | str | Sequence[int | str]
LOOKS: Final = ("both", "below", "above")
RANGE_MAX: Final = int(FACT_MAX)
PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?) ?%")
PERCENT_MAX: Final = 1000
WIDTH_LEAST: Final = 1e-3
_NOBODY: Final = int(Reason.NOBODY_IN_RANGE)


class Buckets:
    """Skill buckets with growing ranges; see the note above."""

    name: ClassVar[str] = "buckets"
    reads_misses: ClassVar[bool] = False

    def __init__(
        self,
        *,
        bucket: str | float = "round",
        growth_s: float = 20,
        range_max: RangeMax = 10,
        reciprocity: float = 100,
        look: str = "both",
    ) -> None:
        """`bucket`: "round", "floor" or a width; `growth_s`: seconds for one bucket more of range.

        `range_max`: buckets, a percentage of the rating, or a list of both; `reciprocity`: percent, 0 to 100.
        """
        self.bucket = _bucket_rule(bucket)
        self.growth_s = number("buckets", "growth_s", growth_s, least=0.001, most=SECONDS_MAX)
        _limits(range_max)
        self.range_max = range_max
        self.reciprocity = number("buckets", "reciprocity", reciprocity, least=0, most=100)
        self.look = choice("buckets", "look", look, LOOKS)

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Why a format can't be played or a party not seated: two teams, each of them one ticket."""
        if form.teams != 2:
            return f"two teams are needed, as in 2x{form.size}, not {form}"
        if party != form.size:
            return f"a ticket fills a whole team, {form.size} in {form}, not {party}"
        return None

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The pairs in the order of their seekers; the seeker is the first team."""
        snapshot = require_seatable(self, snapshot)
        order = snapshot.canonical_order()
        bucket, grown, limit = self._columns(snapshot, order)
        needed = ranges_needed(_exactly(self.reciprocity), int(limit.max()) if len(limit) else 0)
        found = pairs(bucket, grown, limit, needed, self.look)
        places, distance = found[:, :2], found[:, 2].copy()
        teams = np.zeros(places.shape, np.int8)
        teams[:, 1] = 1
        return plan_from_matches(
            snapshot,
            rows=order[places].ravel(),
            teams=teams.ravel(),
            tickets=np.full(len(places), 2),
            left=np.full(len(snapshot), _NOBODY, np.int8),
            cost=distance.astype(np.float64),
            details={"bound": None, "optimality_gap": None},
            match_details=Table({"distance": distance}),
            trace=account(snapshot.ticket[order], places, bucket, np.minimum(grown, limit)) if trace else (),
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Whom a row may take, or who may take it: now, or when ranges have grown."""
        snapshot = require_seatable(self, snapshot)
        bucket, grown, limit = self._columns(snapshot, np.arange(len(snapshot)))
        reach = np.minimum(grown, limit)
        ways = _ways(bucket, row, self.look)
        distance = np.abs(bucket - bucket[row])
        needed = _needed(self.reciprocity, distance, int(limit.max()))
        wait, growth_ms = snapshot.waited_ms, milliseconds(self.growth_s)
        reached, taken = np.zeros(len(bucket), bool), np.zeros(len(bucket), bool)
        after_ms = np.full(len(bucket), np.inf)
        rows, everybody = np.full(len(bucket), row), np.arange(len(bucket))
        for may, seeker, other in ((ways[0], rows, everybody), (ways[1], everybody, rows)):
            near = may & (distance <= reach[seeker])
            reached |= near
            taken |= near & (reach[other] >= needed)
            ever = may & (distance <= limit[seeker]) & (needed <= limit[other])
            moment = np.maximum(distance * growth_ms - wait[seeker], needed * growth_ms - wait[other])
            after_ms = np.where(ever, np.minimum(after_ms, np.maximum(moment, 0)), after_ms)
        others = everybody != row
        apart = np.where(others, distance.astype(np.float64), np.inf)
        after_ms[row] = np.inf
        nearest = nearest_of(apart, "buckets", taken, after_ms)
        soonest = None
        unlock = f"a ticket within {int(limit[row])} buckets of its own, {int(bucket[row])}"
        if np.isfinite(after_ms).any():
            at = int(np.lexsort((apart, after_ms))[0])
            soonest = near_at(at, apart, "buckets", taken, after_ms)
            own = f"a range of {soonest.distance:g} buckets"
            theirs = f"a range of {int(needed[at])} buckets of the other ticket, which reaches less far now"
            unlock = "" if soonest.acceptable else own if reach[row] < distance[at] else theirs
        rules = [
            ("range", f"neither has the other in range; its own is {int(reach[row])} buckets now", ~reached),
            ("reciprocity", "it is in range, but the other's range reaches back too little", reached & ~taken),
        ]
        return of_pairs(snapshot, row, rules, nearest=nearest, soonest=soonest, unlock=unlock if others.any() else None)

    def next_change_ms(self, snapshot: Snapshot) -> int | None:
        """The moment when a ticket may newly take another, if nobody comes or goes; None = never.

        Never later than that moment; sooner only as `numerics/growing_moments` says.
        """
        snapshot = require_seatable(self, snapshot)
        bucket, _, limit = self._columns(snapshot, np.arange(len(snapshot)))
        after = next_acceptable_ms(
            bucket,
            snapshot.waited_ms,
            limit,
            growth_ms=milliseconds(self.growth_s),
            reciprocity=_exactly(self.reciprocity),
            look=self.look,
        )
        return None if after is None else snapshot.now_ms + after

    def ranges(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """float64[n] each: the ratings from which and up to which each ticket looks now."""
        bucket, grown, limit = self._columns(snapshot, np.arange(len(snapshot)))
        reach, width = np.minimum(grown, limit), _width(self.bucket)
        if width is None:
            return bucket - reach - 0.5, bucket + reach + 0.5
        return (bucket - reach) * width, (bucket + reach + 1) * width

    def window_after(self, waited_ms: int, _misses: int | None, rating: float) -> str:
        """The range after a wait, in words."""
        reach = min(waited_ms // milliseconds(self.growth_s), int(range_limit([rating], self.range_max)[0]))
        wide = "" if isinstance(self.bucket, str) else f" of {self.bucket:,.10g} points"
        return f"{reach:,} bucket{'s' * (reach != 1)}{wide}"

    def _columns(self, snapshot: Snapshot, order: Array) -> tuple[Array, Array, Array]:
        """The bucket of every ticket in this order, int64[n], its range so far and the widest ever, int32[n]."""
        if "rating" not in snapshot.facts:
            rating = np.full(len(snapshot), RATING_DEFAULT)
        else:
            rating = rating_totals(snapshot)
            rating = rating if snapshot.solo else rating / snapshot.size
        limit, percent = _limits(self.range_max)
        found = standing(
            order,
            rating,
            snapshot.waited_ms,
            width=_width(self.bucket),
            growth_ms=milliseconds(self.growth_s),
            limit=RANGE_MAX if limit is None else limit,
            share=None if percent is None else percent / 100,
        )
        if found.unrated >= 0:
            row = found.unrated
            raise MatcherError(
                f"buckets: ticket {int(snapshot.ticket[row])} has a rating of {rating[row]:g}: no bucket"
            )
        if found.early >= 0:
            row = found.early
            waited = int(snapshot.waited_ms[row])
            raise MatcherError(f"buckets: ticket {int(snapshot.ticket[row])} has waited {waited} ms")
        return found.bucket, found.grown, found.limit


def account(ticket: Array, places: Array, bucket: Array, reach: Array) -> tuple[dict[str, Any], ...]:
    """The trace: for each match, int[k, 2], the seeker and its partner, their buckets and their ranges."""
    return tuple(
        {"tickets": tickets, "buckets": buckets, "ranges": ranges}
        for tickets, buckets, ranges in zip(
            ticket[places].tolist(), bucket[places].tolist(), reach[places].tolist(), strict=True
        )
    )


def _ways(bucket: Array, row: int, look: str) -> tuple[Array, Array]:
    """bool[n] each: whom a row may seek, and who may seek it, by which bucket is the higher."""
    above, below = bucket >= bucket[row], bucket <= bucket[row]
    if look == "both":
        return above | below, above | below
    return (below, above) if look == "below" else (above, below)


def _needed(reciprocity: float, distance: Array, most: int) -> Array:
    """int64[n]: the least range of the other at each distance; beyond the widest range there is it does not matter."""
    table = ranges_needed(_exactly(reciprocity), most)
    found: Array = table[np.minimum(distance, most)]
    return found


def bucket_of(rating: ArrayLike, bucket: str | float = "round") -> Array:
    """int64[n]: the bucket of each rating: the nearest whole number, the next below, or floor(rating / width)."""
    width, ratings = _width(_bucket_rule(bucket)), np.asarray(rating, np.float64)
    return rounded(ratings) if width is None else floors(ratings, width)


def range_limit(rating: ArrayLike, range_max: RangeMax = 10) -> Array:
    """int64[n]: the widest range of tickets with these mean ratings, in buckets."""
    buckets, percent = _limits(range_max)
    ratings = np.asarray(rating, np.float64)
    most = RANGE_MAX if buckets is None else buckets
    return np.full(len(ratings), most) if percent is None else shares(ratings, percent / 100, most)


@cache
def _exactly(value: float) -> Fraction:
    """The number as it was written, so that 33.3 is not a little less."""
    return Fraction(repr(value))


def _width(rule: str | float) -> float | None:
    """The width of a bucket, None = the nearest whole number."""
    if isinstance(rule, str):
        return 1.0 if rule == "floor" else None
    return float(rule)


def _bucket_rule(bucket: object) -> str | float:
    """The rule unchanged, if it is a known word or a width."""
    if isinstance(bucket, str):
        return choice("buckets", "bucket", bucket, ("round", "floor"))
    return number("buckets", "bucket", bucket, least=WIDTH_LEAST, most=FACT_MAX)


def _limits(range_max: object) -> tuple[int | None, Fraction | None]:
    """The limit in buckets and the one in percent of the rating, None where there is none."""
    if isinstance(range_max, list | tuple):
        if [isinstance(part, str) for part in range_max] not in ([False, True], [True, False]):
            raise MatcherError(
                "buckets: range_max as a list must be a whole number and a percentage, "
                f"such as [10, '20%'], not {range_max!r}"
            )
        parts = sorted(range_max, key=lambda part: isinstance(part, str))
        return _limits(parts[0])[0], _limits(parts[1])[1]
    if not isinstance(range_max, str):
        return whole_number("buckets", "range_max", range_max, least=0, most=RANGE_MAX), None
    return None, _percent(range_max)


@cache
def _percent(words: str) -> Fraction:
    found = PERCENT.fullmatch(words)
    percent = Fraction(found[1]) if found else Fraction(-1)
    if not 0 <= percent <= PERCENT_MAX:
        raise MatcherError(
            f"buckets: range_max in quotes must be a percentage from 0% to {PERCENT_MAX}%, such as '20%', not {words!r}"
        )
    return percent
