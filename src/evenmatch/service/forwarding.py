"""Requests that change something, on their way from the node that took them to the owner of their lane, and back.

All that comes within a moment goes into the inbox in one transaction, and answers are fetched together. Whoever has
waited for `PATIENCE_S` takes the request back: if that succeeds nothing was changed, and the client is told to come
again; if it was carried out meanwhile, the answer is there. Only where the database itself cannot be asked is it not
known, and then that is what the client is told.
"""

import asyncio
import functools
import threading
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import structlog

from evenmatch.errors import JournalError
from evenmatch.settings import Settings
from evenmatch.storage.inbox import Outcome, Request

from .bell import Bell
from .errands import Errand, Response, decode_response, encode, errand_of
from .follower import Follower
from .handlers import Answer, problem, turned_away
from .hot import read_body
from .mailbox import Unavailable
from .node_metrics import DONE, NOT_DONE, UNKNOWN
from .sockets import Message, Receive
from .wire import problem_of

log = structlog.get_logger("evenmatch.forwarding")

PATIENCE_S: Final = 5.0
"""So long a request waits for the owner of its lane."""
_DEAF_S: Final = 0.02
"""Answers that are waited for are looked for as often, where rings are not heard."""
_HEARD_S: Final = 0.1
"""And as often where they are: one may be lost."""
_IDLE_S: Final = 0.5
_NOT_DONE: Final = Unavailable("no_owner", "nothing was changed: nobody owns this queue at the moment")
_NO_WORD: Final = Unavailable("no_owner", "nothing was changed: the owner of this queue does not answer at the moment")
_UNKNOWN: Final = Unavailable(
    "journal_unavailable",
    "it is not known if this was carried out, ask again: the journal's database cannot be used now",
)
_LENGTH: Final = frozenset({b"content-length", b"content-type"})


class Desk(Protocol):
    """Where requests are handed in, and answers fetched."""

    def hand_in(self, requests: Sequence[tuple[int, Request]]) -> None:
        """Put requests into the inboxes of lanes: (lane, request). Safe to do again after a failure."""

    def fetch(self, ids: Sequence[str]) -> list[Outcome]:
        """The answers that are there."""

    def drop(self, ids: Sequence[str]) -> None:
        """Answers that are not needed any more."""

    def take_back(self, ids: Sequence[str]) -> set[str]:
        """Take requests back that were not carried out; those that were taken back."""

    def close(self) -> None:
        """Let go of it."""


class _Sent:
    """A request on its way."""

    __slots__ = ("handed_in", "lane", "reply", "request", "until_s")

    def __init__(self, lane: int, request: Request, reply: "asyncio.Future[Outcome | Unavailable] | None") -> None:
        self.lane, self.request, self.reply = lane, request, reply
        self.until_s = time.monotonic() + PATIENCE_S
        self.handed_in = False


def goes_to_owner(scope: Message) -> bool:
    """Must the owner of the lane answer this? All that changes or notes something, and what only its memory knows."""
    if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
        return True
    path: str = scope["path"]
    return path.endswith(("/why", "/export")) or (path.startswith("/v1/queues/") and path.split("/")[4:5] == ["waves"])


class Forwarder:
    """The thread that carries requests of one node to the database and answers back."""

    def __init__(self, desk: Desk, settings: Settings) -> None:
        self._desk, self._settings = desk, settings
        self._new: deque[_Sent] = deque()
        self._sent: dict[str, _Sent] = {}
        self._fetched: list[str] = []
        self._swept_s = 0.0
        self.silent: set[int] = set()
        """Lanes whose owner let a request lie, and has answered none since: a node asks them again (`ask_silent`)."""
        self.noted: Callable[[str, float], None] = lambda *_: None
        """Hears of each answer: its outcome, and after how many seconds it came."""
        self.bell = Bell(_DEAF_S, _HEARD_S)
        """Rung when there may be answers, or something to hand in."""
        self._ending = False
        self._trouble: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="forwarding", daemon=True)

    def start(self) -> None:
        """Begin; on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def close(self) -> None:
        """Wait for the answers that are under way, as long as they have patience, and end."""
        self._ending = True
        self.bell.ring()
        await asyncio.to_thread(self._thread.join)

    # -- called from the event loop ----------------------------------------------------------------------------------

    def to(self, follower: Follower) -> Callable[[Message, Receive], Awaitable[Answer]]:
        """A function that has a request of one lane answered by its owner."""
        return functools.partial(self._forward, follower)

    async def _forward(self, follower: Follower, scope: Message, receive: Receive) -> Answer:
        busy = turned_away(follower)
        if busy is not None:
            return busy
        body = await read_body(scope, receive, self._settings.batch_body_max_bytes)
        if isinstance(body, Answer):
            return body
        assert self._loop is not None
        taken_s = time.monotonic()
        reply: asyncio.Future[Outcome | Unavailable] = self._loop.create_future()
        follower.awaited += 1
        try:
            self._put(_Sent(follower.lane, _request(errand_of(scope, body)), reply))
            outcome = await reply
            if isinstance(outcome, Unavailable):
                self.noted(NOT_DONE if outcome is _NOT_DONE else UNKNOWN, time.monotonic() - taken_s)
                return problem(problem_of(_NO_WORD if outcome is _NOT_DONE and follower.owned else outcome))
            await self._seen_here(follower, outcome.sequence)
        finally:
            follower.awaited -= 1
        self.noted(DONE, time.monotonic() - taken_s)
        return _answer(decode_response(outcome.body))

    async def _seen_here(self, follower: Follower, sequence: int) -> None:
        """Who has an answer may ask this node about it: let it know of it first, but not for ever."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await follower.reach(sequence)
        except TimeoutError:
            log.warning("a follower is behind", lane=follower.lane, wanted=sequence)

    def send(self, lane: int, errand: Errand) -> None:
        """Tell the owner of a lane something; nobody waits for the answer, so who is about to end sends no more."""
        if not self._ending:
            self._put(_Sent(lane, _request(errand), None))

    def ask_silent(self) -> None:
        """Ask owners that did not answer whether they are there again; where nobody else asks, nothing else would."""
        for lane in list(self.silent):
            self.send(lane, Errand())

    def _put(self, sent: _Sent) -> None:
        self._new.append(sent)
        self.bell.ring()

    # -- its thread --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending or self._new or any(sent.reply is not None for sent in self._sent.values()):
            if not self._new:
                self.bell.wait(None if self._sent else _IDLE_S)
            self.bell.clear()
            while self._new:
                sent = self._new.popleft()
                self._sent[sent.request.id] = sent
            try:
                self._hand_in()
                self._fetch()
                self._give_up()
                self._drop()
                self._said(None)
            except JournalError as error:
                self._said(str(error))
                self._not_known()
                self.bell.wait(_DEAF_S)
        self._desk.close()

    def _said(self, trouble: str | None) -> None:
        """Tell the log when trouble begins and when it is over, and not at every try."""
        if trouble is not None and self._trouble is None:
            log.error("requests cannot be handed on", error=trouble, waiting=len(self._sent))
        if trouble is None and self._trouble is not None:
            log.info("requests are handed on again")
        self._trouble = trouble

    def _hand_in(self) -> None:
        fresh = [sent for sent in self._sent.values() if not sent.handed_in]
        if fresh:
            self._desk.hand_in([(sent.lane, sent.request) for sent in fresh])
            for sent in fresh:
                sent.handed_in = True

    def _fetch(self) -> None:
        if self._sent:
            found = self._desk.fetch(list(self._sent))
            self._fetched += [outcome.id for outcome in found]
            self.silent.difference_update([self._sent[outcome.id].lane for outcome in found])
            self._give([(self._sent.pop(outcome.id), outcome) for outcome in found])

    def _give_up(self) -> None:
        now_s = time.monotonic()
        late = [sent.request.id for sent in self._sent.values() if sent.until_s < now_s]
        if late:
            back = self._desk.take_back(late)
            self.silent.update([self._sent[id].lane for id in late if id in back])
            self._give([(self._sent.pop(id), _NOT_DONE) for id in late if id in back])
            self._fetch()  # what was not to be taken back has its answer by now
            rest = [id for id in late if id in self._sent]
            self._give([(self._sent.pop(id), _UNKNOWN) for id in rest])

    def _not_known(self) -> None:
        """The database cannot be asked: who has waited long enough hears just that."""
        now_s = time.monotonic()
        late = [sent.request.id for sent in self._sent.values() if sent.until_s < now_s]
        self._give([(self._sent.pop(id), _UNKNOWN) for id in late])

    def _drop(self) -> None:
        if self._fetched and time.monotonic() > self._swept_s + 1.0:
            self._swept_s = time.monotonic()
            self._desk.drop(self._fetched)
            self._fetched = []

    def _give(self, answers: list[tuple[_Sent, Outcome | Unavailable]]) -> None:
        replies = [(sent.reply, answer) for sent, answer in answers if sent.reply is not None]
        if replies and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, replies)


def _resolve(replies: "list[tuple[asyncio.Future[Outcome | Unavailable], Outcome | Unavailable]]") -> None:
    for reply, answer in replies:
        if not reply.done():
            reply.set_result(answer)


def _request(errand: Errand) -> Request:
    return Request(uuid.uuid4().hex, encode(errand))


def _answer(response: Response) -> Answer:
    media = dict(response.headers).get(b"content-type", b"")
    rest = tuple((name, value) for name, value in response.headers if name not in _LENGTH)
    return Answer(response.status, response.body, media, rest)
