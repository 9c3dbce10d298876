"""One printed number or claim beside our own, and the verdict on the two.

Problem. A reproduction that can only succeed proves nothing: every verdict has to hang on something computed in this
run, and has to be able to come out the other way.

Idea. A ledger has four questions, and each has exactly one good answer; anything else is "differs":

    same      a printed number or word; ours is equal, or as close as said              -> agrees
    claim     a statement, judged by direction or order of magnitude; it holds          -> agrees
    wrong     a printed number that is known to be wrong, with the right one; ours is
              the right one and not the printed one                                     -> document_wrong
    refuted   a statement that is known to be wrong; what refutes it holds              -> document_wrong

So a mistake in our code, in our copy of a document or in what we take for right shows up as "differs".
"""

import time
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from evenmatch.pages.charts import Chart

__all__ = ["AGREES", "DIFFERS", "DOCUMENT_WRONG", "Chapter", "Effort", "Ledger", "Line", "best_ms", "spread"]

AGREES: Final = "agrees"
DOCUMENT_WRONG: Final = "document_wrong"
DIFFERS: Final = "differs"

Value: TypeAlias = int | float | str
Tell: TypeAlias = Callable[[str, int, int], None]
"""(what is being done, steps done, steps in all)."""

PAIRINGS: Final = 140_000_000
SEED: Final = 2026


class Line(msgspec.Struct, frozen=True):
    """One printed number or claim."""

    id: str
    """document.section.what"""
    document: Value
    """What is printed."""
    ours: Value
    """What our code made of it in this run."""
    verdict: str
    because: str


class Effort(msgspec.Struct, frozen=True):
    """How much is to be done, and who is told how far it is."""

    pairings: int = PAIRINGS
    """Lobby pairings of Cinder's experiment."""
    seed: int = SEED
    tell: Tell = lambda _what, _done, _total: None


class Chapter(msgspec.Struct, frozen=True):
    """One document, run again."""

    name: str
    title: str
    summary: tuple[str, ...]
    """Sentences in plain words, with numbers of this run."""
    sections: dict[str, str]
    """Section of the ids -> its heading."""
    lines: tuple[Line, ...]
    charts: tuple[Chart, ...] = ()

    def count(self, verdict: str) -> int:
        """How many lines have this verdict."""
        return sum(line.verdict == verdict for line in self.lines)


class Ledger:
    """The lines of one document, as they are judged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sections: dict[str, str] = {}
        self.lines: list[Line] = []

    def section(self, key: str, heading: str) -> None:
        """Lines from here on belong to this section."""
        self.sections[key] = heading

    def same(self, what: str, printed: Value, ours: Value, because: str = "", *, within: float = 0.0) -> None:
        """A printed number or word that we should get too, `within` so much of it."""
        good = close(printed, ours, within)
        self._add(what, printed, ours, AGREES if good else DIFFERS, because or ("equal" if good else ""))

    def claim(self, what: str, printed: Value, ours: Value, because: str, *, holds: bool) -> None:
        """A statement; `holds` says whether our run bears it out, `because` by which measure."""
        self._add(what, printed, ours, AGREES if holds else DIFFERS, because)

    def wrong(self, what: str, printed: Value, ours: Value, because: str, *, right: Value, within: float = 0.0) -> None:
        """A printed number that is wrong; `right` is what it should be, by the document's own rules."""
        good = close(right, ours, within) and not close(printed, ours, 0.0)
        self._add(what, printed, ours, DOCUMENT_WRONG if good else DIFFERS, because)

    def refuted(self, what: str, printed: Value, ours: Value, because: str, *, holds: bool) -> None:
        """A statement that is wrong; `holds` says whether our run bears out what refutes it."""
        self._add(what, printed, ours, DOCUMENT_WRONG if holds else DIFFERS, because)

    def _add(self, what: str, printed: Value, ours: Value, verdict: str, because: str) -> None:
        section = next(reversed(self.sections))
        if verdict == DIFFERS:
            because = f"not borne out by this run, and unexplained. Expected: {because or 'the same'}"
        self.lines.append(Line(f"{self.name}.{section}.{what}", plain(printed), plain(ours), verdict, because))


def close(one: Value, other: Value, within: float) -> bool:
    """Equal words, or numbers no further apart than `within` and the rounding of floats."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) <= within + 1e-9 * max(1.0, abs(one))


def plain(value: Value) -> Value:
    """The value as a type that JSON has: numpy's numbers are not."""
    item = getattr(value, "item", None)
    found: Value = item() if item is not None else value
    return found


def spread(low: float, high: float, unit: str) -> str:
    """Two ends of a range in words: `55-67 ms`, or with a sign `-82.5 to -94.5`."""
    between = " to " if min(low, high) < 0 else "-"
    return f"{low:g}{between}{high:g}{' ' if unit else ''}{unit}"


def best_ms(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs, in ms: what else the machine does only ever adds to it."""
    shortest = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest * 1000.0
