"""Numbers from files: a column of a CSV, a curve over the hours of a day, a matrix of round-trip times.

Columns stand between commas, semicolons or tabs, whichever the first line has most of. A file may be gzipped.
"""

import csv
import gzip
import io
import math
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import FACT_MAX
from evenmatch.errors import LabError

__all__ = ["column", "hours", "labelled", "matrix"]

_SHOWN: Final = 3
_WORDS: Final = 80
_TAR_MARK: Final = slice(257, 262)


def column(path: Path, name: str) -> Array:
    """float64[n]: the numbers of a column; empty fields are left out, anything else that is no number is a mistake."""
    return np.array(_numbers(path, name, _rows(path, name)))


def labelled(path: Path, label: str, name: str) -> list[tuple[str, float]]:
    """The numbers of a column, each with what stands in another; rows without either are left out."""
    there = [row for row in _pairs(path, label, name) if row[1]]
    return list(zip((row[1] for row in there), _numbers(path, name, [(row[0], row[2]) for row in there]), strict=True))


def _numbers(path: Path, name: str, rows: list[tuple[int, str]]) -> list[float]:
    found, wrong = [], []
    for line, text in rows:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if abs(value) <= FACT_MAX:
            found.append(value)
        else:
            wrong.append(f"line {line} has {text!r}")
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        told = f"is to hold ratings, numbers from {-FACT_MAX:,.0f} to {FACT_MAX:,.0f}"
        raise LabError(f"{path}: column {name!r} {told}: {', '.join(wrong[:_SHOWN])}{more}")
    if not found:
        raise LabError(f"{path}: column {name!r} has no number in it")
    return found


def hours(path: Path, time_column: str, count_column: str) -> Array:
    """float64[24]: the mean count of each hour of the day; rows without a count are left out."""
    total, rows = np.zeros(24), np.zeros(24)
    for line, text, count in _pairs(path, time_column, count_column):
        try:
            hour = datetime.fromisoformat(text.removesuffix(" UTC")).hour
        except ValueError:
            raise LabError(f"{path}: line {line} has {text!r}, which is no time such as 2024-05-01 17:00:00") from None
        try:
            value = float(count)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise LabError(f"{path}: line {line} has {count!r}, which is no count: use 0 or more") from None
        total[hour] += value
        rows[hour] += 1
    if not rows.all() or not total.any():
        raise LabError(f"{path}: it takes a row for every hour of the day, and a count that is not 0")
    return total / rows


def matrix(path: Path) -> Array:
    """float64[n, n]: round-trip times in ms, one row a line; what is missing (0 off the diagonal, or nan) is NaN."""
    lines = [line for line in _text(path).splitlines() if line.strip()]
    try:
        rows = [[float(value) for value in line.replace(",", " ").split()] for line in lines]
    except ValueError as error:
        raise LabError(f"{path}: a matrix of round-trip times holds numbers only: {str(error)[:_WORDS]}") from None
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        raise LabError(f"{path}: a matrix of round-trip times has as many numbers in every row as it has rows")
    found = np.array(rows)
    away = ~np.eye(len(found), dtype=bool)
    found[away & ~(found > 0)] = np.nan
    if not np.isfinite(found[away]).any():
        raise LabError(f"{path}: there is no round-trip time in it")
    return found


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if content[_TAR_MARK] == b"ustar":
            raise LabError(f"{path} is an archive: unpack it, and name one of the files in it")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise LabError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: the file is not UTF-8 text") from None
    except (OSError, EOFError) as error:
        raise LabError(f"{path}: the file cannot be read: {error}") from None


def _table(path: Path, *names: str) -> list[tuple[int, dict[str, str]]]:
    text = _text(path)
    if not text.strip():
        raise LabError(f"{path} is empty: give it a CSV with a header line")
    head = text.lstrip().partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    there = list(reader.fieldnames or ())
    for name in names:
        if name not in there:
            raise LabError(f"{path} has no column {name!r}: it has {', '.join(map(repr, there)) or 'none'}")
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise LabError(f"{path} is not a CSV: line {reader.line_num}: {error}") from None


def _rows(path: Path, name: str) -> list[tuple[int, str]]:
    return [(line, (row[name] or "").strip()) for line, row in _table(path, name) if (row[name] or "").strip()]


def _pairs(path: Path, first: str, second: str) -> list[tuple[int, str, str]]:
    rows = [
        (line, (row[first] or "").strip(), (row[second] or "").strip()) for line, row in _table(path, first, second)
    ]
    return [row for row in rows if row[2]]
