"""Ratings at hand for the engine thread: what the ledger says, and what this commit is about to add to it.

Ratings in use lately are kept in two generations of dictionaries, as names are in `directory.py`. What a group of
orders adds is gathered here and handed over with its commit, so results of one group see each other's ratings; after a
failed commit the book starts anew from the ledger.

A season is one statement over a whole ladder, so ratings that are read while it waits for its commit are softened here
in the same way.
"""

from collections.abc import Iterable, Iterator

import msgspec

from evenmatch.domain.rating import Rating, Season
from evenmatch.numerics.predictions import Predictions
from evenmatch.storage.ledger import Entries, Place, Result
from evenmatch.storage.protocol import Journal

_GENERATION = 250_000


class RatingBook:
    """Results and ratings, committed or about to be."""

    def __init__(self, journal: Journal) -> None:
        self.ledger = journal.ledger
        self.predictions = {
            queue: msgspec.convert(body, Predictions) for queue, body in self.ledger.predictions().items()
        }
        self._young: dict[Place, Rating | None] = {}
        self._old: dict[Place, Rating | None] = {}
        self._ratings: dict[Place, Rating] = {}
        self._results: dict[int, Result] = {}
        self._seasons: list[tuple[str, Season]] = []
        self._started: dict[str, list[Season]] = {}
        """The seasons of ladders that were asked for, as the ledger has them."""
        self._predicted: dict[str, Predictions] = {}

    def ratings(self, places: Iterable[Place]) -> dict[Place, Rating]:
        """The ratings of those who have one."""
        found: dict[Place, Rating | None] = {}
        missing = []
        for place in places:
            if place in self._young:
                found[place] = self._young[place]
            elif place in self._old:
                found[place] = self._old[place]
                self._keep(place, found[place])
            else:
                missing.append(place)
        if missing:
            known = self.ledger.ratings(missing)
            for place in missing:
                found[place] = self._softened(place, known.get(place))
                self._keep(place, found[place])
        return {place: rating for place, rating in found.items() if rating is not None}

    def _softened(self, place: Place, rating: Rating | None) -> Rating | None:
        if rating is not None:
            for ladder, season in self._seasons:
                if ladder == place[1].partition("/")[0]:
                    rating = season.softened(rating)
        return rating

    def _keep(self, place: Place, rating: Rating | None) -> None:
        if len(self._young) >= _GENERATION:
            self._young, self._old = {}, self._young
            self._young |= self._ratings  # what waits for its commit is nowhere else
        self._young[place] = rating

    def result(self, match: int) -> Result | None:
        """The result of a match."""
        return self._results.get(match) or self.ledger.result(match)

    def results_from(self, ladder: str, sequence: int) -> Iterator[Result]:
        """The results of a ladder from a sequence on, in order."""
        told = set()
        for result in self.ledger.results_from(ladder, sequence):
            told.add(result.match)
            yield self._results.get(result.match, result)
        waiting = [
            result
            for result in self._results.values()
            if result.match not in told and result.ladder == ladder and result.sequence >= sequence
        ]
        yield from sorted(waiting, key=lambda result: result.sequence)

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder that were started, oldest first."""
        if ladder not in self._started:
            self._started[ladder] = self.ledger.seasons(ladder)
        return self._started[ladder] + [season for name, season in self._seasons if name == ladder]

    def season(self, ladder: str) -> int:
        """The number of the season that runs; the first is 1."""
        seasons = self.seasons(ladder)
        return seasons[-1].number if seasons else 1

    def predicted(self, queue: str) -> Predictions:
        """What is known of a queue's predictions."""
        return self.predictions.get(queue) or Predictions()

    # -- what the commit will write ----------------------------------------------------------------------------------

    def enter(self, results: Iterable[Result], ratings: Iterable[tuple[Place, Rating]]) -> None:
        """Note results, and the ratings that they lead to."""
        for result in results:
            self._results[result.match] = result
        for place, rating in ratings:
            self._ratings[place] = rating
            self._keep(place, rating)

    def predict(self, queue: str, predictions: Predictions) -> None:
        """Note what a result taught of a queue's predictions."""
        self.predictions[queue] = self._predicted[queue] = predictions

    def start_season(self, ladder: str, season: Season) -> None:
        """Note a season, and soften all ratings of its ladder and sides."""
        self._ratings = {
            place: season.softened(rating) if place[1].partition("/")[0] == ladder else rating
            for place, rating in self._ratings.items()
        }
        self._seasons.append((ladder, season))
        self._young, self._old = dict(self._ratings), {}

    def entries(self) -> Entries | None:
        """What goes into the commit, handed over once; None = nothing."""
        if not (self._results or self._ratings or self._seasons or self._predicted):
            return None
        entries = Entries(
            seasons=self._seasons,
            results=list(self._results.values()),
            ratings=list(self._ratings.items()),
            predictions=[(queue, msgspec.to_builtins(told)) for queue, told in self._predicted.items()],
        )
        for ladder, _ in self._seasons:
            self._started.pop(ladder, None)
        self._results, self._ratings, self._seasons, self._predicted = {}, {}, [], {}
        return entries
