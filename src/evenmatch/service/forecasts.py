"""How long a ticket will probably wait, and how good such forecasts have been.

What it is. An estimate from tickets like the one asked about: those whose waits ended within the last day, and those
who wait now (`waits`). Half of them were matched within p50, nine in ten within p90 (`numerics/wait_curve`). It says
what would happen if the next hour were like the last, to somebody who does not leave. It looks at no plan, and promises
nothing.

Who is like. Of the same party size, and from the same region, where enough of those were matched; and of these the
nearest in rating. `basis` says which of it could be had. With fewer than `LEAST` matched the answer is unknown. So it
is for a rating that is far from theirs (`_reach`): what happened to others says nothing of somebody unlike them all.

How good. For a ticket a second in each queue the forecast is made at the moment it joins, just as it would be told, and
kept until the ticket is matched. `coverage` is the share of the last `SETTLED_MOST` of them that were matched within
p50 and p90: it should be near 0.5 and 0.9. Those who leave without a match are left out, and are counted.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
import structlog

from evenmatch.core.state import QueueState, State
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.numerics.wait_curve import wait_curve
from evenmatch.storage.protocol import Journal

from .waits import RECENT_MS, Memory, Waits, remembered, still_waiting, waits_of

log = structlog.get_logger("evenmatch.forecasts")

LEAST: Final = 10
"""Matched tickets without which there is no forecast."""
ENOUGH: Final = 50
"""Matched tickets of the same party size or region that are enough to leave out all others."""
NEAREST: Final = 200
"""Matched tickets that are enough to leave out all that are further away in rating."""
FLOOR: Final = 0.05
"""Ratings that differ by this share of themselves are near each other, however close together all others are."""
TOLD_EVERY_MS: Final = 1_000
TOLD_MOST: Final = 10_000
SETTLED_MOST: Final = 2_000
SHARES: Final = (("p50", 0.5), ("p90", 0.9))


class Asked(msgspec.Struct, frozen=True):
    """Whom a forecast is for; None = anybody."""

    rating: float | None = None
    party: int | None = None
    region: str | None = None


class BasisView(msgspec.Struct, frozen=True):
    """What a forecast rests on."""

    matched: int = 0
    """Tickets that were matched."""
    unmatched: int = 0
    """Tickets that left, or wait still: all that is known is that their wait was longer."""
    same_party: bool = False
    """All are of the party size that was asked for; false where none was, or too few such were matched."""
    same_region: bool = False
    rating_within: float | None = None
    """All are within so many points of the rating that was asked for; null where none was."""
    since_ms: int = 0
    """What ended before this moment is not counted."""


class CoverageView(msgspec.Struct, frozen=True):
    """How forecasts of this queue have done since the server started."""

    p50: float | None = None
    """Of the tickets that were matched, the share that waited no longer than the p50 of the moment they joined."""
    p90: float | None = None
    settled: int = 0
    """Forecasts that these shares are of; the last 2,000 at most."""
    left: int = 0
    """Forecasts whose tickets left without a match; they are not in the shares."""


class ForecastView(msgspec.Struct, frozen=True):
    """How long a ticket will probably wait: half of those like it were matched within p50, nine in ten within p90."""

    queue: str
    p50_s: float | None
    """null = unknown"""
    p90_s: float | None
    basis: BasisView
    coverage: CoverageView
    unknown: str | None = None
    """Why something is not known."""


class Gathered(msgspec.Struct, frozen=True, eq=False):
    """All that a forecast is made from, copied."""

    waits: Waits
    entry_ms: Array
    since_ms: float
    regions: dict[str, int]


class Record:
    """How the forecasts of one queue have done."""

    def __init__(self) -> None:
        self.told: dict[int, tuple[float | None, ...]] = {}
        """Ticket -> p50 and p90 in ms, as they were when it joined."""
        self.next_ms = 0
        self.hits: tuple[deque[bool], ...] = tuple(deque(maxlen=SETTLED_MOST) for _ in SHARES)
        self.left = 0

    def settle(self, ticket: int, waited_ms: float | None) -> None:
        """A ticket was matched after so long, or left (None)."""
        told = self.told.pop(ticket, None)
        if told is None:
            return
        if waited_ms is None:
            self.left += 1
            return
        for limit_ms, hits in zip(told, self.hits, strict=True):
            if limit_ms is not None:
                hits.append(waited_ms <= limit_ms)

    def tell(self, ticket: int, told: tuple[float | None, ...]) -> None:
        """Keep a forecast until its ticket is matched."""
        if len(self.told) >= TOLD_MOST:
            del self.told[next(iter(self.told))]
        self.told[ticket] = told

    def shares(self) -> list[float | None]:
        """How many of each were right; None = none is settled."""
        return [sum(seen) / len(seen) if seen else None for seen in map(list, self.hits)]

    def view(self) -> CoverageView:
        """For people."""
        half, most = self.shares()
        return CoverageView(half, most, len(self.hits[0]), self.left)


class Forecasts:
    """Forecasts of all queues. The engine thread writes and gathers; any thread may then estimate."""

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}
        self.records: dict[str, Record] = {}

    def rebuild(self, state: State, journal: Journal) -> None:
        """Remember from what is durable; how forecasts have done is kept, for it is known to this process only."""
        self._memories = remembered(state.queues, journal, state.now_ms)

    def committed(self, state: State, events: Iterable[ev.Event], now_ms: int) -> None:
        """Take note of what has happened. Never raises: what is durable must not seem to have failed."""
        try:
            self._note(state, events, now_ms)
        except Exception:
            log.exception("a forecast's memory failed; nothing else did")

    def _note(self, state: State, events: Iterable[ev.Event], now_ms: int) -> None:
        ended: dict[tuple[str, bool], list[Array]] = {}
        for event in events:
            match event:
                case ev.WaveFinished(deadline_ms=0, confirm_ms=0):
                    ended.setdefault((event.queue, True), []).append(event.roster[event.roster >= 0])
                case bev.MatchFilled():
                    ended.setdefault((event.queue, True), []).append(np.array([event.ticket]))
                case ev.MatchMade() | many.MatchesMade():
                    ended.setdefault((event.queue, True), []).append(event.ticket)
                case ev.TicketsGone():
                    ended.setdefault((event.queue, False), []).append(event.ticket)
                case ev.ProposalsFailed():
                    ended.setdefault((event.queue, False), []).append(event.blamed)
                case ev.TicketsJoined():
                    self._joined(state.queues[event.queue], event, now_ms)
        for (queue, matched), tickets in ended.items():
            self._ended(state, queue, np.concatenate(tickets), now_ms, matched)

    def memory(self, queue: str) -> Memory:
        """What is known of a queue."""
        return self._memories.setdefault(queue, Memory())

    def record(self, queue: str) -> Record:
        """How a queue's forecasts have done."""
        return self.records.setdefault(queue, Record())

    def _ended(self, state: State, name: str, tickets: Array, now_ms: int, matched: bool) -> None:
        queue, memory, record = state.queues[name], self.memory(name), self.record(name)
        if not len(tickets):
            return
        places = state.tickets_at.find(tickets)
        here = places >= 0  # one that was forgotten in the same commit is not missed
        tickets, slots = tickets[here], places[here] & 0xFFFFFFFF
        memory.note(waits_of(queue, memory, slots, now_ms, matched))
        if record.told:
            for ticket, slot in zip(tickets.tolist(), slots.tolist(), strict=True):
                if ticket in record.told:
                    waited_ms = float(queue.waited_ms(np.array([slot]), now_ms)[0])
                    record.settle(ticket, waited_ms if matched else None)

    def _joined(self, queue: QueueState, event: ev.TicketsJoined, now_ms: int) -> None:
        """Make the forecast of one of those who joined."""
        record = self.record(event.queue)
        if now_ms < record.next_ms or not len(event.size):
            return
        record.next_ms = now_ms + TOLD_EVERY_MS
        ticket = event.first_ticket + now_ms % len(event.size)
        slot = np.flatnonzero(queue.tickets.ticket[: queue.tickets.used] == ticket)
        if not len(slot):
            return
        memory = self.memory(event.queue)
        one = waits_of(queue, memory, slot[:1], now_ms, False)
        codes = {code: region for region, code in memory.regions.items()}
        asked = Asked(float(one.rating[0]), int(one.size[0]), codes.get(int(one.region[0])))
        told, _, _ = estimate(self.gather(queue, now_ms), asked)
        if told[0] is not None:
            record.tell(ticket, told)

    def gather(self, queue: QueueState, now_ms: int) -> Gathered:
        """What is known of a queue now; in the engine thread."""
        memory = self.memory(queue.spec.name)
        ended, waiting = memory.ended(), still_waiting(queue, memory, now_ms)
        columns = (np.concatenate(pair) for pair in zip(_columns(ended), _columns(waiting), strict=True))
        waits = Waits(*columns)
        since_ms = max(memory.since_ms, float(now_ms - RECENT_MS))
        waits = waits.take((waits.joined_ms >= memory.joined_least_ms) & (waits.joined_ms + waits.waited_ms > since_ms))
        entry_ms = since_ms - waits.joined_ms
        return Gathered(waits, np.where(entry_ms > 0, entry_ms, -1.0), since_ms, dict(memory.regions))


def _columns(waits: Waits) -> list[Array]:
    return [getattr(waits, name) for name in Waits.__struct_fields__]


def estimate(known: Gathered, asked: Asked) -> tuple[tuple[float | None, ...], BasisView, str | None]:
    """p50 and p90 in ms, None = unknown; what they rest on; and why something is unknown."""
    waits = known.waits
    chosen = np.ones(len(waits), bool)
    matched = waits.matched > 0
    same_party = same_region = False
    if asked.party is not None:
        chosen, same_party = _narrowed(chosen, matched, waits.size == asked.party)
    if asked.region is not None:
        code = known.regions.get(asked.region, -2)
        chosen, same_region = _narrowed(chosen, matched, waits.region == code)
    within: float | None = None
    near, reach = LEAST, 0.0
    if asked.rating is not None and (chosen & matched).any():
        gap = np.abs(waits.rating - asked.rating)
        closest = np.sort(gap[chosen & matched])
        within = float(closest[min(NEAREST, len(closest)) - 1])
        reach = _reach(waits.rating[chosen & matched], asked.rating)
        near = int(np.count_nonzero(closest <= reach))
        chosen &= gap <= within
    count = int(np.count_nonzero(chosen & matched))
    basis = BasisView(
        matched=count,
        unmatched=int(np.count_nonzero(chosen & ~matched)),
        same_party=same_party,
        same_region=same_region,
        rating_within=within,
        since_ms=max(0, round(known.since_ms)),
    )
    if count < LEAST:
        return (None, None), basis, f"{count} like it were matched within the last day, and {LEAST} are needed"
    if near < LEAST:
        why = f"{near} like it that were matched within the last day are within {reach:.4g} points of its rating"
        return (None, None), basis, f"{why}, and {LEAST} are needed"
    curve = wait_curve(known.entry_ms[chosen], waits.waited_ms[chosen], matched[chosen], waits.weight[chosen])
    told = tuple(curve.quantile(share) for _, share in SHARES)
    missing = [name for (name, _), value in zip(SHARES, told, strict=True) if value is None]
    if not missing:
        return told, basis, None
    return told, basis, f"too many left or wait still for {' and '.join(missing)} to be seen"


def _narrowed(chosen: Array, matched: Array, alike: Array) -> tuple[Array, bool]:
    """Those who are alike, if enough of them were matched."""
    narrow = chosen & alike
    if np.count_nonzero(narrow & matched) >= ENOUGH:
        return narrow, True
    return chosen, False


def _reach(ratings: Array, asked: float) -> float:
    """How far from `asked` others may be and still be like it: float64[n] ratings of the matched, n > 0.

    A standard deviation of theirs; less where the one next to it has its 50 nearest closer by, so that two crowds far
    apart do not answer for the empty land between them.
    """
    next_to_it = ratings[np.argmin(np.abs(ratings - asked))]
    crowd = np.sort(np.abs(ratings - next_to_it))[min(ENOUGH, len(ratings)) - 1]
    return float(max(min(ratings.std(), crowd), FLOOR * abs(next_to_it)))


def view_of(queue: str, known: Gathered, asked: Asked, coverage: CoverageView) -> ForecastView:
    """A forecast for people; takes a few passes over what is known."""
    told, basis, unknown = estimate(known, asked)
    half, most = (None if value is None else round(value / 1000, 3) for value in told)
    return ForecastView(queue, half, most, basis, coverage, unknown)
