"""Which documents there are, and running some of them again."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from evenmatch.errors import ConfigError
from evenmatch.reproduce.line import Chapter, Effort

__all__ = ["DOCUMENTS", "PAIRINGS_MIN", "chosen", "run"]

DOCUMENTS: Final[Mapping[str, str]] = {
    "epgc": "evenmatch.reproduce.epgc",
    "ladder": "evenmatch.reproduce.ladder",
    "buckets": "evenmatch.reproduce.buckets",
    "lom": "evenmatch.reproduce.lom",
    "cinder": "evenmatch.reproduce.cinder",
}
PAIRINGS_MIN: Final = 100_000
"""With fewer pairings chance alone could move the peak out of where it belongs."""
PAIRINGS_MAX: Final = 100_000_000_000


def chosen(document: str) -> list[str]:
    """The documents that a word names: one of them, or all."""
    if document == "all":
        return list(DOCUMENTS)
    if document not in DOCUMENTS:
        known = [*DOCUMENTS, "all"]
        near = get_close_matches(document, known, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(f"unknown document {document!r}: {guess}known: {', '.join(known)}")
    return [document]


def run(documents: list[str], effort: Effort) -> list[Chapter]:
    """These documents, one after the other; raises ConfigError, before anything is run, for a useless effort."""
    if not PAIRINGS_MIN <= effort.pairings <= PAIRINGS_MAX:
        raise ConfigError(f"--pairings must be from {PAIRINGS_MIN:,} to {PAIRINGS_MAX:,}, not {effort.pairings:,}")
    return [_reproduce(name)(effort) for name in documents]


def _reproduce(document: str) -> Callable[[Effort], Chapter]:
    made: Callable[[Effort], Chapter] = import_module(DOCUMENTS[document]).reproduce
    return made
