"""What waves mean to one ticket, in words: how many left it, when the next is due, and how wide its window is.

Only what is known is said, and only what stays so: waves that changed nothing are in no journal, and are not counted,
for the few of them that are in memory would be told now and not later. An engine that follows another process's journal
has no timetable, and tells the beat.
"""

from typing import Any

from evenmatch.core.engine import Engine
from evenmatch.core.state import NEVER, QueueState
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.ticket import RATING_DEFAULT
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import window_words
from evenmatch.matchers.registry import build

from .spans import span


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
        sooner = ", or sooner if something changes in the queue" if due_ms > timetable.next_wave_ms else ""
        return f"The next wave is due in {span(due_ms - now_ms)}{sooner}."
    return f"A wave comes every {span(queue.spec.wave.every_s * 1000)}, if it could change anything."


def waves_left(recorded: int | None) -> str:
    """How many recorded waves left a ticket; empty = none, or it is not known."""
    return f"{recorded:,} recorded wave{'s' * (recorded != 1)} that left it" if recorded else ""


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
