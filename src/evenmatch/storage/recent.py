"""Single events out of commits: each is decoded without the others, and commits that were read lately are kept.

Whoever opens a WebSocket asks for the events of its ticket, and under load a commit holds those of hundreds. To decode
all of them for each would take time with the square of the load.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from evenmatch.domain.events import Event
from evenmatch.errors import JournalDamaged

from .codec import SCHEMA, decode_events

_BYTES_MOST: Final = 4_000_000
"""Commits of so many bytes together are kept; a larger one, such as a large wave's, is not."""
_MOST: Final = 64

_split = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_ONE: Final = b"\x91"
"""MessagePack for a list of one."""
Part: TypeAlias = msgspec.Raw | Event


def split(body: bytes, schema: int) -> list[Part]:
    """The events of a commit, each still as its bytes; those of an older schema as they are now."""
    if schema != SCHEMA:
        return list(decode_events(body, schema))
    try:
        return list(_split(body))
    except msgspec.DecodeError as error:
        raise JournalDamaged(f"the events of a commit cannot be read: {error}") from error


class Recent:
    """The last few commits that somebody asked for. Commits never change, but old ones may be archived."""

    def __init__(self) -> None:
        self.after = 0
        """Only commits beyond this are kept: the newest checkpoint, for what it has behind it may be archived."""
        self._commits: dict[int, tuple[list[Part], int]] = {}
        self._size = 0

    def event(self, sequence: int, read: Callable[[int], tuple[int, list[Part], int] | None]) -> Event | None:
        """One event; `read` finds the commit that it is in: its first sequence, its parts, and how many bytes."""
        for first, (parts, _) in self._commits.items():
            if self.after < first <= sequence < first + len(parts):
                return _event(parts[sequence - first])
        found = read(sequence)
        if found is None:
            return None
        first, parts, size = found
        if size <= _BYTES_MOST and first > self.after:
            self._commits[first] = parts, size
            self._size += size
            while self._size > _BYTES_MOST or len(self._commits) > _MOST:
                self._size -= self._commits.pop(next(iter(self._commits)))[1]
        return _event(parts[sequence - first])


def _event(part: Part) -> Event:
    return decode_events(_ONE + bytes(part))[0] if isinstance(part, msgspec.Raw) else part
