"""Why a ticket waits: the rules round every matcher, then the matcher's own.

Problem. A wave gives every ticket that it leaves waiting one reason, a word. Who waits wants to know more: how many are
kept away by what, how far the nearest is, when time will bring it, and what would help.

Idea. The rules that hold for every matcher are counted here, in the order in which a wave applies them; the rest is the
matcher's, asked of the ticket's own group just as `plan_wave` does it:

    everybody else --group--> the ticket's group --latency cap, forbidden pairs, matcher.explain--> the acceptable

A matcher may offer `explain(snapshot, row) -> Explanation`, over one group, without forbidden pairs or regions. One
that does not gets the rules of the format only. Within the group every rule is counted by itself.

Promise. Two tickets that are acceptable to each other, and enough for a match, are matched if they are alone. That
others are preferred, or that too few are there, is no rule between two tickets: `unlock` says it. Of more than two the
latency cap asks more, for all of a match must share one region; who shares one with this ticket counts as acceptable.

Complexity. One pass over the group for each rule.
"""

import re
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array
from evenmatch.domain.explanation import Explanation, Near, Rule
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import Matcher, with_format

__all__ = ["explain_wave", "near_at", "nearest_of", "of_pairs", "players_missing"]

_PLAYERS: Final = re.compile(r"\d+ more players?")


def explain_wave(matcher: Matcher, snapshot: Snapshot, row: int) -> Explanation:
    """Why a row is matched with nobody, or with whom it could be; rows are those of the whole snapshot.

    Raises MatcherError where the matcher cannot read the snapshot.
    """
    snapshot = with_format(matcher, snapshot)
    rows = np.flatnonzero(snapshot.group == snapshot.group[row])
    part = snapshot if len(rows) == len(snapshot) else snapshot.take(rows)
    place = int(np.searchsorted(rows, row))
    kept_apart = _apart_from(part.forbidden, place)
    far = _too_far_from(part.reach, place)
    apart = np.union1d(kept_apart, far)
    alone = msgspec.structs.replace(part, forbidden=NO_PAIRS, reach=NONE)
    asked = getattr(matcher, "explain", None)
    own: Explanation = of_format(alone, place) if asked is None else asked(alone, place)
    round_it = []
    if others := len(snapshot) - len(rows):
        round_it.append(Rule("group", "it shares other attributes that the queue requires to be equal", others))
    if len(part.reach):
        words = "no region is near enough for the players of both: the latency cap"
        round_it.append(Rule("latency_cap", words, len(far)))
    if len(kept_apart):
        words = "their players block or avoid each other, or met too lately"
        round_it.append(Rule("kept_apart", words, len(kept_apart)))
    free = own.acceptable[~np.isin(own.acceptable, apart)]
    nearest, soonest, unlock, unlock_ms = own.nearest, own.soonest, own.unlock, own.unlock_ms
    if len(apart) and len(part) > 1:
        # Distances without those who must not be met: the matcher is asked again as if they were not there.
        kept = np.setdiff1d(np.arange(len(part)), apart)
        again = alone.take(kept)
        at = int(np.searchsorted(kept, place))
        without: Explanation = of_format(again, at) if asked is None else asked(again, at)
        nearest, soonest, unlock, unlock_ms = without.nearest, without.soonest, without.unlock, without.unlock_ms
        if own.unlock is None and unlock is not None:  # nothing but these rules is in the way
            unlock = _but_for(len(far) > 0, len(kept_apart) > 0, unlock)
    pairs = _among(part, free, place)
    if len(pairs):
        words = "of those it could play with some must not meet each other, so that they cannot all be in its match"
        round_it.append(Rule("others_apart", words, len(pairs)))
        left = int(part.size[place] + part.size[free].sum() - part.size[pairs].min(axis=1).sum())
        if unlock is None and (missing := players_missing(part, left)) is not None:
            unlock = f"an end of the block, avoidance or pause after a match between two of these, or {missing}"
    if unlock is not None and _PLAYERS.fullmatch(unlock):
        unlock += ", with the same attributes where the queue requires it" * bool(others)
        unlock += ", within the latency cap of a region that this one reaches" * bool(len(far))
    if len(part.reach) and not part.reach[place]:
        unlock, unlock_ms = "a region within the latency cap for all its players", None
    return Explanation((*round_it, *own.rules), rows[free], nearest, soonest, unlock, unlock_ms)


def _among(snapshot: Snapshot, free: Array, place: int) -> Array:
    """int64[k, 2]: of the forbidden pairs among these rows as many as have no row in common: each keeps one out.

    Two that are too large to be in one match with the place keep nobody out.
    """
    pairs, size = snapshot.forbidden, snapshot.size
    if not len(pairs):
        return NO_PAIRS
    inside = pairs[np.isin(pairs, free).all(axis=1)]
    inside = inside[size[inside].sum(axis=1) + size[place] <= snapshot.format.seats]
    taken: set[int] = set()
    chosen = []
    for one, other in inside.tolist():
        if one not in taken and other not in taken:
            taken |= {one, other}
            chosen.append((one, other))
    return np.array(chosen, np.int64).reshape(-1, 2)


def _but_for(far: bool, kept_apart: bool, unlock: str) -> str:
    """What would help where only rules round the matcher keep the others away."""
    ways = []
    if far:
        ways.append("a nearer region, within the latency cap for both")
    if kept_apart:
        ways.append("an end of the block, avoidance or pause after a match that keeps others apart from it")
    return ", or ".join((*ways, unlock))


def _apart_from(pairs: Array, place: int) -> Array:
    """int64[k]: the rows that must not meet this one, ascending."""
    if not len(pairs):
        return np.empty(0, np.int64)
    mine = pairs[(pairs == place).any(axis=1)]
    return np.unique(mine[mine != place])


def _too_far_from(reach: Array, place: int) -> Array:
    """int64[k]: the rows that share no region with this one, ascending; none where there is no cap to keep."""
    if not len(reach):
        return np.empty(0, np.int64)
    far = (reach & reach[place]) == 0
    far[place] = False
    return np.flatnonzero(far)


def of_format(snapshot: Snapshot, row: int) -> Explanation:
    """What can be said of any matcher: who is too large for a team, and how many players are missing."""
    size, form = snapshot.size, snapshot.format
    large = size > form.size
    if form.teams == 1:
        large |= size + size[row] > form.size
    return of_pairs(snapshot, row, [("format", f"the two do not fit into one match of {form}", large)])


def of_pairs(
    snapshot: Snapshot,
    row: int,
    rules: list[tuple[str, str, Array]],
    *,
    nearest: Near | None = None,
    soonest: Near | None = None,
    unlock: str | None = None,
    unlock_ms: int | None = None,
) -> Explanation:
    """An explanation from rules as (name, words, bool[n]: who is kept away).

    `unlock`: None = as many players as are missing, "" = nothing.
    """
    others = np.ones(len(snapshot), bool)
    others[row] = False
    free = others.copy()
    told = []
    for name, words, kept_away in rules:
        free &= ~kept_away
        told.append(Rule(name, words, int(np.count_nonzero(kept_away & others))))
    found = np.flatnonzero(free)
    if unlock is None:
        unlock = players_missing(snapshot, int(snapshot.size[found].sum() + snapshot.size[row]))
    return Explanation(tuple(told), found, nearest, soonest, unlock or None, unlock_ms)


def players_missing(snapshot: Snapshot, players: int, of: str = "") -> str | None:
    """What is needed where so many players could be in one match; None = there are enough."""
    missing = snapshot.format.seats - players
    return None if missing <= 0 else f"{missing} more player{'s' * (missing > 1)}{of}"


def nearest_of(distance: Array, unit: str, acceptable: Array, after_ms: Array | None = None) -> Near | None:
    """The closest of those with a finite distance, float64[n]; of equals the one who is acceptable first."""
    if not np.isfinite(distance).any():
        return None
    when = np.where(acceptable, 0.0, np.inf) if after_ms is None else after_ms
    place = int(np.lexsort((when, distance))[0])
    return near_at(place, distance, unit, acceptable, when)


def near_at(place: int, distance: Array, unit: str, acceptable: Array, after_ms: Array) -> Near:
    """The other at this place."""
    moment = float(after_ms[place])
    return Near(
        float(distance[place]),
        unit,
        bool(acceptable[place]),
        after_ms=round(moment) if np.isfinite(moment) else None,
    )
