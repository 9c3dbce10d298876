"""A follower: the state of a lane that another process owns, kept up to date from its journal.

    NOTIFY, or a while has passed ─> commits since the last look ─> evolve ─> pushes, metrics, forecasts
    questions ─> answered from what was read so far

Everything that is read (tickets, matches, queues, stories, the dashboard) is answered here, by the code that answers it
in the owner, and pushes are made of the same events; the owner hears nothing of it. What changes something goes to the
owner (`forwarding`). A follower is never ahead of the truth and at most a moment behind; whoever has the answer to a
request of its own waits until the follower has seen the commit that it came with (`reach`).
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec
import numpy as np
import structlog

from evenmatch.core.engine import Engine
from evenmatch.core.evolve import evolve
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.errors import JournalDamaged, JournalError
from evenmatch.recovery import recover
from evenmatch.settings import Settings
from evenmatch.storage.outbox import Letter
from evenmatch.storage.protocol import Followed

from . import messages
from .bell import Bell
from .chronicle import Chronicle
from .clock import Clock
from .copies import Copies
from .directory import Directory
from .errands import Errand
from .forecasts import Forecasts
from .group import FAILED, in_words, unavailable
from .mailbox import Order, Question, Reply, Unavailable, give
from .metrics import Metrics
from .past_waves import PastWaves
from .plan_words import PlanWords
from .rating_book import RatingBook
from .unheard import tell_unheard
from .views import Views

log = structlog.get_logger("evenmatch.follower")

_DEAF_S: Final = 0.05
"""The journal is looked at as often where rings are not heard."""
_HEARD_S: Final = 0.2
"""And as often where they are: one may be lost."""
_AGAIN_S: Final = 0.5
_UNSEEN_S: Final = 1.0
"""A journal that could not be looked at for longer is one that it is behind."""
_REASONS_EVERY_S: Final = 1.0
_BEHIND = Unavailable("journal_unavailable", "nothing was changed: the journal's database cannot be read now")


class Follower:
    """The thread that follows one lane, and its mailbox of questions."""

    def __init__(self, journal: Followed, lane: int, settings: Settings) -> None:
        self.journal, self.lane, self.settings = journal, lane, settings
        self.metrics = Metrics()
        self.forecasts = Forecasts()
        self.copies = Copies()
        self.past_waves = PastWaves()
        self.plan_words = PlanWords()
        self.metrics.forecasts = self.forecasts.records
        self._following = False
        """All that was written is read, or will be in a moment."""
        self.owned = True
        """Somebody owns the lane, as far as the node knows."""
        self.late = False
        """The lane came when the node served others already: until its queues are open nobody misses it."""
        self.silent: Callable[[], bool] = lambda: False
        """Does its owner let requests lie?"""
        self.erasures = 0
        self.listening: dict[int, Any] = {}
        self.push: Callable[[list[messages.Told]], None] = lambda _: None
        self.cut: Callable[[list[int]], None] = lambda _: None
        self.posted: Callable[[list[Letter]], None] = lambda _: None
        self.fatal: Callable[[str], None] = lambda _: None
        self.chronicle: Chronicle | None = None
        self.errand: Callable[[Errand], None] = lambda _: None
        """Sends the owner word that nobody waits for an answer to."""
        self.awaited = 0
        """Requests that are on their way to the owner."""
        self._clock = Clock(journal.ahead_s)
        self._mailbox: deque[Question] = deque()
        self.bell = Bell(_DEAF_S, _HEARD_S)
        """Rung when the journal has gone on, or somebody asks."""
        self.stopping = False
        self._failing: str | None = None
        """Why the journal could not be read, the last time."""
        self._told = 0
        """Up to here everybody who listens has heard of everything."""
        self._stale = False
        """Ratings or names have changed since they were read."""
        self._reasons_s = 0.0
        self._looked_s = time.monotonic()
        """When the journal was looked at the last time."""
        self._behind_s = 0.0
        """How old the last commit was that this look found; 0 = it found none."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        """Who waits for the journal to reach a sequence; on the event loop."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name=f"follower {lane}", daemon=True)
        self._load()

    # -- called from the event loop ----------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to follow; replies are given on this loop."""
        self._loop = loop
        self._thread.start()

    async def stop(self) -> None:
        """End the thread."""
        self.stopping = True
        self.bell.ring()
        await asyncio.to_thread(self._thread.join)

    @property
    def ready(self) -> bool:
        """Can requests be answered, and carried out by somebody?"""
        return self.trouble is None

    @property
    def trouble(self) -> str | None:
        """Why they cannot, in words for anybody."""
        if self._failing is not None or not self._following:
            return self._failing or "the journal is being read"
        if not self.opened:
            return None if self.late else "its queues are not open yet"
        if not self.owned:
            return "no owner"
        return "the owner does not answer" if self.silent() else None

    @property
    def opened(self) -> bool:
        """Has it seen a commit? The first one opens the lane's queues."""
        return self.engine.state.sequence > 0

    @property
    def lag_s(self) -> float:
        """How far behind the journal it was at most of late: a commit's age when it was read, or the time since a look.

        A look that finds nothing new is no lag, however long the last commit is ago.
        """
        return max(self.metrics.lag.read(), self._unseen_s)

    @property
    def behind_s(self) -> float:
        """How far behind the journal it is now: no more of what is over than the last look still saw."""
        return max(self._behind_s, self._unseen_s)

    @property
    def _unseen_s(self) -> float:
        unseen_s = time.monotonic() - self._looked_s
        return unseen_s if unseen_s > _UNSEEN_S else 0.0

    @property
    def depth(self) -> int:
        """Questions that wait, and requests on their way to the owner."""
        return len(self._mailbox) + self.awaited

    def full(self) -> bool:
        """Is there no room for another?"""
        return self.depth >= self.settings.mailbox or self.stopping

    def put(self, order: Order) -> None:
        """Ask something; a follower decides nothing."""
        assert isinstance(order, Question), f"a follower cannot carry out {type(order).__name__}"
        self._mailbox.append(order)
        self.bell.ring()

    def reply(self) -> Reply:
        """A future for an answer."""
        assert self._loop is not None
        return self._loop.create_future()

    async def ask(self, question: Callable[[Views, int], Any]) -> Any:
        """Look something up in committed state."""
        reply = self.reply()
        self.put(Question(question, reply))
        return await reply

    def seen(self, tickets: Array) -> None:
        """Tickets whose owners hold a line here are there still."""
        if len(tickets):
            self.errand(Errand(seen=tickets.tolist()))

    def lost(self, tickets: Array) -> None:
        """The last lines of these tickets to this node were closed."""
        self.errand(Errand(lost=tickets.tolist()))

    async def reach(self, sequence: int) -> None:
        """Wait until the journal was read up to a sequence."""
        if self.engine.state.sequence < sequence:
            assert self._loop is not None
            reached: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append((sequence, reached))
            self.bell.ring()
            await reached

    def _reached(self, upto: int) -> None:
        late = []
        for sequence, reached in self._waiting:
            if sequence > upto:
                late.append((sequence, reached))
            elif not reached.done():
                reached.set_result(None)
        self._waiting = late

    # -- its thread --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self.stopping:
            self.bell.wait()
            self.bell.clear()
            try:
                self._catch_up()
            except JournalError as error:
                self._failed(error)
            except Exception:
                log.exception("a follower failed; it reads the journal anew")
                self._failing, self._following = "the journal is being read again", False
            self._answer_all()  # raises nothing: whoever asks this node must not wait for ever
        self._following = False
        self._answer_all()

    def _failed(self, error: JournalError) -> None:
        if self._failing is None:
            log.error("the journal cannot be followed", lane=self.lane, error=str(error))
        self._failing, self._following = in_words(error), False
        self.bell.wait(_AGAIN_S)

    def _load(self) -> None:
        """Make the state anew from the newest checkpoint on."""
        self.engine = Engine(recover(self.journal), records=False)
        self.directory = Directory(self.journal)
        self.book = RatingBook(self.journal)
        self.metrics.predicted(self.book.predictions)
        self.forecasts.rebuild(self.engine.state, self.journal)
        self.views = Views(self.engine, self.journal, self.directory, self.book)
        self.metrics.play.begin(self.engine.state, self._clock.now_ms())
        if self._told:
            tell_unheard(self, self._told, self._clock.now_ms(), self._on_loop)
        self._told = self.engine.state.sequence
        self._failing, self._stale, self._following = None, False, True
        log.info("following", lane=self.lane, sequence=self.engine.state.sequence)

    def _catch_up(self) -> None:
        if self._failing is not None:
            self._load()
        while True:
            try:
                commits = self.journal.follow(self.engine.state.sequence)
            except JournalDamaged:  # what lies between was archived: begin anew from a checkpoint
                self._load()
                commits = []
            for first, at_ms, events in commits:
                self._take(first, at_ms, events)
            self._behind_s = self._age_s(commits[-1][1]) if commits else 0.0
            self._looked_s = time.monotonic()
            if self._waiting:
                self._on_loop(self._reached, self.engine.state.sequence)
            if not commits:
                break
        self._following = True

    def _take(self, first: int, at_ms: int, events: list[ev.Event]) -> None:
        state = self.engine.state
        started = time.perf_counter()
        for event in events:
            evolve(state, event)
            self._stale |= isinstance(event, ev.ResultReported | ev.ResultCorrected | ev.SeasonStarted)
            if isinstance(event, ev.OperatorActed) and event.action == "erase_player":
                self._stale = True
                self.erasures += 1
        self.metrics.committed(events, time.perf_counter() - started, state)
        self.metrics.lagged(self._age_s(at_ms))
        self.forecasts.committed(state, events, at_ms)
        self.past_waves.committed(first, events)
        self._freshen()
        told = messages.live(self.views, first, events, self.listening)
        if told:
            self._on_loop(self.push, told)
        self._told = state.sequence

    def _age_s(self, at_ms: int) -> float:
        return max(0.0, (self._clock.now_ms() - at_ms) / 1000)

    def _on_loop(self, call: Callable[..., None], *given: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *given)

    def _freshen(self) -> None:
        """Names and ratings that were read before others changed them are read again."""
        if self._stale:
            self.directory = Directory(self.journal)
            self.book = RatingBook(self.journal)
            self.metrics.predicted(self.book.predictions)
            self.views = Views(self.engine, self.journal, self.directory, self.book)
            self._stale = False

    def _answer_all(self) -> None:
        replies: list[tuple[Reply | None, Any]] = []
        if self._mailbox:
            self._read_reasons()
        now_ms = self._clock.now_ms(self.engine.state.now_ms)
        for _ in range(len(self._mailbox)):
            question = self._mailbox.popleft()
            replies.append((question.reply, self._answer(question, now_ms)))
        if replies:
            self._on_loop(give, replies)

    def _answer(self, question: Question, now_ms: int) -> Any:
        if self._failing is not None:
            return _BEHIND
        try:
            return question.ask(self.views, now_ms)
        except JournalError as error:
            return unavailable(error)
        except Exception:
            log.exception("a question failed")
            return FAILED

    def _read_reasons(self) -> None:
        """Why the last waves left tickets waiting (I10): the owner keeps that beside the journal."""
        if self._failing is not None or time.monotonic() < self._reasons_s + _REASONS_EVERY_S:
            return
        self._reasons_s = time.monotonic()
        try:
            for queue, wave, body in self.journal.reasons():
                tickets, reasons = msgspec.msgpack.decode(body, type=tuple[bytes, bytes])
                self.engine.heard(queue, wave, np.frombuffer(tickets, np.int64), np.frombuffer(reasons, np.int64))
        except JournalError as error:
            self._failed(error)
        except Exception:  # whoever asks is answered all the same, without reasons
            log.exception("the reasons of the last waves cannot be read", lane=self.lane)
