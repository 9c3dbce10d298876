"""A plan of teams made better, step by step, while the budget lasts.

Three moves, each judged by value seated less cost, exactly, and kept only if that rises:

  bench     a ticket that waits takes the place of one of its size in a match near it;
  regroup   a few neighbouring matches and those who wait near them are swept anew, in other ways than before. This is
            the only move that makes matches more;
  exchange  two tickets of one size, of neighbouring matches, change places, and both matches are divided anew.

A match is a neighbour by its middle ticket's rating. Moves go through matches in a fixed order, so that the same field
and the same budget give the same plan; work is counted in labels extended and divisions judged, not in time.

Before a move is judged by dividing matches anew, which is dear, its spread and latency alone are asked: if these cost
more than the whole move may, nothing else matters.

Invariants. No ticket is in two matches. Every match keeps the rules (`team_judge.holds`) and has been divided. The value of
the plan never falls. A row with 0 tickets is empty.
"""

from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, INT32S2, INTS, OUT_FLOATS, OUT_INT8S2, OUT_INT32S2, OUT_INTS, kernel
from .match_terms import latency_of, premade_of, spread_of
from .team_field import FIELD, Field
from .team_judge import holds
from .team_split import split
from .team_sweep import FROM_ABOVE, FROM_BELOW, INWARDS, Desk, Way, new_desk, sweep

__all__ = ["Draft", "divide", "improve", "rough_worth"]

NEAR: Final = 4
"""Matches on either side that are looked at."""
GROUP_MOST: Final = 4
"""Matches that are swept anew together, at the most."""
BENCH_MOST: Final = 24
"""Waiting tickets that take part in that."""
_LEAST_GAIN: Final = 1e-6
_HOPE: Final = 0.5
_DEAR: Final = 8
"""Work that it counts to put a roster together and look at its spread."""


class Draft(NamedTuple):
    """A plan that is being worked on; places of the field."""

    rosters: Array
    """int32[rows, seats], rising places, -1 = empty."""
    team_of: Array
    units: Array
    """int64[rows]: tickets of each match, 0 = no match."""
    cost: Array
    match_of: Array
    """int64[n]: the row of each ticket's match, -1 = it waits."""


@kernel()
def _floor_cost(field: Field, roster: Array) -> float:
    """What spread and latency of a match cost."""
    seats = field.teams * field.team_size
    rating, filled = np.empty(seats), 0
    for place in roster:
        for player in range(field.start[place], field.start[place + 1]):
            slot = filled
            while slot > 0 and rating[slot - 1] > field.mu[player]:
                rating[slot] = rating[slot - 1]
                slot -= 1
            rating[slot] = field.mu[player]
            filled += 1
    floor = field.weights[0] * spread_of(rating, field.scale)
    if field.latency.shape[1]:
        best = np.inf
        for region in range(field.latency.shape[1]):
            worst = 0.0
            for place in roster:
                worst = max(worst, field.latency[place, region] if field.reach[place] >> region & 1 else np.inf)
            best = min(best, worst)
        floor += field.weights[3] * latency_of(best, seats)
    return floor


@kernel(FIELD, INT32S2, INT)
def rough_worth(field: Field, rosters: Array, made: int) -> float:
    """The value seated by these matches, less what their spread and latency cost."""
    worth = 0.0
    for row in range(made):
        count = 0
        while count < rosters.shape[1] and rosters[row, count] >= 0:
            worth += field.value[rosters[row, count]]
            count += 1
        worth -= _floor_cost(field, rosters[row, :count])
    return worth


@kernel(FIELD, OUT_INT32S2, OUT_INT8S2, OUT_INTS, OUT_FLOATS, OUT_INTS, INT, INT)
def divide(
    field: Field,
    rosters: Array,
    team_of: Array,
    units: Array,
    cost: Array,
    match_of: Array,
    first: int,
    end: int,
) -> int:
    """Divide the matches of these rows into teams; one that can't be, or breaks a rule, becomes none. Work done."""
    work = 0
    for row in range(first, end):
        count = 0
        while count < rosters.shape[1] and rosters[row, count] >= 0:
            count += 1
        team_of[row], cost[row], units[row] = -1, 0.0, 0
        if count and holds(field, rosters[row, :count]):
            price, looked = split(field, rosters[row, :count], team_of[row, :count])
            work += looked
            if price < np.inf:
                cost[row], units[row] = price, count
                for at in range(count):
                    match_of[rosters[row, at]] = row
        if units[row] == 0:
            rosters[row], team_of[row] = -1, -1
    return work


@kernel()
def _replaced(roster: Array, leaving: int, entering: int, out: Array) -> None:
    """Write a roster with one place for another, in rising order."""
    filled, waiting = 0, True
    for place in roster:
        if place == leaving:
            continue
        if waiting and entering < place:
            out[filled] = entering
            filled += 1
            waiting = False
        out[filled] = place
        filled += 1
    if waiting:
        out[filled] = entering


@kernel()
def _middles(field: Field, draft: Draft, made: int) -> tuple[Array, Array]:
    """Rows of matches in order of their middle ticket's rating, and those ratings."""
    rows, middle, count = np.empty(made, np.int64), np.empty(made), 0
    for row in range(made):
        if draft.units[row]:
            rows[count] = row
            middle[count] = field.rate[draft.rosters[row, draft.units[row] // 2]]
            count += 1
    order = np.argsort(middle[:count], kind="mergesort")
    return rows[:count][order], middle[:count][order]


@kernel()
def _put(draft: Draft, row: int, roster: Array, team: Array, cost: float) -> None:
    """Make a row this match."""
    count = len(roster)
    draft.rosters[row, :count], draft.team_of[row, :count] = roster, team
    draft.rosters[row, count:], draft.team_of[row, count:] = -1, -1
    draft.units[row], draft.cost[row] = count, cost
    for place in roster:
        draft.match_of[place] = row


@kernel()
def _empty_row(draft: Draft) -> int:
    """A row without a match; there is one as long as there are seats for another."""
    row = len(draft.units) - 1
    while row > 0 and draft.units[row - 1] == 0:
        row -= 1
    while draft.units[row]:
        row -= 1
    return row


@kernel()
def _bench(field: Field, draft: Draft, made: int, desk: Desk, work: int) -> tuple[int, int]:
    """Waiting tickets, the most valuable first, take places; moves made and work done."""
    rows, middle = _middles(field, draft, made)
    waiting = np.flatnonzero(draft.match_of < 0)
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
        best, best_row, best_leaving, best_cost = _LEAST_GAIN, -1, -1, 0.0
        for near in range(max(0, at - NEAR), min(len(rows), at + NEAR)):
            row = rows[near]
            count = draft.units[row]
            for leaving in draft.rosters[row, :count]:
                done += 1
                if field.size[leaving] != field.size[entering]:
                    continue
                gain = field.value[entering] - field.value[leaving] + draft.cost[row]
                if gain <= best:
                    continue
                _replaced(draft.rosters[row, :count], leaving, entering, trial)
                done += _DEAR
                if gain - _floor_cost(field, trial[:count]) <= best or not holds(field, trial[:count]):
                    continue
                cost, looked = split(field, trial[:count], team[:count])
                done += looked + _DEAR
                if gain - cost > best:
                    best, best_row, best_leaving, best_cost = gain - cost, row, leaving, cost
                    best_roster[:count], best_team[:count] = trial[:count], team[:count]
        if best_row >= 0:
            count = draft.units[best_row]
            draft.match_of[best_leaving] = -1
            _put(draft, best_row, best_roster[:count], best_team[:count], best_cost)
            moves += 1
    return moves, done


@kernel()
def _gather(
    field: Field, draft: Draft, rows: Array, at: int, most: int, chosen: Array, pool: Array
) -> tuple[int, int]:
    """Choose neighbouring matches from one on that share a region with it, and tickets that wait near; both counts."""
    first = rows[at]
    common = -1
    for place in draft.rosters[first, : draft.units[first]]:
        common &= field.reach[place]
    groups, tickets = 0, 0
    low, high = len(field.size), -1
    for near in range(at, min(len(rows), at + 3 * most)):
        row = rows[near]
        count = draft.units[row]
        if count == 0 or groups == most:
            continue
        shared = common
        for place in draft.rosters[row, :count]:
            shared &= field.reach[place]
        if shared == 0:
            continue
        chosen[groups] = row
        groups += 1
        for place in draft.rosters[row, :count]:
            pool[tickets] = place
            tickets += 1
        low, high = min(low, draft.rosters[row, 0]), max(high, draft.rosters[row, count - 1])
    taken, middle = 0, (low + high) // 2
    below, above = middle, middle + 1
    reach_end = 40 * BENCH_MOST
    for _ in range(reach_end):
        if taken == BENCH_MOST:
            break
        for place in (below, above):
            if 0 <= place < len(field.size) and taken < BENCH_MOST and draft.match_of[place] < 0:
                if field.reach[place] & common and field.size[place] <= field.team_size:
                    pool[tickets] = place
                    tickets += 1
                    taken += 1
        below, above = below - 1, above + 1
    return groups, tickets


@kernel()
def _regroup(
    field: Field,
    players: Array,
    step: Array,
    price: Array,
    draft: Draft,
    made: int,
    desk: Desk,
    aims: Array,
    rows: Array,
    work: int,
) -> tuple[int, int, int]:
    """Sweep neighbouring matches anew, round each of `aims` (indices of `rows`); rows in use, moves, work."""
    seats = field.teams * field.team_size
    width = draft.rosters.shape[1]
    most_rows = GROUP_MOST + BENCH_MOST
    chosen, pool = np.empty(GROUP_MOST, np.int64), np.empty(GROUP_MOST * seats + BENCH_MOST, np.int64)
    found, teams = np.empty((most_rows + 1, width), np.int32), np.empty((most_rows + 1, width), np.int8)
    costs, counts = np.empty(most_rows + 1), np.empty(most_rows + 1, np.int64)
    best_found, best_teams = found.copy(), teams.copy()
    best_costs, best_counts = costs.copy(), counts.copy()
    moves, done = 0, 0
    for aim in range(len(aims)):
        if done > work:
            break
        if draft.units[rows[aims[aim]]] == 0:
            continue
        for most in range(2, GROUP_MOST + 1):
            groups, tickets = _gather(field, draft, rows, aims[aim], most, chosen, pool)
            if groups < most or tickets > most * seats + BENCH_MOST:
                break
            now = 0.0
            for group in range(groups):
                now -= draft.cost[chosen[group]]
                for place in draft.rosters[chosen[group], : draft.units[chosen[group]]]:
                    now += field.value[place]
            listed = np.sort(pool[:tickets])
            best, best_made = now + _LEAST_GAIN, -1
            for trial in range(3):
                mode = (FROM_BELOW, FROM_ABOVE, INWARDS)[trial]
                way = Way(mode, 0.5 + trial, tickets, -1, False, 0)
                count, labels = sweep(field, players, step, desk, listed, price, way, found, 0)
                done += labels + tickets
                worth = 0.0
                for match in range(count):
                    counts[match] = 0
                    while counts[match] < width and found[match, counts[match]] >= 0:
                        worth += field.value[found[match, counts[match]]]
                        counts[match] += 1
                    worth -= _floor_cost(field, found[match, : counts[match]])
                if worth <= best:
                    continue
                worth = 0.0
                for match in range(count):
                    units = counts[match]
                    costs[match], looked = split(field, found[match, :units], teams[match, :units])
                    done += looked + _DEAR
                    if costs[match] == np.inf:
                        counts[match] = 0
                        continue
                    worth -= costs[match]
                    for place in found[match, :units]:
                        worth += field.value[place]
                if worth > best:
                    best, best_made = worth, count
                    best_found[:], best_teams[:] = found, teams
                    best_costs[:], best_counts[:] = costs, counts
            if best_made >= 0:
                for group in range(groups):
                    row = chosen[group]
                    for place in draft.rosters[row, : draft.units[row]]:
                        draft.match_of[place] = -1
                    draft.rosters[row], draft.team_of[row], draft.units[row], draft.cost[row] = -1, -1, 0, 0.0
                filled = 0
                for match in range(best_made):
                    units = best_counts[match]
                    if units == 0:
                        continue
                    row = chosen[filled] if filled < groups else _empty_row(draft)
                    made = max(made, row + 1)
                    _put(draft, row, best_found[match, :units], best_teams[match, :units], best_costs[match])
                    filled += 1
                moves += 1
                break
    return made, moves, done


@kernel()
def _premade_cost(field: Field, draft: Draft, row: int) -> float:
    """What premade of a match costs."""
    if field.teams == 1 or field.weights[4] == 0.0:
        return 0.0
    squares = np.zeros(field.teams, np.int64)
    for at in range(draft.units[row]):
        size = field.size[draft.rosters[row, at]]
        squares[draft.team_of[row, at]] += size * size
    return field.weights[4] * premade_of(
        squares.max(), squares.min(), field.teams * field.team_size, field.team_size
    )


@kernel()
def _settled_cost(field: Field, draft: Draft, row: int) -> float:
    """What of a match's cost is spread, latency and premade."""
    floor = _floor_cost(field, draft.rosters[row, : draft.units[row]])
    return floor + _premade_cost(field, draft, row)


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
                before = draft.cost[row] + draft.cost[other] - _LEAST_GAIN
                ceiling = _settled_cost(field, draft, row) + _settled_cost(field, draft, other)
                ceiling += _HOPE * (before - ceiling)
                settled = _premade_cost(field, draft, row) + _premade_cost(field, draft, other)
                done += _DEAR
                for one in draft.rosters[row, :count]:
                    for two in draft.rosters[other, :others]:
                        if field.size[one] != field.size[two]:
                            continue
                        _replaced(draft.rosters[row, :count], one, two, mine)
                        _replaced(draft.rosters[other, :others], two, one, its)
                        done += _DEAR
                        floor = settled + _floor_cost(field, mine[:count])
                        if floor >= ceiling or floor + _floor_cost(field, its[:others]) >= ceiling:
                            continue
                        if not holds(field, mine[:count]) or not holds(field, its[:others]):
                            continue
                        cost, looked = split(field, mine[:count], my_team[:count])
                        done += looked + _DEAR
                        if cost >= before:
                            continue
                        its_cost, looked = split(field, its[:others], its_team[:others])
                        done += looked + _DEAR
                        if cost + its_cost < before:
                            _put(draft, row, mine[:count], my_team[:count], cost)
                            _put(draft, other, its[:others], its_team[:others], its_cost)
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
        excess[at] = _settled_cost(field, draft, rows[at]) - draft.cost[rows[at]]
    return np.argsort(excess, kind="mergesort")


@kernel()
def _near_bench(field: Field, draft: Draft, middle: Array) -> Array:
    """Indices of matches that are next to waiting tickets, once each, those of the most valuable tickets first."""
    waiting = np.flatnonzero(draft.match_of < 0)
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


@kernel(FIELD, INTS, INT32S2, FLOATS, OUT_INT32S2, OUT_INT8S2, OUT_INTS, OUT_FLOATS, OUT_INTS, INT, INT, OUT_INTS)
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
    work: int,
    account: Array,
) -> int:
    """Better a draft of which `made` rows are in use, within a budget of work; how many rows are in use then.

    `account`, int64[8], tells moves and work of bench, regroup for seats, exchange, and regroup for cost.
    """
    draft = Draft(rosters, team_of, units, cost, match_of)
    ahead = GROUP_MOST * field.teams * field.team_size + BENCH_MOST
    desk = new_desk(field, len(players), ahead)
    seats, left = field.teams * field.team_size, work
    for _ in range(3):
        moved = 0
        waiting = 0
        for place in np.flatnonzero(match_of < 0):
            waiting += field.size[place]
        if waiting >= seats and made:
            rows, middle = _middles(field, draft, made)
            aims = _near_bench(field, draft, middle)
            made, moves, done = _regroup(
                *(field, players, step, price, draft, made, desk, aims, rows, left // 2),
            )
            left, moved = left - done, moved + moves
            account[2], account[3] = account[2] + moves, account[3] + done
        if waiting and made:
            moves, done = _bench(field, draft, made, desk, left // 2)
            left, moved = left - done, moved + moves
            account[0], account[1] = account[0] + moves, account[1] + done
        if made and left > 0:
            rows, middle = _middles(field, draft, made)
            moves, done = _exchange(field, draft, rows, _dear(field, draft, rows), left // 2)
            left, moved = left - done, moved + moves
            account[4], account[5] = account[4] + moves, account[5] + done
            rows, middle = _middles(field, draft, made)
            made, moves, done = _regroup(
                *(field, players, step, price, draft, made, desk, _dear(field, draft, rows), rows, left // 2),
            )
            left, moved = left - done, moved + moves
            account[6], account[7] = account[6] + moves, account[7] + done
        if moved == 0 or left <= 0:
            break
    return made
