"""What people do. Every draw hangs on the seed, the session and how many matches it has had, and on nothing that a
matcher decides: under two matchers the same party is as patient, and plays as long.

`key` is a session and a match of it, `session * GAMES + game`. What is drawn a ticket at a time is drawn ahead for all
sessions and their first matches: a table is read in a hundredth of the time that a few draws take.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.seeds import uniforms

from .population import Sessions

__all__ = ["ACCEPTS", "DECLINES", "GAMES", "LOST", "Behaviour"]

GAMES: Final = 1024
"""No session has more matches."""
ACCEPTS, DECLINES, LOST = 0, 1, 2
_PATIENCE, _STAYS, _PAUSE, _LENGTH, _ANSWER, _WILL = 20, 22, 23, 24, 26, 27
_TRIES: Final = 64
_LEAST: Final = 1e-12
_AHEAD: Final = 16
"""Matches of a session that are drawn ahead; one in a hundred has more, where four are usual."""
_ROOM: Final = 2**22
"""Entries of a table, at most."""


class Behaviour:
    """The people of one run."""

    def __init__(self, given: Sessions, seed: int, sessions: int = 0) -> None:
        """`sessions`: so many are known to come."""
        self.given, self.seed = given, seed
        self._ahead = min(_AHEAD, _ROOM // sessions) if sessions else 0
        keys = (np.arange(sessions)[:, None] * GAMES + np.arange(self._ahead)).ravel()
        self._patience = self._drawn_patience(keys)
        self._lengths = self._drawn_lengths(keys)
        self._pauses = self._drawn_pauses(keys)
        self._stays = self._drawn_stays(keys)

    def patience_ms(self, keys: Array) -> Array:
        """int64[n]: how long each waits before it gives up."""
        return self._read(self._patience, keys, self._drawn_patience)

    def match_ms(self, keys: Array) -> Array:
        """int64[n]: how long a match takes; it goes by its first session."""
        return self._read(self._lengths, keys, self._drawn_lengths)

    def pause_ms(self, keys: Array) -> Array:
        """int64[n]: how long each rests before it joins again."""
        return self._read(self._pauses, keys, self._drawn_pauses)

    def stays(self, keys: Array) -> Array:
        """bool[n]: does it want another match?"""
        return self._read(self._stays, keys, self._drawn_stays)

    def answers(self, keys: Array, member: Array, tried: Array) -> tuple[Array, Array]:
        """What each player of a party does at a ready check (int64[n]), and after how long (int64[n], ms)."""
        own = (keys * 128 + member) * _TRIES + tried % _TRIES
        will = uniforms(self.seed, own, _WILL)
        given = self.given
        found = np.where(will < given.decline, DECLINES, np.where(will < given.decline + given.lost, LOST, ACCEPTS))
        return found, _whole(given.answer_s * self._exponential(own, _ANSWER))

    def _read(self, table: Array, keys: Array, drawn: Callable[[Array], Array]) -> Array:
        """From a table, and drawn where it has none."""
        session, game = keys // GAMES, keys % GAMES
        late = game >= self._ahead
        if not late.any():
            found: Array = table[session * self._ahead + game]
            return found
        if not len(table):
            return drawn(keys)
        found = table[session * self._ahead + np.where(late, 0, game)]
        found[late] = drawn(keys[late])
        return found

    def _drawn_patience(self, keys: Array) -> Array:
        return _whole(self.given.patience_s * np.exp(self.given.patience_spread * self._normal(keys, _PATIENCE)))

    def _drawn_lengths(self, keys: Array) -> Array:
        return _whole(self.given.match_s * np.exp(self.given.match_spread * self._normal(keys, _LENGTH)))

    def _drawn_pauses(self, keys: Array) -> Array:
        return _whole(self.given.pause_s * self._exponential(keys, _PAUSE))

    def _drawn_stays(self, keys: Array) -> Array:
        wanted: Array = uniforms(self.seed, keys, _STAYS) >= 1.0 / self.given.games
        return wanted & (keys % GAMES < GAMES - 1)

    def _exponential(self, keys: Array, salt: int) -> Array:
        drawn: Array = -np.log(np.maximum(uniforms(self.seed, keys, salt), _LEAST))
        return drawn

    def _normal(self, keys: Array, salt: int) -> Array:
        """By Box and Muller; it takes two salts."""
        far = np.sqrt(2.0 * self._exponential(keys, salt))
        drawn: Array = far * np.cos(2.0 * np.pi * uniforms(self.seed, keys, salt + 1))
        return drawn


def _whole(seconds: Array) -> Array:
    return np.maximum(1, np.rint(seconds * 1000.0)).astype(np.int64)
