"""Waiting players for the contests, and what can be asked of any plan."""

from typing import Any, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import Matcher, check_plan
from evenmatch.numerics.seeds import generator

__all__ = ["Wave", "first_difference", "full_teams", "plan_broken", "random", "side_by_side"]


class Wave(NamedTuple):
    """A matcher and what it is to plan."""

    matcher: Matcher
    snapshot: Snapshot


def random(seed: int, size: int) -> np.random.Generator:
    """The chance of one contest: sizes have nothing in common."""
    return generator(seed, size)


def full_teams(rating: Array) -> Snapshot:
    """A snapshot of pre-made teams in canonical order, from their ratings, float64[n, players]; two teams a match."""
    count, size = rating.shape
    columns: dict[str, Any] = {
        "ticket": np.arange(1, count + 1),
        "waited_ms": np.arange(count, 0, -1) * 10,
        "misses": np.zeros(count, np.int32),
        "returned": np.zeros(count, bool),
        "group": np.zeros(count, np.int32),
        "player_start": np.arange(count + 1) * size,
        "player": np.arange(count * size),
    }
    facts = {"rating": rating.ravel(), "ping_ms": np.full(count * size, np.nan)}
    for column in (*columns.values(), *facts.values()):
        column.flags.writeable = False
    return Snapshot(format=Format(2, size), now_ms=0, facts=facts, **columns)


def plan_broken(wave: Wave, plan: Plan) -> str | None:
    """The first promise of every matcher that a plan breaks."""
    return check_plan(plan, wave.snapshot)


def side_by_side(plan: Plan) -> Array:
    """int64[k, 2]: the rows of matches of two tickets, the first team's first, in order of selection."""
    order = np.argsort(plan.team_of, axis=1, kind="stable")
    rows: Array = np.take_along_axis(plan.rosters, order, axis=1).astype(np.int64).reshape(-1, 2)
    return rows


def first_difference(what: str, ours: Array, theirs: Any) -> str | None:
    """Where two lists of groups differ first, in words, or None."""
    other = np.array(theirs, np.int64).reshape(-1, ours.shape[1])
    if len(ours) != len(other):
        return f"{len(ours):,} {what} against {len(other):,}"
    if (wrong := (ours != other).any(axis=1)).any():
        place = int(wrong.argmax())
        return f"{what} differ from number {place} on: {ours[place].tolist()} against {other[place].tolist()}"
    return None
