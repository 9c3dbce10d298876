"""The columns of a snapshot from what a caller has at hand: checked, completed, and made read-only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .ticket import FACT_MAX, RATING_DEFAULT


def columns_of(
    rating: ArrayLike | None,
    ping_ms: ArrayLike | None,
    waited_ms: ArrayLike | None,
    misses: ArrayLike | None,
    ratings: Mapping[str, ArrayLike] | None,
    profile: Mapping[str, ArrayLike] | ArrayLike | None,
    ids: Sequence[str] | None,
) -> dict[str, Any]:
    """The arrays of a `Snapshot` of single players."""
    given: dict[str, ArrayLike | None] = {"rating": rating, "ping_ms": ping_ms}
    given |= {f"ratings.{side}": column for side, column in (ratings or {}).items()}
    features = _features(profile)
    words = {f"profile.{name}": _words(f"profile.{name}", c) for name, c in features.items() if _has_words(c)}
    given |= {f"profile.{name}": column for name, column in features.items() if f"profile.{name}" not in words}
    numbers = {name: _column(name, column) for name, column in given.items() if column is not None}
    waited = None if waited_ms is None else _whole("waited_ms", waited_ms)
    missed = None if misses is None else _whole("misses", misses)
    lengths = {name: len(column) for name, column in numbers.items()}
    lengths |= {name: len(c) for name, c in (("waited_ms", waited), ("misses", missed)) if c is not None}
    lengths |= {name: len(column) for name, column in words.items()}
    if ids is not None:
        lengths["ids"] = len(ids)
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns differ in length: {', '.join(f'{name} {count}' for name, count in lengths.items())}")
    count = next(iter(lengths.values()), 0)
    for name, column in numbers.items():
        _check(name, column)
    columns: dict[str, Any] = {
        "ticket": _tickets(ids, count),
        "waited_ms": np.zeros(count, np.int64) if waited is None else waited,
        "misses": np.zeros(count, np.int32) if missed is None else missed.astype(np.int32),
        "returned": np.zeros(count, bool),
        "group": np.zeros(count, np.int32),
        "player_start": np.arange(count + 1),
        "player": np.arange(count),
    }
    facts = {"rating": np.full(count, RATING_DEFAULT), "ping_ms": np.full(count, np.nan)} | numbers
    for column in (*columns.values(), *facts.values()):
        column.flags.writeable = False
    return columns | {"facts": facts, "traits": words}


def _features(profile: Mapping[str, ArrayLike] | ArrayLike | None) -> Mapping[str, ArrayLike]:
    if profile is None or isinstance(profile, Mapping):
        return profile or {}
    matrix = np.asarray(profile)
    if matrix.ndim != 2:
        raise ValueError(
            f"profile has {matrix.ndim} dimensions: give a matrix of rows x features, or a column a feature"
        )
    return {f"x{place}": matrix[:, place] for place in range(matrix.shape[1])}


def _has_words(column: ArrayLike) -> bool:
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return False
    return any(isinstance(value, str) for value in np.asarray(column, object).ravel().tolist())


def _words(name: str, column: ArrayLike) -> tuple[str | None, ...]:
    """A categorical feature: words, None = not given."""
    values = np.asarray(column, object)
    if values.ndim != 1:
        raise ValueError(f"{name} has {values.ndim} dimensions: give one value a row")
    for row, value in enumerate(values.tolist()):
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name}[{row}] is {value!r}: a column has either words or numbers")
    return tuple(values.tolist())


def _column(name: str, values: ArrayLike) -> Array:
    try:
        column = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a column of numbers: {error}") from None
    if column.ndim != 1:
        raise ValueError(f"{name} has {column.ndim} dimensions: give one value a row")
    return column


def _whole(name: str, values: ArrayLike) -> Array:
    column = _column(name, values)
    if not (np.isfinite(column) & (column >= 0) & (column == np.floor(column)) & (column < 2**53)).all():
        raise ValueError(f"{name} must be whole numbers, 0 or more")
    whole: Array = column.astype(np.int64)
    if name == "misses" and len(whole) and int(whole.max()) >= 2**31:
        raise ValueError("misses must be below 2^31")
    return whole


def _check(name: str, column: Array) -> None:
    missing_is_fine = name != "rating"
    wrong = (np.abs(column) > FACT_MAX) | (~np.isfinite(column) & ~(missing_is_fine & np.isnan(column)))
    if name == "ping_ms":
        wrong |= column < 0
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name}[{row}] is {column[row]}: use a number within {FACT_MAX:g}")


def _tickets(ids: Sequence[str] | None, count: int) -> Array:
    """Ticket numbers in the order of the ids."""
    if ids is None:
        return np.arange(count)
    names = [str(name) for name in ids]
    if len(set(names)) < count:
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"ids has {twice!r} twice")
    tickets = np.empty(count, np.int64)
    tickets[sorted(range(count), key=names.__getitem__)] = np.arange(count)
    return tickets
