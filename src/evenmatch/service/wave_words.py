"""What waves mean to one ticket, in words: how many left it, when the next is due, and how wide its window is.

Only what is known is said. Waves that changed nothing are in no journal: the engine that ran them keeps the last few,
so a count may be a least one; an engine that follows another process's journal has no timetable, and tells the beat.
"""

from typing import Any

import numpy as np

from evenmatch.core.engine import Engine
from evenmatch.core.state import NEVER, QueueState
from evenmatch.core.waves import UNRECORDED_TICKETS, UNRECORDED_WAVES
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.ticket import RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import window_words
from evenmatch.matchers.registry import build

_LONG_S = 1000


def seconds(milliseconds: float) -> str:
    """A time span as people write it: three digits, and whole seconds where it is long."""
    value = max(0.0, milliseconds / 1000)
    return f"{value:.3g} s" if value < _LONG_S - 0.5 else f"{value:,.0f} s"


def next_wave(engine: Engine, queue: QueueState, now_ms: int) -> str | None:
    """When a queue's next wave is due, in a sentence; None = it is paused. In the engine thread."""
    if queue.mode is Mode.PAUSED:
        return None
    timetable = engine.timetable(queue.spec.name)
    if timetable.flight is not None:
        return "A wave is under way."
    due_ms = timetable.next_due_ms(queue)
    if due_ms >= NEVER:
        return "The next wave comes when something changes in the queue."
    if due_ms > now_ms:
        return f"The next wave is due in {seconds(due_ms - now_ms)}."
    return f"A wave comes every {queue.spec.wave.every_s:g} s, if it could change anything."


def waves_left(engine: Engine, queue: str, ticket: int, since_ms: int, until_ms: int, recorded: int | None) -> str:
    """How many waves left a ticket between two moments, `recorded` of them in the journal; empty = none is known."""
    if recorded is None:
        return ""
    timetable = engine.timetable(queue)
    kept = timetable.unrecorded
    idle = sum(
        since_ms <= wave.started_ms and wave.finished_ms <= until_ms and bool(np.any(wave.snapshot.ticket == ticket))
        for wave in kept
    )
    count = recorded + idle
    full = len(kept) == UNRECORDED_WAVES or 2 * sum(len(wave.snapshot) for wave in kept) > UNRECORDED_TICKETS
    least = "at least " if full or not timetable.wave else ""
    return "" if not count else f"{least}1 wave that left it" if count == 1 else f"{least}{count:,} waves that left it"


def window_after(spec: QueueSpec | None, record: dict[str, Any] | None, waited_ms: int, misses: int | None) -> str:
    """The window of a ticket that has waited so long; empty = its matcher has none, or it is not known."""
    if spec is None or record is None:
        return ""
    ratings = [player.get("rating") for player in record["players"]]
    known = [RATING_DEFAULT if rating is None else rating for rating in ratings]
    try:
        matcher = build(spec.matcher.name, spec.matcher.parameters)
    except MatcherError:  # rules of long ago, that no version of now would take
        return ""
    return window_words(matcher, waited_ms, misses, sum(known) / max(1, len(known))) or ""
