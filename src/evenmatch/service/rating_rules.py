"""A queue's ratings as its spec wants them: who starts where, what a result does, how likely each team is to win."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.state import QueueState
from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.rating import Rating, RatingSpec, ladder_of, side_ladder
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.numerics.predictions import odds_of
from evenmatch.numerics.rating_models import MODELS, Ratings, build_model, rated
from evenmatch.storage.ledger import Place, Result

from .rating_book import RatingBook

DAY_MS: Final = 86_400_000
SIDE_FACT: Final = "ratings."
UNDECIDED: Final = frozenset({"starting", "running"})
"""Standings of matches that have no result: a result ends a match."""
_NOT_RATING: Final = ("ladder", "trust_backend")
"""Keys that say nothing of how a result is rated."""


class Rules:
    """How one queue rates."""

    def __init__(self, spec: RatingSpec, queue: str, sides: tuple[str, ...]) -> None:
        self.spec, self.queue, self.sides = spec, queue, sides
        self.ladder = ladder_of(spec, queue)
        known = MODELS[spec.model].__struct_fields__
        own: dict[str, Any] = {"mu": spec.start, "placement": spec.placement}
        if spec.deviation:
            own["sigma"] = spec.deviation
        self._model = build_model(
            spec.model, spec.parameters | {name: value for name, value in own.items() if name in known}
        )

    @property
    def told(self) -> dict[str, Any]:
        """What a result has to keep, so that it can be rated again as it was."""
        plain, defaults = (msgspec.structs.asdict(spec) for spec in (self.spec, RatingSpec()))
        return {name: value for name, value in plain.items() if value != defaults[name] and name not in _NOT_RATING}

    def newcomer(self, start: float | None = None) -> Rating:
        """A player without a result."""
        mu, sigma, volatility = self._model.newcomer
        return Rating(mu if start is None else start, sigma, volatility)

    def _columns(self, before: Sequence[Rating], at_ms: int) -> Ratings:
        """The ratings as they are by now: less sure, the longer a player has been away."""
        columns = Ratings(*(np.array([rating[place] for rating in before]) for place in range(3)))
        days = [(at_ms - rating.last_ms) / DAY_MS if rating.last_ms else 0.0 for rating in before]
        return self._model.away(columns, np.maximum(np.array(days), 0.0))

    def odds(self, before: Sequence[Rating], team: Sequence[int], teams: int, at_ms: int) -> Array:
        """float64[teams]: how likely each is to win, as the model says."""
        return self._model.odds(self._columns(before, at_ms), _starts(team, teams))

    def after(
        self, before: Sequence[Rating], team: Sequence[int], rank: Sequence[int], left: Sequence[bool], at_ms: int
    ) -> list[Rating]:
        """The ratings after a match; players stand team by team."""
        games = np.array([rating.games for rating in before])
        starts, ranks = _starts(team, len(rank)), np.array(rank, np.int64)
        found = rated(self._model, self._columns(before, at_ms), games, starts, ranks, np.array(left, bool))
        return [
            Rating(mu, sigma, volatility, old.games + 1, at_ms)
            for mu, sigma, volatility, old in zip(*(column.tolist() for column in found), before, strict=True)
        ]

    def place(self, player: int, side: str = "") -> Place:
        """Where a player is rated."""
        return player, side_ladder(self.ladder, side)


def _starts(team: Sequence[int], teams: int) -> Array:
    starts = [0] * (teams + 1)
    for place, number in enumerate(team, 1):  # team by team, so the last one of each counts
        starts[number + 1] = place
    return np.array(starts, np.int64)


def rules_of(spec: QueueSpec) -> Rules | None:
    """How a queue rates; None = it does not."""
    if spec.rating is None:
        return None
    sides = tuple(name.removeprefix(SIDE_FACT) for name in spec.door.keeps if name.startswith(SIDE_FACT))
    return _rules(msgspec.json.encode(spec.rating), spec.name, sides)


def rules_then(result: Result) -> Rules:
    """The rules that a result was rated by."""
    return _rules(msgspec.json.encode(result.rated_by), result.queue, ())


@lru_cache(maxsize=256)
def _rules(spec: bytes, queue: str, sides: tuple[str, ...]) -> Rules:
    return Rules(msgspec.json.decode(spec, type=RatingSpec), queue, sides)


def rated_queue(queues: Mapping[str, QueueState], name: str) -> Rules | Refusal:
    """The rules of an open queue that keeps ratings."""
    if name not in queues:
        known = ", ".join(sorted(queues)) or "none"
        return Refusal(Reasons.UNKNOWN_QUEUE, f"no queue is called {name!r}; open queues: {known}")
    return rules_of(queues[name].spec) or Refusal(
        Reasons.NOT_RATED, f"{name} keeps no ratings: give it a table [queues.{name}.rating]"
    )


def sides_of(rules: Rules, record: dict[str, Any]) -> list[str]:
    """The side of each team of a match; empty where its queue has none."""
    sides = record.get("details", {}).get("sides")
    if not rules.sides or not isinstance(sides, dict):
        return []
    side_of = {ticket: side for side, ticket in sides.items()}
    found = [next((side_of[p["ticket"]] for p in team if p["ticket"] in side_of), "") for team in record["teams"]]
    return found if all(found) else []


def ratings_of(book: RatingBook, rules: Rules, record: dict[str, Any]) -> tuple[list[str], list[Rating]]:
    """The sides of a match's teams, and the present rating of each player, team by team."""
    sides = sides_of(rules, record)
    places: list[tuple[Place, float | None]] = []
    for number, team in enumerate(record["teams"]):
        side = sides[number] if sides else ""
        fact = SIDE_FACT + side if side else "rating"
        for party in team:
            places += [(rules.place(player["player"], side), player.get(fact)) for player in party["players"]]
    known = book.ratings([place for place, _ in places])
    return sides, [known.get(place) or rules.newcomer(start) for place, start in places]


def late_players(record: dict[str, Any]) -> list[int]:
    """The players who joined a match while it ran."""
    late = record.get("late", {})
    return [
        player["player"]
        for team in record["teams"]
        for party in team
        if str(party["ticket"]) in late
        for player in party["players"]
    ]


def as_made(record: dict[str, Any]) -> dict[str, Any]:
    """A match with those who began it."""
    late = record.get("late")
    if not late:
        return record
    return record | {
        "teams": [[party for party in team if str(party["ticket"]) not in late] for team in record["teams"]]
    }


def odds_of_match(book: RatingBook, spec: QueueSpec, match: int, record: dict[str, Any]) -> list[float] | None:
    """How likely each team of a match is to win: as was said before its result, or else by what is known now."""
    rules = rules_of(spec)
    if rules is None or len(record["teams"]) < 2:
        return None
    result = None if record["standing"] in UNDECIDED else book.result(match)
    if result is not None:
        return result.odds or None
    record = as_made(record)
    before = ratings_of(book, rules, record)[1]
    team = [place for place, parties in enumerate(record["teams"]) for party in parties for _ in party["players"]]
    raw = rules.odds(before, team, len(record["teams"]), record["made_ms"])
    odds: list[float] = odds_of(book.predicted(spec.name), raw).tolist()
    return odds
