"""How a match goes: who is on which team, how even it is, how far everybody is from the server, and who wins.

Whoever is `scale` points stronger wins ten times as often: every team plays at its mean skill plus a draw from a Gumbel
distribution, and the best finishes first. For two teams that is the Elo curve, for more it is the model of Plackett and
Luce.
"""

import math
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import QueueSpec
from evenmatch.numerics.seeds import uniforms

from .people import People
from .population import Game

__all__ = ["Outcomes"]

_LUCK: Final = 30
_TEAMS_ROOM: Final = 256
_LEAST: Final = 1e-12
_AHEAD: Final = 4_096


class Outcomes:
    """The game itself."""

    def __init__(self, game: Game, spec: QueueSpec, people: People, seed: int) -> None:
        self._people, self._seed = people, seed
        self._scale = game.scale
        self._noise = game.scale / math.log(10.0)
        self._luck = np.zeros((0, 0))
        """float64[n, teams]: what bad luck costs each team of the matches 0, 1, 2, ..."""
        form = game.format
        self._alone = form.teams == 1
        """All against all, and the matchmaker sees a lobby."""
        self._split = form if spec.format.teams == 1 and form.teams > 1 else None
        """The matchmaker makes a lobby, and the game makes teams of it."""
        played = spec.venue.regions if spec.venue is not None and spec.venue.regions else people.regions
        self._servers = [place for place, name in enumerate(people.regions) if name in played]
        """Regions, by their places, in which matches are played."""

    def teams(self, seated: Array, believed: Array) -> Array:
        """int64[k, seats]: the team of each player in the game. A lobby is dealt out by rating, there and back."""
        if self._alone:
            return np.broadcast_to(np.arange(seated.shape[1]), seated.shape)
        if self._split is None:
            return seated.astype(np.int64)
        teams = self._split.teams
        place = np.arange(seated.shape[1])
        turn = np.where(place // teams % 2 == 0, place % teams, teams - 1 - place % teams)
        found = np.empty(seated.shape, np.int64)
        np.put_along_axis(found, np.argsort(-believed, axis=1, kind="stable"), turn[None, :], axis=1)
        return found

    def told(self, rows: Array, team: Array, believed: Array) -> dict[str, Array]:
        """How even matches are, float64[k] each: by ratings, and really."""
        gap, really = (_gaps(strength, team) for strength in (believed, self._people.skill[rows]))
        return {
            "gap": gap,
            "odds": self._favourite(gap),
            "true_gap": really,
            "true_odds": self._favourite(really),
            "spread": np.ptp(believed, axis=1),
        }

    def _favourite(self, gap: Array) -> Array:
        """How likely the strongest is to beat the weakest."""
        found: Array = 0.5 + 0.5 * np.tanh(gap * math.log(10.0) / (2.0 * self._scale))
        return found

    def extra_ms(self, rows: Array) -> Array:
        """float64[k, seats]: how much farther away all play than they could, in the region best for the worst."""
        latency = self._people.latency[rows]
        near = latency[:, :, self._servers]
        chosen = near.max(axis=1).argmin(axis=1)
        own = np.take_along_axis(near, chosen[:, None, None], axis=2)[:, :, 0]
        extra: Array = own - latency.min(axis=2)
        return extra

    def results(self, match: Array, rows: Array, team: Array) -> tuple[Array, Array, Array]:
        """How matches end, whose players (int64[k, seats]) are in teams of the same sizes each.

        Players' rows (int64[k * seats]) match by match and team by team; where each team begins (int64[teams + 1]); the
        teams' ranks (int64[k, teams], 0 is best).
        """
        matches, teams = len(team), int(team[0].max()) + 1
        code = (team + np.arange(matches)[:, None] * teams).ravel()
        size = np.bincount(code, minlength=matches * teams)
        strength = np.bincount(code, self._people.skill[rows.ravel()]) / size
        if match.max() >= len(self._luck):
            self._draw(int(match.max()), teams)
        played = strength.reshape(matches, teams) - self._luck[match]
        rank = np.empty((matches, teams), np.int64)
        order = np.argsort(-played, axis=1, kind="stable")
        np.put_along_axis(rank, order, np.arange(teams)[None, :], axis=1)
        start = np.concatenate([[0], np.cumsum(size[:teams])])
        return rows.ravel()[np.argsort(code, kind="stable")], start, rank

    def _draw(self, match: int, teams: int) -> None:
        """Draw the luck of all matches up to this one and beyond: a thousand draws cost hardly more than one."""
        number = np.arange(len(self._luck), max(match + 1, 2 * len(self._luck), _AHEAD))
        drawn = uniforms(self._seed, (number[:, None] * _TEAMS_ROOM + np.arange(teams)).ravel(), _LUCK)
        luck = self._noise * np.log(-np.log(np.clip(drawn, _LEAST, 1.0 - _LEAST)))
        self._luck = np.concatenate([self._luck.reshape(-1, teams), luck.reshape(-1, teams)])


def _gaps(strength: Array, team: Array) -> Array:
    """float64[k]: from the mean strength of the weakest team to that of the strongest."""
    matches, teams = len(team), int(team.max()) + 1
    code = (team + np.arange(matches)[:, None] * teams).ravel()
    size = np.bincount(code, minlength=matches * teams)
    means = (np.bincount(code, strength.ravel(), matches * teams) / size).reshape(matches, teams)
    found: Array = np.ptp(means, axis=1)
    return found
