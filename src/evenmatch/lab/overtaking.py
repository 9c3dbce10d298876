"""Overtaking in one wave: a snapshot and its plan, as `numerics.overtaking` wants them."""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.snapshot import Snapshot
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
    team = np.where(seated, plan.team_of, 0).astype(np.int64)
    size = snapshot.size
    strength = _strength(snapshot, int(team.max()) + 1)
    weight = np.where(seated, size[rosters], 0)
    mine = np.where(seated, strength[team, rosters], 0.0) * weight
    others = weight.sum(axis=1, keepdims=True) - weight
    centre = (mine.sum(axis=1, keepdims=True) - mine) / np.maximum(others, 1)
    turn = np.empty(len(snapshot), np.int64)
    turn[snapshot.canonical_order()] = np.arange(len(snapshot))
    passed = passed_over(strength, size, snapshot.group, turn, waiting, rosters[seated], team[seated], centre[seated])
    found: Array = snapshot.ticket[waiting[passed]]
    return found


def _strength(snapshot: Snapshot, teams: int) -> Array:
    """float64[teams, n]: the mean rating of each ticket's players; on its own side, where teams are sides."""
    sides = [name for name in snapshot.facts if name.startswith("ratings.")]
    if len(sides) == teams:
        return np.stack([snapshot.mean(name) for name in sides])
    return np.broadcast_to(snapshot.mean("rating"), (teams, len(snapshot)))
