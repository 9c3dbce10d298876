"""Why a ticket waits under `even`: whom its window, its side or the distance keeps away, and when time will help.

Between two tickets the window rule is that of a match of just the two: the mean of their windows by players, the window
of the earlier, or the narrower one. Windows grow by themselves, so a gap that is too wide now will do after

    (gap - window now) / growth    or as soon as one who counts has waited `window_free_s`, whichever comes first.

Of more than two the match as a whole is asked, too (`even_spans`).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation, Near
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.even_parameters import BOTH, MEAN, WindowRule
from evenmatch.matchers.even_pool import Pool
from evenmatch.matchers.even_spans import soonest_span
from evenmatch.matchers.explaining import near_at, nearest_of, of_pairs, players_missing
from evenmatch.matchers.party_fits import singles_missing

__all__ = ["explain_even", "gaps_from", "moments", "soonest_change"]

UNIT: Final = "rating points"
_WHOSE: Final = ("the mean of both windows", "the window of who has waited longer", "the narrower of both windows")


def gaps_from(pool: Pool, place: int) -> Array:
    """float64[n]: the gap between a place and each; inf to itself, and where the two can't play each other."""
    gap: Array
    if pool.first is pool.second:
        gap = np.abs(pool.rating - pool.rating[place])
    else:
        ways = np.stack((np.abs(pool.first[place] - pool.second), np.abs(pool.second[place] - pool.first)))
        gap = np.where(np.isnan(ways), np.inf, ways).min(axis=0)
    gap[place] = np.inf
    return gap


def moments(pool: Pool, place: int, gap: Array, rule: WindowRule) -> Array:
    """float64[n], milliseconds: how long until each gap keeps the window rule, if both just wait; inf = never."""
    growth = rule.window_growth * pool.thin / 1000.0
    free_ms = np.maximum(rule.window_free_s * 1000.0 - pool.waited_ms, 0.0)
    mine, others = np.full(len(gap), place), np.arange(len(gap))
    if rule.policy == MEAN:
        weight = pool.size[place] / (pool.size + pool.size[place])
        window = _mixed(pool.window[mine], pool.window, weight)
        speed = _mixed(growth[mine], growth, weight)
        return _first(gap, window, speed, np.minimum(free_ms[place], free_ms))
    own, theirs = (_first(gap, pool.window[at], growth[at], free_ms[at]) for at in (mine, others))
    return np.maximum(own, theirs) if rule.policy == BOTH else np.where(others < place, theirs, own)


def _mixed(mine: Array, others: Array, weight: Array) -> Array:
    mixed: Array = mine * weight + others * (1.0 - weight)
    return mixed


def _first(gap: Array, window: Array, speed: Array, free_ms: Array) -> Array:
    """float64[n], whole: when a window that grows so fast by milliseconds is as wide as the gap, or has no limit."""
    times = np.full(len(gap), np.inf)
    times[gap <= window] = 0.0
    grows = (gap > window) & (speed > 0) & np.isfinite(gap)
    times[grows] = np.ceil((gap[grows] - window[grows]) / speed[grows])
    return np.where(np.isfinite(gap), np.minimum(times, np.ceil(free_ms)), np.inf)


def explain_even(
    snapshot: Snapshot,
    row: int,
    pool: Pool,
    sideless: Array,
    rule: WindowRule,
    cap_ms: float,
    sides: tuple[str, ...],
    roles: Mapping[str, int],
) -> Explanation:
    """What keeps others from a row; `pool` is that of the snapshot, without forbidden pairs or regions."""
    form = snapshot.format
    back = np.full(len(snapshot), -1)
    back[pool.rows] = np.arange(len(pool.rows))
    place = int(back[row])
    if place < 0:
        everybody = np.ones(len(snapshot), bool)
        if sideless[row]:
            words, unlock = "it has a rating on none of the sides", f"a rating for {' or '.join(sides)}"
        else:
            words, unlock = f"the party is larger than a team of {form.size}", f"a party of at most {form.size}"
        return of_pairs(snapshot, row, [("format", words, everybody)], unlock=unlock)
    gap_by_place = gaps_from(pool, place)
    after_by_place = moments(pool, place, gap_by_place, rule)
    far_by_place = np.zeros(len(pool.rows), bool)
    if len(pool.reach):
        far_by_place = (pool.reach & pool.reach[place]) == 0
    out = back < 0
    gap, after, far = (
        _by_row(column, back, empty)
        for column, empty in zip(
            (gap_by_place, after_by_place, far_by_place.astype(float)), (np.inf, np.inf, 0.0), strict=True
        )
    )
    unfit = out.copy()
    if form.teams == 1:
        unfit |= snapshot.size + snapshot.size[row] > form.size
    opposite = np.isfinite(gap)
    opposite[row] = True
    wide = ~out & np.isfinite(gap) & (after > 0)
    rules = [("format", f"the two do not fit into one match of {form}", unfit)]
    if sides:
        rules.append(("side", f"the two cannot play {sides[0]} against {sides[1]}", ~out & ~opposite))
    own = float(pool.window[place])
    width = "its own has no limit now" if np.isinf(own) else f"its own is {own:,.1f} points now"
    rules.append(("window", f"the gap is wider than {_WHOSE[rule.policy]} allows; {width}", wide))
    if cap_ms:
        rules.append(("latency_cap_ms", f"no region is within {cap_ms:g} ms for the players of both", far > 0))
    free = np.isfinite(gap) & ~unfit & ~(far > 0)
    distance, when = np.where(free, gap, np.inf), np.where(free, after, np.inf)
    acceptable = free & (after <= 0)
    nearest = nearest_of(distance, UNIT, acceptable, when)
    soonest = _soonest(distance, when, acceptable)
    wanted, unlock_ms = _wanted(snapshot, row, pool, place, acceptable, free, soonest, rule, bool(sides))
    if wanted is None and cap_ms and (far > 0).any():
        have = int(snapshot.size[acceptable].sum() + snapshot.size[row])
        wanted = players_missing(snapshot, have, f" within {cap_ms:g} ms of a region of its own")
    if len(pool.reach) and not pool.reach[place]:
        wanted, unlock_ms = f"a region within {cap_ms:g} ms for all its players", None
    elif roles:
        lacking = _roles_wanted(pool, np.append(back[acceptable], place), roles, form.teams)
        wanted, unlock_ms = (wanted, unlock_ms) if lacking is None else (lacking, None)
    return of_pairs(snapshot, row, rules, nearest=nearest, soonest=soonest, unlock=wanted, unlock_ms=unlock_ms)


def _wanted(
    snapshot: Snapshot,
    row: int,
    pool: Pool,
    place: int,
    acceptable: Array,
    free: Array,
    soonest: Near | None,
    rule: WindowRule,
    sided: bool,
) -> tuple[str | None, int | None]:
    """What would make a match of a row possible as far as windows, sides and party sizes go, and when it comes."""
    form = snapshot.format
    if form.seats == 2:
        if not free.any():
            return ("a player of the other side" if sided else None), None
        if soonest is None or soonest.acceptable or soonest.after_ms is None:
            return None, None
        return f"a window of {_points(soonest.distance)} rating points", None
    span = soonest_span(pool, place, free[pool.rows], form.seats, rule)
    if span is not None and span.after_ms > 0:
        return f"windows that let a match span {_points(span.points)} rating points", round(span.after_ms)
    size = np.append(snapshot.size[acceptable], snapshot.size[row])
    if (size > 1).any() and (alone := singles_missing(size, int(size[-1]), form)):
        return f"{alone} more single player{'s' * (alone > 1)}", None
    return None, None


def _points(points: float) -> str:
    return f"{points:,.1f}".removesuffix(".0")


def soonest_change(pool: Pool, rule: WindowRule, outlier_s: float) -> float:
    """Milliseconds until a window has grown enough for some pair, or a ticket waited long enough to be due."""
    soonest = np.inf
    for place in range(len(pool.rows)):
        after = moments(pool, place, gaps_from(pool, place), rule)
        soonest = min(soonest, float(after[after > 0].min(initial=np.inf)))
    due_ms = outlier_s * 1000.0 - pool.waited_ms
    return min(soonest, float(due_ms[due_ms > 0].min(initial=np.inf)))


def _roles_wanted(pool: Pool, places: Array, roles: Mapping[str, int], teams: int) -> str | None:
    """The roles that too few of the players of these places can play, in words; None = none."""
    seated = np.zeros(len(pool.rows), bool)
    seated[places] = True
    able = np.isfinite(pool.role_cost[np.repeat(seated, pool.size)]).sum(axis=0).tolist()
    lacking = [(teams * need - have, role) for (role, need), have in zip(roles.items(), able, strict=True)]
    told = [f"{few} more player{'s' * (few > 1)} for {role}" for few, role in lacking if few > 0]
    return " and ".join(told) or None


def _by_row(column: Array, back: Array, empty: float) -> Array:
    """A column by place as one by row."""
    found = np.full(len(back), empty)
    found[back >= 0] = column[back[back >= 0]]
    return found


def _soonest(distance: Array, when: Array, acceptable: Array) -> Near | None:
    if not np.isfinite(distance).any():
        return None
    return near_at(int(np.lexsort((distance, when))[0]), distance, UNIT, acceptable, when)
