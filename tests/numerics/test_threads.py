"""Work split over threads: every part once, whatever the number of threads, and mistakes come back."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.numerics import threads


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = threads.count()
    yield
    threads.use(before)


@given(st.integers(0, 200), st.integers(1, 9), st.integers(1, 50))
def test_every_place_is_worked_on_exactly_once(total: int, count: int, least: int) -> None:
    threads.use(count)
    seen, parts = np.zeros(total, np.int64), []

    def work(first: int, end: int) -> None:
        parts.append((first, end))
        seen[first:end] += 1

    threads.in_parts(total, work, least=least)
    assert (seen == 1).all()
    assert len(parts) <= count
    assert len(parts) == 1 or all(end - first >= least for first, end in parts)


@pytest.mark.parametrize("part", [0, 3])
def test_a_mistake_in_any_part_is_raised(part: int) -> None:
    threads.use(4)

    def work(first: int, end: int) -> None:
        if first == part:
            raise ValueError(f"{first} to {end}")

    with pytest.raises(ValueError, match="to"):
        threads.in_parts(4, work, least=1)


def test_at_first_there_is_a_thread_at_least() -> None:
    assert threads.count() >= 1
