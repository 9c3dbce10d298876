"""Old commits, moved out of a journal into an archive: an SQLite file, whichever store they come from."""

import itertools
from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeAlias

from evenmatch.errors import JournalError

Ends: TypeAlias = tuple[int, int, int]
"""The first and the last sequence of a commit, and its checksum."""
_AT_ONCE: Final = 1_000


class Origin(Protocol):
    """A journal that commits are moved out of."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def oldest(self) -> int:
        """The first sequence that is still kept."""

    def ends(self, start: int, begun: int, upto: int) -> list[Ends]:
        """The commits that begin at one sequence or later and at another or before, and end in time."""

    def raw(self, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
        """Commits as they stand in the table, those beyond a sequence and up to one."""


class Archive(Origin, Protocol):
    """A journal that they are moved to."""

    @property
    def last(self) -> int:
        """The last sequence it has."""

    def take(self, rows: list[tuple[Any, ...]], begins_at: int) -> None:
        """Put commits into it."""


def keep(origin: Origin, archive: Archive, base: int) -> None:
    """Copy the commits up to a sequence that an archive does not have yet; those it has must be the origin's."""
    start, last = origin.oldest, archive.last
    if last and (last + 1 < start or origin.ends(start, last, base) != archive.ends(start, last, base)):
        raise JournalError(f"{archive.name} is not the archive of {origin.name}: name another file")
    rows = origin.raw(last, base)
    while chunk := list(itertools.islice(rows, _AT_ONCE)):
        archive.take(chunk, start)
