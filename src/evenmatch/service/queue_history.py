"""A queue's last hours as charts show them, and how long whom they kept waiting."""

import asyncio
from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.refusals import Refusal

from .handlers import Answer, problem, turned_away
from .history import MINUTES_MOST, POINTS_MOST, STEP_MS, Rows, causes
from .mailbox import Unavailable
from .runner import Runner
from .views import Views
from .waits import RECENT_MS, Waits
from .wire import WireReasons, problem_of

DECILES: Final = 10
_encode = msgspec.json.Encoder().encode


class PointView(msgspec.Struct, frozen=True):
    """What happened within one step."""

    at_ms: int
    """When it began."""
    depth: float
    """Tickets that waited; the mean where a step is several buckets."""
    joins: int
    matches: int
    left: int
    """Tickets that left without a match."""
    wait_p50_s: float | None
    wait_p90_s: float | None
    quality: float | None
    gap: float | None
    """The mean over matches: rating points between the strongest and the weakest team, or in a lobby, ticket."""
    ready_kept: float | None = None
    """The share of ready checks that led to a match; null = none ended."""
    whole: bool = True
    """False: the step is not over yet, and its counts will grow."""


class WaitsView(msgspec.Struct, frozen=True):
    """How long tickets of one kind waited, of those that were matched within the last day."""

    label: str
    matched: int
    p50_s: float
    p90_s: float


class QueueHistoryView(msgspec.Struct, frozen=True):
    """A queue's last hours."""

    queue: str
    since_ms: int
    """From when on this is known: what was before, the server does not remember."""
    step_s: int
    points: list[PointView]
    """Oldest first."""
    gone: dict[str, int]
    """Cause -> tickets that left without a match, in all of the time shown."""
    by_rating: list[WaitsView]
    """Tenths of the matched, from the lowest ratings up."""
    by_party: list[WaitsView]
    waits_since_ms: int = 0
    """`by_rating` and `by_party` are of those who were matched since then: a day ago, or later where the server has
    forgotten some or, after a restart, did not read them all again."""
    waits_whole: bool = True
    """They are of the whole last day."""


class QueueHistoryAnswer(msgspec.Struct, frozen=True):
    """A queue's last hours."""

    history: QueueHistoryView


async def history(runner: Runner, queue: str, minutes: int) -> Answer:
    """GET /v1/queues/{queue}/history"""
    if not 1 <= minutes <= MINUTES_MOST:
        return problem(WireReasons.MALFORMED.problem(f"minutes is {minutes}: use 1 to {MINUTES_MOST}"))
    busy = turned_away(runner)
    if busy is not None:
        return busy

    def look(views: Views, now_ms: int) -> tuple[int, Rows, tuple[Waits, float], int, int] | Refusal:
        found = views.queue(queue, now_ms)
        if isinstance(found, Refusal):
            return found
        kept = runner.metrics.play.histories.of(queue, now_ms)
        last = now_ms // STEP_MS
        buckets = min(minutes * 60_000 // STEP_MS, last - kept.since_ms // STEP_MS + 1)
        steps = -(-buckets // POINTS_MOST)
        first = (last - buckets + 1) // steps * steps  # steps begin where they did a moment ago
        rows = kept.copied(now_ms, last - first + 1)
        return kept.since_ms, rows, runner.forecasts.memory(queue).lately(now_ms), steps, now_ms

    found: tuple[int, Rows, tuple[Waits, float], int, int] | Refusal | Unavailable = await runner.ask(look)
    if isinstance(found, Refusal | Unavailable):
        return problem(problem_of(found))
    view = await asyncio.to_thread(view_of, queue, *found)
    return Answer(200, _encode(QueueHistoryAnswer(view)))


def view_of(
    queue: str, since_ms: int, rows: Rows, known: tuple[Waits, float], steps: int, now_ms: int
) -> QueueHistoryView:
    """The same for people, in steps of so many buckets; `known`: waits, and since when they are all."""
    waits, waits_since_ms = known
    matched = waits.take(waits.matched > 0)
    return QueueHistoryView(
        queue=queue,
        since_ms=since_ms,
        step_s=steps * STEP_MS // 1000,
        points=[_point(part, steps, now_ms) for part in rows.merged(steps)],
        gone=causes(rows),
        by_rating=_deciles(matched),
        by_party=_parties(matched),
        waits_since_ms=round(waits_since_ms),
        waits_whole=waits_since_ms <= now_ms - RECENT_MS,
    )


def _point(part: Rows, steps: int, now_ms: int) -> PointView:
    ends_ms = (part.first // steps + 1) * steps * STEP_MS
    gap, checked = part.mean("gap"), part.total("checked")
    return PointView(
        at_ms=part.first * STEP_MS,
        depth=round(float(part.depth.mean()), 1),
        joins=round(part.total("joins")),
        matches=round(part.total("matches")),
        left=round(sum(float(column.sum()) for column in part.gone.values())),
        wait_p50_s=part.wait_s(0.5),
        wait_p90_s=part.wait_s(0.9),
        quality=part.mean("quality"),
        gap=None if gap is None else round(gap, 1),
        ready_kept=part.total("made") / checked if checked else None,
        whole=ends_ms <= now_ms,
    )


def _waited(label: str, waits: Waits, rows: Array) -> WaitsView:
    waited_s = np.repeat(waits.waited_ms[rows], waits.weight[rows].astype(np.int64)) / 1000
    half, most = np.quantile(waited_s, (0.5, 0.9)).round(2).tolist()
    return WaitsView(label, len(waited_s), half, most)


def _deciles(waits: Waits) -> list[WaitsView]:
    if len(waits) < DECILES:
        return []
    order = np.argsort(waits.rating, kind="stable")
    parts = np.array_split(order, DECILES)
    return [_waited(f"{waits.rating[part[0]]:,.0f} to {waits.rating[part[-1]]:,.0f}", waits, part) for part in parts]


def _parties(waits: Waits) -> list[WaitsView]:
    sizes = np.unique(waits.size).tolist()
    return [_waited(f"{size:.0f}", waits, np.flatnonzero(waits.size == size)) for size in sizes]
