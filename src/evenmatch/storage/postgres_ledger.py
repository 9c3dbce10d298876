"""The ledger in PostgreSQL: its rows go in with the commit they belong to."""

from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from evenmatch.domain.rating import SURE, Rating, Season
from evenmatch.errors import JournalDamaged

from . import postgres_rows as rows
from . import tables
from .ledger import Entries, HistoryRow, LeaderRow, Place, Result, history_of
from .postgres_line import Db, Line

_AT_ONCE: Final = 1_000
_encode = msgspec.json.Encoder().encode
T = TypeVar("T")


def decoded(name: str, what: str, body: Any, kind: type[T]) -> T:
    """A JSON body of a table."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, TypeError) as error:
        raise JournalDamaged(f"{name} is damaged: {what} cannot be read ({error})") from error


def write(db: Db, journal: int, entries: Entries) -> None:
    """Write what belongs to a commit, in its transaction."""
    for ladder, season in entries.seasons:
        _start(db, ladder, season)
    found = entries.results
    rows.write(
        db, journal, tables.RESULTS, [(row.match, row.sequence, row.ladder, _encode(row).decode()) for row in found]
    )
    gone = [(player, row.sequence, ladder) for row in found if row.void for player, ladder in row.places]
    if gone:
        db.execute(
            "DELETE FROM rating_history USING unnest(%s::bigint[], %s::bigint[], %s::text[]) AS gone (p, s, l)"
            " WHERE journal = %s AND player = gone.p AND sequence = gone.s AND ladder = gone.l",
            [*(list(column) for column in zip(*gone, strict=True)), journal],
        )
    rows.write(db, journal, tables.HISTORY, [line for row in found for line in history_of(row)])
    rows.write(db, journal, tables.RATINGS, [(*place, *rating, rating.sure) for place, rating in entries.ratings])
    rows.write(
        db, journal, tables.PREDICTIONS, [(queue, _encode(body).decode()) for queue, body in entries.predictions]
    )


def _start(db: Db, ladder: str, season: Season) -> None:
    """Soften the ratings of a ladder and its sides."""
    values = {"ladder": ladder, "sure": float(SURE), **season._asdict()}
    db.execute(
        "INSERT INTO seasons (ladder, number, sequence, at_ms, keep, start, deviation, most)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (ladder, *season),
    )
    mu = "%(start)s::float8 + %(keep)s::float8 * (mu - %(start)s::float8)"
    sigma = "least(%(most)s::float8, greatest(sigma, %(deviation)s::float8))"
    db.execute(
        f"UPDATE ratings SET mu = {mu}, sigma = {sigma}, sure = ({mu}) - %(sure)s::float8 * {sigma}"
        " WHERE ladder = %(ladder)s OR starts_with(ladder, %(ladder)s || '/')".encode(),
        values,
    )


class PostgresLedger:
    """The ledger of one journal."""

    def __init__(self, line: Line, journal: int) -> None:
        self._line, self._journal = line, journal

    def result(self, match: int) -> Result | None:
        """The result of a match."""
        found = self._line.rows("SELECT body FROM results WHERE journal = %s AND match = %s", (self._journal, match))
        return decoded(self._line.name, "a result", found[0][0], Result) if found else None

    def results_from(self, ladder: str, sequence: int) -> Iterator[Result]:
        """The results of a ladder from a sequence on, in order."""
        sql = (
            "SELECT sequence, match, body FROM results WHERE journal = %s AND ladder = %s"
            " AND (sequence, match) > (%s, %s) ORDER BY sequence, match LIMIT %s"
        )
        after = sequence, -1
        while found := self._line.rows(sql, (self._journal, ladder, *after, _AT_ONCE)):
            for row in found:
                yield decoded(self._line.name, "a result", row[2], Result)
            after = found[-1][:2]

    def ratings(self, places: list[Place]) -> dict[Place, Rating]:
        """The ratings of those who have one."""
        if not places:
            return {}
        found = self._line.rows(
            "SELECT player, ladder, mu, sigma, volatility, games, last_ms FROM"
            " unnest(%s::bigint[], %s::text[]) AS place (player, ladder) JOIN ratings USING (player, ladder)",
            ([player for player, _ in places], [ladder for _, ladder in places]),
        )
        return {(row[0], row[1]): Rating(*row[2:]) for row in found}

    def ratings_of(self, player: int) -> list[tuple[str, Rating]]:
        """A player's ratings, by ladder."""
        sql = "SELECT ladder, mu, sigma, volatility, games, last_ms FROM ratings WHERE player = %s ORDER BY ladder"
        return [(row[0], Rating(*row[1:])) for row in self._line.rows(sql, (player,))]

    def history(self, player: int, ladder: str | None, limit: int) -> list[HistoryRow]:
        """What results did to a player's ratings, the newest first."""
        sql = (
            f"SELECT {', '.join(tables.HISTORY.columns)} FROM rating_history WHERE journal = %s AND player = %s"
            " AND ladder = coalesce(%s, ladder) ORDER BY sequence DESC, ladder DESC LIMIT %s"
        )
        return [HistoryRow(*row) for row in self._line.rows(sql, (self._journal, player, ladder, limit))]

    def leaders(self, ladder: str, placement: int, limit: int, offset: int) -> list[LeaderRow]:
        """The best of those with so many results, by how good they almost surely are."""
        sql = (
            "SELECT player, mu, sigma, games FROM ratings WHERE ladder = %s AND games >= %s"
            " ORDER BY sure DESC, player LIMIT %s OFFSET %s"
        )
        return [LeaderRow(*row) for row in self._line.rows(sql, (ladder, placement, limit, offset))]

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder that were started, oldest first."""
        names = "number, sequence, at_ms, keep, start, deviation, most"
        sql = f"SELECT {names} FROM seasons WHERE ladder = %s ORDER BY number"
        return [Season(*row) for row in self._line.rows(sql, (ladder,))]

    def predictions(self) -> dict[str, dict[str, Any]]:
        """What is known of every queue's predictions."""
        found = self._line.rows("SELECT queue, body FROM predictions ORDER BY queue")
        return {queue: decoded(self._line.name, "a prediction", body, dict[str, Any]) for queue, body in found}
