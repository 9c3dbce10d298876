"""What the journal keeps of results and ratings, beside its events: the ledger.

The events say what happened; the ledger answers questions without reading them: a match's result, a player's rating on
a ladder, the ratings so far, the best of a ladder. It is written in the same commit as the events, so it is never ahead
of them or behind.

Within one commit seasons go first: whoever writes has already applied them to the ratings that follow
(`service/rating_book.py`).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from evenmatch.domain.rating import Rating, Season

Place: TypeAlias = tuple[int, str]
"""A player on a ladder."""


class Result(msgspec.Struct, frozen=True):
    """How a match ended, and what it did to ratings. Players stand team by team."""

    match: int
    sequence: int
    queue: str
    ladder: str
    """Empty = the queue kept no ratings."""
    at_ms: int
    told: list[dict[str, float]]
    """What was reported of each team: its rank or its score."""
    rank: list[int]
    leavers: list[int]
    player: list[int]
    team: list[int]
    sides: list[str] = []
    before: list[Rating] = []
    after: list[Rating] = []
    odds: list[float] = []
    """What was said before, a team each."""
    rated_by: dict[str, Any] = {}
    """The rules of the moment, as far as they differ from a RatingSpec's defaults: a correction rates by them again."""
    season: int = 1
    void: bool = False
    corrections: int = 0
    late: list[int] = []
    """Players who joined while the match ran."""
    replaced: list[int] = []
    """Players who left, and for whom others were asked for: they are leavers whatever is reported."""
    late_rated: str = ""
    """How late-comers are rated: full, wins or none."""

    @property
    def places(self) -> list[Place]:
        """The players on the ladders where they were rated."""
        if not self.before:
            return []
        ladders = [f"{self.ladder}/{side}" for side in self.sides] or [self.ladder] * len(self.rank)
        return [(player, ladders[team]) for player, team in zip(self.player, self.team, strict=True)]


class HistoryRow(NamedTuple):
    """What one result did to one rating."""

    player: int
    ladder: str
    sequence: int
    match: int
    at_ms: int
    season: int
    mu_before: float
    sigma_before: float
    mu: float
    sigma: float


class LeaderRow(NamedTuple):
    """A player on a leaderboard."""

    player: int
    mu: float
    sigma: float
    games: int


class Entries(msgspec.Struct, frozen=True):
    """What one commit writes into the ledger."""

    seasons: list[tuple[str, Season]] = []
    results: list[Result] = []
    ratings: list[tuple[Place, Rating]] = []
    predictions: list[tuple[str, dict[str, Any]]] = []


class Ledger(Protocol):
    """Results and ratings, to read."""

    def result(self, match: int) -> Result | None:
        """The result of a match."""

    def results_from(self, ladder: str, sequence: int) -> Iterator[Result]:
        """The results of a ladder from a sequence on, in order."""

    def ratings(self, places: list[Place]) -> dict[Place, Rating]:
        """The ratings of those who have one."""

    def ratings_of(self, player: int) -> list[tuple[str, Rating]]:
        """A player's ratings, by ladder."""

    def history(self, player: int, ladder: str | None, limit: int) -> list[HistoryRow]:
        """What results did to a player's ratings, the newest first."""

    def leaders(self, ladder: str, placement: int, limit: int, offset: int) -> list[LeaderRow]:
        """The best of those with so many results, by how good they almost surely are."""

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder that were started, oldest first; the first season is nobody's to start."""

    def predictions(self) -> dict[str, dict[str, Any]]:
        """What is known of every queue's predictions."""


def history_of(result: Result) -> list[HistoryRow]:
    """The rows of a result in the history; none of one that does not count."""
    if result.void:
        return []
    return [
        HistoryRow(*place, result.sequence, result.match, result.at_ms, result.season, *old[:2], *new[:2])
        for place, old, new in zip(result.places, result.before, result.after, strict=True)
    ]
