"""Tables: rows as dictionaries, kept as columns."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.domain.table import Choice, Table

ROWS = st.lists(
    st.fixed_dictionaries({"gap": st.integers(-9, 9), "map": st.sampled_from(["a", "b", None]), "to": st.booleans()})
)


def table(rows: list[dict[str, Any]]) -> Table:
    """The same rows as an array, a choice, and a table in the table."""
    words = ["a", "b", None]
    return Table(
        {
            "gap": np.array([row["gap"] for row in rows], np.int64),
            "map": Choice(np.array([words.index(row["map"]) for row in rows], np.int64), words),
            "place": Table({"to": np.array([row["to"] for row in rows], bool)}),
        }
    )


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"gap": row["gap"], "map": row["map"], "place": {"to": row["to"]}} for row in rows]


@given(ROWS)
def test_rows_come_back_as_they_went_in(rows: list[dict[str, Any]]) -> None:
    made = table(rows)
    assert list(made) == plain(rows)
    assert [made[place] for place in range(len(rows))] == plain(rows)
    assert made == plain(rows)
    assert made == tuple(plain(rows))
    assert Table.from_rows(plain(rows)) == made
    assert list(pickle.loads(pickle.dumps(made))) == plain(rows)


@given(ROWS, ROWS, st.integers(0, 3))
def test_stacking_and_choosing_rows(one: list[dict[str, Any]], other: list[dict[str, Any]], step: int) -> None:
    both = Table.stacked([table(one), Table(), table(other)])
    assert list(both) == plain(one + other)
    assert list(both[:: step + 1]) == plain((one + other)[:: step + 1])
    mask = np.arange(len(both)) % 2 == 0
    assert list(both[mask]) == plain((one + other)[::2])


def test_values_are_plain_ones() -> None:
    row = table([{"gap": 3, "map": "b", "to": True}])[-1]
    assert (type(row["gap"]), type(row["map"]), type(row["place"]["to"])) == (int, str, bool)


def test_what_is_not_the_same_is_not_equal() -> None:
    one = table([{"gap": 3, "map": "b", "to": True}])
    assert one != table([{"gap": 4, "map": "b", "to": True}])
    assert one != Table()
    assert one != "x"
    assert Table() == ()


def test_mistakes() -> None:
    with pytest.raises(IndexError, match="row 0 of 0"):
        Table()[0]
    with pytest.raises(TypeError):
        hash(Table())
    with pytest.raises(AssertionError):
        Table({"a": np.zeros(2), "b": np.zeros(3)})
