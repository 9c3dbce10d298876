"""Trouble that lasts, told to the log when it begins, when its words change and when it is over, not at every try."""

from typing import Any

from evenmatch.errors import JournalError

from .group import in_words


class Spells:
    """Trouble of one kind, by what it is about."""

    def __init__(self, log: Any, begun: str, over: str) -> None:
        """`begun` and `over`: what the log is told; with `lane`, where it is about one."""
        self._log, self._begun, self._over = log, begun, over
        self._said: dict[str, str] = {}
        self.now: dict[str, str] = {}
        """What it is about -> why, in words for anybody."""

    def note(self, error: JournalError, lane: str = "") -> None:
        """It failed, again perhaps."""
        if self._said.get(lane) != str(error):
            self._log.error(self._begun, error=str(error), **_about(lane))
        self._said[lane], self.now[lane] = str(error), in_words(error)

    def end(self, lane: str = "") -> None:
        """It did not."""
        if self.now.pop(lane, None) is not None:
            self._said.pop(lane, None)
            self._log.info(self._over, **_about(lane))


def _about(lane: str) -> dict[str, str]:
    return {"lane": lane} if lane else {}
