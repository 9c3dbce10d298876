"""What tickets really waited, lately: a bounded memory for each queue, for forecasts.

1. Every ticket whose wait ended is noted, matched or not, with rating, party size and region; of very many at once a
   part, each standing for several. The oldest make room for new ones.
2. `since_ms` is the moment from which on the memory is whole: tickets that joined before it count only from then on
   (`numerics/wait_curve` says how), so that forgetting bends nothing.
3. It is no part of the state: after a restart it is made again from the state and the read tables, page by page as far
   back as a day, within a bound over all queues. The end of a wait is reckoned as joined + waited there and here.
"""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.state import PROPOSED, WAITING, QueueState, State
from evenmatch.domain.arrays import Array
from evenmatch.domain.ticket import RATING_DEFAULT, Status
from evenmatch.storage.protocol import Journal

KEPT: Final = 8_192
"""Ended waits that are remembered a queue."""
READ: Final = 16_384
"""Tickets of all queues together that are read back at a start, at most."""
PAGE: Final = 2_048
"""Tickets that are read back at once."""
AT_ONCE: Final = 1_024
"""Of more that end at once a part is noted."""
WAITING_MOST: Final = 4_096
"""Of more that wait a part is looked at."""
RECENT_MS: Final = 24 * 3_600_000
"""What ended longer ago is not lately."""
_NUMBERS: Final = ("joined_ms", "waited_ms", "matched", "rating", "size", "region", "weight")
NO_REGION: Final = -1
_GONE: Final = (int(Status.CANCELLED), int(Status.EXPIRED))


class Waits(msgspec.Struct, frozen=True, eq=False):
    """Waits as columns, float64[n] each."""

    joined_ms: Array
    waited_ms: Array
    matched: Array
    """1 = that ended it, 0 = it ended otherwise or has not ended."""
    rating: Array
    """The mean of the party; where the queue has a rating a side, of those."""
    size: Array
    region: Array
    """A code, -1 = none or several."""
    weight: Array
    """So many tickets it stands for."""

    def __len__(self) -> int:
        return len(self.joined_ms)

    def take(self, rows: Array) -> "Waits":
        """These of them."""
        return Waits(*(getattr(self, name)[rows] for name in _NUMBERS))


class Memory:
    """The waits of one queue."""

    def __init__(self) -> None:
        self._kept = np.zeros((len(_NUMBERS), KEPT))
        self._count = 0
        self.since_ms = 0.0
        """Every wait that ended after this moment is remembered."""
        self.joined_least_ms = 0.0
        """Tickets that joined before are not counted: others like them are not known. 0 = all are known."""
        self.regions: dict[str, int] = {}

    def note(self, waits: Waits) -> None:
        """Waits have ended."""
        for at in range(0, len(waits), KEPT):
            self._note([getattr(waits, name)[at : at + KEPT] for name in _NUMBERS])

    def _note(self, columns: list[Array]) -> None:
        places = (self._count + np.arange(len(columns[0]))) % KEPT
        if self._count + len(places) > KEPT:
            dropped = places[places < self._count]
            self.since_ms = max(self.since_ms, float((self._kept[0, dropped] + self._kept[1, dropped]).max()))
        for kept, column in zip(self._kept, columns, strict=True):
            kept[places] = column
        self._count += len(places)

    def ended(self) -> Waits:
        """All that are remembered, in no order."""
        return Waits(*self._kept[:, : min(self._count, KEPT)].copy())

    def lately(self, now_ms: int) -> tuple["Waits", float]:
        """Those of the last day, and the moment from which on they are all; later than a day ago if some are gone."""
        since_ms = max(self.since_ms, float(now_ms - RECENT_MS))
        waits = self.ended()
        known = (waits.joined_ms >= self.joined_least_ms) & (waits.joined_ms + waits.waited_ms > since_ms)
        return waits.take(known), max(since_ms, self.joined_least_ms)

    def region_code(self, region: str | None) -> float:
        """A number for a region; a new one for a new region, of which there are few."""
        if region is None or (region not in self.regions and len(self.regions) >= KEPT):
            return NO_REGION
        return self.regions.setdefault(region, len(self.regions))


def waits_of(queue: QueueState, memory: Memory, slots: Array, now_ms: int, matched: bool, most: int = AT_ONCE) -> Waits:
    """The waits of tickets of the state; of more than `most` a part, spread evenly."""
    stride = -(-len(slots) // most) if len(slots) else 1
    slots = slots[::stride]
    t = queue.tickets
    return Waits(
        joined_ms=t.joined_ms[slots].astype(np.float64),
        waited_ms=queue.waited_ms(slots, now_ms).astype(np.float64),
        matched=np.full(len(slots), float(matched)),
        rating=ratings_of(queue, slots),
        size=t.size[slots].astype(np.float64),
        region=_regions(queue, memory, slots),
        weight=np.full(len(slots), float(stride)),
    )


def still_waiting(queue: QueueState, memory: Memory, now_ms: int) -> Waits:
    """Those who wait or are in a ready check, spread evenly if they are many."""
    status = queue.tickets.status[: queue.tickets.used]
    slots = np.flatnonzero((status == WAITING) | (status == PROPOSED))
    return waits_of(queue, memory, slots, now_ms, False, WAITING_MOST)


def rating_facts(queue: QueueState) -> list[str]:
    """What a player's rating is made of here."""
    sides = [name for name in queue.spec.door.keeps if name.startswith("ratings.") and name in queue.players.names]
    return sides or ["rating"]


def ratings_of(queue: QueueState, slots: Array) -> Array:
    if not len(slots):
        return np.empty(0)
    rows, facts = queue.player_rows(slots), rating_facts(queue)
    each: Array = getattr(queue.players, facts[0])[rows]
    if len(facts) > 1:
        given = np.stack([getattr(queue.players, name)[rows] for name in facts])
        count = (~np.isnan(given)).sum(axis=0)
        each = np.where(count, np.nansum(given, axis=0) / np.maximum(count, 1), np.nan)
    each = np.where(np.isnan(each), RATING_DEFAULT, each)
    size = queue.tickets.size[slots].astype(np.int64)
    if len(rows) == len(slots):
        return each
    first = np.concatenate(([0], np.cumsum(size)[:-1]))
    means: Array = np.add.reduceat(each, first) / size
    return means


def gaps_of(state: State, queue: QueueState, roster: Array, team_of: Array) -> Array:
    """float64[k]: between the strongest and the weakest team of each match, by mean rating; within a lobby of one team,
    between tickets. `roster` and `team_of`, int[k, width], -1 = empty. NaN where it is not known any more."""
    count, teams = len(roster), int(team_of.max(initial=0)) + 1  # the format may be another by now
    filled = roster >= 0
    places = state.tickets_at.find(roster[filled])
    here = places >= 0
    slots, match, team = places[here] & 0xFFFFFFFF, np.nonzero(filled)[0][here], team_of[filled][here]
    rating, size = ratings_of(queue, slots), queue.tickets.size[slots].astype(np.float64)
    if teams == 1:
        highest, lowest = np.full(count, -np.inf), np.full(count, np.inf)
        np.maximum.at(highest, match, rating)
        np.minimum.at(lowest, match, rating)
        return np.where(np.isfinite(highest), highest - lowest, np.nan)
    seat = match * teams + team
    players = np.bincount(seat, size, count * teams)
    sums = np.bincount(seat, rating * size, count * teams)
    means = np.divide(sums, players, out=np.full(count * teams, np.nan), where=players > 0).reshape(count, teams)
    gaps: Array = means.max(axis=1) - means.min(axis=1)
    return gaps


def _regions(queue: QueueState, memory: Memory, slots: Array) -> Array:
    kept = queue.traits.get("region")
    if not kept:
        return np.full(len(slots), float(NO_REGION))
    start, size = queue.tickets.start[slots].tolist(), queue.tickets.size[slots].tolist()
    spans = (range(first, first + count) for first, count in zip(start, size, strict=True))
    parties = ([kept[row][1] if row in kept else None for row in span] for span in spans)
    return np.array([memory.region_code(_shared(party)) for party in parties], np.float64)


def _shared(regions: list[Any]) -> str | None:
    first = regions[0] if regions else None
    return first if isinstance(first, str) and all(region == first for region in regions) else None


def remembered(queues: dict[str, QueueState], journal: Journal, now_ms: int) -> dict[str, Memory]:
    """The memory of every queue, from the state and the read tables."""
    memories = {name: Memory() for name in queues}
    found: dict[str, list[Waits]] = {name: [] for name in queues}
    for name, queue in queues.items():
        status = queue.tickets.status[: queue.tickets.used]
        for slots, matched in (
            (np.flatnonzero(status == Status.MATCHED), True),
            (np.flatnonzero(np.isin(status, _GONE)), False),
        ):
            found[name].append(waits_of(queue, memories[name], slots, now_ms, matched, KEPT // 2))
    facts = {name: rating_facts(queue) for name, queue in queues.items()}
    told: dict[str, list[tuple[float, ...]]] = {name: [] for name in queues}
    for name, record in _read_back(queues, memories, journal, now_ms):
        told[name].append(_of_record(record, memories[name], facts[name]))
    for name, rows in told.items():
        found[name].append(Waits(*np.array(rows, np.float64).reshape(-1, len(_NUMBERS)).T))
    for name, parts in found.items():
        waits = Waits(*(np.concatenate([getattr(part, column) for part in parts]) for column in _NUMBERS))
        memories[name].note(waits.take(np.argsort(waits.joined_ms + waits.waited_ms, kind="stable")))
    return memories


def _read_back(
    queues: dict[str, QueueState], memories: dict[str, Memory], journal: Journal, now_ms: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Queue and record of tickets that have left the state, the newest first: until a day is read, every queue has its
    fill, or `READ` were read. Then no queue is known from before the last that was."""
    counts: Counter[str] = Counter()
    before: int | None = None
    oldest_ms, read = math.inf, 0
    while read < READ:
        records = journal.recent_tickets(min(PAGE, READ - read), before)
        read += len(records)
        for _, record in records:
            oldest_ms = min(oldest_ms, float(record["joined_ms"]))
            name = record["queue"]
            if name in queues:
                counts[name] += 1
                yield name, record
        if len(records) < PAGE and read < READ:
            return
        before = records[-1][0]
        if oldest_ms < now_ms - RECENT_MS or all(counts[name] >= KEPT for name in queues):
            break
    for memory in memories.values():
        memory.joined_least_ms = oldest_ms


def _of_record(record: dict[str, Any], memory: Memory, facts: list[str]) -> tuple[float, ...]:
    """The wait of a ticket that has left the state, a number a column."""
    players = record["players"]
    ratings = [[player[fact] for fact in facts if player.get(fact) is not None] for player in players]
    means = [sum(given) / len(given) if given else RATING_DEFAULT for given in ratings]
    region = memory.region_code(_shared([player.get("region") for player in players]))
    return (
        float(record["joined_ms"]),
        float(record["waited_ms"]),
        float(record["status"] == "matched"),
        sum(means) / max(1, len(means)),
        float(len(players)),
        float(region),
        1.0,
    )
