"""The cheapest way to give every row exactly `capacity` columns, each column at most once: a transportation problem.

Problem. float64 costs[k, m]; every row takes exactly `capacity` of the m >= k * capacity columns, surplus columns stay
free, the total is minimal. This is min-cost max-flow on source -> rows -> columns -> target, with capacities
`capacity`, 1 and 1.

Idea. Successive shortest augmenting paths, one unit of flow after the other. Rows are few and columns many, so the
paths are searched over rows alone: row a may take a column away from row b, which must then be compensated:

    a --swap[a, b]--> b --swap[b, c]--> c --near[c]--> a free column

    swap[a, b] = least of costs[a, j] - costs[b, j] over the columns j of row b
    near[a]    = least cost of row a over the free columns, found by a pointer into the sorted row that only advances

Dijkstra over rows with prices that keep every reduced length >= 0; after each unit the prices of the rows that were
scanned rise, and only the `swap` columns of the rows on the path are computed again.

Exact arithmetic. Costs are first put on a grid of whole multiples of a power of two, `step`, fine enough that 2^47 or
more steps make the largest (k <= 1,000). From there on everything is int64: no rounding, no tolerance, ties are ties.
Whole numbers, and all numbers that are multiples of `step`, are not changed by the grid; any other moves by at most
step / 2, which is no more than the rounding of the total itself. "Optimal" means optimal on the grid.

Proof. Prices u of rows and v <= 0 of columns with u_i + v_j <= costs[i, j] everywhere bound every solution from below
by capacity * sum(u) + sum(v). `certificate_broken` checks that the prices do that, and that the solution reaches the
bound (equality on its pairs, v = 0 on free columns). It trusts nothing of the search.

Complexity. k * capacity searches of at most k scans of k numbers: 0.2 s for 500 players in tens, a second or two for
2,000. Memory k * (k + m).

Sources: J. Edmonds, R. M. Karp, "Theoretical improvements in algorithmic efficiency for network flow problems" (1972);
R. Jonker, A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems" (1987).
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Transport", "certificate_broken", "on_grid", "solve"]

FAR: Final = 1 << 61
"""Longer than any path: `on_grid` keeps costs and prices far below."""
CLOSED: Final = np.iinfo(np.int64).max
"""The key of a row that has been scanned."""


class Transport(NamedTuple):
    """A solution and its proof, prices in whole grid steps."""

    row_of: Array
    """int64[m]: the row of each column, -1 = free."""
    row_price: Array
    """int64[k]: u."""
    column_price: Array
    """int64[m]: v, never positive."""
    grid: Array
    """int64[k, m]: the costs in grid steps."""
    step: float
    """What one grid step is worth."""


def solve(costs: Array, capacity: int) -> Transport:
    """An optimal solution with its prices; `costs`, float64[k, m], must be finite and m at least k * capacity."""
    rows, columns = costs.shape
    if columns < rows * capacity:
        raise ValueError(f"{rows} rows of {capacity} need {rows * capacity} columns, not {columns}")
    grid, step = on_grid(costs)
    search = _Search(grid, capacity)
    for _ in range(capacity):
        for row in range(rows):
            search.add_one(row)
    return Transport(search.row_of, search.price, search.column_prices(), grid, step)


def on_grid(costs: Array) -> tuple[Array, float]:
    """Costs as int64 multiples of a power of two, and that power."""
    rows = costs.shape[0]
    # A price is at most a path of k swaps, so k times the largest cost, several times over, has to stay below FAR.
    bits = min(50, 57 - rows.bit_length())
    exponent = math.frexp(float(np.abs(costs).max(initial=0.0)))[1]
    grid = np.rint(np.ldexp(costs, bits - exponent)).astype(np.int64)
    return grid, math.ldexp(1.0, exponent - bits)


def certificate_broken(found: Transport, capacity: int) -> str | None:
    """The first condition of optimality that does not hold, in words, or None: then the solution is optimal."""
    grid, u, v = found.grid, found.row_price, found.column_price
    taken = found.row_of >= 0
    if (np.bincount(found.row_of[taken], minlength=len(grid)) != capacity).any():
        return f"a row does not have exactly {capacity} columns"
    if (v > 0).any():
        return "a column's price is positive"
    if v[~taken].any():
        return "a free column has a price"
    reduced = grid - u[:, None] - v
    if (reduced < 0).any():
        return "a pair costs less than its prices"
    if reduced[found.row_of[taken], np.flatnonzero(taken)].any():
        return "a chosen pair costs more than its prices"
    return None


class _Search:
    """The flow so far, and what the next shortest path needs to know of it."""

    def __init__(self, grid: Array, capacity: int) -> None:
        rows, columns = grid.shape
        self.grid = grid
        self.every_row = np.arange(rows)
        self.row_of = np.full(columns, -1)
        self.held = np.full((rows, capacity), -1)
        """The columns of each row, in no order."""
        self.count = [0] * rows
        self.swap = np.full((rows, rows), FAR)
        self.by_cost = np.argsort(grid, axis=1, kind="stable")
        self.pointer = np.zeros(rows, np.int64)
        self.price: Array = grid.min(axis=1, initial=FAR) if columns else np.zeros(rows, np.int64)

    def nearest_free(self) -> Array:
        """int64[k]: the cheapest free column of each row; the earliest of equals."""
        nearest: Array = self.by_cost[self.every_row, self.pointer]
        while (behind := np.flatnonzero(self.row_of[nearest] >= 0)).size:
            self.pointer[behind] += 1
            nearest[behind] = self.by_cost[behind, self.pointer[behind]]
        return nearest

    def add_one(self, source: int) -> None:
        """Give one row one more column, along the shortest path to a free one."""
        nearest = self.nearest_free()
        ending = self.grid[self.every_row, nearest] - self.price
        last, parent = self.shortest_path(source, ending)
        self.augment(source, last, int(nearest[last]), parent)

    def shortest_path(self, source: int, ending: Array) -> tuple[int, Array]:
        """The last row of the path and the row before each; `ending` is each row's reduced way to a free column."""
        price, swap = self.price, self.swap
        length = np.full(len(price), FAR)
        length[source] = 0
        key = length.copy()
        parent = np.full(len(price), -1)
        scanned: list[int] = []
        shortest, last = CLOSED, -1
        while True:
            row = int(key.argmin())
            here = int(key[row])
            if here >= shortest:
                break
            key[row] = CLOSED
            scanned.append(row)
            if here + int(ending[row]) < shortest:
                shortest, last = here + int(ending[row]), row
            onward = swap[row] + price
            onward += here - int(price[row])
            # A scanned row is never shortened, since lengths are not negative: its key stays closed.
            shorter = onward < length
            length[shorter] = key[shorter] = onward[shorter]
            parent[shorter] = row
        price[scanned] += shortest - length[scanned]
        return last, parent

    def augment(self, source: int, last: int, gained: int, parent: Array) -> None:
        """Walk the path backwards: each row gains a column and hands one of its own to the row before it."""
        grid, row, touched = self.grid, last, [last]
        while row != source:
            before = int(parent[row])
            own = self.held[row, : self.count[row]]
            difference = grid[before, own] - grid[row, own]
            ties = np.flatnonzero(difference == difference.min())
            place = int(ties[own[ties].argmin()])
            handed = int(own[place])
            own[place] = gained
            self.row_of[gained] = row
            gained, row = handed, before
            touched.append(row)
        self.held[row, self.count[row]] = gained
        self.count[row] += 1
        self.row_of[gained] = row
        for changed in touched:
            own = self.held[changed, : self.count[changed]]
            taken = grid[:, own]
            self.swap[:, changed] = (taken - taken[changed]).min(axis=1)

    def column_prices(self) -> Array:
        """int64[m]: what the rows' prices leave of a taken column's cost, 0 for a free column."""
        taken = np.flatnonzero(self.row_of >= 0)
        prices = np.zeros(len(self.row_of), np.int64)
        prices[taken] = self.grid[self.row_of[taken], taken] - self.price[self.row_of[taken]]
        return prices
