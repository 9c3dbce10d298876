"""What players bring to a queue: what they are believed to be, where they are, and what else its matcher reads."""

import math
from typing import Any, Final

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.ticket import Member

from .people import People
from .population import Population

__all__ = ["Facts"]

_NO_FACTS: Final[dict[str, float]] = {}
_NO_TRAITS: Final[dict[str, Any]] = {}


class Facts:
    """The crowd, as a queue asks for it."""

    def __init__(self, spec: QueueSpec, population: Population, people: People) -> None:
        keeps = set(spec.door.keeps)
        self._ping = people.ping
        self._sides = people.sides if any(name.startswith("ratings.") for name in keeps) else None
        self._names = tuple(f"ratings.{name}" for name in population.sides.names)
        self._regions = [people.regions[place] for place in people.region.tolist()] if "region" in keeps else None
        self._latency = people.latency if spec.venue is not None and spec.venue.regions else None
        self._near = tuple(f"latencies.{name}" for name in people.regions)
        self._profile = {
            f"profile.{name}": words for name, words in people.profile.items() if f"profile.{name}" in keeps
        }
        self._bare = self._sides is None and self._latency is None and self._regions is None and not self._profile

    def members(self, rows: Array, believed: Array) -> list[Member]:
        """Players, as the engine may know them; `believed`: the ratings of these."""
        known = zip(rows.tolist(), believed.tolist(), self._ping[rows].tolist(), strict=True)
        if self._bare:
            return [Member(row + 1, rating, ping, _NO_FACTS, _NO_TRAITS) for row, rating, ping in known]
        return [self._member(row, rating, ping) for row, rating, ping in known]

    def _member(self, row: int, rating: float, ping: float) -> Member:
        facts, traits = _NO_FACTS, _NO_TRAITS
        if self._sides is not None:
            mine = self._sides[row].tolist()
            facts = {name: rating + one for name, one in zip(self._names, mine, strict=True) if not math.isnan(one)}
        if self._latency is not None:
            facts = facts | dict(zip(self._near, self._latency[row].tolist(), strict=True))
        if self._regions is not None:
            traits = {"region": self._regions[row]}
        if self._profile:
            traits = traits | {name: words[row] for name, words in self._profile.items()}
        return Member(row + 1, rating, ping, facts, traits)
