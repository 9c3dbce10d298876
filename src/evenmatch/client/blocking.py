"""The client for programs without an event loop. Threads may share it."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, TypeVar

from evenmatch.errors import Refused

from . import calls
from .asking import Attempt, base_of, headers_of
from .following import SILENCE_S, Course, Reader, Way, broken_lines
from .values import Event, Match, Ticket

T = TypeVar("T")


class SyncClient:
    """A server, as a plain program sees it. Use it by `with`, or call `close`."""

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
        self._http: httpx.Client = httpx.Client(
            base_url=self.url, headers=self._headers, timeout=httpx.Timeout(wait_s, pool=None)
        )
        # Streams have connections of their own: with those of requests, a hundred of them would leave none to ask over.
        self._streams: httpx.Client = httpx.Client(
            headers=self._headers, limits=httpx.Limits(max_connections=None, max_keepalive_connections=0)
        )

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        self._http.close()
        self._streams.close()

    def _ask(self, call: calls.Call[T]) -> T:
        """The answer to a call, however often it has to be sent."""
        import httpx

        attempt = Attempt(call, self.patience_s, time.monotonic())
        headers = {"Idempotency-Key": call.key} if call.key else None
        while True:
            try:
                answer = self._http.request(call.method, call.path, json=call.body, headers=headers)
            except httpx.TransportError as error:
                wait_s = attempt.unanswered(self.url, error, time.monotonic())
            else:
                retry_after = answer.headers.get("retry-after")
                done, found = attempt.read(answer.status_code, answer.content, retry_after, time.monotonic())
                if done:
                    value: T = found
                    return value
                wait_s = found
            time.sleep(wait_s)

    def join(
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
        return self._ask(calls.join(queue, calls.ticket_body(players, attributes, avoid, facts, backfill), key))

    def batch(self, queue: str, tickets: Iterable[Mapping[str, Any]], key: str | None = None) -> list[Ticket | Refused]:
        """Join with many tickets, each a body such as {"players": [{"id": "ann"}]}; what became of each, in order."""
        return self._ask(calls.batch(queue, tickets, key))

    def ticket(self, ticket: str) -> Ticket:
        """A ticket as it stands."""
        return self._ask(calls.ticket(ticket))

    def update(self, ticket: str, *players: Mapping[str, Any], attributes: Mapping[str, Any] | None = None) -> Ticket:
        """Change what a waiting ticket brings; its time goes on."""
        return self._ask(calls.update(ticket, players, attributes))

    def leave(self, ticket: str, player: str | None = None) -> None:
        """Leave the queue; while proposed this is a decline, by `player` if it is known by whom."""
        self._ask(calls.leave(ticket, player))

    def heartbeat(self, ticket: str) -> None:
        """Say that the ticket's client is there. Whoever watches it need not."""
        self._ask(calls.heartbeat(ticket))

    def why(self, ticket: str) -> dict[str, Any]:
        """Why a ticket waits, rule by rule."""
        return self._ask(calls.why(ticket))

    def accept(self, proposal: str, player: str) -> None:
        """Accept a proposal for a player."""
        self._ask(calls.accept(proposal, player))

    def decline(self, proposal: str, player: str) -> None:
        """Decline a proposal for a player: the match is off."""
        self._ask(calls.decline(proposal, player))

    def match(self, match: str) -> Match:
        """A match."""
        return self._ask(calls.match(match))

    def started(self, match: str) -> None:
        """For game servers: the match has started."""
        self._ask(calls.started(match))

    def failed(self, match: str, why: str = "") -> None:
        """For game servers: the match could not start; everybody waits again."""
        self._ask(calls.failed(match, why))

    def end(self, match: str) -> None:
        """A running match is over; its players are free."""
        self._ask(calls.end(match))

    def backfill(self, match: str, *places: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """For game servers: ask for players for places of a running match, such as {"team": 0, "instead_of": "ben"}.
        Whoever stayed hears of them by `watch`, with `after` the sequence of the ticket's last event."""
        return self._ask(calls.backfill(match, places, key))

    def backfill_of(self, match: str) -> dict[str, Any]:
        """What a match asks for: open, invited and filled places, who left and who came late."""
        return self._ask(calls.backfill_of(match))

    def withdraw_backfill(self, match: str) -> None:
        """For game servers: the match asks for nobody any more."""
        self._ask(calls.withdraw_backfill(match))

    def report(
        self,
        match: str,
        *,
        ranks: Sequence[int] | None = None,
        scores: Sequence[float] | None = None,
        leavers: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Report how a match ended, team by team: ranks (1 is best) or scores. It counts once."""
        return self._ask(calls.result(match, ranks, scores, leavers))

    def result(self, match: str) -> dict[str, Any]:
        """The result of a match."""
        return self._ask(calls.result_of(match))

    def player(self, player: str) -> dict[str, Any]:
        """A player's live tickets, cool-downs and blocks."""
        return self._ask(calls.player(player))

    def block(self, player: str, *others: str) -> dict[str, Any]:
        """Say whom a player never wants to meet; replaces what was said before."""
        return self._ask(calls.blocks(player, others))

    def ratings(self, player: str) -> list[dict[str, Any]]:
        """A player's rating on every ladder."""
        return self._ask(calls.ratings(player))

    def history(self, player: str, ladder: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """What each result did to a player's rating."""
        return self._ask(calls.history(player, ladder, limit))

    def leaderboard(
        self, queue: str, limit: int | None = None, offset: int | None = None, side: str | None = None
    ) -> list[dict[str, Any]]:
        """The best of a queue."""
        return self._ask(calls.leaderboard(queue, limit, offset, side))

    def forecast(
        self, queue: str, *, rating: float | None = None, party: int | None = None, region: str | None = None
    ) -> dict[str, Any]:
        """How long a ticket like this will probably wait; `p50_s` and `p90_s` are None where that is unknown."""
        return self._ask(calls.forecast(queue, rating, party, region))

    def queues(self) -> list[dict[str, Any]]:
        """All queues."""
        return self._ask(calls.queues())

    def queue(self, queue: str) -> dict[str, Any]:
        """One queue: how many wait, the last wave, the rules."""
        return self._ask(calls.queue(queue))

    def watch(self, ticket: str, after: int = 0, way: Way | None = None) -> Iterator[Event]:
        """A ticket's events, from the first (or the first `after` a sequence) to the last.

        A lost connection is made anew and nothing is told twice. `way`: only a WebSocket, or only server-sent events;
        left out, the former, and the latter where none can be opened. While this runs, the ticket needs no heartbeat.
        """
        course = Course(self.url, ticket, after, way, self.patience_s, time.monotonic())
        while not course.over:
            try:
                with closing(self._socket(course) if course.way == "websocket" else self._stream(course)) as opened:
                    yield from opened
            except broken_lines() as error:
                time.sleep(course.broken(error, time.monotonic()))

    def _socket(self, course: Course) -> Generator[Event, None, None]:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        with connect(
            course.address, additional_headers=self._headers, open_timeout=self._wait_s, close_timeout=1, max_size=None
        ) as socket:
            course.opened(time.monotonic())
            try:
                while not course.over:
                    event = course.heard(socket.recv(), time.monotonic())
                    if event is not None:
                        yield event
            except ConnectionClosed as closed:
                course.closed(closed.rcvd.code if closed.rcvd else None, closed.rcvd.reason if closed.rcvd else "")
                if not course.over:
                    raise

    def _stream(self, course: Course) -> Generator[Event, None, None]:
        import httpx

        headers = {"Accept": "text/event-stream"}
        timeout = httpx.Timeout(self._wait_s, read=SILENCE_S)
        with self._streams.stream("GET", course.address, headers=headers, timeout=timeout) as answer:
            if not course.answered(answer.status_code, answer.read() if answer.status_code != 200 else b""):
                return
            course.opened(time.monotonic())
            reader = Reader()
            for line in answer.iter_lines():
                course.alive(line, time.monotonic())
                text = reader.line(line)
                event = None if text is None else course.heard(text, time.monotonic())
                if event is not None:
                    yield event
        if not course.over:
            raise httpx.RemoteProtocolError("the stream ended before the story did")
