"""The dashboard's one stream: a frame a second with every queue's card, the server's health and one queue's picture.

    engine thread: numbers and copies ─> a thread: pictures ─> encoded once a queue ─> everybody who watches it

1. However many watch, a frame is made once for each queue that is watched, and none while nobody watches. Whoever
   comes does not wait for the next second.
2. A frame has a bounded size (`picture`). Who reads too slowly misses frames, and holds up nobody.
3. Numbers of the last minutes come from `history`, so they are there at once and for everybody the same.
"""

import asyncio
import contextlib
import time
from typing import Final

import msgspec
import structlog

from evenmatch.core.state import QueueState, State
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.snapshot import Snapshot

from .handlers import Answer, problem, turned_away
from .history import CARD_STEPS, STEP_MS
from .mailbox import Unavailable
from .messages import Told
from .picture import Group, Picture, groups_since, picture_of
from .runner import Runner
from .sockets import GOING_AWAY, TRY_LATER, Hub, Message, Receive, Send
from .streams import Stream
from .views import QueueView, Views
from .wire import problem_of

log = structlog.get_logger("evenmatch.watching")

EVERY_S: Final = 1.0
SOONEST_S: Final = 0.2
"""Who comes is told at once, but frames are made no faster than this."""
WATCHERS_MOST: Final = 64
_OUTBOX: Final = 2
_encode = msgspec.json.Encoder().encode


class Card(msgspec.Struct, frozen=True):
    """A queue at a glance; rates, waits, quality and ready checks are of the last five minutes."""

    queue: str
    matcher: str
    format: str
    mode: str
    """open, paused or draining"""
    waiting: int
    players_waiting: int
    oldest_s: float
    joins_a_minute: float
    matches_a_minute: float
    wait_p50_s: float | None
    """null = nobody was matched"""
    wait_p90_s: float | None
    quality: float | None
    """Mean predicted evenness, 0 to 1; null = no match, or none of two teams."""
    ready_kept: float | None
    """The share of ready checks that led to a match; null = none ended."""
    wave_s: float | None
    """How long the last plan took; null = there was none since the start."""
    wave: int
    """The number of the last wave that was run."""
    over_s: float
    """The rates are over so many seconds: five minutes, or the time since the server started."""


class Health(msgspec.Struct, frozen=True):
    """How the server does."""

    version: str
    ready: bool
    uptime_s: float
    mailbox: int
    """Orders that wait for the engine."""
    mailbox_most: int
    journal_lag_s: float
    """The longest that an order waited until it was durable, of the last seconds."""
    commit_s: float
    """The longest commit, of the last seconds."""
    sockets: int
    watchers: int
    sequence: int
    """The journal's last."""


class Frame(msgspec.Struct, frozen=True):
    """What the stream tells every second."""

    at_ms: int
    server: Health
    queues: list[Card]
    picture: Picture | None = None


class Look(msgspec.Struct, frozen=True, eq=False):
    """What the engine thread found."""

    now_ms: int
    sequence: int
    cards: list[Card]
    pictures: dict[str, tuple[QueueState, Snapshot, list[Group], int]]


class Watcher:
    """Somebody who watches; frames that it does not take in time are left out."""

    def __init__(self, queue: str | None) -> None:
        self.queue = queue
        self.outbox: asyncio.Queue[Told | None] = asyncio.Queue(_OUTBOX)

    def tell(self, told: Told | None) -> None:
        """Put a frame into the outbox, in place of the oldest if it is full; None = the server stops."""
        if self.outbox.full():
            self.outbox.get_nowait()
        self.outbox.put_nowait(told)


class Watch:
    """Makes the frames, and knows who watches."""

    def __init__(self, runner: Runner, hub: Hub, version: str) -> None:
        self.runner, self.hub, self.version = runner, hub, version
        self.watchers: list[Watcher] = []
        self._making: asyncio.Task[None] | None = None
        self._came = asyncio.Event()
        self._told_ms: dict[str, int] = {}
        """Queue -> up to when its proposals were shown."""
        hub.closing.append(self.close)

    def close(self) -> None:
        """Tell everyone that the server stops."""
        for watcher in self.watchers:
            watcher.tell(None)

    async def refusal(self, queue: str | None) -> Answer | None:
        """Why nobody can watch, or not this queue; None = somebody can."""
        busy = turned_away(self.runner)
        if busy is not None or queue is None:
            return busy
        found: QueueView | Refusal | Unavailable = await self.runner.ask(lambda v, now_ms: v.queue(queue, now_ms))
        return problem(problem_of(found)) if isinstance(found, Refusal | Unavailable) else None

    async def serve(self, queue: str | None, scope: Message, receive: Receive, send: Send) -> None:
        """One stream, until the client leaves or the server stops."""
        line = Stream("", scope, receive, send)
        if len(self.watchers) >= WATCHERS_MOST:
            await line.close(TRY_LATER, "too many watch")
            return
        watcher = Watcher(queue)
        self.watchers.append(watcher)
        self.hub.open += 1
        self._came.set()
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._make())
        gone = asyncio.ensure_future(line.until_gone())
        talking = asyncio.ensure_future(self._talk(watcher, line))
        try:
            await asyncio.wait((gone, talking), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            talking.cancel()
            self.hub.open -= 1
            self.watchers.remove(watcher)

    async def _talk(self, watcher: Watcher, line: Stream) -> None:
        while (told := await watcher.outbox.get()) is not None:
            await line.tell(told)
        await line.close(GOING_AWAY, "the server stops; come back")

    async def _make(self) -> None:
        """Make frames for as long as somebody watches."""
        loop = asyncio.get_running_loop()
        while self.watchers:
            began = loop.time()
            self._came.clear()
            try:
                await self._frame()
            except Exception:
                log.exception("a frame failed; the next one is tried")
            await asyncio.sleep(max(0.05, SOONEST_S - (loop.time() - began)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), max(0.0, EVERY_S - (loop.time() - began)))

    async def _frame(self) -> None:
        queues = {watcher.queue for watcher in self.watchers}
        if self.runner.full():
            return
        found: Look | Unavailable = await self.runner.ask(lambda views, now_ms: self._look(views, queues, now_ms))
        if isinstance(found, Unavailable):
            return
        frames = await asyncio.to_thread(self._frames, found, queues)
        for watcher in list(self.watchers):
            if watcher.queue in frames:
                watcher.tell(frames[watcher.queue])

    def _look(self, views: Views, queues: set[str | None], now_ms: int) -> Look:
        """In the engine thread."""
        state = views.engine.state
        cards = [self._card(views.queue(name, now_ms), now_ms) for name in sorted(state.queues)]
        pictures = {}
        for name in queues:
            queue = state.queues.get(name or "")
            if queue is not None:
                pictures[queue.spec.name] = self._pictured(views, state, queue, now_ms)
        return Look(now_ms, state.sequence, cards, pictures)

    def _pictured(
        self, views: Views, state: State, queue: QueueState, now_ms: int
    ) -> tuple[QueueState, Snapshot, list[Group], int]:
        name = queue.spec.name
        after_ms = max(self._told_ms.get(name, 0), now_ms - round(3000 * EVERY_S))
        self._told_ms[name] = now_ms
        groups, more = groups_since(state, queue, after_ms, now_ms)
        return queue, self.runner.copies.of(views.engine, queue, now_ms).snapshot, groups, more

    def _card(self, view: QueueView | Refusal, now_ms: int) -> Card:
        assert isinstance(view, QueueView)
        metrics = self.runner.metrics
        history = metrics.play.histories.of(view.name, now_ms)
        rows = history.copied(now_ms, CARD_STEPS)
        over_s = max(1.0, (now_ms - max(rows.first * STEP_MS, history.since_ms)) / 1000)
        checked = rows.total("checked")
        return Card(
            queue=view.name,
            matcher=view.spec.matcher.name,
            format=str(view.spec.format),
            mode=view.mode,
            waiting=view.waiting,
            players_waiting=view.players_waiting,
            oldest_s=round(view.oldest_wait_ms / 1000, 1),
            joins_a_minute=round(rows.total("joins") * 60 / max(over_s, 10.0), 1),
            matches_a_minute=round(rows.total("matches") * 60 / max(over_s, 10.0), 1),
            wait_p50_s=rows.wait_s(0.5),
            wait_p90_s=rows.wait_s(0.9),
            quality=rows.mean("quality"),
            ready_kept=rows.total("made") / checked if checked else None,
            wave_s=metrics.wave_s.get(view.name),
            wave=view.wave,
            over_s=round(over_s, 1),
        )

    def health(self, sequence: int) -> Health:
        """How the server does now."""
        metrics = self.runner.metrics
        return Health(
            version=self.version,
            ready=self.runner.ready,
            uptime_s=round(time.monotonic() - metrics.started_s, 1),
            mailbox=self.runner.depth,
            mailbox_most=self.runner.settings.mailbox,
            journal_lag_s=round(metrics.lag.read(), 6),
            commit_s=round(metrics.commit.read(), 6),
            sockets=self.hub.open,
            watchers=len(self.watchers),
            sequence=sequence,
        )

    def _frames(self, look: Look, queues: set[str | None]) -> dict[str | None, Told]:
        """The frame of each queue that is watched, as it is sent; in a thread of its own."""
        health = self.health(look.sequence)
        frames: dict[str | None, Told] = {}
        for name in queues:
            picture = None
            if name is not None and name in look.pictures:
                queue, snapshot, groups, more = look.pictures[name]
                picture = picture_of(queue.spec, snapshot, look.now_ms, groups, more)
            text = _encode(Frame(look.now_ms, health, look.cards, picture)).decode()
            frames[name] = Told(0, look.sequence, text, False, "frame")
        return frames
