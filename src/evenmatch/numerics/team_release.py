"""One more match out of those who wait, where it lacks a few tickets that others could spare.

Problem. Enough players wait for a match, and they do not make one: a role, a party size or a region is missing. A
match near them has what is missing, and could do with one of those who wait in its place.

Idea. A seated ticket is to spare if a waiting one of its size could take its place. A sweep over those who wait and
those who are to spare, in which a ticket to spare counts for more than any spread, finds the match that needs the
fewest of them. Each of these then is replaced by a waiting ticket that is not in the new match; if all can be, there is
one match more and nobody has lost a seat. This is an augmenting path of a matching, with two steps for each ticket.

    waiting   tank  tank  tank  healer  .  .          seated   {tank healer | damage tank/damage | ...}
    the new match lacks a damage player: the seated one joins it, a waiting tank takes that seat

Only `SPARE_MOST` tickets to spare take part in one sweep, spread evenly over the ratings round the anchor: next to each
other they are much alike, and it is a kind of ticket that is missing.

Complexity. Seated tickets times waiting ones of their size, some nanoseconds each; a sweep of some dozens of tickets
for each waiting one as the lowest and as the highest of a match.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import kernel
from .team_draft import Draft, empty_row, put, replaced
from .team_field import BOTH, Field
from .team_judge import holds
from .team_regroup import LEAST_GAIN, MATCH_WORK
from .team_split import split
from .team_sweep import Desk, Way, seek

__all__ = ["SPARE_MOST", "release"]

SPARE_MOST: Final = 40
_DEAR: Final = 1e9
"""What a ticket to spare counts for, in rating points."""
_PAIRS_A_UNIT: Final = 32
_LABELS_A_UNIT: Final = 8


@kernel()
def _to_spare(field: Field, draft: Draft, made: int, waiting: Array, spare: Array) -> int:
    """Mark the seated tickets that a waiting one could replace, as far as region and the widest window go; work."""
    work = 0
    for row in range(made):
        count = draft.units[row]
        if count < 2:
            continue
        roster = draft.rosters[row, :count]
        widest = 0.0
        for place in roster:
            widest = max(widest, field.window[place])
        for at in range(count):
            leaving = roster[at]
            low = field.rate[roster[0] if at else roster[1]]
            high = field.rate[roster[count - 1] if at < count - 1 else roster[count - 2]]
            common = -1
            for place in roster:
                if place != leaving:
                    common &= field.reach[place]
            for entering in waiting:
                work += 1
                if field.size[entering] != field.size[leaving] or field.reach[entering] & common == 0:
                    continue
                rate = field.rate[entering]
                if max(high, rate) - min(low, rate) <= max(widest, field.window[entering]):
                    spare[leaving] = True
                    break
    return work // _PAIRS_A_UNIT


@kernel()
def _listed(field: Field, anchor: int, upwards: bool, waiting: Array, spare: Array, span: float, out: Array) -> int:
    """Write the places of a sweep from an anchor: those who wait, and some to spare, in rising order; how many."""
    count, n = 0, len(field.size)
    candidates = 0
    step = 1 if upwards else -1
    place = anchor + step
    while 0 <= place < n and abs(field.rate[place] - field.rate[anchor]) <= span:
        candidates += spare[place]
        place += step
    stride, seen = max(1, -(-candidates // SPARE_MOST)), 0
    place = anchor + step
    out[0] = anchor
    count = 1
    while 0 <= place < n and abs(field.rate[place] - field.rate[anchor]) <= span and count < len(out):
        if waiting[place]:
            out[count] = place
            count += 1
        elif spare[place]:
            if seen % stride == 0:
                out[count] = place
                count += 1
            seen += 1
        place += step
    if not upwards:
        out[:count] = out[:count][::-1].copy()
    return count


@kernel()
def _filled(
    field: Field, draft: Draft, roster: Array, waiting: Array, trial: Array, team: Array, room: Draft, taken: Array
) -> tuple[int, float, int, int]:
    """Find substitutes for the seated tickets of a new match and write the rows that change to `room`.

    How many rows change, what they cost more, the seated ticket that nobody can replace (-1 = none), and the work. Of
    two seated tickets of one match the second is not given up.
    """
    rows, more, done = 0, 0.0, 0
    for used in range(len(taken)):
        taken[used] = -1
    for joining in roster:
        row = draft.match_of[joining]
        if row < 0:
            continue
        for before in range(rows):
            if room.match_of[before] == row:
                return rows, more, joining, done
        count, best = draft.units[row], np.inf
        for entering in waiting:
            if field.size[entering] != field.size[joining] or rows == len(taken):
                continue
            free = True
            for other in roster:
                free &= other != entering
            for used in range(rows):
                free &= taken[used] != entering
            if not free:
                continue
            replaced(draft.rosters[row, :count], joining, entering, trial)
            done += 1
            if not holds(field, trial[:count]):
                continue
            cost, looked = split(field, trial[:count], team[:count])
            done += looked + MATCH_WORK
            cost -= draft.cost[row] + field.value[entering]
            if cost < best:
                best = cost
                taken[rows] = entering
                room.rosters[rows], room.team_of[rows] = -1, -1
                room.rosters[rows, :count], room.team_of[rows, :count] = trial[:count], team[:count]
                room.units[rows], room.cost[rows] = count, cost + draft.cost[row] + field.value[entering]
        if best == np.inf:
            return rows, more, joining, done
        room.match_of[rows] = row
        more += best
        rows += 1
    return rows, more, -1, done


@kernel()
def release(
    field: Field,
    players: Array,
    step: Array,
    price: Array,
    draft: Draft,
    made: int,
    desk: Desk,
    ahead: int,
    variety: int,
    work: int,
) -> tuple[int, int, int]:
    """Make matches more of those who wait and those to spare; rows in use, matches more, work."""
    seats, n = field.teams * field.team_size, len(field.size)
    width, most = draft.rosters.shape[1], seats
    trial, team = np.empty(seats, np.int32), np.empty(seats, np.int8)
    taken = np.empty(most, np.int64)
    room = Draft(
        np.empty((most, width), np.int32),
        np.empty((most, width), np.int8),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
    )
    listed = np.empty(ahead, np.int64)
    onward, backward = np.arange(1, ahead + 1), np.arange(-1, ahead - 1)
    waits, spare = draft.match_of == -1, np.zeros(n, np.bool_)
    waiting = np.flatnonzero(waits)
    left, moves, done, usual = 0, 0, 0, 0.0
    for place in waiting:
        left += field.size[place]
        usual += min(field.window[place], 2.0 * field.scale) * field.size[place]
    if left < seats or made == 0:
        return made, moves, done
    usual /= left
    done += _to_spare(field, draft, made, waiting, spare)
    anchors = waiting[np.argsort(field.elder[waiting])]
    for turn in range(2 * len(anchors)):
        anchor, upwards, strict = anchors[turn // 2], turn % 2 == 0, True
        if left < seats or done > work:
            break
        if draft.match_of[anchor] != -1:
            continue
        span = max(usual, min(field.window[anchor], 4.0 * field.scale))
        for _ in range(4):
            count = _listed(field, anchor, upwards, waits, spare, span, listed)
            for at in range(count):
                desk.extra[listed[at]] = 0.0 if waits[listed[at]] else _DEAR
            way = Way(0, 0.0, count, -1, False, 0, variety)
            chain, first = (onward, 0) if upwards else (backward, count - 1)
            if upwards:
                chain[count - 1] = -1
            units, labels = seek(
                *(field, players, step, desk, listed, chain, first, price, way, 2.0 * span, strict, 0),
            )
            if upwards:
                chain[count - 1] = count
            for at in range(count):
                desk.extra[listed[at]] = 0.0
            done += labels // _LABELS_A_UNIT + count
            if units == 0:
                if not strict or field.policy == BOTH or done > work:
                    break
                strict = False
                continue
            roster = desk.roster[:units].copy()
            if not holds(field, roster):
                break
            cost, looked = split(field, roster, desk.team[:units])
            done += looked + MATCH_WORK
            if cost == np.inf:
                break
            rows, more, stuck, looked = _filled(field, draft, roster, waiting, trial, team, room, taken)
            done += looked
            if stuck >= 0:
                spare[stuck] = False
                if done > work:
                    break
                continue
            gain = -more - cost
            for place in roster:
                if waits[place]:
                    gain += field.value[place]
            if gain <= LEAST_GAIN:
                break
            for at in range(rows):
                row, size = room.match_of[at], room.units[at]
                put(draft, row, room.rosters[at, :size], room.team_of[at, :size], room.cost[at])
                waits[taken[at]] = False
            row = empty_row(draft)
            made = max(made, row + 1)
            put(draft, row, roster, desk.team[:units], cost)
            for place in roster:
                waits[place] = False
                spare[place] = False
            waiting, moves, left = np.flatnonzero(waits), moves + 1, left - seats
            break
    return made, moves, done
