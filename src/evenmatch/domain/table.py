"""Rows of named values, kept as columns: a dictionary is made of a row only when somebody asks for it.

A wave may make half a million matches, and a matcher has something to say of each. As dictionaries that would be half
a gigabyte and most of the wave's time; as columns it is as cheap as the rosters themselves.

`plain` gives the same columns as dictionaries, lists and arrays, for the journal and for checkpoints:
an array stands for itself, a `Choice` is [codes, words], a table a dictionary.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from evenmatch.domain.arrays import Array

__all__ = ["Choice", "Column", "Table"]


class Choice:
    """A column of any values of which there are few different ones: a code a row, and what the codes stand for."""

    __slots__ = ("code", "words")

    def __init__(self, code: Array, words: Iterable[Any]) -> None:
        """`code`, int32[n]: places in `words`."""
        self.code, self.words = code.astype(np.int32, copy=False), tuple(words)

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, rows: Array) -> "Choice":
        return Choice(self.code[rows], self.words)

    def tolist(self) -> list[Any]:
        """The value of each row."""
        return [self.words[code] for code in self.code.tolist()]

    def value(self, row: int) -> Any:
        """The value of one row."""
        return self.words[self.code[row]]


class Table(Sequence[dict[str, Any]]):
    """A row is a dictionary of plain values; a column is an array, a `Choice`, or a table of its own."""

    __slots__ = ("columns",)

    def __init__(self, columns: Mapping[str, "Column"] | None = None) -> None:
        """`columns`: name -> column, all of one length; no column = no row."""
        self.columns: dict[str, Column] = dict(columns or {})
        assert len({len(column) for column in self.columns.values()}) <= 1

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "Table":
        """The table of these rows, which must have the same names in them."""
        listed = [dict(row) for row in rows]
        names = list(listed[0]) if listed else []
        assert all(list(row) == names for row in listed)
        places = np.arange(len(listed))
        return cls({name: Choice(places, [row[name] for row in listed]) for name in names})

    @classmethod
    def stacked(cls, tables: Sequence["Table"]) -> "Table":
        """The rows of all, one after the other; tables with rows in them must have the same columns."""
        filled = [table for table in tables if len(table)]
        if len(filled) < 2:
            return filled[0] if filled else cls()
        assert all(list(table.columns) == list(filled[0].columns) for table in filled)
        return cls({name: _stacked([table.columns[name] for table in filled]) for name in filled[0].columns})

    @classmethod
    def from_plain(cls, plain: Any) -> "Table":
        """The table that `plain` was made of; ValueError for what no table is."""
        if not isinstance(plain, dict) or not all(isinstance(name, str) for name in plain):
            raise ValueError("a table is a dictionary of columns")
        columns = {name: _from_plain(column) for name, column in plain.items()}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("the columns of a table differ in length")
        return cls(columns)

    def plain(self) -> dict[str, Any]:
        """The columns in dictionaries, lists and arrays."""
        return {name: _plain(column) for name, column in self.columns.items()}

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = list(self.columns)
        for values in zip(*(_listed(column) for column in self.columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: "slice | Array") -> "Table": ...
    def __getitem__(self, row: "int | slice | Array") -> "dict[str, Any] | Table":
        """One row as a dictionary, or the table of some rows: a slice, a mask, or their places."""
        if isinstance(row, int | np.integer):
            if not -len(self) <= row < len(self):
                raise IndexError(f"row {row} of {len(self)}")
            return {name: _value(column, int(row)) for name, column in self.columns.items()}
        rows = np.arange(len(self))[row] if isinstance(row, slice) else row
        return Table({name: column[rows] for name, column in self.columns.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    def __hash__(self) -> int:
        raise TypeError("a table is not hashable")

    def __repr__(self) -> str:
        return f"Table({list(self)!r})"


Column: TypeAlias = Array | Choice | Table


def _listed(column: Column) -> list[Any]:
    return list(column) if isinstance(column, Table) else column.tolist()


def _value(column: Column, row: int) -> Any:
    if isinstance(column, Table):
        return column[row]
    return column.value(row) if isinstance(column, Choice) else column[row].tolist()


def _plain(column: Column) -> Any:
    if isinstance(column, Choice):
        return [column.code, list(column.words)]
    return column.plain() if isinstance(column, Table) else column


def _from_plain(plain: Any) -> Column:
    if isinstance(plain, np.ndarray):
        return plain
    if not isinstance(plain, list):
        return Table.from_plain(plain)
    code, words = plain
    if not isinstance(code, np.ndarray) or code.ndim != 1 or code.dtype.kind != "i" or not isinstance(words, list):
        raise ValueError("a column of words is its codes and the words")
    if len(code) and not 0 <= int(code.min()) <= int(code.max()) < len(words):
        raise ValueError("a code stands for no word")
    return Choice(code, words)


def _same(one: object, other: object) -> bool:
    return bool(one == other)


def _stacked(parts: Sequence[Any]) -> Column:
    if isinstance(parts[0], Table):
        return Table.stacked(parts)
    if isinstance(parts[0], Choice):
        offsets = np.cumsum([0, *(len(part.words) for part in parts[:-1])])
        codes = [part.code + offset for part, offset in zip(parts, offsets.tolist(), strict=True)]
        return Choice(np.concatenate(codes), [word for part in parts for word in part.words])
    return np.concatenate(parts)
