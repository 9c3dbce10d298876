"""A queue that is split, in the lab: shards are queues of one engine, and the server's own rule says who goes where.

What many workers would change is left out: here all shards are planned at the same moments, by one processor.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.shards import RATING, REGION, Split, party_rating, shard_of
from evenmatch.domain.ticket import Member

from .people import People

__all__ = ["NOBODY_TAKES", "Shards"]

NOBODY_TAKES: Final = Refusal(Reasons.NO_SHARD, "no shard takes it")


class Shards:
    """The queues of one run: one, or those that it is split into."""

    def __init__(self, spec: QueueSpec, split: Split | None, people: People) -> None:
        self._spec, self._split, self._people = spec, split, people
        names = (spec.name,) if split is None else split.queues
        self.specs = tuple(msgspec.structs.replace(spec, name=name) for name in names)

    def taking(self, parties: Sequence[tuple[Member, ...]]) -> Iterator[tuple[str, Array]]:
        """Each queue that takes some of these parties ("" = none takes them), and their places, in order."""
        if self._split is None:
            yield self._spec.name, np.arange(len(parties))
            return
        taken = [self._queue(self._split, party) or "" for party in parties]
        for queue in ("", *self._split.queues):
            places = np.flatnonzero([one == queue for one in taken])
            if len(places):
                yield queue, places

    def _queue(self, split: Split, party: tuple[Member, ...]) -> str | None:
        value: str | float | None = None  # nobody in the lab has attributes
        if split.by == RATING:
            value = party_rating([member.rating for member in party], self._spec.party)
        elif split.by == REGION:
            value = self._people.regions[int(self._people.region[party[0].player - 1])]
        return shard_of(split, value, str(party[0].player))
