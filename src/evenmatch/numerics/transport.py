"""The cheapest way to give every row exactly `capacity` columns, each column at most once: a transportation problem.

Problem. Costs of k rows and m columns, a matrix or the distances between profiles; every row takes exactly `capacity`
of the m >= k * capacity columns, surplus columns stay free, the total is minimal. Rows are leaders, columns members.

    k <= 10,000, m <= 90,000 here: the pairs are too many to be looked at twice, or to be kept at all

Idea. Every member keeps a short list of its best leaders at the prices of the moment, with a horizon that says when the
list is not enough (`leader_lists`, which asks a tree, `leader_space`, or the matrix). An auction on the lists with a
falling eps finds prices that are nearly right (`leader_auction`), shortest augmenting paths make the rest exact
(`leader_paths`), and a test of every pair proves it (`leader_proof`).

    lists -> auction, large eps -> lists at those prices -> auction, small eps -> augmenting paths -> proof

Many members begin with the prices of smaller problems, in which groups stand for leaders and members (`leader_scales`).
Where one number is all that counts, the order on the line takes the auction's place (`leader_line`).

Exact arithmetic. Costs are int64 multiples of a power of two, `step`. Of a matrix, 2^50 or almost as many steps make
the largest cost: whole numbers and all other multiples of `step` are not changed by the grid, any other moves by at
most step / 2. Of profiles, 2^53 steps or more make the largest cost that there could be, and it is the coordinates that
lie on the grid: a cost moves by no more than it is rounded by as a float. "Optimal" means optimal on the grid.

Why nothing overflows. Lists with horizons behave like the complete graph, in which a member may always take a seat that
nobody has bid for: one round, or one path, can't raise prices by more than the largest cost and eps above those of
leaders with an empty seat. There are some tens of rounds at most, and 2^8 of the largest costs fit.

Proof. Prices u of rows and v <= 0 of columns with u_i + v_j <= cost_ij everywhere bound every solution from below by
capacity * sum(u) + sum(v). `certificate_broken` checks that the prices do that, and that the solution reaches the bound
(equality on its pairs, v = 0 on free columns). It trusts nothing of the search.

Complexity. See the parts; about linear in m for profiles of few features. Memory: 300 bytes a member. It falls back to
looking at all leaders for each member where profiles have many features, and at all members of a leader where a leader
has very many; both stay exact.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.leader_auction import Seating, auction, empty_seating
from evenmatch.numerics.leader_line import on_a_line, seat_on_line
from evenmatch.numerics.leader_lists import Lists, empty_lists, fill
from evenmatch.numerics.leader_paths import make_content
from evenmatch.numerics.leader_proof import (
    FREE_PRICE,
    NOT_FULL,
    PAIR_DEARER,
    POSITIVE,
    a_pair_costs_less,
    solution_broken,
)
from evenmatch.numerics.leader_scales import begin_with_coarse_prices, mean_spread
from evenmatch.numerics.leader_space import FAR, NOWHERE, Space, on_grid
from evenmatch.numerics.profiles import Profiles, tree_of

__all__ = ["Problem", "Transport", "certificate_broken", "matrix_problem", "profile_problem", "solve"]

WANTED: Final = 16
"""Leaders in a list."""
MANY: Final = 4096
"""From so many members on, lists are filled again for all at once: after the first round, and where many had to be."""
BITS: Final = 50
"""The largest cost of a matrix has this many bits."""
DIVISOR: Final = 8
LAST: Final = 4096
"""The auction's eps begins at a quarter of the spread and ends at this part of it."""
SLACK: Final = 16
FIRST_SLACK: Final = 36
NO_MATRIX: Final = np.empty((0, 0))


class Problem(NamedTuple):
    """Costs and capacity; rows and columns of a space stand in the order of their trees."""

    matrix: Array
    """float64[k, m], or empty: then costs are distances in the space."""
    step: float
    """What one grid step is worth."""
    space: Space
    rows: Array
    """int64[k]: the row that each leader of the space is."""
    columns: Array
    """int64[m]: the column that each member of the space is."""
    capacity: int


class Transport(NamedTuple):
    """A solution and its proof, prices in whole grid steps."""

    row_of: Array
    """int64[m]: the row of each column, -1 = free."""
    row_price: Array
    """int64[k]: u."""
    column_price: Array
    """int64[m]: v, never positive."""


def matrix_problem(costs: Array, capacity: int) -> Problem:
    """The problem of a matrix, float64[k, m], all finite, m at least k * capacity."""
    rows, columns = costs.shape
    if columns < rows * capacity:
        raise ValueError(f"{rows} rows of {capacity} need {rows * capacity} columns, not {columns}")
    largest = max(float(costs.max(initial=0.0)), -float(costs.min(initial=0.0)))
    exponent = math.frexp(largest)[1] - BITS
    if not -1000 < exponent < 1000:
        costs, exponent = np.ldexp(costs, -exponent), 0
    return Problem(
        np.ascontiguousarray(costs), math.ldexp(1.0, exponent), NOWHERE, np.arange(rows), np.arange(columns), capacity
    )


def profile_problem(profiles: Profiles, leaders: Array, members: Array, capacity: int) -> Problem:
    """The problem of players: rows and columns are the players of these numbers; there must be some of both."""
    rows, columns = tree_of(profiles.take(leaders)), tree_of(profiles.take(members))
    space, step = on_grid(profiles, rows, columns.points)
    return Problem(NO_MATRIX, step, space, rows.order, columns.order, capacity)


def solve(problem: Problem) -> Transport:
    """An optimal solution with its prices."""
    leaders, members = len(problem.rows), len(problem.columns)
    if not problem.capacity:
        return _nobody_seated(problem)
    seating = empty_seating(leaders, members)
    lists = empty_lists(members, min(WANTED, leaders))
    unit, space = 1.0 / problem.step, problem.space
    costs = problem.matrix, unit, space
    if on_a_line(space):
        seat_on_line(space, seating, problem.capacity)
        fill(*costs, seating.price, lists, fresh=True)
    else:
        if members >= MANY and len(space.spots):
            begin_with_coarse_prices(space, unit, problem.capacity, WANTED, seating.price)
        fill(*costs, seating.price, lists, fresh=True)
        _auction(costs, lists, seating, problem.capacity)
    make_content(*costs, lists, seating, problem.capacity)
    return _in_given_order(problem, seating)


def _auction(costs: tuple[Array, float, Space], lists: Lists, seating: Seating, capacity: int) -> None:
    coarse_prices = seating.price.any()
    # Lists at prices reach about twice as far as those of the nearest leaders.
    spread = mean_spread(lists.cost) // (2 if coarse_prices else 1)
    eps, last = spread // 4, spread // LAST
    members = len(lists.horizon)
    if members < MANY:
        auction(*costs, lists, seating, capacity, eps, last, DIVISOR, SLACK)
        return
    stale, before, slack = members, FAR, SLACK if coarse_prices else FIRST_SLACK
    while True:
        eps, refilled = auction(*costs, lists, seating, capacity, eps, eps, DIVISOR, slack)
        if eps <= last or eps > before // 2:
            return
        if max(stale, refilled) > members // 64:
            fill(*costs, seating.price, lists, fresh=False)
        stale, before, slack, eps = 0, eps, SLACK, max(eps // DIVISOR, last)


def _nobody_seated(problem: Problem) -> Transport:
    rows, columns = len(problem.rows), len(problem.columns)
    steps = np.rint(problem.matrix / problem.step).min(axis=1, initial=0.0)
    return Transport(np.full(columns, -1), np.minimum(steps, 0.0).astype(np.int64)[:rows], np.zeros(columns, np.int64))


def _in_given_order(problem: Problem, seating: Seating) -> Transport:
    """The solution in terms of the caller's rows and columns, prices put so that v is 0 for the free columns."""
    rows, columns = problem.rows, problem.columns
    leaders = len(rows)
    paid = seating.own + seating.price[seating.leader_of]
    level = seating.price[-1] if len(columns) > leaders * problem.capacity else paid.max()
    row_of, v = np.empty(len(columns), np.int64), np.empty(len(columns), np.int64)
    u = np.empty(leaders, np.int64)
    row_of[columns] = np.append(rows, -1)[seating.leader_of]
    v[columns] = paid - level
    u[rows] = level - seating.price[:-1]
    return Transport(row_of, u, v)


def certificate_broken(problem: Problem, found: Transport) -> str | None:
    """The first condition of optimality that does not hold, in words, or None: then the solution is optimal."""
    matrix, step, space, rows, columns, capacity = problem
    unit = 1.0 / step
    broken = solution_broken(matrix, unit, space, rows, columns, capacity, *found)
    if broken == NOT_FULL:
        return f"a row does not have exactly {capacity} columns"
    if broken == POSITIVE:
        return "a column's price is positive"
    if broken == FREE_PRICE:
        return "a free column has a price"
    if a_pair_costs_less(matrix, unit, space, found.row_price[rows], found.column_price[columns]):
        return "a pair costs less than its prices"
    if broken == PAIR_DEARER:
        return "a chosen pair costs more than its prices"
    return None
