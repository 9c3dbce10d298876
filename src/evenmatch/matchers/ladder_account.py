"""Stage 8 of the ladder's wave: what its log lines say, as a plan's details, and on request every stage as a trace.

    Queue composition: BW-only=3, SC2-only=5, Both=7            only, both, neither
    After equalization: BW=7, SC2=8, Remaining Z=0              equalized, moved
    Skill balance: BW avg=1480, SC2 avg=1530, delta=50          mean, mean_delta
    Found 7 BW vs SC2 matches (lead: 7, follow: 8)              lead_side, lead_count, follow_count, matches
    Least-squares refinement: 3 swaps made across 2 passes      swaps, passes
    Match quality: avg MMR diff=18.4, min=5, max=45             gap_mean, gap_min, gap_max
    Final state: 14 players matched                             matched, remaining

The statistics are the same for both solvers; what a stage that was not run would have said is None. Means are those of
the sides as they are after stage 2; `lead_kept` and `follow_kept` count the sides after stage 4. Lists in a trace end
after `LISTED_MAX` entries; the counts beside them do not.
"""

import heapq
import math
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.table import Table
from evenmatch.matchers.ladder_creation import Venues
from evenmatch.matchers.ladder_optimal import Optimum
from evenmatch.matchers.ladder_stages import Equalized, Partition, Side, Total, scores

__all__ = ["LISTED_MAX", "Account"]

_NOTHING: Final = Table()
LISTED_MAX: Final = 100
"""Entries of a list in the trace, at most."""


class Account:
    """The wave so far: `details` of the plan, `match_details`, and `steps` of the trace if they are wanted."""

    def __init__(self, sides: tuple[str, ...], ticket: Array, *, wanted: bool) -> None:
        """`ticket`, int64[n]: the ticket number at each place in canonical order."""
        self.sides = sides
        self.ticket = ticket
        self.wanted = wanted
        self.details: dict[str, Any] = dict.fromkeys(_STATISTICS)
        self.match_details = _NOTHING
        self.best: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []

    @property
    def trace(self) -> tuple[dict[str, Any], ...]:
        """The steps in the order of their stages."""
        return tuple(sorted(self.steps, key=lambda step: int(step["stage"])))

    def partition(self, parts: Partition) -> None:
        """Stage 1."""
        first, second = self.sides
        self.details |= {
            "only": {first: len(parts.first_only), second: len(parts.second_only)},
            "both": len(parts.both),
            "neither": len(parts.neither),
        }
        if self.wanted:
            sets = zip((f"{first} only", f"{second} only", "both", "neither"), parts, strict=True)
            self._step(1, "partition", sets=[self._listed(name, places) for name, places in sets])

    def equalization(self, sides: Equalized) -> None:
        """Stage 2."""
        places = dict(zip(self.sides, (sides.first, sides.second), strict=True))
        means = sides.means
        told = {
            "equalized": {side: len(on_it) for side, on_it in places.items()},
            "moved": None if sides.moved < 0 else {"ticket": int(self.ticket[sides.moved])},
            "mean": dict(zip(self.sides, means, strict=True)),
            "mean_delta": None if means[0] is None or means[1] is None else abs(means[0] - means[1]),
        }
        self.details |= told
        if self.wanted:
            self._step(2, "equalize", **told, sets=[self._listed(side, on_it) for side, on_it in places.items()])

    def pressure(
        self, queue_size: int, population: int, pressure: float, category: str, base: float, growth: float, rule: str
    ) -> None:
        """Stage 3."""
        told = {
            "queue_size": queue_size,
            "active_population": population,
            "pressure": pressure,
            "category": category,
            "window_base": base,
            "window_growth": growth,
            "window_of": rule,
        }
        self.details |= told
        if self.wanted:
            self._step(3, "pressure", **told)

    def filtering(self, lead_side: str, before: tuple[Array, Array], kept: tuple[Array, Array]) -> None:
        """Stage 4; places of lead and follow."""
        told = {
            "lead_side": lead_side,
            "lead_count": len(before[0]),
            "follow_count": len(before[1]),
            "lead_kept": len(kept[0]),
            "follow_kept": len(kept[1]),
        }
        self.details |= told
        if self.wanted:
            out = np.setdiff1d(np.concatenate(before), np.concatenate(kept))
            self._step(4, "filter_by_priority", **told, sets=[self._listed("filtered", out)])

    def candidates(self, kept: tuple[Array, Array], lead: Side, follow: Side, rule: str, weight: float) -> None:
        """Before stage 5: list the best of all acceptable pairs, for a trace."""
        numbers = [self.ticket[places].tolist() for places in kept]
        best = heapq.nsmallest(
            LISTED_MAX,
            (
                (score, place, other)
                for place in range(len(lead.rating))
                for other, score in enumerate(
                    scores(lead.take(np.array([place])), follow, window_of=rule, wait_coefficient=weight).tolist()
                )
                if score < math.inf
            ),
        )
        self.best = [{"tickets": [numbers[0][at], numbers[1][to]], "score": score} for score, at, to in best]

    def matching(self, lead: Array, follow: Array, candidates: int) -> None:
        """Stage 5; places of each match, and how many pairs were acceptable."""
        self.details["candidates"] = candidates
        if self.wanted:
            self._step(5, "find_matches", candidates=candidates, best=self.best, matches=self._pairs(lead, follow))

    def refinement(self, lead: Array, follow: Array, swaps: int, passes: int) -> None:
        """Stage 6; places of each match after it."""
        told = {"swaps": swaps, "passes": passes}
        self.details |= told
        if self.wanted:
            self._step(6, "refine", **told, matches=self._pairs(lead, follow))

    def optimum(self, best: Optimum) -> None:
        """What stands in place of stages 2 and 4 to 6 where the solver is "optimal"."""
        told = {"candidates": best.candidates, "bound": best.bound, "optimality_gap": best.optimality_gap}
        self.details |= told
        if self.wanted:
            self._step(5, "best_pairs", **told, matches=self._pairs(best.first, best.second))

    def creation(self, first: Array, second: Array, gap: Array, score: Array, venues: Venues) -> None:
        """Stage 7; places of each match, by side."""
        self.match_details = Table(
            {
                "sides": Table(dict(zip(self.sides, (self.ticket[first], self.ticket[second]), strict=True))),
                "gap": gap,
                "score": score,
                **venues._asdict(),
            }
        )
        if self.wanted:
            self._step(7, "create_matches", matches=list(self.match_details[:LISTED_MAX]))

    def clean_up(self, gap: Array, least: float, greatest: float, total: float, queue_size: int) -> None:
        """Stage 8; the least gap, the greatest, and the sum of all, NaN = it must be added up exactly here."""
        parts = Total([total], len(gap)) if not math.isnan(total) else Total.of(gap, np.arange(len(gap)))
        told = {
            "matches": len(gap),
            "matched": 2 * len(gap),
            "remaining": queue_size - 2 * len(gap),
            "gap_mean": parts.mean,
            "gap_min": least if len(gap) else None,
            "gap_max": greatest if len(gap) else None,
        }
        self.details |= told
        if self.wanted:
            self._step(8, "clean_up", **told)

    def _step(self, stage: int, name: str, **told: Any) -> None:
        self.steps.append({"stage": stage, "name": name, **told})

    def _listed(self, name: str, places: Array) -> dict[str, Any]:
        return {"set": name, "count": len(places), "tickets": self.ticket[places[:LISTED_MAX]].tolist()}

    def _pairs(self, one: Array, other: Array) -> list[dict[str, list[int]]]:
        pairs = np.column_stack([self.ticket[one], self.ticket[other]])[:LISTED_MAX]
        return [{"tickets": pair} for pair in pairs.tolist()]


_STATISTICS: Final = (
    *("queue_size", "active_population", "only", "both", "neither"),
    *("equalized", "moved", "mean", "mean_delta"),
    *("pressure", "category", "window_base", "window_growth", "window_of"),
    *("lead_side", "lead_count", "follow_count", "lead_kept", "follow_kept", "candidates", "swaps", "passes"),
    *("matches", "matched", "remaining", "gap_mean", "gap_min", "gap_max", "bound", "optimality_gap"),
)
