"""The client for asyncio."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, TypeVar

from evenmatch.errors import Refused

from . import calls
from .asking import Attempt, base_of, headers_of
from .following import SILENCE_S, Course, Reader, Way, broken_lines
from .values import Event, Match, Ticket

T = TypeVar("T")
_AT_ONCE: Final = 20
"""Requests at a time; others wait here, for httpx spends time with the square of those that wait in its own pool."""


class Client:
    """A server, as a program with an event loop sees it. Use it by `async with`, or call `close`."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8750",
        key: str | None = None,
        *,
        patience_s: float = 30.0,
        wait_s: float = 10.0,
    ) -> None:
        """`key`: an API key or a player's token. `patience_s`: how long to try again where no answer comes; `wait_s`:
        how long one try may take."""
        import httpx

        self.url = base_of(url)
        self.patience_s = patience_s
        self._headers = headers_of(key)
        self._wait_s = wait_s
        self._http = self._connections()
        self._worn: list[httpx.AsyncClient] = []
        """Connections that are of no use any more; requests may still be under way over them."""
        self._room = asyncio.Semaphore(_AT_ONCE)
        # Streams have connections of their own: with those of requests, a hundred of them would leave none to ask over.
        self._streams = self._lines()

    def _lines(self) -> Any:
        import httpx

        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        return httpx.AsyncClient(headers=self._headers, limits=limits)

    def _connections(self) -> Any:
        import httpx

        return httpx.AsyncClient(
            base_url=self.url,
            headers=self._headers,
            timeout=httpx.Timeout(self._wait_s, pool=None),
            limits=httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE),
        )

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        for connections in (self._http, *self._worn):
            await connections.aclose()
        await self._streams.aclose()

    async def _ask(self, call: calls.Call[T]) -> T:
        """The answer to a call, however often it has to be sent."""
        import httpx

        attempt = Attempt(call, self.patience_s, time.monotonic())
        headers = {"Idempotency-Key": call.key} if call.key else None
        while True:
            try:
                async with self._room:
                    answer = await self._http.request(call.method, call.path, json=call.body, headers=headers)
            except httpx.TransportError as error:
                wait_s = attempt.unanswered(self.url, error, time.monotonic())
            except AttributeError as error:
                # On uvloop a connection that the server dropped early has no socket any more; anyio asks it all the
                # same who is at the other end, whenever the pool looks at it: the pool is of no use from then on.
                self._worn.append(self._http)
                self._http = self._connections()
                wait_s = attempt.unanswered(self.url, error, time.monotonic())
            else:
                retry_after = answer.headers.get("retry-after")
                done, found = attempt.read(answer.status_code, answer.content, retry_after, time.monotonic())
                if done:
                    value: T = found
                    return value
                wait_s = found
            await asyncio.sleep(wait_s)

    async def join(
        self,
        queue: str,
        *players: calls.Player,
        attributes: Mapping[str, Any] | None = None,
        avoid: Iterable[str] = (),
        backfill: bool | None = None,
        key: str | None = None,
        **facts: Any,
    ) -> Ticket:
        """Join a queue with one player or a party. A player is an id or a dictionary; `facts` (rating=1520, ping_ms=30)
        are of the only player. `backfill`: may it be asked to join a match that runs? `key`: an
        idempotency key of your own, to be sure over restarts of your program."""
        return await self._ask(calls.join(queue, calls.ticket_body(players, attributes, avoid, facts, backfill), key))

    async def batch(
        self, queue: str, tickets: Iterable[Mapping[str, Any]], key: str | None = None
    ) -> list[Ticket | Refused]:
        """Join with many tickets, each a body such as {"players": [{"id": "ann"}]}; what became of each, in order."""
        return await self._ask(calls.batch(queue, tickets, key))

    async def ticket(self, ticket: str) -> Ticket:
        """A ticket as it stands."""
        return await self._ask(calls.ticket(ticket))

    async def update(
        self, ticket: str, *players: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
    ) -> Ticket:
        """Change what a waiting ticket brings; its time goes on."""
        return await self._ask(calls.update(ticket, players, attributes))

    async def leave(self, ticket: str, player: str | None = None) -> None:
        """Leave the queue; while proposed this is a decline, by `player` if it is known by whom."""
        await self._ask(calls.leave(ticket, player))

    async def heartbeat(self, ticket: str) -> None:
        """Say that the ticket's client is there. Whoever watches it need not."""
        await self._ask(calls.heartbeat(ticket))

    async def why(self, ticket: str) -> dict[str, Any]:
        """Why a ticket waits, rule by rule."""
        return await self._ask(calls.why(ticket))

    async def accept(self, proposal: str, player: str) -> None:
        """Accept a proposal for a player."""
        await self._ask(calls.accept(proposal, player))

    async def decline(self, proposal: str, player: str) -> None:
        """Decline a proposal for a player: the match is off."""
        await self._ask(calls.decline(proposal, player))

    async def match(self, match: str) -> Match:
        """A match."""
        return await self._ask(calls.match(match))

    async def started(self, match: str) -> None:
        """For game servers: the match has started."""
        await self._ask(calls.started(match))

    async def failed(self, match: str, why: str = "") -> None:
        """For game servers: the match could not start; everybody waits again."""
        await self._ask(calls.failed(match, why))

    async def end(self, match: str) -> None:
        """A running match is over; its players are free."""
        await self._ask(calls.end(match))

    async def backfill(self, match: str, *places: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """For game servers: ask for players for places of a running match, such as {"team": 0, "instead_of": "ben"}.
        Whoever stayed hears of them by `watch`, with `after` the sequence of the ticket's last event."""
        return await self._ask(calls.backfill(match, places, key))

    async def backfill_of(self, match: str) -> dict[str, Any]:
        """What a match asks for: open, invited and filled places, who left and who came late."""
        return await self._ask(calls.backfill_of(match))

    async def withdraw_backfill(self, match: str) -> None:
        """For game servers: the match asks for nobody any more."""
        await self._ask(calls.withdraw_backfill(match))

    async def report(
        self,
        match: str,
        *,
        ranks: Sequence[int] | None = None,
        scores: Sequence[float] | None = None,
        leavers: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Report how a match ended, team by team: ranks (1 is best) or scores. It counts once."""
        return await self._ask(calls.result(match, ranks, scores, leavers))

    async def result(self, match: str) -> dict[str, Any]:
        """The result of a match."""
        return await self._ask(calls.result_of(match))

    async def player(self, player: str) -> dict[str, Any]:
        """A player's live tickets, cool-downs and blocks."""
        return await self._ask(calls.player(player))

    async def block(self, player: str, *others: str) -> dict[str, Any]:
        """Say whom a player never wants to meet; replaces what was said before."""
        return await self._ask(calls.blocks(player, others))

    async def ratings(self, player: str) -> list[dict[str, Any]]:
        """A player's rating on every ladder."""
        return await self._ask(calls.ratings(player))

    async def history(self, player: str, ladder: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """What each result did to a player's rating."""
        return await self._ask(calls.history(player, ladder, limit))

    async def leaderboard(
        self, queue: str, limit: int | None = None, offset: int | None = None, side: str | None = None
    ) -> list[dict[str, Any]]:
        """The best of a queue."""
        return await self._ask(calls.leaderboard(queue, limit, offset, side))

    async def forecast(
        self, queue: str, *, rating: float | None = None, party: int | None = None, region: str | None = None
    ) -> dict[str, Any]:
        """How long a ticket like this will probably wait; `p50_s` and `p90_s` are None where that is unknown."""
        return await self._ask(calls.forecast(queue, rating, party, region))

    async def queues(self) -> list[dict[str, Any]]:
        """All queues."""
        return await self._ask(calls.queues())

    async def queue(self, queue: str) -> dict[str, Any]:
        """One queue: how many wait, the last wave, the rules."""
        return await self._ask(calls.queue(queue))

    async def watch(self, ticket: str, after: int = 0, way: Way | None = None) -> AsyncGenerator[Event, None]:
        """A ticket's events, from the first (or the first `after` a sequence) to the last.

        A lost connection is made anew and nothing is told twice. `way`: only a WebSocket, or only server-sent events;
        left out, the former, and the latter where none can be opened. While this runs, the ticket needs no heartbeat.
        """
        course = Course(self.url, ticket, after, way, self.patience_s, time.monotonic())
        while not course.over:
            try:
                opened = self._socket(course) if course.way == "websocket" else self._stream(course)
                async with contextlib.aclosing(opened):
                    async for event in opened:
                        yield event
            except broken_lines() as error:
                await asyncio.sleep(course.broken(error, time.monotonic()))

    async def _socket(self, course: Course) -> AsyncGenerator[Event, None]:
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed

        async with connect(
            course.address, additional_headers=self._headers, open_timeout=self._wait_s, close_timeout=1, max_size=None
        ) as socket:
            course.opened(time.monotonic())
            try:
                while not course.over:
                    event = course.heard(await socket.recv(), time.monotonic())
                    if event is not None:
                        yield event
            except ConnectionClosed as closed:
                course.closed(closed.rcvd.code if closed.rcvd else None, closed.rcvd.reason if closed.rcvd else "")
                if not course.over:
                    raise

    async def _stream(self, course: Course) -> AsyncGenerator[Event, None]:
        import httpx

        headers = {"Accept": "text/event-stream"}
        timeout = httpx.Timeout(self._wait_s, read=SILENCE_S)
        async with contextlib.AsyncExitStack() as opened:
            stream = self._streams.stream("GET", course.address, headers=headers, timeout=timeout)
            try:
                answer = await opened.enter_async_context(stream)
            except AttributeError as error:  # as in `_ask`
                self._worn.append(self._streams)
                self._streams = self._lines()
                raise httpx.ConnectError(f"the connection was dropped early: {error}") from error
            if not course.answered(answer.status_code, await answer.aread() if answer.status_code != 200 else b""):
                return
            course.opened(time.monotonic())
            reader = Reader()
            async for line in answer.aiter_lines():
                course.alive(line, time.monotonic())
                text = reader.line(line)
                event = None if text is None else course.heard(text, time.monotonic())
                if event is not None:
                    yield event
        if not course.over:
            raise httpx.RemoteProtocolError("the stream ended before the story did")
