"""The dashboard's one stream: a frame a second with every queue's card, the server's health and one queue's picture.

    engine thread: numbers and copies ─> a thread: pictures ─> encoded once a queue ─> everybody who watches it

1. However many watch, a frame is made once for each queue that is watched, and none while nobody watches. Whoever
   comes does not wait for the next second.
2. A frame has a bounded size (`picture`). Who reads too slowly misses frames, and holds up nobody.
3. Numbers of the last minutes come from `history`, so they are there at once and for everybody the same.
4. Of several lanes there is one frame: all their queues, and their health together. A lane that cannot be asked now is
   left out, and `ready` is false.
"""

import asyncio
import contextlib
import functools
import time
from typing import Final, NamedTuple

import msgspec
import structlog

from evenmatch.core.state import QueueState
from evenmatch.core.waves import seed_of
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.snapshot import Snapshot

from .handlers import Answer, problem, turned_away
from .history import CARD_STEPS, STEP_MS
from .mailbox import Unavailable
from .messages import Told
from .picture import Group, Picture, groups_since, picture_of
from .runner import Runner
from .served import ServedLanes
from .sockets import GOING_AWAY, TRY_LATER, Message, Receive, Send
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
    joins: int = 0
    """Tickets that joined in that time."""
    matches: int = 0
    """Matches that were made in that time."""
    abandoned: int = 0
    """Waves of that time whose matcher failed or was too late."""
    every_s: float = 1.0
    """A wave comes so often, if it could change anything."""
    ready_check: bool = True
    """Players are asked whether they are there."""
    version: int = 0
    """How often its rules were given."""


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
    """The journal's last; of several lanes, the sum."""


class Frame(msgspec.Struct, frozen=True):
    """What the stream tells every second."""

    at_ms: int
    server: Health
    queues: list[Card]
    picture: Picture | None = None


class Pictured(NamedTuple):
    """What a picture is made of."""

    queue: QueueState
    snapshot: Snapshot
    groups: list[Group]
    more: int
    """Proposals that are not among the groups."""
    seed: int
    """Of the next wave."""


class Look(msgspec.Struct, frozen=True, eq=False):
    """What the engine thread found; of several lanes, all of it together."""

    now_ms: int
    sequence: int
    cards: list[Card]
    pictures: dict[str, Pictured]


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

    def __init__(self, served: ServedLanes, version: str) -> None:
        self.served, self.version = served, version
        self.hub = next(iter(served.values())).hub
        """Counts who watches, and hears when the server stops."""
        self.watchers: list[Watcher] = []
        self._making: asyncio.Task[None] | None = None
        self._came = asyncio.Event()
        self._told_ms: dict[str, int] = {}
        """Queue -> up to when its proposals were shown."""
        self.hub.closing.append(self.close)

    def close(self) -> None:
        """Tell everyone that the server stops."""
        for watcher in self.watchers:
            watcher.tell(None)

    async def refusal(self, queue: str | None) -> Answer | None:
        """Why nobody can watch, or not this queue; None = somebody can."""
        runners = [one.runner for one in self.served.values()]
        runner = next((one for one in runners if queue in one.engine.state.queues), runners[0])
        busy = turned_away(runner)
        if busy is not None or queue is None:
            return busy
        found: QueueView | Refusal | Unavailable = await runner.ask(lambda v, now_ms: v.queue(queue, now_ms))
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
        asked = [one.runner for one in list(self.served.values()) if not one.runner.full()]
        told: list[Look | Unavailable] = await asyncio.gather(
            *(runner.ask(functools.partial(self._look, runner, queues)) for runner in asked)
        )
        looks = [look for look in told if isinstance(look, Look)]
        if not looks:
            return
        frames = await asyncio.to_thread(self._frames, _together(looks), queues)
        for watcher in list(self.watchers):
            if watcher.queue in frames:
                watcher.tell(frames[watcher.queue])

    def _look(self, runner: Runner, queues: set[str | None], views: Views, now_ms: int) -> Look:
        """In the engine thread."""
        state = views.engine.state
        cards = [_card(runner, views.queue(name, now_ms), now_ms) for name in sorted(state.queues)]
        pictures = {}
        for name in queues:
            queue = state.queues.get(name or "")
            if queue is not None:
                pictures[queue.spec.name] = self._pictured(runner, views, queue, now_ms)
        return Look(now_ms, state.sequence, cards, pictures)

    def _pictured(self, runner: Runner, views: Views, queue: QueueState, now_ms: int) -> Pictured:
        name = queue.spec.name
        after_ms = max(self._told_ms.get(name, 0), now_ms - round(3000 * EVERY_S))
        self._told_ms[name] = now_ms
        groups, more = groups_since(views.engine.state, queue, after_ms, now_ms)
        wave = max(queue.wave, views.engine.timetable(name).wave)
        snapshot = runner.copies.of(views.engine, queue, now_ms).snapshot
        return Pictured(queue, snapshot, groups, more, seed_of(name, wave + 1))

    def health(self, sequence: int) -> Health:
        """How the server does now."""
        lanes = list(self.served.values())
        runners = [one.runner for one in lanes]
        counted = [runner.metrics for runner in runners]
        return Health(
            version=self.version,
            ready=all(runner.ready for runner in runners),
            uptime_s=round(time.monotonic() - min(metrics.started_s for metrics in counted), 1),
            mailbox=sum(runner.depth for runner in runners),
            mailbox_most=sum(runner.settings.mailbox for runner in runners),
            journal_lag_s=round(max(metrics.lag.read() for metrics in counted), 6),
            commit_s=round(max(metrics.commit.read() for metrics in counted), 6),
            sockets=sum(one.hub.open for one in lanes),
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
                queue, snapshot, groups, more, seed = look.pictures[name]
                picture = picture_of(queue.spec, snapshot, look.now_ms, groups, more, seed)
            text = _encode(Frame(look.now_ms, health, look.cards, picture)).decode()
            frames[name] = Told(0, look.sequence, text, False, "frame")
        return frames


def _together(looks: list[Look]) -> Look:
    """What was found in several lanes."""
    if len(looks) == 1:
        return looks[0]
    return Look(
        now_ms=max(look.now_ms for look in looks),
        sequence=sum(look.sequence for look in looks),
        cards=sorted((card for look in looks for card in look.cards), key=lambda card: card.queue),
        pictures={name: pictured for look in looks for name, pictured in look.pictures.items()},
    )


def _card(runner: Runner, view: QueueView | Refusal, now_ms: int) -> Card:
    assert isinstance(view, QueueView)
    metrics = runner.metrics
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
        joins=round(rows.total("joins")),
        matches=round(rows.total("matches")),
        abandoned=round(rows.total("abandoned")),
        every_s=view.spec.wave.every_s,
        ready_check=view.spec.ready_check is not None,
        version=view.version,
    )
