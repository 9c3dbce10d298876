"""Overtaking in one wave: a snapshot and its plan, as `numerics.overtaking` wants them."""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.even_pool import latencies_of
from evenmatch.numerics.overtaking import passed_over

__all__ = ["overtaken"]


def overtaken(snapshot: Snapshot, plan: Plan) -> Array:
    """int64[k]: the tickets that the plan leaves waiting, though one that came later has a place they could have."""
    rosters = plan.rosters.astype(np.int64)
    seated = rosters >= 0
    left = np.ones(len(snapshot), bool)
    left[rosters[seated]] = False
    waiting = np.flatnonzero(left)
    if not len(rosters) or not len(waiting):
        return np.empty(0, np.int64)
    turn = np.empty(len(snapshot), np.int64)
    turn[snapshot.canonical_order()] = np.arange(len(snapshot))
    team_of = plan.team_of.astype(np.int64)
    strength = _strength(snapshot, int(team_of[seated].max()) + 1)
    latency = _latency(snapshot)
    passed = passed_over(
        *(strength, snapshot.size, snapshot.group, turn, waiting, rosters, team_of, latency, snapshot.forbidden)
    )
    found: Array = snapshot.ticket[waiting[passed]]
    return found


def _latency(snapshot: Snapshot) -> Array:
    """float64[n, regions]: milliseconds of each ticket's worst player, inf = out of reach; no regions = not known."""
    told = latencies_of(snapshot)
    if not len(snapshot.reach):
        return told
    regions = told.shape[1] or int(snapshot.reach.max()).bit_length()
    there = (snapshot.reach[:, None] >> np.arange(regions)) & 1 == 1
    found: Array = np.where(there, told if told.shape[1] else 0.0, np.inf)
    return found


def _strength(snapshot: Snapshot, teams: int) -> Array:
    """float64[teams, n]: the mean rating of each ticket's players; on its own side, where teams are sides."""
    sides = [name for name in snapshot.facts if name.startswith("ratings.")]
    if len(sides) == teams:
        return np.stack([snapshot.mean(name) for name in sides])
    return np.broadcast_to(snapshot.mean("rating"), (teams, len(snapshot)))
