"""What people do. Every draw hangs on the seed, the session and how many matches it has had, and on nothing that a
matcher decides: under two matchers the same party is as patient, and plays as long.

`key` is a session and a match of it, `session * GAMES + game`.
"""

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


class Behaviour:
    """The people of one run."""

    def __init__(self, given: Sessions, seed: int) -> None:
        self.given, self.seed = given, seed

    def patience_ms(self, keys: Array) -> Array:
        """int64[n]: how long each waits before it gives up."""
        return _whole(self.given.patience_s * np.exp(self.given.patience_spread * self._normal(keys, _PATIENCE)))

    def match_ms(self, keys: Array) -> Array:
        """int64[n]: how long a match takes; it goes by its first session."""
        return _whole(self.given.match_s * np.exp(self.given.match_spread * self._normal(keys, _LENGTH)))

    def pause_ms(self, keys: Array) -> Array:
        """int64[n]: how long each rests before it joins again."""
        return _whole(self.given.pause_s * self._exponential(keys, _PAUSE))

    def stays(self, keys: Array) -> Array:
        """bool[n]: does it want another match?"""
        wanted: Array = uniforms(self.seed, keys, _STAYS) >= 1.0 / self.given.games
        return wanted & (keys % GAMES < GAMES - 1)

    def answers(self, keys: Array, member: Array, tried: Array) -> tuple[Array, Array]:
        """What each player of a party does at a ready check (int64[n]), and after how long (int64[n], ms)."""
        own = (keys * 128 + member) * _TRIES + tried % _TRIES
        will = uniforms(self.seed, own, _WILL)
        given = self.given
        found = np.where(will < given.decline, DECLINES, np.where(will < given.decline + given.lost, LOST, ACCEPTS))
        return found, _whole(given.answer_s * self._exponential(own, _ANSWER))

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
