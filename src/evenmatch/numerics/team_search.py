"""A plan of teams made better, step by step, while the budget lasts.

Four moves, each judged by value seated less cost, exactly, and kept only if that rises:

  bench     a ticket that waits takes the place of one of its size in a match near it;
  release   those who wait make a match with some seated tickets that others of them replace (`team_release`);
  regroup   a few neighbouring matches and those who wait near them are swept anew, in other ways than before. These two
            make matches more;
  exchange  two tickets of one size, of neighbouring matches, change places, and both matches are divided anew.

A match is a neighbour by its middle ticket's rating. Moves go through matches in a fixed order, so that the same field
and the same budget give the same plan; work is counted in labels extended and divisions judged, not in time.

Every move keeps the invariants of `team_draft`, and the value of the plan never falls.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, INT32S2, INTS, OUT_FLOATS, OUT_INT8S2, OUT_INT32S2, OUT_INTS, kernel
from .team_draft import Draft, floor_cost, middles, premade_cost, put, replaced, settled_cost
from .team_field import FIELD, Field
from .team_judge import holds
from .team_regroup import BENCH_MOST, GROUP_MOST, LEAST_GAIN, MATCH_WORK, regroup
from .team_release import release
from .team_split import split
from .team_sweep import new_desk

__all__ = ["improve"]

NEAR: Final = 4
"""Matches on either side that are looked at."""
_HOPE: Final = 0.5


@kernel()
def _bench(field: Field, draft: Draft, made: int, work: int) -> tuple[int, int]:
    """Waiting tickets, the most valuable first, take places; moves made and work done."""
    rows, middle = middles(field, draft, made)
    waiting = np.flatnonzero(draft.match_of == -1)
    worth = np.empty(len(waiting))
    for at in range(len(waiting)):
        worth[at] = -field.value[waiting[at]] / field.size[waiting[at]]
    order = np.argsort(worth, kind="mergesort")
    seats = field.teams * field.team_size
    trial, team = np.empty(seats, np.int32), np.empty(seats, np.int8)
    best_roster, best_team = np.empty(seats, np.int32), np.empty(seats, np.int8)
    moves, done = 0, 0
    for one in order:
        if done > work:
            break
        entering = waiting[one]
        if field.size[entering] > field.team_size:
            continue
        at = np.searchsorted(middle, field.rate[entering])
        best, best_row, best_leaving, best_cost = LEAST_GAIN, -1, -1, 0.0
        for near in range(max(0, at - NEAR), min(len(rows), at + NEAR)):
            row = rows[near]
            count = draft.units[row]
            for leaving in draft.rosters[row, :count]:
                if done > work:
                    break
                done += 1
                if field.size[leaving] != field.size[entering]:
                    continue
                gain = field.value[entering] - field.value[leaving] + draft.cost[row]
                if gain <= best:
                    continue
                replaced(draft.rosters[row, :count], leaving, entering, trial)
                done += MATCH_WORK
                if gain - floor_cost(field, trial[:count]) <= best or not holds(field, trial[:count]):
                    continue
                cost, looked = split(field, trial[:count], team[:count])
                done += looked + MATCH_WORK
                if gain - cost > best:
                    best, best_row, best_leaving, best_cost = gain - cost, row, leaving, cost
                    best_roster[:count], best_team[:count] = trial[:count], team[:count]
        if best_row >= 0:
            count = draft.units[best_row]
            draft.match_of[best_leaving] = -1
            put(draft, best_row, best_roster[:count], best_team[:count], best_cost)
            moves += 1
    return moves, done


@kernel()
def _exchange(field: Field, draft: Draft, rows: Array, aims: Array, work: int) -> tuple[int, int]:
    """Let tickets of neighbouring matches change places, round each of `aims` (indices of `rows`); moves and work.

    An exchange of tickets of one size leaves premade as it is, and hardly ever removes all of the rest: only where the
    spread and latency that it adds are less than half of that rest, both matches are divided anew.
    """
    seats = field.teams * field.team_size
    mine, its = np.empty(seats, np.int32), np.empty(seats, np.int32)
    my_team, its_team = np.empty(seats, np.int8), np.empty(seats, np.int8)
    moves, done = 0, 0
    for aim in aims:
        if done > work:
            break
        row = rows[aim]
        for near in range(max(0, aim - 2), min(len(rows), aim + 3)):
            other = rows[near]
            if other == row or draft.units[row] == 0 or draft.units[other] == 0:
                continue
            moved = True
            while moved and done <= work:
                moved = False
                count, others = draft.units[row], draft.units[other]
                before = draft.cost[row] + draft.cost[other] - LEAST_GAIN
                ceiling = settled_cost(field, draft, row) + settled_cost(field, draft, other)
                ceiling += _HOPE * (before - ceiling)
                settled = premade_cost(field, draft, row) + premade_cost(field, draft, other)
                done += MATCH_WORK
                for one in draft.rosters[row, :count]:
                    if done > work:
                        break
                    for two in draft.rosters[other, :others]:
                        if field.size[one] != field.size[two]:
                            continue
                        replaced(draft.rosters[row, :count], one, two, mine)
                        replaced(draft.rosters[other, :others], two, one, its)
                        done += MATCH_WORK
                        floor = settled + floor_cost(field, mine[:count])
                        if floor >= ceiling or floor + floor_cost(field, its[:others]) >= ceiling:
                            continue
                        if not holds(field, mine[:count]) or not holds(field, its[:others]):
                            continue
                        cost, looked = split(field, mine[:count], my_team[:count])
                        done += looked + MATCH_WORK
                        if cost >= before:
                            continue
                        its_cost, looked = split(field, its[:others], its_team[:others])
                        done += looked + MATCH_WORK
                        if cost + its_cost < before:
                            put(draft, row, mine[:count], my_team[:count], cost)
                            put(draft, other, its[:others], its_team[:others], its_cost)
                            moves += 1
                            moved = True
                            break
                    if moved:
                        break
    return moves, done


@kernel()
def _dear(field: Field, draft: Draft, rows: Array) -> Array:
    """Indices of `rows`, those matches first that cost most beyond their spread, latency and premade."""
    excess = np.empty(len(rows))
    for at in range(len(rows)):
        excess[at] = settled_cost(field, draft, rows[at]) - draft.cost[rows[at]]
    return np.argsort(excess, kind="mergesort")


@kernel()
def _near_bench(field: Field, draft: Draft, middle: Array) -> Array:
    """Indices of matches that are next to waiting tickets, once each, those of the most valuable tickets first."""
    waiting = np.flatnonzero(draft.match_of == -1)
    worth = np.empty(len(waiting))
    for at in range(len(waiting)):
        worth[at] = -field.value[waiting[at]]
    chosen, seen, count = np.empty(3 * len(waiting), np.int64), np.zeros(len(middle), np.bool_), 0
    for at in np.argsort(worth, kind="mergesort"):
        index = np.searchsorted(middle, field.rate[waiting[at]])
        for near in (index - 2, index - 1, index):
            if 0 <= near < len(middle) and not seen[near]:
                seen[near] = True
                chosen[count] = near
                count += 1
    return chosen[:count]


@kernel(FIELD, INTS, INT32S2, FLOATS, OUT_INT32S2, OUT_INT8S2, OUT_INTS, OUT_FLOATS, OUT_INTS, INT, INT, INT, OUT_INTS)
def improve(
    field: Field,
    players: Array,
    step: Array,
    price: Array,
    rosters: Array,
    team_of: Array,
    units: Array,
    cost: Array,
    match_of: Array,
    made: int,
    variety: int,
    work: int,
    account: Array,
) -> int:
    """Better a draft of which `made` rows are in use, within a budget of work; how many rows are in use then.

    `account`, int64[10], tells moves and work of bench, regroup for seats, exchange, regroup for cost, and release.
    """
    draft = Draft(rosters, team_of, units, cost, match_of)
    ahead = GROUP_MOST * field.teams * field.team_size + BENCH_MOST
    desk = new_desk(field, len(players) * variety, ahead)
    seats, left = field.teams * field.team_size, work
    for _ in range(3):
        moved = 0
        waiting = 0
        for place in np.flatnonzero(match_of == -1):
            waiting += field.size[place]
        if waiting >= seats and made:
            made, moves, done = release(
                *(field, players, step, price, draft, made, desk, ahead, variety, left // 2),
            )
            left, moved = left - done, moved + moves
            account[8], account[9] = account[8] + moves, account[9] + done
            waiting -= moves * seats
        if waiting >= seats and made:
            rows, middle = middles(field, draft, made)
            aims = _near_bench(field, draft, middle)
            made, moves, done = regroup(
                *(field, players, step, price, draft, made, desk, aims, rows, variety, left // 2),
            )
            left, moved = left - done, moved + moves
            account[2], account[3] = account[2] + moves, account[3] + done
        if waiting and made:
            moves, done = _bench(field, draft, made, left // 2)
            left, moved = left - done, moved + moves
            account[0], account[1] = account[0] + moves, account[1] + done
        if made and left > 0:
            rows, middle = middles(field, draft, made)
            moves, done = _exchange(field, draft, rows, _dear(field, draft, rows), left // 2)
            left, moved = left - done, moved + moves
            account[4], account[5] = account[4] + moves, account[5] + done
            rows, middle = middles(field, draft, made)
            made, moves, done = regroup(
                *(field, players, step, price, draft, made, desk, _dear(field, draft, rows), rows, variety, left // 2),
            )
            left, moved = left - done, moved + moves
            account[6], account[7] = account[6] + moves, account[7] + done
        if moved == 0 or left <= 0:
            break
    return made
