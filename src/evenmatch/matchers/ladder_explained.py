"""Why a player of the ladder waits: the rules of its stages, asked of one player against all others.

    side       the two cannot be on different sides; with the document's solver, as the sides are evened out now
    priority   the larger side keeps as many as the smaller has, and these are not among them (document only)
    window     the gap is wider than the window rule allows

Windows grow with every wave that leaves a player waiting, both windows of a pair alike, so the number of waves until a
gap is allowed is a division. It holds as long as pressure stays as it is.
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation, Near
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.explaining import of_pairs
from evenmatch.matchers.ladder_stages import equalize, filter_by_priority, lead_is_first, partition

__all__ = ["Asked", "explain_ladder"]

UNIT = "rating points"


class Asked(NamedTuple):
    """What the stages know, in canonical order, and the parameters that matter."""

    order: Array
    first: Array
    second: Array
    misses: Array
    window: Array
    growth: float
    sides: tuple[str, str]
    window_of: str
    balance_threshold: float
    optimal: bool


class _Facing(NamedTuple):
    """Of one player, in canonical order: who may be opposite, and what the pair's gap is."""

    gap: Array
    """float64[n], inf = not opposite"""
    allowed: Array
    """float64[n]: the widest gap of each pair."""
    behind: Array
    """bool[n]: priority keeps the pair apart."""
    wanted: str
    """The side on which an opponent would be."""
    ahead: int = 0
    """So many more are needed on the other side for this player to be looked at."""


def explain_ladder(asked: Asked, snapshot: Snapshot, row: int) -> Explanation:
    """What keeps others from a row."""
    place = int(np.flatnonzero(asked.order == row)[0])
    facing = _optimal(asked, place) if asked.optimal else _document(asked, place)
    back = np.empty(len(snapshot), np.int64)
    back[asked.order] = np.arange(len(snapshot))
    gap, allowed, behind = facing.gap[back], facing.allowed[back], facing.behind[back]
    opposite = np.isfinite(gap)
    wide = opposite & (gap > allowed)
    window = float(asked.window[place])
    rules = [
        ("side", _side_words(asked), ~opposite),
        (
            "window",
            f"the gap is wider than {_whose(asked.window_of)} window allows; its own is {window:g} points now",
            wide,
        ),
    ]
    if not asked.optimal:
        rules.insert(1, ("priority", "of the larger side only those with the most misses are looked at", behind))
    possible = opposite & ~behind
    waves = _waves(gap, allowed, asked.growth)
    nearest = _near(possible, gap, wide, waves, (waves, gap))
    closest = _near(possible, gap, wide, waves, (gap, waves))
    return of_pairs(
        snapshot, row, rules, nearest=closest, soonest=nearest, unlock=_unlock(asked, place, facing, nearest, allowed)
    )


def _side_words(asked: Asked) -> str:
    first, second = asked.sides
    if asked.optimal:
        return f"the two cannot play {first} against {second}"
    return f"the two are not on different sides, {first} and {second}, as the sides are evened out now"


def _whose(window_of: str) -> str:
    return {"lead": "the smaller side's", "either": "the wider", "both": "the narrower"}[window_of]


def _waves(gap: Array, allowed: Array, growth: float) -> Array:
    """float64[n]: waves that must pass until each gap is allowed, inf = never."""
    short = np.where(np.isfinite(gap), np.maximum(gap - allowed, 0.0), np.inf)
    if growth <= 0:
        return np.where(short > 0, np.inf, 0.0)
    waves = np.ceil(short / growth)
    with np.errstate(invalid="ignore"):
        waves += np.isfinite(waves) & (allowed + waves * growth < gap)
    return waves


def _near(possible: Array, gap: Array, wide: Array, waves: Array, by: tuple[Array, Array]) -> Near | None:
    """The first by these keys, the first of them deciding."""
    rows = np.flatnonzero(possible)
    if not len(rows):
        return None
    at = rows[np.lexsort((by[1][rows], by[0][rows]))[0]]
    soon = float(waves[at])
    return Near(float(gap[at]), UNIT, not wide[at], after_waves=int(soon) if np.isfinite(soon) else None)


def _unlock(asked: Asked, place: int, facing: _Facing, soonest: Near | None, allowed: Array) -> str:
    if np.isnan(asked.first[place]) and np.isnan(asked.second[place]):
        return f"a rating for {asked.sides[0]} or {asked.sides[1]}"
    if facing.ahead > 0:
        return f"{facing.ahead} more player{'s' * (facing.ahead > 1)} of {facing.wanted}"
    if soonest is None:
        return f"a player of {facing.wanted}"
    if soonest.acceptable:
        return ""
    if soonest.after_waves is not None:
        return f"a window of {f'{soonest.distance:,.1f}'.removesuffix('.0')} rating points"
    return f"a player of {facing.wanted} within {float(allowed.max()):g} rating points"


def _allowed(asked: Asked, place: int, lead: bool | None) -> Array:
    """float64[n]: the widest gap of this player and each other; `lead`: does this player's side lead?"""
    mine = asked.window[place]
    if asked.window_of == "lead":
        return np.full(len(asked.window), mine) if lead else asked.window
    allowed: Array = (np.maximum if asked.window_of == "either" else np.minimum)(mine, asked.window)
    return allowed


def _optimal(asked: Asked, place: int) -> _Facing:
    """Either way round, whichever is closer."""
    gaps = np.stack((np.abs(asked.first[place] - asked.second), np.abs(asked.second[place] - asked.first)))
    gap = np.where(np.isnan(gaps), np.inf, gaps).min(axis=0)
    gap[place] = np.inf
    plays = [not np.isnan(rating[place]) for rating in (asked.first, asked.second)]
    wanted = " or ".join(side for side, opposite in zip(asked.sides, reversed(plays), strict=True) if opposite)
    return _Facing(gap, _allowed(asked, place, None), np.zeros(len(gap), bool), wanted or asked.sides[0])


def _document(asked: Asked, place: int) -> _Facing:
    """As stages 1, 2 and 4 would put everybody now."""
    count = len(asked.order)
    parts = partition(asked.first, asked.second)
    sides = equalize(parts, asked.first, asked.second, balance_threshold=asked.balance_threshold)
    on = np.full(count, -1)
    on[sides.first], on[sides.second] = 0, 1
    mine, nowhere = int(on[place]), np.zeros(count, bool)
    if mine < 0:
        return _Facing(np.full(count, np.inf), asked.window, nowhere, asked.sides[0])
    swapped = not lead_is_first(len(sides.first), len(sides.second))
    before = (sides.second, sides.first) if swapped else (sides.first, sides.second)
    kept = filter_by_priority(*before, asked.misses)
    passed_over = nowhere.copy()
    if 0 < len(kept[1]) < len(before[1]):
        passed_over[before[1]] = True
        passed_over[kept[1]] = False
    own, other = (asked.first, asked.second) if mine == 0 else (asked.second, asked.first)
    gap = np.where(on == 1 - mine, np.abs(own[place] - other), np.inf)
    behind = np.isfinite(gap) if passed_over[place] else passed_over & (on == 1 - mine)
    ahead = 0
    if passed_over[place]:
        others = before[1]
        more = asked.misses[others] > asked.misses[place]
        same = (asked.misses[others] == asked.misses[place]) & (others < place)
        ahead = int(np.count_nonzero(more | same)) + 1 - len(kept[0])
    lead = mine == (1 if swapped else 0)
    return _Facing(gap, _allowed(asked, place, lead), behind, asked.sides[1 - mine], ahead)
