"""Tables grow a column at a time, and nobody notices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core import tables
from evenmatch.core.tables import Columns

KINDS = {"number": "i8", "flag": "?", "roster": "i4", "rating": "f8"}


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3)), max_size=30),
    st.sampled_from([1, 32, 64, 10_000]),
)
def test_a_table_that_grows_keeps_every_row(steps: list[tuple[int, int]], large: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_LARGE", large)
        table, plain, width = Columns(KINDS, {"roster": 2}), np.zeros(0, np.int64), 2
        for count, also in steps:
            first = table.extend(count)
            assert first == len(plain)
            plain = np.append(plain, np.arange(first, first + count) * 7)
            table.number[first : table.used] = plain[first:]
            table.roster[first : table.used] = plain[first:, None]
            if also == 1 and len(plain):  # rows that are there change too
                plain[:: also + 1] += 1
                table.number[: table.used : also + 1] += 1
                table.roster[: table.used : also + 1, :2] += 1
            if also == 2:
                width += 1
                table.widen(("roster",), width, 0)
                table.roster[: table.used] = plain[:, None]
            if also == 3 and "late" not in table.names:
                table.add_column("late", "i8", -1)
            for name in table.names:
                column = getattr(table, name)
                assert len(column) == table.capacity >= table.used
                assert name == "late" or not column[table.used :].any(), "rows beyond hold zeros"
            assert table.number[: table.used].tolist() == plain.tolist()
            assert (table.roster[: table.used, :2] == plain[:, None]).all()
        other = Columns(KINDS, {"roster": 2})
        other.load(table.dump())
        assert other.used == table.used
        assert all((getattr(other, name)[: other.used] == column).all() for name, column in table.dump().items())


def test_arrays_that_were_left_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LARGE", 1)
    table = Columns(KINDS)
    left = table.number
    while table.number is left:
        first = table.extend(1)
        if table.number is left:
            left[first] = 5
    before = left.copy()
    table.number[:] = 9
    assert (left == before).all()


def test_all_columns_have_moved_before_a_table_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_LARGE", 32)
    table = Columns(KINDS)
    table.extend(33)
    assert len(table._ahead) == 1
    for _ in range(20):
        table.extend(1)
    assert len(table._ahead) == len(KINDS)
    assert table.capacity == 64
    table.extend(11)
    assert (table.used, table.capacity) == (64, 64)
    table.extend(1)
    assert table.capacity == 128
