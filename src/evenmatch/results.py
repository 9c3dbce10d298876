"""Results of matches from a CSV: read, checked, and put into columns in order of time.

A row is a match of two teams: rosters with names separated by `|`, a score each, and when it began. Rows that can't be
used are set aside with the reason, by their line in the file; they are never guessed at.
"""

import csv
import io
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import RatingError

__all__ = ["Columns", "Results", "Skipped", "read"]

SEPARATOR: Final = "|"
_NAMED_MOST: Final = 64


class Columns(msgspec.Struct, frozen=True):
    """What the columns of the file are called."""

    roster1: str = "roster1"
    roster2: str = "roster2"
    score1: str = "score1"
    score2: str = "score2"
    start_time: str = "start_time"


class Skipped(msgspec.Struct, frozen=True):
    """A row that can't be used."""

    line: int
    why: str


class Match(NamedTuple):
    """One usable row."""

    at_s: float
    rosters: tuple[list[str], list[str]]
    scores: tuple[float, float]


class Results(msgspec.Struct, frozen=True, eq=False):
    """Matches in order of time, then of the file."""

    names: list[str]
    """Of the players, by number."""
    start: Array
    """int64[teams + 1]: the players of team t are player[start[t] : start[t + 1]]; match m has teams 2m and 2m + 1."""
    player: Array
    """int64[...]: players by number"""
    score: Array
    """float64[matches, 2]"""
    at_s: Array
    """float64[matches]: when each began, in seconds."""
    skipped: tuple[Skipped, ...]

    def __len__(self) -> int:
        return len(self.at_s)


def read(source: bytes, name: str, columns: Columns) -> Results:
    """The results of a CSV file's content; raises RatingError if it is no such file, or has no match to rate."""
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RatingError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    if not text.strip():
        raise RatingError(f"{name} is empty: give it a CSV with a header line")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    found: list[Match] = []
    skipped: list[Skipped] = []
    try:
        _require_columns(name, reader.fieldnames or [], columns)
        for row in reader:
            match _match(row, columns):
                case str(why):
                    skipped.append(Skipped(reader.line_num, why))
                case usable:
                    found.append(usable)
    except csv.Error as error:
        raise RatingError(f"{name} is not a CSV: line {reader.line_num}: {error}") from error
    if not found:
        first = f"; line {skipped[0].line}: {skipped[0].why}" if skipped else ""
        raise RatingError(f"{name} has no match that can be rated{first}")
    found.sort(key=lambda one: one.at_s)
    return _columns(found, tuple(skipped))


def _require_columns(name: str, there: object, columns: Columns) -> None:
    listed = list(there) if isinstance(there, list) else []
    for field, column in msgspec.structs.asdict(columns).items():
        if column not in listed:
            has = ", ".join(map(repr, listed)) or "none"
            flag = "--" + field.replace("_", "-")
            raise RatingError(f"{name} has no column {column!r}, only {has}: name the right one with {flag}")


def _match(row: Mapping[str, str | None], columns: Columns) -> Match | str:
    """One match, or why there is none in the row."""
    text = {field: (row.get(column) or "").strip() for field, column in msgspec.structs.asdict(columns).items()}
    rosters = []
    for field in ("roster1", "roster2"):
        roster = [name.strip() for name in text[field].split(SEPARATOR)]
        if not any(roster):
            return f"{field} is empty"
        if "" in roster:
            return f"{field} has an empty name at place {roster.index('') + 1}"
        if len(roster) > _NAMED_MOST:
            return f"{field} has {len(roster)} names, more than {_NAMED_MOST}"
        rosters.append(roster)
    both = rosters[0] + rosters[1]
    twice = sorted(name for name in both if both.count(name) > 1)
    if twice:
        return f"{twice[0]!r} plays twice"
    scores = []
    for field in ("score1", "score2"):
        score = _number(text[field])
        if score is None:
            return f"{field} is {text[field]!r}, not a number" if text[field] else f"{field} is empty"
        scores.append(score)
    began = _seconds(text["start_time"])
    if began is None:
        return f"start_time is {text['start_time']!r}: a date such as 2019-02-14 16:00:00, or seconds, is needed"
    return Match(began, (rosters[0], rosters[1]), (scores[0], scores[1]))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _seconds(text: str) -> float | None:
    """Seconds since 1970 of a date in ISO 8601 (UTC where it names no zone), or of a number of them."""
    if (number := _number(text)) is not None:
        return number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _columns(found: list[Match], skipped: tuple[Skipped, ...]) -> Results:
    number_of: dict[str, int] = {}
    player: list[int] = []
    sizes: list[int] = []
    for match in found:
        for roster in match.rosters:
            sizes.append(len(roster))
            player += [number_of.setdefault(name, len(number_of)) for name in roster]
    return Results(
        names=list(number_of),
        start=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        player=np.array(player, np.int64),
        score=np.array([match.scores for match in found], np.float64),
        at_s=np.array([match.at_s for match in found], np.float64),
        skipped=skipped,
    )
