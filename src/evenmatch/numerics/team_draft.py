"""A plan of teams that is being worked on: its columns, and the small steps that all moves share.

Invariants. No ticket is in two matches. Every match keeps the rules (`team_judge.holds`) and has been divided. A row
with 0 tickets is empty; there are rows for as many matches as the players could fill.

Before a match is judged by dividing it anew, which is dear, its spread and latency alone are asked (`floor_cost`): if
these cost more than a move may, nothing else matters."""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INT32S2, OUT_FLOATS, OUT_INT8S2, OUT_INT32S2, OUT_INTS, kernel
from .match_terms import latency_of, premade_of, spread_of
from .team_field import FIELD, Field
from .team_judge import holds
from .team_split import split

__all__ = [
    "Draft",
    "divide",
    "empty_row",
    "floor_cost",
    "middles",
    "premade_cost",
    "put",
    "replaced",
    "rough_worth",
    "settled_cost",
]


class Draft(NamedTuple):
    """A plan that is being worked on; places of the field."""

    rosters: Array
    """int32[rows, seats], rising places, -1 = empty."""
    team_of: Array
    units: Array
    """int64[rows]: tickets of each match, 0 = no match."""
    cost: Array
    match_of: Array
    """int64[n]: the row of each ticket's match, -1 = it waits, -2 = it can be in none."""


@kernel()
def floor_cost(field: Field, roster: Array) -> float:
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
    floor: float = field.weights[0] * spread_of(rating, field.scale)
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
        worth -= floor_cost(field, rosters[row, :count])
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
def replaced(roster: Array, leaving: int, entering: int, out: Array) -> None:
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
def middles(field: Field, draft: Draft, made: int) -> tuple[Array, Array]:
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
def put(draft: Draft, row: int, roster: Array, team: Array, cost: float) -> None:
    """Make a row this match."""
    count = len(roster)
    draft.rosters[row, :count], draft.team_of[row, :count] = roster, team
    draft.rosters[row, count:], draft.team_of[row, count:] = -1, -1
    draft.units[row], draft.cost[row] = count, cost
    for place in roster:
        draft.match_of[place] = row


@kernel()
def empty_row(draft: Draft) -> int:
    """A row without a match; there is one as long as there are seats for another."""
    row = len(draft.units) - 1
    while row > 0 and draft.units[row - 1] == 0:
        row -= 1
    while draft.units[row]:
        row -= 1
    return row


@kernel()
def premade_cost(field: Field, draft: Draft, row: int) -> float:
    """What premade of a match costs."""
    if field.teams == 1 or field.weights[4] == 0.0:
        return 0.0
    squares = np.zeros(field.teams, np.int64)
    for at in range(draft.units[row]):
        size = field.size[draft.rosters[row, at]]
        squares[draft.team_of[row, at]] += size * size
    players = field.teams * field.team_size
    cost: float = field.weights[4] * premade_of(squares.max(), squares.min(), players, field.team_size)
    return cost


@kernel()
def settled_cost(field: Field, draft: Draft, row: int) -> float:
    """What of a match's cost is spread, latency and premade."""
    floor = floor_cost(field, draft.rosters[row, : draft.units[row]])
    return floor + premade_cost(field, draft, row)
