"""The engine thread: one thread owns the engine, the journal and the clock; everyone else sends it orders.

    mailbox ─> all that waits ─> step, step, step ─> one commit ─> replies, pushes, matchers to run
                                                        └─ failed: everybody is told 503, and the engine
                                                           reloads from checkpoint + journal

1. Nothing is told to anyone before it is durable (I7). Questions are answered after the commit, so reads show
   committed state only.
2. Joins that stand side by side in the mailbox and go to the same queue are stepped as one command: the cost of an
   array event is shared by all of them.
3. Time passes by `Tick`, at least every `tick_ms`; the clock follows the wall but never runs backwards.
4. A large wave is recorded in parts, a group each, so that orders which came meanwhile go between them.
5. A command that makes the engine raise is our bug: the engine reloads, the group is tried again one by one, and the
   one at fault alone is answered 500.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import structlog

from evenmatch.core.engine import Engine, Step
from evenmatch.core.hashing import settle
from evenmatch.domain import commands as cmd
from evenmatch.domain.arrays import Array
from evenmatch.domain.events import Event, WaveAbandoned
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import JournalConflict, JournalError, JournalStale, JournalUnsure, JournalWithdrawn
from evenmatch.recovery import recover
from evenmatch.settings import Settings
from evenmatch.storage.erasing import Erasure
from evenmatch.storage.inbox import Outcome
from evenmatch.storage.ledger import Entries
from evenmatch.storage.outbox import Letter
from evenmatch.storage.protocol import Commit, Journal

from . import messages
from .chronicle import Chronicle
from .clock import Clock
from .copies import Copies
from .desk import Requests, Unasked, written_down
from .directory import Directory
from .forecasts import Forecasts
from .group import FAILED, Group, in_words, side_by_side, unavailable
from .letters import new_letters
from .mailbox import CommandOrder, Order, Question, Reply, give
from .metrics import Metrics
from .opening import open_queues
from .other_lanes import OtherLanes
from .past_waves import PastWaves
from .plan_words import PlanWords
from .rating_book import RatingBook
from .saving import Saving
from .unheard import tell_unheard
from .views import Views

log = structlog.get_logger("evenmatch.runner")

_BATCH_MOST = 4_096
"""Orders in one commit."""
_SETTLED_AT_ONCE = 50_000
"""Changed tickets that are digested between two groups of orders."""


class Owner:
    """The engine thread and its mailbox."""

    def __init__(
        self, journal: Journal, specs: Iterable[QueueSpec], settings: Settings, run_matcher: Callable[..., None]
    ) -> None:
        self.journal = journal
        self.settings = settings
        self.metrics = Metrics()
        self.forecasts = Forecasts()
        self.copies = Copies()
        self.past_waves = PastWaves()
        self.plan_words = PlanWords()
        self.metrics.forecasts = self.forecasts.records
        self.ready = False
        self.erasures = 0
        """Players erased so far: who remembers names by itself forgets them when it rises."""
        self.listening: dict[int, Any] = {}
        """Tickets whose owners hold a WebSocket; the event loop writes, the engine thread looks."""
        self.push: Callable[[list[messages.Told]], None] = lambda _: None
        self.cut: Callable[[list[int]], None] = lambda _: None
        self.posted: Callable[[list[Letter]], None] = lambda _: None
        self.fatal: Callable[[str], None] = lambda _: None
        """Called from the engine thread when the journal belongs to another owner."""
        self.chronicle: Chronicle | None = None
        """Tells the log what happens, where there is one."""
        self.inbox: Requests = Unasked()
        self.moved: Callable[[], None] = lambda: None
        """Called from the engine thread after every commit."""
        self._specs = tuple(specs)
        self._run_matcher = run_matcher
        self._clock = Clock(journal.ahead_s)
        self._mailbox: deque[Order] = deque()
        self._wake = threading.Event()
        self._waiting_since = 0.0
        """When the mailbox was last empty and an order came."""
        self._idle = False
        self.stopping = False
        self.trouble: str | None = None
        self._told = 0
        """Up to here everybody has heard of everything."""
        self._one_by_one = 0
        """So many orders are to be carried out each in its own commit."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._saving = Saving(journal)
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._load()

    # -- called from the event loop ----------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the engine thread; replies are given on this loop."""
        self._loop = loop
        self._thread.start()

    async def stop(self) -> None:
        """Carry out what waits, save a checkpoint and end the thread."""
        self.stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)

    @property
    def depth(self) -> int:
        """Orders that wait."""
        return len(self._mailbox)

    def full(self) -> bool:
        """Is there no room for another order?"""
        return len(self._mailbox) >= self.settings.mailbox or self.stopping

    def put(self, order: Order) -> None:
        """Hand an order to the engine thread."""
        if order.request is not None and order.request.desk.put(order.request, order):
            return
        if not self._mailbox:
            self._waiting_since = time.perf_counter()
        self._mailbox.append(order)
        if self._idle:
            self._wake.set()

    def reply(self) -> Reply:
        """A future for an order's answer."""
        assert self._loop is not None
        return self._loop.create_future()

    async def ask(self, question: Callable[[Views, int], Any]) -> Any:
        """Look something up in committed state."""
        reply = self.reply()
        self.put(Question(question, reply))
        return await reply

    def seen(self, tickets: Array) -> None:
        """Tickets whose owners hold a line are there still."""
        self.put(CommandOrder(lambda _: cmd.Heartbeat(tickets), None, None))

    def lost(self, tickets: Array) -> None:
        """The last lines of these tickets were closed."""
        self.put(CommandOrder(lambda _: cmd.LoseContact(tickets), None, None))

    # -- the engine thread -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        next_tick = 0.0
        while True:
            if not self._mailbox and not self.stopping:
                self._idle = True
                if not self._mailbox and not self.stopping:
                    self._wake.wait(max(0.0, next_tick - time.monotonic()))
                self._idle = False
                self._wake.clear()
            if self.stopping and not self._mailbox:
                break
            tick = time.monotonic() >= next_tick
            if tick:
                next_tick = time.monotonic() + self.settings.tick_ms / 1000
            most = 1 if self._one_by_one else _BATCH_MOST
            since = self._waiting_since
            orders = self._taken(most)
            self._one_by_one = max(0, self._one_by_one - len(orders))
            try:
                self._process(orders, tick)
                if orders:
                    self.metrics.lagged(time.perf_counter() - since)
            except Exception:
                log.exception("engine thread: a group of orders failed")
                self.answer([(order, FAILED) for order in orders])
        self._saving.finish()
        self._save_checkpoint()
        self._saving.finish()
        self.ready = False

    def _taken(self, most: int) -> list[Order]:
        """The orders of the next group; one whose request is suspected has a group of its own."""
        orders: list[Order] = []
        while self._mailbox and len(orders) < most:
            request = self._mailbox[0].request
            if request is not None and request.alone:
                if not orders:
                    orders.append(self._mailbox.popleft())
                break
            orders.append(self._mailbox.popleft())
        return orders

    def _load(self) -> None:
        """Make the engine anew from what is durable."""
        started = time.monotonic()
        self.journal.expect_commits()
        state = recover(self.journal)
        self.engine = Engine(state, keep_ms=round(self.settings.keep_s * 1000))
        self._others = OtherLanes(self.journal, self.engine)
        self.directory = Directory(self.journal)
        self.book = RatingBook(self.journal)
        self.metrics.predicted(self.book.predictions)
        pending = self.journal.letters("pending")
        self.metrics.letters.known([*pending, *self.journal.letters("dead")])
        self.forecasts.rebuild(state, self.journal)
        self.views = Views(self.engine, self.journal, self.directory, self.book)
        behind_ms = state.now_ms - self._clock.now_ms()
        if behind_ms > 0:
            log.warning("the clock is behind the journal; time goes on from the journal's", behind_ms=behind_ms)
        self._clock.now_ms(state.now_ms)
        self._saving.begin(state)
        steps = [self.engine.step(cmd.Resume(), self._clock.now_ms())]
        steps += open_queues(self.engine, self.journal, self._specs, self._clock.now_ms())
        refused = [step.refusal.detail for step in steps if step.refusal is not None]
        if refused:
            raise JournalError(f"a queue could not be opened: {'; '.join(refused)}")
        self._commit([event for step in steps for event in step.events], self._clock.now_ms(), [], [], [])
        self.metrics.play.begin(self.engine.state, self._clock.now_ms())
        if self._told:
            tell_unheard(self, self._told, self._clock.now_ms(), self._on_loop)
            self._on_loop(self.posted, pending)
        self._told = self.engine.state.sequence
        self.trouble = None
        self.ready = True
        log.info("engine loaded", sequence=self.engine.state.sequence, ms=round((time.monotonic() - started) * 1000))

    def _process(self, orders: list[Order], tick: bool) -> None:
        if self.trouble is not None:
            try:
                self._load()
            except JournalError as error:
                self.trouble = in_words(error)
                self.inbox.undone(orders)
                self.answer([(order, unavailable(error)) for order in orders])
                return
        now_ms = self._clock.now_ms(self.engine.state.now_ms)
        first = self.engine.state.sequence + 1
        group = Group(self, now_ms)
        try:
            if tick:
                self._others.ask(group)
                group.take(self.engine.step(cmd.Tick(), now_ms))
            for run in side_by_side(orders):
                group.step(run)
            names = self.directory.settle(group.joined_players)
            group.letters += new_letters(group)
            outcomes = written_down(self, group, orders)
            self._commit(
                *(group.events, now_ms, names, group.attributes, group.departures, self.book.entries()),
                *(group.erasures, group.letters, outcomes),
            )
        except (JournalConflict, JournalWithdrawn) as error:
            log.info("a commit is made anew, without the wave that was in it", why=str(error))
            self._reload()
            self._again(orders)
            return
        except JournalError as error:
            self._failed_commit(error, orders)
            return
        except Exception:
            log.exception("a command failed", orders=len(orders))
            self._reload()
            if len(orders) > 1:
                self._one_by_one += self._again(orders, fault=True)
            else:
                self.inbox.undone(orders, fault=True)
                self.answer([(order, FAILED) for order in orders])
            return
        self.inbox.settled(outcomes)
        self.erasures += len(group.erasures)
        try:
            self._publish(first, group)
        except JournalError as error:  # names could not be looked up: all of it is durable, and told after the reload
            log.error("what was committed cannot be told yet", error=str(error))
            self._start_over(JournalUnsure(str(error)), orders)
            return
        self._mailbox.extend(group.rest)
        if self._saving.debt >= self.settings.checkpoint_debt and settle(self.engine.state, _SETTLED_AT_ONCE):
            self._save_checkpoint()

    def _again(self, orders: list[Order], *, fault: bool = False) -> int:
        """Have orders carried out once more; returns how many of them come back by the mailbox."""
        own = [order for order in orders if order.request is None]
        self._mailbox.extendleft(reversed(own))
        self.inbox.undone(orders, fault=fault)
        self.answer([(order, FAILED) for order in orders if order.request is not None])  # ends the void attempts
        return len(own)

    def _commit(
        self,
        events: list[Event],
        now_ms: int,
        names: list[tuple[int, str]],
        attributes: list[tuple[int, dict[str, Any]]],
        steps: list[Step],
        entries: Entries | None = None,
        erasures: list[Erasure] | None = None,
        letters: list[Letter] | None = None,
        outcomes: list[Outcome] | None = None,
    ) -> None:
        if not events and not letters and not outcomes:
            return
        started = time.perf_counter()
        claimed, released = self._others.moved()
        self.journal.append(
            Commit(
                first_sequence=self.engine.state.sequence - len(events) + 1,
                at_ms=now_ms,
                events=events,
                names=names,
                attributes=attributes,
                tickets=[row for step in steps for left in step.departures for row in left.tickets],
                matches=[row for step in steps for left in step.departures for row in left.matches],
                entries=entries,
                erasures=erasures or [],
                letters=letters or [],
                outcomes=outcomes or [],
                claimed=claimed,
                released=released,
            )
        )
        self.moved()
        self.metrics.committed(events, time.perf_counter() - started, self.engine.state)
        self.metrics.letters.committed(letters or [])
        self.forecasts.committed(self.engine.state, events, now_ms)
        self.past_waves.committed(self.engine.state.sequence - len(events) + 1, events)
        if entries is not None:
            self.metrics.predicted(self.book.predictions)
        self._saving.owe(events)

    def _failed_commit(self, error: JournalError, orders: list[Order]) -> None:
        log.error("commit failed", error=str(error))
        self.metrics.commit_failures += 1
        self.inbox.undone(orders)
        self._start_over(error, orders)
        if isinstance(error, JournalStale):
            self.fatal(str(error))

    def _start_over(self, error: JournalError, orders: list[Order]) -> None:
        self.ready = False  # before anyone is told, so that whoever hears 503 does not find the server ready
        self.answer([(order, unavailable(error)) for order in orders])
        self._reload()

    def _reload(self) -> None:
        """Memory is ahead of the truth: go back to what is durable, now or when the journal answers again."""
        self.ready = False
        self.trouble = "the journal is being read again"
        try:
            self._load()
        except JournalError as error:
            self.trouble = in_words(error)
            log.error("reload failed; trying again with the next order", error=str(error))

    def _publish(self, first: int, group: Group) -> None:
        self.answer(group.answers(), messages.live(self.views, first, group.events, self.listening))
        if self.chronicle is not None:
            self.chronicle.committed(first, group.events)
        if group.letters:
            self._on_loop(self.posted, group.letters)
        for event in (one for one in group.events if isinstance(one, WaveAbandoned)):
            log.warning("a wave was given up", queue=event.queue, wave=event.wave, why=event.why)
        for effect in group.effects:
            self._run_matcher(effect, self.engine, self.put)
        self._told = self.engine.state.sequence

    def _on_loop(self, call: Callable[..., None], *given: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *given)

    def answer(self, answers: list[tuple[Order, Any]], told: list[messages.Told] | None = None) -> None:
        """Give replies, and push messages, on the event loop."""
        replies = [(order.reply, answer) for order, answer in answers if order.reply is not None]
        if replies:
            self._on_loop(give, replies)
        if told:
            self._on_loop(self.push, told)

    def _save_checkpoint(self) -> None:
        if self.trouble is None:
            self._saving.save(self.engine.state)
