"""The ladder: waves of single players between two sides, in the eight stages of its document.

Problem. A ladder of two sides (Brood War against StarCraft II in the document): every match is one player of each. Some
can play either side, with a rating on each. Every wave should match those who are close in rating, let nobody jump the
queue, and widen what it accepts for those who have missed waves - faster where few are there to wait for.

    1  partition           first side only, second side only, both          (ladder_stages)
    2  equalize            flexible players even out counts, then means
    3  pressure, window    how much of the population waits -> how wide a gap each accepts
    4  filter_by_priority  the larger side keeps as many as the smaller has: those with the most misses
    5  find_matches        acceptable pairs by gap^2 - 20 * misses of both, greedily
    6  refine              two passes of exchanges between neighbours in the list of matches
    7  create_matches      map, server, channel                              (ladder_creation)
    8  clean_up            a reason for everybody left, and the wave's statistics

How we settle what the document leaves open or contradicts. Counts are the hard rule of stage 2, so its step 5 never
makes them more unequal (the printed code can). The smaller side leads, the first-named on equal counts. Stage 4 comes
before any look at windows and can remove the only feasible opponent: it is a rule of priority, and stays. Stage 5 asks
the lead's window only; `window_of` can ask for either or both. Equal scores go by the lead's place in canonical order,
then the follower's. Pressure is compared exactly, so that 1 waiting of 6 is 0.2 and HIGH.

`solver = "optimal"` replaces stages 2 and 4 to 6 by the best plan there is (`ladder_optimal`): most matches, then least
total squared gap, proven. No side leads there, so its `window_of` is "either" or "both".

Promises. Team 0 plays the first-named side. cost = squared gap. Matches stand in order of selection (document) or of
their earlier ticket (optimal). Only maps and servers depend on the seed.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import FACT_MAX
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import require_seatable
from evenmatch.matchers.ladder_account import Account
from evenmatch.matchers.ladder_creation import NO_SERVERS, Venues, channel, create_matches, venues
from evenmatch.matchers.ladder_explained import Asked, explain_ladder
from evenmatch.matchers.ladder_optimal import best_pairs
from evenmatch.matchers.ladder_parameters import (
    judge_population_scales,
    judge_prefix,
    judge_region_servers,
    judge_sides,
    judge_thresholds,
    judge_windows,
    names_listed,
)
from evenmatch.matchers.ladder_stages import (
    CATEGORIES,
    POPULATION_SCALES,
    THRESHOLDS,
    WINDOWS,
    Partition,
    Side,
    category,
    equalize,
    exact_pressure,
    filter_by_priority,
    find_matches,
    lead_is_first,
    partition,
    pressure,
    refine,
    scores,
    window,
)
from evenmatch.matchers.parameters import choice, number, whole_number
from evenmatch.numerics.selection import selected
from evenmatch.numerics.wave_columns import canonical_order, first_beyond, in_canonical_order, paired, seated
from evenmatch.numerics.window_pairs import RULES

__all__ = [
    "CATEGORIES",
    "POPULATION_SCALES",
    "THRESHOLDS",
    "WINDOWS",
    "Ladder",
    "Side",
    "category",
    "channel",
    "create_matches",
    "equalize",
    "filter_by_priority",
    "find_matches",
    "lead_is_first",
    "partition",
    "pressure",
    "refine",
    "scores",
    "window",
]

_PLAYED: Final = Format(2, 1)
# As plain numbers: numpy takes twenty times as long to see that an enum's member is one.
_NO_OPPONENT, _FILTERED, _LESS_EVEN, _NO_SIDE, _TOO_FEW = (
    int(reason)
    for reason in (
        Reason.NO_OPPONENT_IN_WINDOW,
        Reason.FILTERED,
        Reason.LESS_EVEN,
        Reason.CANNOT_PLAY_SIDE,
        Reason.TOO_FEW_PLAYERS,
    )
)


@lru_cache(maxsize=1000)
def _pressed(
    queue_size: int, population: int, scales: tuple[tuple[Any, ...], ...], thresholds: tuple[float, ...]
) -> tuple[Fraction, str]:
    """Stage 3: the pressure and its category; most waves of a queue ask what one before them did."""
    level = exact_pressure(queue_size, population, [(most, scale) for most, scale in scales])
    return level, category(level, thresholds)


class Wave(NamedTuple):
    """What the stages read: columns in canonical order."""

    order: Array
    """int64[n]: the row at each place."""
    first: Array
    """float64[n]: rating on the first side, NaN = can't play it."""
    second: Array
    misses: Array
    """float64[n]."""
    window: Array
    """float64[n]: the widest gap that each accepts."""
    population: int
    pressure: Fraction
    category: str
    growth: tuple[float, float]
    """A window's base, and what a miss adds to it."""


class Ladder:
    """Waves of single players between two sides; see the note above."""

    name: ClassVar[str] = "ladder"
    reads_misses: ClassVar[bool] = True

    def __init__(
        self,
        *,
        sides: Sequence[str] = ("bw", "sc2"),
        active_population: int | None = None,
        population_scales: Sequence[Sequence[Any]] = POPULATION_SCALES,
        thresholds: Sequence[float] = THRESHOLDS,
        windows: Sequence[Sequence[float]] = WINDOWS,
        balance_threshold: float = 50,
        wait_coefficient: float = 20,
        refinement_passes: int = 2,
        window_of: str | None = None,
        solver: str = "document",
        maps: Sequence[str] = (),
        region_servers: Mapping[str, Mapping[str, str]] = NO_SERVERS,
        channel_prefix: str = "scevo",
        channel_count: int = 10,
        activity_minutes: float = 15,
    ) -> None:
        """Parameters, all of them optional.

        sides: the names of the two sides; a player's rating on a side is the fact `ratings.SIDE`.
        active_population: players about, waiting or not; left out, what the snapshot says, or else its tickets.
        population_scales: rows [population up to, scale], ascending, the last for "inf".
        thresholds: the least pressure that is HIGH, and MODERATE.
        windows: rows [base, growth a miss] for HIGH, MODERATE and LOW pressure, in rating points.
        balance_threshold: means further apart than this are evened out by one flexible player, in rating points.
        wait_coefficient: how much a miss lowers the score of a pair, in squared rating points.
        refinement_passes: how often stage 6 goes over the matches, at most.
        window_of: whose window a gap must keep: "lead" (default), "either" or "both"; for the solver "optimal" either
            (default) or both.
        solver: "document" or "optimal".
        maps: the maps to choose from. region_servers: a table region -> region -> server, one way round is enough.
        channel_prefix, channel_count: channels are named in turn, prefix01, prefix02, ...
        activity_minutes: how long after a sign of life a player counts as active; read by who keeps that count.
        """
        judge_sides(sides)
        if active_population is not None:
            whole_number(self.name, "active_population", active_population, least=1, most=10**9)
        judge_population_scales(population_scales)
        judge_thresholds(thresholds)
        judge_windows(windows)
        choice(self.name, "solver", solver, ("document", "optimal"))
        if window_of is not None:
            known = ("lead", "either", "both") if solver == "document" else ("either", "both")
            if solver == "optimal" and window_of == "lead":
                raise MatcherError("ladder: window_of must be 'either' or 'both' with solver 'optimal': no side leads")
            choice(self.name, "window_of", window_of, known)
        names_listed("maps", maps)
        judge_region_servers(region_servers)
        judge_prefix(channel_prefix)
        self.sides = sides
        self.active_population = active_population
        self.population_scales = population_scales
        self.thresholds = thresholds
        self.windows = windows
        self.balance_threshold = number(self.name, "balance_threshold", balance_threshold, least=0)
        self.wait_coefficient = number(self.name, "wait_coefficient", wait_coefficient, least=0, most=1e6)
        self.refinement_passes = whole_number(self.name, "refinement_passes", refinement_passes, least=0, most=1000)
        self.window_of = window_of
        self.solver = solver
        self.maps = maps
        self.region_servers = region_servers
        self.channel_prefix = channel_prefix
        self.channel_count = whole_number(self.name, "channel_count", channel_count, least=1, most=1000)
        self.activity_minutes = number(self.name, "activity_minutes", activity_minutes, least=0)

    @property
    def keeps(self) -> tuple[str, ...]:
        """What a queue must keep of its players: a rating for each side, and what map and server depend on."""
        return (*(f"ratings.{side}" for side in self.sides), "region", "vetoed_maps")

    @property
    def requires(self) -> tuple[tuple[str, ...], ...]:
        """Every player must be able to play one of the sides."""
        return (tuple(f"ratings.{side}" for side in self.sides),)

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Single players only, one against one."""
        if form != _PLAYED:
            return f"plays {_PLAYED} (one against one), not {form}"
        return None if party == 1 else f"takes single players only, not a party of {party}"

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        """The matches of one wave; `details` holds its statistics, `trace` the eight stages on request."""
        snapshot = require_seatable(self, snapshot)
        wave = self._wave(snapshot)
        account = Account(tuple(self.sides), snapshot.ticket[wave.order], wanted=trace)
        parts = partition(wave.first, wave.second)
        account.partition(parts)
        account.pressure(
            len(snapshot), wave.population, float(wave.pressure), wave.category, *wave.growth, self._window_of
        )
        left = np.empty(len(snapshot), np.int8)
        left.fill(_NO_OPPONENT)
        matched = self._optimal if self.solver == "optimal" else self._document
        first, second = matched(wave, parts, account, left)
        if len(parts.neither):
            left[parts.neither] = _NO_SIDE
        if len(snapshot) - len(parts.neither) == 1:
            left[left != _NO_SIDE] = _TOO_FEW
        gap, cost, score = columns = np.empty((3, len(first)))
        weight = float(self.wait_coefficient)
        of_gaps = paired(first, second, wave.first, wave.second, wave.misses, weight, columns)
        rosters, team_of = np.empty((len(first), 2), np.int32), np.empty((len(first), 2), np.int8)
        reasons = np.empty(len(snapshot), np.int8)
        seated(wave.order, first, second, left, rosters, team_of, reasons)
        account.creation(first, second, gap, score, self._create(snapshot, rosters, seed))
        account.clean_up(gap, *of_gaps, len(snapshot))
        return Plan(
            rosters=rosters,
            team_of=team_of,
            cost=cost,
            reasons=reasons,
            details=account.details,
            match_details=account.match_details,
            trace=account.trace,
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who is on the other side, within the window, and when windows will be wide enough."""
        snapshot = require_seatable(self, snapshot)
        wave = self._wave(snapshot)
        columns = wave.order, wave.first, wave.second, wave.misses, wave.window, float(wave.growth[1])
        sides = self.sides[0], self.sides[1]
        asked = Asked(*columns, sides, self._window_of, self.balance_threshold, self.solver == "optimal")
        return explain_ladder(asked, snapshot, row)

    def ranges(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """float64[n] each: the ratings within each ticket's window, about the mean of its ratings for the sides."""
        wave = self._wave(snapshot)
        sides = np.stack((wave.first, wave.second))
        known = ~np.isnan(sides)
        centre = np.where(known, sides, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        low, high = np.empty(len(centre)), np.empty(len(centre))
        low[wave.order], high[wave.order] = centre - wave.window, centre + wave.window
        return low, high

    def window_after(self, _waited_ms: int, misses: int | None, _rating: float) -> str | None:
        """The window after so many misses, in words: which of the rows counts is for each wave to say."""
        if misses is None:
            return None
        widths = sorted({base + growth * misses for base, growth in self.windows})
        by = ", by how many wait" if len(widths) > 1 else ""
        return " to ".join(f"{width:,.10g}" for width in dict.fromkeys((widths[0], widths[-1]))) + f" points{by}"

    def stands_for(self, snapshot: Snapshot | None) -> dict[str, Any]:
        """What counts where a parameter is left out; of a snapshot also how many players are about."""
        return {"window_of": self._window_of} | ({} if snapshot is None else {"active_population": _about(snapshot)})

    @property
    def _window_of(self) -> str:
        return self.window_of or ("either" if self.solver == "optimal" else "lead")

    def _wave(self, snapshot: Snapshot) -> Wave:
        """The columns of a snapshot in canonical order, with pressure and windows (stage 3)."""
        order = canonical_order(snapshot.waited_ms, snapshot.returned, snapshot.ticket)
        if len(order) < len(snapshot):
            order = snapshot.canonical_order()
        population = self.active_population
        if population is None:
            population = _about(snapshot)
        level, word = _pressed(
            len(snapshot), population, tuple(map(tuple, self.population_scales)), tuple(self.thresholds)
        )
        base, growth = self.windows[CATEGORIES.index(word)]
        misses = np.ascontiguousarray(snapshot.misses, np.int32)
        ratings = self._side_ratings(snapshot)
        columns = np.empty((4, len(order)))
        if not in_canonical_order(order, *ratings, misses, FACT_MAX, float(base), float(growth), columns):
            self._require_usable(snapshot, ratings)
            raise MatcherError("misses must be 0 or more")
        first, second, missed, widest = columns
        return Wave(order, first, second, missed, widest, population, level, word, (base, growth))

    def _side_ratings(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """float64[n] for each side, NaN = can't play it; raises MatcherError where there are none at all."""
        fields = [f"ratings.{side}" for side in self.sides]
        if len(snapshot) and not any(field in snapshot.facts for field in fields):
            raise MatcherError(f"ladder: missing side ratings: the tickets have neither {fields[0]} nor {fields[1]}")
        first, second = (
            np.full(len(snapshot), np.nan) if given is None else np.ascontiguousarray(given, np.float64)
            for given in map(snapshot.facts.get, fields)
        )
        return first, second

    def _require_usable(self, snapshot: Snapshot, ratings: tuple[Array, Array]) -> None:
        """Raise MatcherError that names the first ticket with an absurd rating, if there is one."""
        for side, rating in zip(self.sides, ratings, strict=True):
            if (row := int(first_beyond(rating, FACT_MAX))) >= 0:
                raise MatcherError(
                    f"ladder: ticket {int(snapshot.ticket[row])}: ratings.{side} must be a number "
                    f"from {-FACT_MAX:g} to {FACT_MAX:g}, not {rating[row]}"
                )

    def _document(self, wave: Wave, parts: Partition, account: Account, left: Array) -> tuple[Array, Array]:
        """Stages 2 and 4 to 6: the places of each match on either side, and FILTERED noted in `left`."""
        sides = equalize(parts, wave.first, wave.second, balance_threshold=self.balance_threshold)
        account.equalization(sides)
        swapped = not lead_is_first(len(sides.first), len(sides.second))
        ratings = (wave.second, wave.first) if swapped else (wave.first, wave.second)
        before = (sides.second, sides.first) if swapped else (sides.first, sides.second)
        kept = filter_by_priority(*before, wave.misses)
        account.filtering(self.sides[swapped], before, kept)
        if 0 < len(kept[1]) < len(before[1]):
            left[before[1]] = _FILTERED
            left[kept[1]] = _NO_OPPONENT
        rule, weight = self._window_of, float(self.wait_coefficient)
        (leads, found, follows), candidates, swaps, passes = selected(
            RULES[rule], weight, self.refinement_passes, *kept, *ratings, wave.misses, wave.window
        )
        if account.wanted:
            lead, follow = (
                Side(rating[places], wave.misses[places], wave.window[places])
                for rating, places in zip(ratings, kept, strict=True)
            )
            account.candidates(kept, lead, follow, rule, weight)
        account.matching(leads, found, candidates)
        account.refinement(leads, follows, swaps, passes)
        return (follows, leads) if swapped else (leads, follows)

    def _optimal(self, wave: Wave, _: Partition, account: Account, left: Array) -> tuple[Array, Array]:
        """In place of stages 2 and 4 to 6: the best pairs, and LESS_EVEN noted in `left`."""
        best = best_pairs(wave.first, wave.second, wave.window, window_of=self._window_of)
        left[best.has_opponent] = _LESS_EVEN
        account.optimum(best)
        return best.first, best.second

    def _create(self, snapshot: Snapshot, rosters: Array, seed: int) -> Venues:
        """Stage 7 for the rows of each match, which are rows of players too: all tickets are single players."""
        return venues(
            snapshot.traits.get("vetoed_maps"),
            snapshot.traits.get("region"),
            rosters[:, 0],
            rosters[:, 1],
            maps=self.maps,
            region_servers=self.region_servers,
            channel_prefix=self.channel_prefix,
            channel_count=self.channel_count,
            first_number=snapshot.first_match,
            seed=seed,
        )


def _about(snapshot: Snapshot) -> int:
    """How many players are about, as a snapshot says, or else its tickets."""
    return len(snapshot) if snapshot.active_population is None else snapshot.active_population
