"""Parameters for matchers of which a population says nothing: fitted to its own ratings and arrivals.

A matcher's defaults are its document's, and fit the document's ratings; on another scale they would judge the scale and
not the matcher. The rules are calibrate's: windows (`buckets`, `ladder`) with which nine in ten meet somebody within
half of the median patience, or as soon as so few can; for `even` windows in which all of a match come within that
time (one opponent: within all of the patience, since it finds those who wait already as well), and the game's own
`rating_scale`; round tiers of about equal size (`epgc`), two to five of them, so many that a lobby comes to each within
that time; buckets and a score that accept the best fifth of pairs (`cinder`).
The other matchers have nothing that hangs on the scale alone, and keep their defaults.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec

from . import people, traffic
from .calibrate import cinder_of, even_of, least_wait_s, tiers_of, windows_of
from .population import HOURS, Population
from .queues import for_matcher

__all__ = ["DEFAULT", "FITTED", "GIVEN", "Fitter"]

GIVEN, FITTED, DEFAULT = "given", "fitted", "default"
"""Where parameters come from: the population or a file of queues; the population's players; the matcher itself."""
_FITTING: Final = ("even", "buckets", "ladder", "epgc", "cinder")
_TIERS_LEAST, _TIERS_MOST = 2, 5
_ENOUGH: Final = 20_000
"""Players who show how ratings spread."""
_ROOM: Final = 1.001
"""Over the least wait, so that rounding does not undercut it."""


class Fitter:
    """Sets matchers up for a population; the folder is where its files are."""

    def __init__(self, population: Population, folder: Path) -> None:
        self._population, self._folder = population, folder

    def set_up(self, matcher: str) -> tuple[QueueSpec, str]:
        """The queue in which a matcher is tried, and where its parameters come from; NotApplicable as `for_matcher`."""
        plain = for_matcher(self._population, matcher)
        if self._population.fit(matcher).parameters:
            return plain, GIVEN
        found = self._fitted(matcher, plain)
        return (for_matcher(self._population, matcher, **found), FITTED) if found else (plain, DEFAULT)

    @cached_property
    def _crowd(self) -> people.People:
        return people.draw(self._population, self._folder, 1, min(_ENOUGH, traffic.crowd(self._population)))

    @property
    def _ratings(self) -> Array:
        return self._crowd.ratings.mu

    @property
    def _settled(self) -> Array:
        """Ratings without those of newcomers, which all begin alike and would pass for a crowd."""
        played: Array = self._ratings[self._crowd.games > 0]
        return played if len(played) else self._ratings

    def _fitted(self, matcher: str, plain: QueueSpec) -> dict[str, Any]:
        """Parameters that fit, or none."""
        if matcher not in _FITTING or len(np.unique(self._ratings)) < _TIERS_MOST:
            return {}
        arrivals, soon_s = self._arrivals_a_minute(plain), self._population.sessions.patience_s / 2
        if matcher == "epgc":
            lobbies_soon = int(arrivals * soon_s / 60.0 / plain.format.seats)
            tiers = min(_TIERS_MOST, max(_TIERS_LEAST, lobbies_soon))
            return {"boundaries": list(tiers_of(self._ratings, tiers).ways["histogram"].boundaries)}
        if matcher == "cinder":
            size = self._population.game.format.size
            lobbies = self._ratings[: len(self._ratings) // size * size].reshape(-1, size)
            return dict(cinder_of(lobbies).parameters)
        every_s = plain.wave.every_s
        if matcher == "even":
            seats = plain.format.seats
            return self._even(arrivals * self._party, seats, 2 * soon_s if seats == 2 else soon_s, every_s)
        wait_s = max(soon_s, _ROOM * least_wait_s(arrivals), every_s)
        found = windows_of(self._settled, arrivals, wait_s, every_s)
        return dict(found.ladder if matcher == "ladder" else found.buckets)

    def _even(self, players_a_minute: float, seats: int, soon_s: float, every_s: float) -> dict[str, Any]:
        wait_s = max(soon_s, _ROOM * least_wait_s(players_a_minute, seats - 1), every_s)
        return even_of(self._settled, players_a_minute, seats, wait_s, every_s, self._population.game.scale)

    @property
    def _party(self) -> float:
        """Players in a party, on average."""
        shares = self._population.parties
        return sum(int(size) * share for size, share in shares.items()) / sum(shares.values())

    def _arrivals_a_minute(self, plain: QueueSpec) -> float:
        """Tickets that a queue takes, over the day; every match of a session is one."""
        given, sizes = self._population, plain.door.party_sizes
        taken = sum(share for size, share in given.parties.items() if sizes is None or int(size) in sizes)
        return given.arrivals.sessions_a_day * given.sessions.games * taken / (HOURS * 60)
