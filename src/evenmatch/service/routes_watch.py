"""The routes that a dashboard needs beside all others: one live stream, who waits, a queue's last hours, past waves,
stories, a player's last tickets."""

import asyncio
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import Parameter, QueryParameter
from litestar.types import ASGIApp

from evenmatch.core.waves import Unrecorded
from evenmatch.domain.ids import PROPOSAL_PREFIX, TICKET_PREFIX, number_of
from evenmatch.domain.refusals import Reasons, Refusal

from . import wire
from .documented import PlayerId, QueueName, TicketId, granted, problems, response
from .fates import fates, with_fates
from .handlers import Answer, problem, turned_away, unknown
from .hot import respond
from .mailbox import Unavailable
from .past_states import PastStates
from .past_waves import PastWave, WaveRow, rebuilt, unrecorded
from .queue_history import QueueHistoryAnswer, history
from .recent_tickets import RecentAnswer, Searches
from .runner import Runner
from .served import ServedLanes
from .storytelling import StoryView, told
from .waiting_pages import WaitingAnswer, waiting
from .watch_examples import FRAME, HISTORY, RECENT, STORY, WAITING, WAVE, WAVES
from .watching import Watch
from .wire import WireReasons

LIMIT_MOST: Final = 200
_REBUILT_AT_ONCE: Final = 8
"""Waves that may be waited for; one is rebuilt at a time."""
_encode = msgspec.json.Encoder().encode


class WavesAnswer(msgspec.Struct, frozen=True):
    """Waves that were recorded, newest first."""

    waves: list[WaveRow]


class WaveAnswer(msgspec.Struct, frozen=True):
    """One past wave."""

    wave: PastWave


class StoryAnswer(msgspec.Struct, frozen=True):
    """What happened to a ticket."""

    story: StoryView


_Watched = Annotated[
    str | None, QueryParameter(name="queue", required=False, description="A queue whose waiting tickets are pictured")
]
_Minutes = Annotated[int, QueryParameter(name="minutes", required=False, description="How far back: 1 to 240")]
_Before = Annotated[
    int | None, QueryParameter(name="before", required=False, description="Waves with lower numbers only")
]
_After = Annotated[
    int | None, QueryParameter(name="after", required=False, description="The waves that follow this one only")
]
_Limit = Annotated[int, QueryParameter(name="limit", required=False, description="How many at most: 1 to 200")]
_Skip = Annotated[int, QueryParameter(name="skip", required=False, description="How many to leave out first")]
_Page = Annotated[int, QueryParameter(name="limit", required=False, description="How many at most: 1 to 100")]
_Number = Annotated[int, Parameter(description="The wave's number", examples=[Example(value=7)])]


class Rebuilding:
    """Answers about past waves, away from the engine and one at a time."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._one = asyncio.Semaphore(1)
        self._asked = 0
        self._last: dict[tuple[str, int], PastWave] = {}
        self._states = PastStates()

    async def unknown_queue(self, queue: str) -> Answer | None:
        """The answer where there is no such queue, or no room for the question; None = there is both."""
        busy = turned_away(self.runner)
        if busy is not None:
            return busy
        found = await self.runner.ask(lambda views, now_ms: views.queue(queue, now_ms))
        return problem(wire.problem_of(found)) if isinstance(found, Refusal | Unavailable) else None

    async def waves(self, queue: str, before: int | None, after: int | None, limit: int) -> Answer:
        """GET /v1/queues/{queue}/waves"""
        if not 1 <= limit <= LIMIT_MOST:
            return problem(WireReasons.MALFORMED.problem(f"limit is {limit}: use 1 to {LIMIT_MOST}"))
        if before is not None and after is not None:
            return problem(WireReasons.MALFORMED.problem("before and after exclude each other: use one of them"))
        refused = await self.unknown_queue(queue)
        if refused is not None:
            return refused
        past, journal = self.runner.past_waves, self.runner.journal
        async with self._one:
            if after is not None:
                rows = await asyncio.to_thread(past.next_after, queue, after, limit, journal)
            else:
                rows = await asyncio.to_thread(past.listed, queue, before, limit, journal)
        return Answer(200, _encode(WavesAnswer(rows)))

    async def wave(self, queue: str, number: int) -> Answer:
        """GET /v1/queues/{queue}/waves/{wave}"""
        refused = await self.unknown_queue(queue)
        if refused is not None:
            return refused
        if self._asked >= _REBUILT_AT_ONCE:
            self.runner.metrics.refused_busy += 1
            return problem(wire.BUSY)
        self._asked += 1
        try:
            kept = await self.runner.ask(lambda views, _: list(views.engine.timetable(queue).unrecorded))
            if isinstance(kept, Unavailable):
                return problem(wire.problem_of(kept))
            async with self._one:
                told: PastWave | str | None = self._last.get((queue, number))
                if told is None:
                    told = await asyncio.to_thread(self._rebuilt, queue, number, kept)
            if isinstance(told, str):
                return problem(WireReasons.UNKNOWN_WAVE.problem(told))
            became = await fates(self.runner, [int(one.id.removeprefix(PROPOSAL_PREFIX)) for one in told.proposals])
        finally:
            self._asked -= 1
        if isinstance(became, Unavailable):
            return problem(wire.problem_of(became))
        return Answer(200, _encode(WaveAnswer(with_fates(told, became))))

    def _rebuilt(self, queue: str, number: int, kept: list[Unrecorded]) -> PastWave | str:
        """A wave, less what became of its proposals, which changes; text = why there is none."""
        journal = self.runner.journal
        row = self.runner.past_waves.find(queue, number, journal)
        if row is None:
            quiet = next((wave for wave in kept if wave.wave == number), None)
            if quiet is not None:
                return unrecorded(queue, quiet)
            return self._nowhere(queue, number, kept)
        found = rebuilt(journal, queue, row, self._states)
        while len(self._last) >= _REBUILT_AT_ONCE:
            del self._last[next(iter(self._last))]
        self._last[queue, number] = found
        return found

    def _nowhere(self, queue: str, number: int, kept: list[Unrecorded]) -> str:
        """Why a wave cannot be shown, and which can."""
        past, journal = self.runner.past_waves, self.runner.journal
        near = [*past.listed(queue, number, 1, journal), *past.next_after(queue, number, 1, journal)]
        shown = sorted({row.number for row in near} | {wave.wave for wave in kept[-1:]})
        others = f"waves that can be shown: {', '.join(map(str, shown))}" if shown else "none was run yet"
        return (
            f"no wave {number} of {queue} is kept: a wave that matched nobody is not recorded, and only the last few "
            f"of them are remembered; {others}; see /v1/queues/{queue}/waves"
        )


async def story(runner: Runner, ticket: str) -> Answer:
    """GET /v1/tickets/{id}/story"""
    number = number_of(TICKET_PREFIX, ticket)
    if number is None:
        return unknown(Reasons.UNKNOWN_TICKET, "ticket", ticket)
    busy = turned_away(runner)
    if busy is not None:
        return busy
    found: StoryView | Refusal | Unavailable = await runner.ask(
        lambda views, now_ms: told(views, runner.past_waves, number, ticket, now_ms)
    )
    if isinstance(found, Refusal | Unavailable):
        return problem(wire.problem_of(found))
    return Answer(200, _encode(StoryAnswer(found)))


def watch_routes(runner: Runner, served: ServedLanes, version: str) -> list[HTTPRouteHandler]:
    """The routes over a runner; the stream is of all that is `served`."""
    watching, rebuilding, searches = Watch(served, version), Rebuilding(runner), Searches(runner)

    @get(
        "/v1/watch",
        tags=["operations"],
        summary="Watch all queues by server-sent events",
        responses={
            200: ResponseSpec(
                str,
                description="A frame a second",
                media_type="text/event-stream",
                generate_examples=False,
                examples=[Example(summary="example", value=FRAME)],
            )
        }
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_QUEUE),
    )
    async def watch(
        request: Request[Any, Any, Any],  # noqa: ARG001
        queue: _Watched = None,
    ) -> ASGIApp:
        """Every queue's card and the server's health, every second; with `queue` also those who wait in it, as at most
        400 points or bins, and the proposals made since. Where no header can be sent, a key goes into `?token=`."""

        async def serve(scope: Any, receive: Any, send: Any) -> None:
            refused = await watching.refusal(queue)
            if refused is not None:
                await respond(send, refused)
                return
            await watching.serve(queue, scope, receive, send)

        return serve

    @get(
        "/v1/queues/{queue:str}/history",
        tags=["queues"],
        summary="A queue's last hours",
        responses=granted(200, QueueHistoryAnswer, "Depth, waits, qualities and departures by time", HISTORY)
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
    )
    async def get_queue_history(queue: QueueName, minutes: _Minutes = 30) -> Response[Any]:
        """In steps of 10 s or a multiple, about 120, since the server started or for four hours. Waits by rating and
        party size are of those who were matched within the last day."""
        return response(await history(runner, queue, minutes))

    @get(
        "/v1/queues/{queue:str}/waiting",
        tags=["queues"],
        summary="Who waits, longest first",
        responses=granted(200, WaitingAnswer, "A page of those who wait", WAITING)
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
    )
    async def get_waiting(queue: QueueName, skip: _Skip = 0, limit: _Page = 10) -> Response[Any]:
        """Tickets with rating, wait and, where the matcher has them, window, tier, side or part. Of a large queue the
        list may be some seconds old: `as_of_ms`. Reading it is no heartbeat."""
        return response(await waiting(runner, queue, skip, limit))

    @get(
        "/v1/queues/{queue:str}/waves",
        tags=["queues"],
        summary="Past waves",
        responses=granted(200, WavesAnswer, "Waves that were recorded, newest first", WAVES)
        | problems(WireReasons.MALFORMED, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
    )
    async def get_waves(
        queue: QueueName, before: _Before = None, after: _After = None, limit: _Limit = 50
    ) -> Response[Any]:
        """Waves that changed something: the last 2,000 a queue. A wave that matched nobody is mostly not recorded, so
        numbers have holes. With `after`, those that follow a wave at once."""
        return response(await rebuilding.waves(queue, before, after, limit))

    @get(
        "/v1/queues/{queue:str}/waves/{wave:int}",
        tags=["queues"],
        summary="A past wave, as its matcher saw it",
        responses=granted(200, WaveAnswer, "Snapshot, trace, proposals, and why others were left", WAVE)
        | problems(WireReasons.MALFORMED, WireReasons.UNKNOWN_WAVE, Reasons.UNKNOWN_QUEUE, WireReasons.SPLIT),
    )
    async def get_wave(queue: QueueName, wave: _Number) -> Response[Any]:
        """The snapshot is rebuilt from the journal, proven by the digest that was recorded, and planned again with the
        same seed and a trace. `missing` says what could not be had, and why. Of waves that matched nobody the
        last few can be asked for too, until the server stops (`recorded` is false)."""
        return response(await rebuilding.wave(queue, wave))

    @get(
        "/v1/tickets/{ticket:str}/story",
        tags=["tickets"],
        summary="A ticket's story in plain words",
        responses=granted(200, StoryAnswer, "What happened to it, oldest first", STORY)
        | problems(Reasons.UNKNOWN_TICKET),
    )
    async def get_story(ticket: TicketId) -> Response[Any]:
        """A sentence for each event of the ticket. Reading it is no heartbeat."""
        return response(await story(runner, ticket))

    @get(
        "/v1/players/{player:str}/tickets",
        tags=["players"],
        summary="A player's last tickets",
        responses=granted(200, RecentAnswer, "Tickets with their matches, newest first", RECENT)
        | problems(Reasons.UNKNOWN_PLAYER),
    )
    async def get_recent(player: PlayerId) -> Response[Any]:
        """Live ones, and finished ones among the last 6,000 tickets of all players that have left the state; `since_ms`
        says how far back that was. 50 at most."""
        return response(await searches.answer(player))

    return [watch, get_queue_history, get_waiting, get_waves, get_wave, get_story, get_recent]
