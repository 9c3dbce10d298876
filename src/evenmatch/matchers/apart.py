"""Tickets that must not meet: a rule round every matcher that does not keep it by itself.

Problem. Players block each other, and may not play the same people again at once. Ten algorithms would each have to
know, and their proofs and speed rest on not knowing.

Idea. The matcher plans as if nobody were forbidden anything. Matches that break no pair are taken. Of every pair that
was put together one ticket steps aside, and the matcher plans again for all who are still free; when that ends well,
those who stepped aside come back and are tried with whoever is left.

    A blocks B; C waits too:    A-B planned, B steps aside    A-C planned, taken    B comes back, alone, and waits

Who steps aside: the one with more pairs among those who are free, for it is the harder to seat; of two such the later
in canonical order.

Promises. No match holds a forbidden pair. The same snapshot and seed give the same plan, whatever the order of rows.
Without forbidden pairs the matcher is simply called. A plan made in several rounds is not proven best, even if the
matcher's own plans are: it says so by a `bound` and an `optimality_gap` of None.

Complexity. Each round but the last takes a match or sets a ticket aside; few are needed, and there are `ROUNDS` at
most. Every round after the first sees only those who are still free.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table

if TYPE_CHECKING:
    from evenmatch.matchers.contract import Matcher

__all__ = ["plan_apart", "stacked"]

ROUNDS: Final = 32


def plan_apart(matcher: "Matcher", snapshot: Snapshot, *, seed: int, trace: bool) -> Plan:
    """The plan of a matcher, without matches that hold a forbidden pair."""
    if not len(snapshot.forbidden) or getattr(matcher, "keeps_apart", False):
        return matcher.plan(snapshot, seed=seed, trace=trace)
    rounds = _Rounds(matcher, snapshot, seed, trace)
    for _ in range(ROUNDS):
        if not rounds.go_on():
            break
    return rounds.plan()


class _Rounds:
    """The rounds of one wave."""

    def __init__(self, matcher: "Matcher", snapshot: Snapshot, seed: int, trace: bool) -> None:
        self.matcher, self.seed, self.trace = matcher, seed, trace
        self.pairs = snapshot.forbidden
        self.snapshot = msgspec.structs.replace(snapshot, forbidden=NO_PAIRS)
        count = len(snapshot)
        self.rank = np.empty(count, np.int64)
        self.rank[snapshot.canonical_order()] = np.arange(count)
        self.free, self.aside, self.apart = np.ones(count, bool), np.zeros(count, bool), np.zeros(count, bool)
        self.reasons = np.empty(count, np.int8)
        self.taken: list[tuple[Array, Array, Array, Table]] = []
        self.plans: list[Plan] = []
        self.progress = False
        """A match was taken since all those aside were last called back."""

    def go_on(self) -> bool:
        """Plan one round; False = there is nothing more to try."""
        rows = np.flatnonzero(self.free & ~self.aside)
        whole = len(rows) == len(self.snapshot)
        part = self.snapshot if whole else self.snapshot.take(rows)
        plan = self.matcher.plan(part, seed=self.seed, trace=self.trace)
        self.plans.append(plan)
        rosters = np.where(plan.rosters >= 0, rows[plan.rosters], -1) if len(plan.rosters) else plan.rosters
        match_of = np.full(len(self.snapshot), -1)
        filled = rosters >= 0
        match_of[rosters[filled]] = np.nonzero(filled)[0]
        one, other = match_of[self.pairs[:, 0]], match_of[self.pairs[:, 1]]
        broken = self.pairs[(one == other) & (one >= 0)]
        good = np.ones(len(rosters), bool)
        good[match_of[broken[:, 0]]] = False
        self._take(plan, rosters, good)
        self.reasons[rows] = plan.reasons
        if len(broken):
            self._step_aside(broken)
            return True
        if self.aside.any() and self.progress:
            self.aside[:] = self.progress = False
            return True
        return False

    def _take(self, plan: Plan, rosters: Array, good: Array) -> None:
        if not good.any():
            return
        kept = rosters[good]
        details = plan.match_details[np.flatnonzero(good)] if len(plan.match_details) else plan.match_details
        self.taken.append((kept, plan.team_of[good], plan.cost[good], details))
        self.free[kept[kept >= 0]] = False
        self.progress = True

    def _step_aside(self, broken: Array) -> None:
        self.apart[broken] = True
        here = self.pairs[(self.free[self.pairs] & ~self.aside[self.pairs]).all(axis=1)]
        pairs_of = np.bincount(here.ravel(), minlength=len(self.free))
        firmness = np.column_stack((pairs_of[broken], self.rank[broken]))  # degree, degree, rank, rank
        for (a, b), (pairs_a, pairs_b, rank_a, rank_b) in zip(broken.tolist(), firmness.tolist(), strict=True):
            if not self.aside[a] and not self.aside[b]:
                self.aside[a if (pairs_a, rank_a) > (pairs_b, rank_b) else b] = True

    def plan(self) -> Plan:
        """What was taken, in the order it was taken."""
        self.reasons[self.free & self.apart] = Reason.KEPT_APART
        self.reasons[~self.free] = Reason.SEATED
        width = max((rosters.shape[1] for rosters, *_ in self.taken), default=0)
        details: dict[str, Any] = dict(self.plans[0].details)
        if len(self.plans) > 1:
            details |= {name: None for name in ("bound", "optimality_gap") if name in details}
            details["rounds"] = len(self.plans)
        return Plan(
            rosters=stacked([rosters for rosters, *_ in self.taken], width, np.int32),
            team_of=stacked([team_of for _, team_of, *_ in self.taken], width, np.int8),
            cost=np.concatenate([cost for *_, cost, _ in self.taken]) if self.taken else np.empty(0),
            reasons=self.reasons,
            details=details,
            match_details=Table.stacked([details for *_, details in self.taken]) if self.taken else Table(),
            trace=tuple({"round": n, **step} for n, plan in enumerate(self.plans, 1) for step in plan.trace),
        )


def stacked(parts: list[Array], width: int, kind: type) -> Array:
    """Rosters or teams one below the other, filled up with -1."""
    wide: Array = np.full((sum(map(len, parts)), width), -1, kind)
    at = 0
    for part in parts:
        wide[at : at + len(part), : part.shape[1]] = part
        at += len(part)
    return wide
