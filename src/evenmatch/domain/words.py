"""Words that must be one of a few: what to say of one that is not, and which was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest", "not_known"]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, however it is capitalised; None = none is near."""
    lowered = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def not_known(word: str, known: Iterable[str]) -> str:
    """What is wrong with a word that is none of those known, and what would be right."""
    names = list(known)
    meant = nearest(word, names)
    if meant is None:
        return f"{word[:64]!r} is not known: use {', '.join(names)}"
    return f"{word[:64]!r} is not known: did you mean {meant!r}? Known: {', '.join(names)}"
