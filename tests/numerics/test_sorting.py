"""The stable order of numbers, the canonical order by it, and sums without rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain import order
from evenmatch.numerics import wave_columns
from evenmatch.numerics.exact_sums import exact_sum, whole_sum
from evenmatch.numerics.sorting import stable_order

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-(2**53), 2**53).map(float),
    st.sampled_from([0.0, -0.0]),
    st.floats(allow_nan=False, allow_infinity=True),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(NUMBERS, max_size=30), st.integers(1, 12))
def test_the_order_is_that_of_a_stable_sort(values: list[float], times: int) -> None:
    repeated = values * times  # beyond a hundred it is counted, not inserted
    wanted = sorted(range(len(repeated)), key=repeated.__getitem__)
    assert stable_order(np.array(repeated, np.float64)).tolist() == wanted


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(-(2**51), 2**51) | st.integers(-40, 40), max_size=30), st.integers(1, 12))
def test_the_order_of_whole_numbers_is_that_of_a_stable_sort(values: list[int], times: int) -> None:
    repeated = values * times
    wanted = sorted(range(len(repeated)), key=repeated.__getitem__)
    assert stable_order(np.array(repeated, np.float64)).tolist() == wanted


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e-300, 1e300])
def test_many_numbers_are_ordered_as_numpy_orders_them(scale: float) -> None:
    values = np.round(np.random.default_rng(3).normal(0, 50, 70_000), 2) * scale
    assert (stable_order(values) == np.argsort(values, kind="stable")).all()


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([1e16, -1e16, 1.0, 1e-300, 0.1])), max_size=60))
def test_a_sum_is_exact(values: list[float]) -> None:
    parts = exact_sum(np.array(values, np.float64), np.arange(len(values))).tolist()
    assert sum(map(Fraction, parts), Fraction(0)) == sum(map(Fraction, values), Fraction(0))
    assert math.fsum(parts) == math.fsum(values)


def test_a_sum_takes_the_places_asked_for() -> None:
    assert exact_sum(np.array([1.0, 2.0, 4.0]), np.array([2, 0])).tolist() == [5.0]
    assert exact_sum(np.array([1.0]), np.arange(0)).tolist() == []


WAITS = st.one_of(st.integers(0, 3), st.integers(-(2**62), 2**62), st.sampled_from([2**50, -(2**50), 2**50 + 1]))


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(WAITS, st.booleans(), st.integers(1, 4)), max_size=40), st.booleans(), st.integers(1, 8))
def test_the_canonical_order_by_one_number_a_row_is_the_canonical_one(
    rows: list[tuple[int, bool, int]], rising: bool, times: int
) -> None:
    waited, returned, ticket = (
        np.array([row[column] for row in rows * times], kind) for column, kind in enumerate((np.int64, bool, np.int64))
    )
    ticket = np.cumsum(ticket) if rising else ticket
    found = wave_columns.canonical_order(waited, returned, ticket)
    if len(found) < len(ticket):
        assert not rising or np.abs(waited).max() > 2**50 or (np.diff(ticket) < 0).any()
    else:
        assert found.tolist() == order.canonical_order(waited, returned, ticket).tolist()


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(-(2**54), 2**54).map(float) | st.integers(-9, 9).map(float) | st.just(0.5), max_size=60))
def test_a_sum_is_called_whole_only_if_it_is_exact(values: list[float]) -> None:
    total, exact = whole_sum(np.array(values, np.float64), np.arange(len(values)))
    if exact:
        assert Fraction(total) == sum(map(Fraction, values), Fraction(0))
    else:
        assert 0.5 in values or sum(map(abs, values)) >= 2**53
