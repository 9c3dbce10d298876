"""Every way for a plan to be broken: from a good plan to a bad one, or to None where the good one gives no chance."""

from collections.abc import Callable

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot

Spoil = Callable[[Snapshot, Plan], Plan | None]


def _with(plan: Plan, **changes: Array) -> Plan:
    spoilt: Plan = msgspec.structs.replace(plan, **changes)
    return spoilt


def _seat(plan: Plan, value: int) -> Plan | None:
    if not len(plan.rosters):
        return None
    rosters = plan.rosters.copy()
    rosters[0, 0] = value
    return _with(plan, rosters=rosters)


def _seated_twice(_: Snapshot, plan: Plan) -> Plan | None:
    if not len(plan.rosters):
        return None
    return _with(
        plan,
        rosters=np.concatenate((plan.rosters, plan.rosters[:1])),
        team_of=np.concatenate((plan.team_of, plan.team_of[:1])),
        cost=np.concatenate((plan.cost, plan.cost[:1])),
    )


def _team(value: int) -> Spoil:
    def spoil(_: Snapshot, plan: Plan) -> Plan | None:
        if not len(plan.rosters):
            return None
        team_of = plan.team_of.copy()
        team_of[0, 0] = value
        return _with(plan, team_of=team_of)

    return spoil


def _team_for_nobody(_: Snapshot, plan: Plan) -> Plan | None:
    if not len(plan.rosters):
        return None
    pad = ((0, 0), (0, 1))
    return _with(
        plan,
        rosters=np.pad(plan.rosters, pad, constant_values=-1),
        team_of=np.pad(plan.team_of, pad, constant_values=0),
    )


def _team_too_small(_: Snapshot, plan: Plan) -> Plan | None:
    if not len(plan.rosters):
        return None
    rosters, team_of, reasons = plan.rosters.copy(), plan.team_of.copy(), plan.reasons.copy()
    reasons[rosters[0, 0]] = Reason.TOO_FEW_PLAYERS
    rosters[0, 0] = team_of[0, 0] = -1
    return _with(plan, rosters=rosters, team_of=team_of, reasons=reasons)


def _too_wide(_: Snapshot, plan: Plan) -> Plan | None:
    if not len(plan.rosters):
        return None
    pad = ((0, 0), (0, 9))
    return _with(
        plan,
        rosters=np.pad(plan.rosters, pad, constant_values=-1),
        team_of=np.pad(plan.team_of, pad, constant_values=-1),
    )


def _nobody_in_a_match(_: Snapshot, plan: Plan) -> Plan:
    waits = np.full(len(plan.reasons), Reason.TOO_FEW_PLAYERS, np.int8)
    return Plan(np.empty((1, 0), np.int32), np.empty((1, 0), np.int8), np.zeros(1), waits)


def _groups_mixed(snapshot: Snapshot, plan: Plan) -> Plan | None:
    """Exchange two seated tickets of equal size and different groups, or seat a waiting one for a seated one."""
    for match, roster in enumerate(plan.rosters):
        for place, row in enumerate(roster.tolist()):
            for other in range(len(snapshot)):
                fits = snapshot.size[other] == snapshot.size[row] and snapshot.group[other] != snapshot.group[row]
                if row >= 0 and fits and int((roster >= 0).sum()) > 1 and plan.reasons[other] != Reason.SEATED:
                    rosters, reasons = plan.rosters.copy(), plan.reasons.copy()
                    rosters[match, place] = other
                    reasons[row], reasons[other] = reasons[other], Reason.SEATED
                    return _with(plan, rosters=rosters, reasons=reasons)
    return None


def _reason(plan: Plan, *, seated: bool, value: int) -> Plan | None:
    rows = np.flatnonzero((plan.reasons == Reason.SEATED) == seated)
    if not len(rows):
        return None
    reasons = plan.reasons.copy()
    reasons[rows[0]] = value
    return _with(plan, reasons=reasons)


def _costs(plan: Plan, cost: Array) -> Plan | None:
    return _with(plan, cost=cost) if len(plan.cost) else None


BAD_PLANS: dict[str, Spoil] = {
    "rosters and team_of differ in shape": lambda _, plan: _with(plan, team_of=np.zeros((9, 9), np.int8)),
    "rosters are a vector": lambda _, plan: _with(plan, rosters=np.zeros(3, np.int32), team_of=np.zeros(3, np.int8)),
    "a cost is missing": lambda _, plan: _costs(plan, plan.cost[1:]),
    "a cost is not a number": lambda _, plan: _costs(plan, np.full(len(plan.cost), np.nan)),
    "costs are words": lambda _, plan: _costs(plan, np.full(len(plan.cost), "dear")),
    "costs are objects": lambda _, plan: _costs(plan, np.full(len(plan.cost), None)),
    "rosters are fractions": lambda _, plan: _with(plan, rosters=plan.rosters.astype(np.float64)),
    "teams are fractions": lambda _, plan: _with(plan, team_of=plan.team_of.astype(np.float64)),
    "reasons are fractions": lambda _, plan: _with(plan, reasons=plan.reasons.astype(np.float64)),
    "a reason too few": lambda _, plan: _with(plan, reasons=plan.reasons[1:]),
    "reasons are a table": lambda _, plan: _with(plan, reasons=plan.reasons.reshape(1, -1)),
    "a row beyond the end": lambda snapshot, plan: _seat(plan, len(snapshot)),
    "a row below the beginning": lambda _, plan: _seat(plan, -2),
    "a ticket seated twice": _seated_twice,
    "a team too many": _team(2),
    "a team below the first": _team(-1),
    "a team for an empty place": _team_for_nobody,
    "a team too small": _team_too_small,
    "more places than seats": _too_wide,
    "a match of nobody": _nobody_in_a_match,
    "groups mixed": _groups_mixed,
    "a seated ticket with a reason": lambda _, plan: _reason(plan, seated=True, value=Reason.LESS_EVEN),
    "a waiting ticket without a reason": lambda _, plan: _reason(plan, seated=False, value=Reason.SEATED),
    "a reason that there is not": lambda _, plan: _reason(plan, seated=False, value=99),
}
