"""One pass over a plan that finds every rule that it breaks.

Problem. A plan comes from a matcher, which is trusted in nothing. Whether it keeps the rules of every plan is asked
after each wave, of two tickets or of a million.

Idea. The rules are numbered, the more basic first. One pass over the places of the rosters and one over the reasons
note for each rule where it is first broken; a rule that makes no sense once a more basic one is broken (the players of
a team that names no row) may be noted wrongly, so only the first of the broken rules is told. Whoever asks puts it into
words, and may pass over a rule by which it does not go.

Invariants. Nothing is read beyond an array's end, whatever a plan says. A row counts as seated where it is named first.

Complexity. O(tickets + places), and a byte a ticket.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot

from .compiled import BOOL, BOOLS, FLOATS, INT, INT8S, INT8S2, INT32S, INT32S2, INTS, OUT_INTS, kernel

__all__ = [
    "COST_NAN",
    "FORBIDDEN_PAIR",
    "GAP",
    "GROUPS_MIXED",
    "NO_SUCH_REASON",
    "NO_SUCH_ROW",
    "NO_SUCH_TEAM",
    "REASON_WRONG",
    "TEAM_NOT_FULL",
    "TWICE",
    "first_broken",
]

COST_NAN: Final = 0
"""At a match: its cost is not a number."""
NO_SUCH_ROW: Final = 1
"""At a match: it names a row that there is not."""
GAP: Final = 2
"""At a match: an empty place comes before a ticket."""
NO_SUCH_TEAM: Final = 3
"""At a match: a ticket has a team that there is not, or an empty place has one."""
TWICE: Final = 4
"""At a row: it is seated twice."""
TEAM_NOT_FULL: Final = 5
"""At match * teams + team: the team has too many players or too few."""
GROUPS_MIXED: Final = 6
"""At a match: its tickets are of different groups."""
REASON_WRONG: Final = 7
"""At a row: it is seated with a reason not to be, or waits without one."""
NO_SUCH_REASON: Final = 8
"""At a row: its reason is none of those that there are."""
FORBIDDEN_PAIR: Final = 9
"""At a match: it holds two tickets that must not meet."""
RULES: Final = 10
NOWHERE: Final = -1

_KNOWN: Final = np.isin(np.arange(-128, 128), np.array(sorted(Reason)))
"""bool[256]: whether a number, from -128 on, is a reason."""


def first_broken(plan: Plan, snapshot: Snapshot, *, gaps: bool = False) -> tuple[int, int] | None:
    """The first rule that a plan breaks, and where; None = none. `gaps`: empty places may come before tickets.

    The columns of the plan must be of the right shapes, and of whole numbers but for the costs.
    """
    where = np.full(RULES, NOWHERE)
    form = snapshot.format
    _note_broken(
        _narrowed(plan.rosters, np.int32),
        _narrowed(plan.team_of, np.int8),
        np.ascontiguousarray(plan.cost, np.float64),
        _narrowed(plan.reasons, np.int8),
        np.ascontiguousarray(snapshot.player_start, np.int64),
        np.ascontiguousarray(snapshot.group, np.int32),
        form.teams,
        form.size,
        snapshot.solo,
        _KNOWN,
        where,
    )
    if len(snapshot.forbidden) and where[NO_SUCH_ROW] == NOWHERE:
        where[FORBIDDEN_PAIR] = _forbidden(plan.rosters, snapshot)
    if gaps:
        where[GAP] = NOWHERE
    rule = int((where > NOWHERE).argmax())
    at = int(where[rule])
    return None if at == NOWHERE else (rule, at)


def _forbidden(rosters: Array, snapshot: Snapshot) -> int:
    """The first match with a forbidden pair in it."""
    match_of = np.full(len(snapshot), -1)
    filled = rosters >= 0
    match_of[rosters[filled]] = np.nonzero(filled)[0]
    one, other = match_of[snapshot.forbidden].T
    broken = one[(one == other) & (one >= 0)]
    return int(broken.min()) if len(broken) else NOWHERE


def _narrowed(column: Array, kind: type) -> Array:
    """The column in fewer bytes; a number that does not fit becomes the one next to it, which is as wrong."""
    if column.dtype == kind:
        return np.ascontiguousarray(column)
    limits = np.iinfo(kind)
    return np.ascontiguousarray(column.clip(limits.min, limits.max), kind)


@kernel()
def _note(where: Array, rule: int, at: int) -> None:
    """A rule is broken here."""
    if where[rule] == NOWHERE or at < where[rule]:
        where[rule] = at


@kernel()
def _several(group: Array) -> bool:
    """Whether there is more than one group. Asked at first, for reading groups in the order of rosters is slow."""
    row = 0
    while row < len(group) and group[row] == group[0]:
        row += 1
    return row < len(group)


@kernel(INT32S2, INT8S2, FLOATS, INT8S, INTS, INT32S, INT, INT, BOOL, BOOLS, OUT_INTS)
def _note_broken(
    rosters: Array,
    team_of: Array,
    cost: Array,
    reasons: Array,
    player_start: Array,
    group: Array,
    teams: int,
    size: int,
    solo: bool,
    known: Array,
    where: Array,
) -> None:
    """Note in `where`, int64[RULES], the first place at which each rule is broken."""
    matches, width = rosters.shape
    count = len(reasons)
    seated = np.zeros(count, np.bool_)
    players = np.empty(teams, np.int64)
    several = _several(group)
    for match in range(matches):
        if np.isnan(cost[match]):
            _note(where, COST_NAN, match)
        players[:] = 0
        first = NOWHERE
        empty = False
        for place in range(width):
            row = rosters[match, place]
            team = team_of[match, place]
            if row == -1:
                empty = True
                if team != -1:
                    _note(where, NO_SUCH_TEAM, match)
                continue
            if row < 0 or row >= count:
                _note(where, NO_SUCH_ROW, match)
                continue
            if empty:
                _note(where, GAP, match)
            if seated[row]:
                _note(where, TWICE, row)
            seated[row] = True
            if first == NOWHERE:
                first = row
            elif several and group[row] != group[first]:
                _note(where, GROUPS_MIXED, match)
            if team < 0 or team >= teams:
                _note(where, NO_SUCH_TEAM, match)
            else:
                players[team] += 1 if solo else player_start[row + 1] - player_start[row]
        for team in range(teams):
            if players[team] != size:
                _note(where, TEAM_NOT_FULL, match * teams + team)
    for row in range(count):
        if seated[row] != (reasons[row] == 0):
            _note(where, REASON_WRONG, row)
        if not known[reasons[row] + 128]:
            _note(where, NO_SUCH_REASON, row)
