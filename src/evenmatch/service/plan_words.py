"""What matchers said of their last plans as a whole, in words: seats, bounds and gaps, for whoever asks why.

A plan's own account is no part of any event, so it is kept here, of the last waves of each queue, and gone with the
process. Past waves can be planned again in full (`past_waves`); this is for answers that must not take long.
"""

from collections import OrderedDict
from typing import Final

from evenmatch.domain.commands import FinishWave

KEPT: Final = 256
"""Waves of each queue whose words are kept."""
ALL: Final = -1
"""Stands for the only group there is."""


class PlanWords:
    """Words by queue and wave; written by the engine thread."""

    def __init__(self) -> None:
        self._by_queue: dict[str, OrderedDict[int, dict[int, str]]] = {}

    def note(self, answer: FinishWave) -> None:
        """Keep what the plan of a wave says of itself, if it says anything in words."""
        if answer.plan is None or answer.first:
            return
        details = answer.plan.details
        parts = details.get("groups", [{"group": ALL, **details}])
        words = {int(part["group"]): str(part["words"]) for part in parts if "words" in part}
        waves = self._by_queue.setdefault(answer.queue, OrderedDict())
        waves[answer.wave] = words
        waves.move_to_end(answer.wave)
        while len(waves) > KEPT:
            waves.popitem(last=False)

    def of(self, queue: str, wave: int | None = None, group: int = ALL) -> str | None:
        """Of a wave, or of the last one; of the group with this code, where there were several; None = not kept."""
        waves = self._by_queue.get(queue)
        if not waves:
            return None
        words = waves.get(next(reversed(waves)) if wave is None else wave, {})
        return words.get(ALL, words.get(group))
