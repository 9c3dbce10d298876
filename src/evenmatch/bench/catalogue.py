"""All contests by name, and which of them a word means: one contest, or all of a matcher."""

from difflib import get_close_matches
from typing import Final

from evenmatch.bench.contest import Contest
from evenmatch.bench.contests import buckets, cinder, epgc, even, even_others, even_teams, ladder, lom, small
from evenmatch.errors import ConfigError

__all__ = ["CONTESTS", "chosen", "sizes_of"]

CONTESTS: Final = {
    contest.name: contest
    for chapter in (epgc, ladder, buckets, lom, cinder, even, even_teams, even_others, small)
    for contest in chapter.CONTESTS
}
SIZE_MAX: Final = 1_000_000_000


def chosen(
    names: tuple[str, ...], sizes: tuple[int, ...] | None = None, *, quick: bool = False
) -> list[tuple[Contest, tuple[int, ...]]]:
    """The contests that words name, in the catalogue's order, each with its sizes; no word = all.

    `sizes` replace the contests' own. Raises ConfigError for an unknown word.
    """
    groups = list(dict.fromkeys(name.partition(".")[0] for name in CONTESTS))
    for name in names:
        if name not in CONTESTS and name not in groups:
            near = get_close_matches(name, [*groups, *CONTESTS], n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            rows = ", ".join(contest for contest in CONTESTS if contest.startswith(f"{name.partition('.')[0]}."))
            known = rows or f"{', '.join(groups)}, and rows of them such as {next(iter(CONTESTS))}"
            raise ConfigError(f"unknown benchmark {name!r}: {guess}known: {known}")
    return [
        (contest, sizes or (contest.quick or contest.sizes[:2] if quick else contest.sizes))
        for name, contest in CONTESTS.items()
        if not names or name in names or name.partition(".")[0] in names
    ]


def sizes_of(text: str) -> tuple[int, ...]:
    """The sizes of a list such as 500,5000, ascending; raises ConfigError for anything else."""
    sizes = set()
    for word in text.replace("_", "").split(","):
        if not word.strip().isdecimal() or not 1 <= int(word) <= SIZE_MAX:
            raise ConfigError(f"--sizes must be whole numbers from 1 to {SIZE_MAX:,}, such as 500,5000, not {text!r}")
        sizes.add(int(word))
    return tuple(sorted(sizes))
