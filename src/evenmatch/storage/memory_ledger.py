"""The in-memory twin of the ledger: the same answers."""

from collections.abc import Iterator
from typing import Any

import msgspec

from evenmatch.domain.rating import Rating, Season
from evenmatch.errors import JournalError

from .ledger import Entries, HistoryRow, LeaderRow, Place, Result, history_of


class MemoryLedger:
    """Results and ratings; part of a `MemoryStore`, so it outlives its owner."""

    def __init__(self) -> None:
        self._results: dict[int, Result] = {}
        self._ratings: dict[Place, Rating] = {}
        self._history: dict[tuple[int, int, str], HistoryRow] = {}
        self._seasons: dict[str, list[Season]] = {}
        self._predictions: dict[str, dict[str, Any]] = {}

    def refuse(self, entries: Entries) -> None:
        """Raise for what the tables would not take."""
        known = {(ladder, season.number) for ladder, seasons in self._seasons.items() for season in seasons}
        for ladder, season in entries.seasons:
            if (ladder, season.number) in known:
                raise JournalError("a season does not take what it has already")
            known.add((ladder, season.number))

    def write(self, entries: Entries) -> None:
        """Take what belongs to a commit."""
        for ladder, season in entries.seasons:
            self._seasons.setdefault(ladder, []).append(season)
            for place, rating in self._ratings.items():
                if place[1].partition("/")[0] == ladder:
                    self._ratings[place] = season.softened(rating)
        for row in entries.results:
            self._results[row.match] = row
            if row.void:
                for player, ladder in row.places:
                    self._history.pop((player, row.sequence, ladder), None)
            self._history |= {(line.player, line.sequence, line.ladder): line for line in history_of(row)}
        self._ratings |= dict(entries.ratings)
        self._predictions |= {queue: msgspec.to_builtins(body) for queue, body in entries.predictions}

    def result(self, match: int) -> Result | None:
        """The result of a match."""
        return self._results.get(match)

    def results_from(self, ladder: str, sequence: int) -> Iterator[Result]:
        """The results of a ladder from a sequence on, in order."""
        found = [row for row in self._results.values() if row.ladder == ladder and row.sequence >= sequence]
        yield from sorted(found, key=lambda row: row.sequence)

    def ratings(self, places: list[Place]) -> dict[Place, Rating]:
        """The ratings of those who have one."""
        return {place: self._ratings[place] for place in places if place in self._ratings}

    def ratings_of(self, player: int) -> list[tuple[str, Rating]]:
        """A player's ratings, by ladder."""
        return sorted((ladder, rating) for (who, ladder), rating in self._ratings.items() if who == player)

    def history(self, player: int, ladder: str | None, limit: int) -> list[HistoryRow]:
        """What results did to a player's ratings, the newest first."""
        found = [row for row in self._history.values() if row.player == player and ladder in (None, row.ladder)]
        return sorted(found, key=lambda row: (row.sequence, row.ladder), reverse=True)[:limit]

    def leaders(self, ladder: str, placement: int, limit: int, offset: int) -> list[LeaderRow]:
        """The best of those with so many results, by how good they almost surely are."""
        found = [
            (rating, place[0])
            for place, rating in self._ratings.items()
            if place[1] == ladder and rating.games >= placement
        ]
        found.sort(key=lambda one: (-one[0].sure, one[1]))
        return [LeaderRow(who, one.mu, one.sigma, one.games) for one, who in found[offset : offset + limit]]

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder that were started, oldest first."""
        return sorted(self._seasons.get(ladder, []))

    def predictions(self) -> dict[str, dict[str, Any]]:
        """What is known of every queue's predictions."""
        return dict(self._predictions)
