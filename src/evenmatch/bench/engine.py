"""Joins a second through the engine in memory, and what a waiting ticket costs in bytes.

The baseline keeps one Python object a ticket in dictionaries and makes the same checks at the door; it has no journal,
no hash and no columns a matcher could use.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.domain.ticket import Member, TicketRequest

_SPEC = QueueSpec("bench", format=Format(2, 1))


class _PlainTicket:
    def __init__(self, number: int, request: TicketRequest, now_ms: int) -> None:
        self.number, self.request, self.joined_ms, self.seen_ms = number, request, now_ms, now_ms
        self.status, self.misses, self.waited_ms = "waiting", 0, 0


class _PlainQueue:
    """The baseline."""

    def __init__(self) -> None:
        self.tickets: dict[int, _PlainTicket] = {}
        self.by_player: dict[int, int] = {}

    def join(self, request: TicketRequest, now_ms: int) -> int | None:
        for member in request.members:
            if member.player in self.by_player or not -1e6 <= member.rating <= 1e6:
                return None
        number = len(self.tickets) + 1
        self.tickets[number] = _PlainTicket(number, request, now_ms)
        for member in request.members:
            self.by_player[member.player] = number
        return number


def _requests(count: int) -> list[TicketRequest]:
    return [TicketRequest((Member(n + 1, 1500.0 + n % 500, 30.0),)) for n in range(count)]


def _fill(engine: Engine, requests: list[TicketRequest], batch: int) -> None:
    if batch == 1:
        for request in requests:
            engine.step(cmd.Join("bench", request), 1)
        return
    for start in range(0, len(requests), batch):
        engine.step(cmd.JoinMany("bench", tuple(requests[start : start + batch])), 1)


def _engine() -> Engine:
    engine = Engine()
    engine.step(cmd.OpenQueue(_SPEC), 0)
    return engine


def _per_s(count: int, work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return round(count / (time.perf_counter() - started), 1)


def _bytes_each(count: int, make: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    kept = make()
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return round(used / count, 1)


def _filled(count: int) -> Engine:
    engine = _engine()
    for start in range(0, count, 1_000):  # made on the way, so that the requests themselves are not counted
        many = tuple(TicketRequest((Member(n + 1, 1500.0 + n % 500, 30.0),)) for n in range(start, start + 1_000))
        engine.step(cmd.JoinMany("bench", many), 1)
    return engine


def _filled_plain(count: int) -> _PlainQueue:
    queue = _PlainQueue()
    for n in range(count):
        queue.join(TicketRequest((Member(n + 1, 1500.0 + n % 500, 30.0),)), 1)
    return queue


def measure(tickets: int = 100_000) -> dict[str, Any]:
    """Run the comparison."""
    tickets = max(1_000, tickets // 1_000 * 1_000)
    requests = _requests(tickets)
    some = requests[: max(1, tickets // 5)]
    plain = _PlainQueue()
    plain_per_s = _per_s(tickets, lambda: [plain.join(request, 1) for request in requests])
    by_batch = {
        str(batch): _per_s(len(part), lambda batch=batch, part=part: _fill(_engine(), part, batch))  # type: ignore[misc]
        for batch, part in ((1, some), (10, requests), (100, requests), (1_000, requests))
    }
    return {
        "tickets": tickets,
        "joins_per_s": by_batch["100"],
        "joins_per_s_by_batch": by_batch,
        "bytes_per_ticket": _bytes_each(tickets, lambda: _filled(tickets)),
        "baseline": {
            "what": "one Python object a ticket, no journal, hash or columns",
            "joins_per_s": plain_per_s,
            "bytes_per_ticket": _bytes_each(tickets, lambda: _filled_plain(tickets)),
        },
    }
