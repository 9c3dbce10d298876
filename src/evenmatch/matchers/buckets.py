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

One pass suffices: what a seeker may take only becomes less as others are matched. The walk along the buckets and the
moment of the next change are in `numerics/growing_ranges`, with their invariants and costs.

Source: the bucket proposal (../shared/seeds, 002); NOTES.md there settles what it leaves open.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import SECONDS_MAX, Format, milliseconds
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import plan_from_matches, require_seatable
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics.growing_ranges import Line, halves_away, next_acceptable_ms
from evenmatch.numerics.quality import rating_totals

__all__ = ["Buckets", "bucket_of", "range_limit"]

RangeMax: TypeAlias = int | str | Sequence[int | str]
LOOKS: Final = ("both", "below", "above")
RANGE_MAX: Final = int(FACT_MAX)
PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?) ?%")
PERCENT_MAX: Final = 1000
WIDTH_LEAST: Final = 1e-3
BUCKET_MAX: Final = 2**53
"""Whole numbers up to here are exact as floats."""


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
        bucket, limit = self._columns(snapshot)
        grown = snapshot.waited_ms // milliseconds(self.growth_s)
        line = Line(bucket[order], grown[order], limit[order], _exactly(self.reciprocity), self.look)
        pairs = np.array(line.pairs(), np.int64).reshape(-1, 3)
        rows, distance = order[pairs[:, :2]], pairs[:, 2]
        return plan_from_matches(
            snapshot,
            rows=rows.ravel(),
            teams=np.tile(np.array([0, 1], np.int8), len(rows)),
            tickets=np.full(len(rows), 2),
            left=np.full(len(snapshot), Reason.NOBODY_IN_RANGE, np.int8),
            cost=distance.astype(np.float64),
            details={"bound": None, "optimality_gap": None},
            match_details=Table({"distance": distance}),
            trace=account(snapshot, rows, bucket, np.minimum(grown, limit)) if trace else (),
        )

    def next_change_ms(self, snapshot: Snapshot) -> int | None:
        """The moment when a ticket may newly take another, if nobody comes or goes; None = never."""
        snapshot = require_seatable(self, snapshot)
        bucket, limit = self._columns(snapshot)
        growth_ms, reciprocity = milliseconds(self.growth_s), _exactly(self.reciprocity)
        after = next_acceptable_ms(
            bucket, snapshot.waited_ms, limit, growth_ms=growth_ms, reciprocity=reciprocity, look=self.look
        )
        return None if after is None else snapshot.now_ms + after

    def _columns(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """int64[n] each: the bucket of every ticket, and the widest range it may ever have."""
        if "rating" in snapshot.facts:
            rating = rating_totals(snapshot) / snapshot.size
        else:
            rating = np.full(len(snapshot), RATING_DEFAULT)
        width = self.bucket if isinstance(self.bucket, int | float) else 1.0
        if (wrong := ~(np.abs(rating) < BUCKET_MAX * min(width, 1.0))).any():
            row = int(wrong.argmax())
            raise MatcherError(
                f"buckets: ticket {int(snapshot.ticket[row])} has a rating of {rating[row]:g}: no bucket"
            )
        if (early := snapshot.waited_ms < 0).any():
            row = int(early.argmax())
            waited = int(snapshot.waited_ms[row])
            raise MatcherError(f"buckets: ticket {int(snapshot.ticket[row])} has waited {waited} ms")
        return bucket_of(rating, self.bucket), range_limit(rating, self.range_max)


def account(snapshot: Snapshot, rows: Array, bucket: Array, reach: Array) -> tuple[dict[str, Any], ...]:
    """The trace: for each match the seeker and its partner, their buckets and their ranges."""
    return tuple(
        {"tickets": tickets, "buckets": buckets, "ranges": ranges}
        for tickets, buckets, ranges in zip(
            snapshot.ticket[rows].tolist(), bucket[rows].tolist(), reach[rows].tolist(), strict=True
        )
    )


def bucket_of(rating: ArrayLike, bucket: str | float = "round") -> Array:
    """int64[n]: the bucket of each rating: the nearest whole number, the next below, or rating // width."""
    rule = _bucket_rule(bucket)
    ratings = np.asarray(rating, np.float64)
    if rule == "round":
        return halves_away(ratings).astype(np.int64)
    # Not floor(rating / width), whose quotient may be rounded up to the next bucket.
    return np.floor_divide(ratings, 1.0 if rule == "floor" else float(rule)).astype(np.int64)


def range_limit(rating: ArrayLike, range_max: RangeMax = 10) -> Array:
    """int64[n]: the widest range of tickets with these mean ratings, in buckets."""
    buckets, percent = _limits(range_max)
    ratings = np.asarray(rating, np.float64)
    limit = np.full(len(ratings), RANGE_MAX if buckets is None else buckets, np.int64)
    if percent is None:
        return limit
    # Whole numbers throughout: a float product may round to the wrong side of a whole number.
    ratios = [abs(value).as_integer_ratio() for value in ratings.tolist()]
    top, bottom = percent.numerator, 100 * percent.denominator
    shares = [min(top * value // (bottom * scale), RANGE_MAX) for value, scale in ratios]
    return np.minimum(limit, np.array(shares, np.int64))


def _exactly(value: float) -> Fraction:
    """The number as it was written, so that 33.3 is not a little less."""
    return Fraction(repr(value))


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
    found = PERCENT.fullmatch(range_max)
    percent = Fraction(found[1]) if found else Fraction(-1)
    if not 0 <= percent <= PERCENT_MAX:
        raise MatcherError(
            f"buckets: range_max in quotes must be a percentage from 0% to {PERCENT_MAX}%, such as '20%', "
            f"not {range_max!r}"
        )
    return None, percent
