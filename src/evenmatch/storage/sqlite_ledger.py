"""The ledger in the SQLite journal: its tables are in ledger.sql, its rows go in with the commit they belong to."""

import sqlite3
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.domain.rating import SURE, Rating, Season
from evenmatch.errors import JournalDamaged

from .ledger import Entries, HistoryRow, LeaderRow, Place, Result, history_of
from .transactions import said_clearly

_MANY = 20_000
_encode = msgspec.json.Encoder().encode


def create(db: sqlite3.Connection) -> None:
    """Make the tables where they are missing, all or none."""
    script = resources.files(__package__).joinpath("ledger.sql").read_text("utf-8")
    db.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")


def write(db: sqlite3.Connection, entries: Entries) -> None:
    """Write what belongs to a commit, in its transaction."""
    for ladder, season in entries.seasons:
        _start(db, ladder, season)
    db.executemany(
        "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
        ((row.match, row.sequence, row.ladder, _encode(row).decode()) for row in entries.results),
    )
    db.executemany(
        "DELETE FROM rating_history WHERE player = ? AND sequence = ? AND ladder = ?",
        ((player, row.sequence, ladder) for row in entries.results if row.void for player, ladder in row.places),
    )
    db.executemany(
        "INSERT OR REPLACE INTO rating_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (line for row in entries.results for line in history_of(row)),
    )
    db.executemany(
        "INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((*place, *rating, rating.sure) for place, rating in entries.ratings),
    )
    db.executemany(
        "INSERT OR REPLACE INTO predictions VALUES (?, ?)",
        ((queue, _encode(body).decode()) for queue, body in entries.predictions),
    )


def _start(db: sqlite3.Connection, ladder: str, season: Season) -> None:
    """Soften the ratings of a ladder and its sides; '0' is the character after '/'."""
    on_it = "ladder = :ladder OR (ladder > :ladder || '/' AND ladder < :ladder || '0')"
    values = {"ladder": ladder, **season._asdict()}
    db.execute("INSERT INTO seasons VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (ladder, *season))
    many = db.execute(f"SELECT 1 FROM ratings WHERE {on_it} LIMIT 1 OFFSET {_MANY}", values).fetchone()
    if many:  # every entry of the index moves: making it anew is many times faster
        index = db.execute("SELECT sql FROM sqlite_master WHERE name = 'ratings_in_order'").fetchone()[0]
        db.execute("DROP INDEX ratings_in_order")
    mu, sigma = ":start + :keep * (mu - :start)", "min(:most, max(sigma, :deviation))"
    db.execute(f"UPDATE ratings SET mu = {mu}, sigma = {sigma}, sure = ({mu}) - {SURE} * {sigma} WHERE {on_it}", values)
    if many:
        db.execute(index)


class SqliteLedger:
    """The ledger of one journal file."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path

    def _rows(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        with said_clearly(self._path):
            return self._db.execute(sql, values).fetchall()

    def _read(self, body: Any) -> Result:
        try:
            return msgspec.json.decode(body, type=Result)
        except (msgspec.DecodeError, TypeError) as error:
            raise JournalDamaged(f"{self._path} is damaged: a result cannot be read ({error})") from error

    def result(self, match: int) -> Result | None:
        """The result of a match."""
        rows = self._rows("SELECT body FROM results WHERE match = ?", (match,))
        return self._read(rows[0][0]) if rows else None

    def results_from(self, ladder: str, sequence: int) -> Iterator[Result]:
        """The results of a ladder from a sequence on, in order."""
        with said_clearly(self._path):
            sql = "SELECT body FROM results WHERE ladder = ? AND sequence >= ? ORDER BY sequence"
            for (body,) in self._db.execute(sql, (ladder, sequence)):
                yield self._read(body)

    def ratings(self, places: list[Place]) -> dict[Place, Rating]:
        """The ratings of those who have one."""
        rows = self._rows(
            "SELECT r.player, r.ladder, mu, sigma, volatility, games, last_ms FROM json_each(?) AS place CROSS JOIN"
            " ratings AS r ON r.player = json_extract(place.value, '$[0]')"
            " AND r.ladder = json_extract(place.value, '$[1]')",
            (_encode(places).decode(),),
        )
        return {(row[0], row[1]): Rating(*row[2:]) for row in rows}

    def ratings_of(self, player: int) -> list[tuple[str, Rating]]:
        """A player's ratings, by ladder."""
        sql = "SELECT ladder, mu, sigma, volatility, games, last_ms FROM ratings WHERE player = ? ORDER BY ladder"
        return [(row[0], Rating(*row[1:])) for row in self._rows(sql, (player,))]

    def history(self, player: int, ladder: str | None, limit: int) -> list[HistoryRow]:
        """What results did to a player's ratings, the newest first."""
        sql = (
            "SELECT * FROM rating_history WHERE player = ? AND ladder = coalesce(?, ladder)"
            " ORDER BY sequence DESC, ladder DESC LIMIT ?"
        )
        return [HistoryRow(*row) for row in self._rows(sql, (player, ladder, limit))]

    def leaders(self, ladder: str, placement: int, limit: int, offset: int) -> list[LeaderRow]:
        """The best of those with so many results, by how good they almost surely are."""
        sql = (
            "SELECT player, mu, sigma, games FROM ratings WHERE ladder = ? AND games >= ?"
            " ORDER BY sure DESC, player LIMIT ? OFFSET ?"
        )
        return [LeaderRow(*row) for row in self._rows(sql, (ladder, placement, limit, offset))]

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder that were started, oldest first."""
        sql = (
            "SELECT number, sequence, at_ms, keep, start, deviation, most FROM seasons WHERE ladder = ? ORDER BY number"
        )
        return [Season(*row) for row in self._rows(sql, (ladder,))]

    def predictions(self) -> dict[str, dict[str, Any]]:
        """What is known of every queue's predictions."""
        rows = self._rows("SELECT queue, body FROM predictions ORDER BY queue", ())
        try:
            return {queue: msgspec.json.decode(body) for queue, body in rows}
        except (msgspec.DecodeError, TypeError) as error:
            raise JournalDamaged(f"{self._path} is damaged: predictions cannot be read ({error})") from error
