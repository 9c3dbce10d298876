"""A page of those who wait, longest first, for lists that go on beyond the picture's ten.

question ─> engine thread: a copy of the queue ─> a thread: the longest waiting, from one place on ─> the answer
"""

import asyncio
from typing import Final

import msgspec

from evenmatch.core.waves import seed_of
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.snapshot import Snapshot

from .handlers import Answer, problem, turned_away
from .mailbox import Unavailable
from .picture_columns import seen
from .runner import Runner
from .views import Views
from .waiting import Waiting, longest_waiting
from .wire import WireReasons, problem_of

LIMIT_MOST: Final = 100
_encode = msgspec.json.Encoder().encode


class WaitingView(msgspec.Struct, frozen=True):
    """Those who wait, longest first, from one place on."""

    queue: str
    as_of_ms: int
    waiting: int
    """How many wait in all."""
    skipped: int
    tickets: list[Waiting]


class WaitingAnswer(msgspec.Struct, frozen=True):
    """Those who wait."""

    waiting: WaitingView


async def waiting(runner: Runner, queue: str, skip: int, limit: int) -> Answer:
    """GET /v1/queues/{queue}/waiting"""
    if not 1 <= limit <= LIMIT_MOST or skip < 0:
        said = f"skip is {skip} and limit {limit}: use a skip of 0 or more, and a limit of 1 to {LIMIT_MOST}"
        return problem(WireReasons.MALFORMED.problem(said))
    busy = turned_away(runner)
    if busy is not None:
        return busy

    def look(views: Views, now_ms: int) -> tuple[QueueSpec, Snapshot, int, int] | Refusal:
        found = views.queue(queue, now_ms)
        if isinstance(found, Refusal):
            return found
        here = views.engine.state.queues[queue]
        return here.spec, runner.copies.of(views.engine, here, now_ms).snapshot, now_ms, seed_of(queue, found.wave + 1)

    found: tuple[QueueSpec, Snapshot, int, int] | Refusal | Unavailable = await runner.ask(look)
    if isinstance(found, Refusal | Unavailable):
        return problem(problem_of(found))
    return await asyncio.to_thread(_answer, *found, skip, limit)


def _answer(spec: QueueSpec, snapshot: Snapshot, now_ms: int, seed: int, skip: int, limit: int) -> Answer:
    tickets = longest_waiting(seen(spec, snapshot, now_ms, seed), skip, limit)
    return Answer(200, _encode(WaitingAnswer(WaitingView(spec.name, snapshot.now_ms, len(snapshot), skip, tickets))))
