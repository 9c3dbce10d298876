"""The transportation solver, against a public solver, and the check of its proof."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenmatch.domain.arrays import Array
from evenmatch.numerics.transport import Transport, certificate_broken, matrix_problem, solve


def public_optimum(costs: Array, capacity: int) -> float:
    """The least total by scipy's assignment solver, each row repeated once for every column that it takes."""
    optimize = pytest.importorskip("scipy.optimize")
    repeated = np.repeat(costs, capacity, axis=0)
    rows, columns = optimize.linear_sum_assignment(repeated)
    return float(repeated[rows, columns].sum())


def total(costs: Array, found: Transport) -> float:
    taken = np.flatnonzero(found.row_of >= 0)
    return float(costs[found.row_of[taken], taken].sum())


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, int]:
    rows, capacity = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    columns = rows * capacity + draw(st.integers(0, 6))
    values = draw(st.sampled_from([st.integers(-4, 4), st.integers(0, 1000)]))
    return draw(arrays(np.float64, (rows, columns), elements=values.map(float))), capacity


@settings(max_examples=150, deadline=None)
@given(problems())
def test_it_is_as_cheap_as_a_public_solver_and_proves_it(given: tuple[Array, int]) -> None:
    costs, capacity = given
    problem = matrix_problem(costs, capacity)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    assert total(costs, found) == public_optimum(costs, capacity)
    bound = capacity * sum(found.row_price.tolist()) + sum(found.column_price.tolist())
    assert bound * problem.step == total(costs, found)


@pytest.mark.parametrize("kind", ["uniform", "profile", "huge", "tiny", "equal"])
def test_a_large_problem_of_any_magnitude_is_solved(kind: str) -> None:
    rng = np.random.default_rng(4)
    rows, capacity, columns = 30, 9, 275
    costs = rng.random((rows, columns))
    if kind == "profile":
        at = rng.random((rows + columns, 3))
        costs = np.sqrt(((at[:rows, None] - at[rows:]) ** 2).sum(axis=2))
    costs *= {"huge": 1e290, "tiny": 1e-290, "equal": 0.0}.get(kind, 1.0)
    problem = matrix_problem(costs, capacity)
    found = solve(problem)
    assert certificate_broken(problem, found) is None
    assert total(costs, found) == pytest.approx(public_optimum(costs, capacity), rel=1e-12)


def test_too_few_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="2 rows of 2 need 4 columns, not 3"):
        matrix_problem(np.zeros((2, 3)), 2)


def test_whole_numbers_lie_on_the_grid() -> None:
    costs = np.array([[0.0, 3.0, 2.0**40], [-1.0, 0.5, 7.0]])
    step = matrix_problem(costs, 1).step
    assert (np.rint(costs / step) * step).tolist() == costs.tolist()


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("row_of", [1, 1, 1, -1, 0], "a row does not have exactly 2 columns"),
        ("column_price", [9, 0, 0, 0, 0], "a column's price is positive"),
        ("column_price", [-9, -9, -9, -9, -9], "a free column has a price"),
        ("row_price", [10**18, 10**18], "a pair costs less than its prices"),
        ("row_of", [0, 1, 0, -1, 1], "a chosen pair costs more than its prices"),
    ],
)
def test_a_wrong_proof_is_found_out(column: str, change: list[int], words: str) -> None:
    problem = matrix_problem(np.array([[4.0, 1, 3, 7, 2], [2, 0, 5, 8, 6]]), 2)
    found = solve(problem)
    changes: dict[str, Any] = {column: np.array(change)}
    assert certificate_broken(problem, found) is None
    assert certificate_broken(problem, found._replace(**changes)) == words
