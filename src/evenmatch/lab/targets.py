"""What a designer wants: "p90 wait 60 s", "90 % of matches within 45-55 %"."""

import re
from collections.abc import Sequence

import msgspec

from evenmatch.errors import LabError

from .comparison import QUALITY, WAIT
from .intervals import Interval

__all__ = ["Target", "implied", "of_words"]

_WAIT = re.compile(r"p(50|90|99) wait (?:of |under |within |<=? ?)?([\d.]+) ?s(?:econds)?", re.IGNORECASE)
_FAIR = re.compile(r"([\d.]+) ?% of (?:the )?matches within 45 ?(?:-|to|–) ?55 ?%?", re.IGNORECASE)
_EXAMPLES = '"p90 wait 60 s" or "90 % of matches within 45-55 %"'


class Target(msgspec.Struct, frozen=True):
    """A measure and how far it may go."""

    words: str
    measure: str
    limit: float
    at_least: bool
    """The measure must reach the limit; otherwise it must not exceed it."""

    def short(self, value: float | None) -> float:
        """How much is missing, as a share of the limit; 0 = it is met."""
        if value is None:
            return 1e6
        return max(0.0, (self.limit - value if self.at_least else value - self.limit) / max(self.limit, 1e-9))

    def surely(self, found: Interval, seeds: int) -> bool | None:
        """Whether it is met, as far as an interval over so many seeds can tell; None = it cannot."""
        if found.missing == seeds > 1:
            return False
        if found.low is None or found.high is None:
            return None
        if self.at_least:
            return True if found.low >= self.limit else False if found.high < self.limit else None
        return True if found.high <= self.limit else False if found.low > self.limit else None


def of_words(words: Sequence[str]) -> list[Target]:
    """Targets from what was written, of several for one measure the strictest; LabError if one can't be read.

    No two contradict each other: waits are all to be short, and matches all to be fair. But one can say nothing that
    another does not: `implied` tells which.
    """
    found: dict[str, Target] = {}
    for one in words:
        target = _read(one)
        other = found.get(target.measure)
        if other is None or (target.limit > other.limit) == target.at_least:
            found[target.measure] = target
    if not found:
        raise LabError(f"there is no target: give one such as {_EXAMPLES}")
    return list(found.values())


def implied(words: Sequence[str]) -> list[str]:
    """Of targets that another one makes needless, what makes them so."""
    found = []
    targets = [_read(one) for one in words]
    for place, weaker in enumerate(targets):
        for other, stricter in enumerate(targets):
            if other == place or not _follows(weaker, stricter):
                continue
            if _follows(stricter, weaker):
                if other > place:
                    found.append(f"The target {weaker.words!r} is given twice.")
                continue
            found.append(f"The target {weaker.words!r} says nothing more: {stricter.words!r} implies it.")
            break
    return found


def _follows(weaker: Target, stricter: Target) -> bool:
    """Whether who meets the stricter one meets the weaker one."""
    if weaker.at_least or stricter.at_least:
        return weaker.measure == stricter.measure and weaker.limit <= stricter.limit
    return _share(weaker) <= _share(stricter) and weaker.limit >= stricter.limit


def _share(target: Target) -> int:
    """Of a wait: how many in a hundred are to have no longer one."""
    return int(target.measure.rpartition(".p")[2])


def _read(words: str) -> Target:
    wait, fair = _WAIT.fullmatch(words.strip()), _FAIR.fullmatch(words.strip())
    if wait is not None:
        seconds = float(wait[2])
        if seconds <= 0:
            raise LabError(f"{words!r} cannot be met: use more than 0 seconds")
        return Target(words, f"{WAIT.rpartition('.')[0]}.p{wait[1]}", seconds, at_least=False)
    if fair is not None:
        share = float(fair[1]) / 100.0
        if not 0 < share <= 1:
            raise LabError(f"{words!r} cannot be met: use more than 0 and at most 100 %")
        return Target(words, QUALITY, share, at_least=True)
    raise LabError(f"{words!r} is no target: write {_EXAMPLES}")
