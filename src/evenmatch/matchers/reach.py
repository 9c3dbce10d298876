"""Tickets that are too far apart: a rule round every matcher, for a match must share a region that all of it can reach.

Problem. A hard cap on latency makes a match impossible although no two of its tickets may be at odds: A and B share
Europe, B and C America, A and C Asia. No matcher knows of regions, and one that keeps suggesting what cannot be played
would keep everybody waiting.

Idea. The matcher plans as if distance were nothing, and matches that share a region are taken: most, where most can
reach most. Whoever is left is planned region by region, each with those who reach it, the region that most of them
reach first; whatever comes of that can be played there.

    EU: A B   US: C D    planned A-C, B-D: neither is taken    EU: A-B taken    US: C-D taken

Promises. All tickets of a match share a region. The same snapshot and seed give the same plan. Where a matcher makes a
match of those who reach one region, somebody is matched. Without a cap the matcher is simply called. A plan made in
several rounds is not proven best, and says so by a `bound` and an `optimality_gap` of None.

Complexity. One plan over all, and at most one a region over those who are left.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.matchers.apart import plan_apart, stacked

if TYPE_CHECKING:
    from evenmatch.matchers.contract import Matcher

__all__ = ["plan_in_reach", "shared"]

_ALL: Final = -1
"""Every bit is set."""


def shared(rosters: Array, reach: Array) -> Array:
    """int64[k]: the regions that all rows of each match can reach, as bits."""
    bits = np.where(rosters >= 0, reach[rosters], _ALL)
    both: Array = np.bitwise_and.reduce(bits, axis=1)
    return both


def plan_in_reach(matcher: "Matcher", snapshot: Snapshot, *, seed: int, trace: bool) -> Plan:
    """The plan of a matcher, of matches whose tickets share a region."""
    reach = snapshot.reach
    if not len(reach) or getattr(matcher, "keeps_reach", False):
        return plan_apart(matcher, snapshot, seed=seed, trace=trace)
    everywhere = msgspec.structs.replace(snapshot, reach=NONE)
    first = plan_apart(matcher, everywhere, seed=seed, trace=trace)
    good = shared(first.rosters, reach) != 0 if len(first.rosters) else np.ones(0, bool)
    if good.all():
        return first
    parts = [(first.rosters[good], first.team_of[good], first.cost[good], _some(first.match_details, good))]
    plans = [first]
    free = np.ones(len(snapshot), bool)
    free[parts[0][0][parts[0][0] >= 0]] = False
    for region in _most_reached(reach[free]):
        rows = np.flatnonzero(free & (reach >> region & 1 != 0))
        if not len(rows):
            continue
        plan = plan_apart(matcher, everywhere.take(rows), seed=seed, trace=trace)
        plans.append(plan)
        if len(plan.rosters):
            rosters = np.where(plan.rosters >= 0, rows[plan.rosters], -1)
            parts.append((rosters, plan.team_of, plan.cost, plan.match_details))
            free[rosters[rosters >= 0]] = False
    reasons = first.reasons.copy()
    reasons[free & ((reasons == Reason.SEATED) | (reach == 0))] = Reason.TOO_FAR
    reasons[~free] = Reason.SEATED
    return _together(parts, plans, reasons)


def _most_reached(reach: Array) -> list[int]:
    """Regions that anybody reaches, those that most do first; of equal ones the one that is listed earlier."""
    used = int(np.bitwise_or.reduce(reach)) if len(reach) else 0
    counts = [(-int(np.count_nonzero(reach >> bit & 1)), bit) for bit in range(63) if used >> bit & 1]
    return [bit for _, bit in sorted(counts)]


def _some(details: Table, good: Array) -> Table:
    return details[np.flatnonzero(good)] if len(details) else details


def _together(parts: list[tuple[Array, Array, Array, Table]], plans: list[Plan], reasons: Array) -> Plan:
    width = max(rosters.shape[1] for rosters, *_ in parts)
    details: dict[str, Any] = dict(plans[0].details)
    details |= {name: None for name in ("bound", "optimality_gap") if name in details}
    details["rounds"] = len(plans)
    return Plan(
        rosters=stacked([rosters for rosters, *_ in parts], width, np.int32),
        team_of=stacked([team_of for _, team_of, *_ in parts], width, np.int8),
        cost=np.concatenate([cost for *_, cost, _ in parts]),
        reasons=reasons,
        details=details,
        match_details=Table.stacked([details for *_, details in parts]),
        trace=tuple({"round": n, **step} for n, plan in enumerate(plans, 1) for step in plan.trace),
    )
