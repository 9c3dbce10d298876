"""The rating models by name, behind one interface: ratings and a finishing order in, ratings out.

A rating is three numbers: mu (how good), sigma (how unsure) and volatility (how unsteady; Glicko-2 only). Elo has
neither of the last two and leaves them as they are. All defaults are on the scale where 1500 is average.

Who leaves a match is rated as if the own team had come last, alone; all others are rated by the result as it is.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

from . import elo, glicko2, weng_lin

__all__ = ["MODELS", "Elo", "Glicko2", "RatingModel", "Ratings", "WengLin", "build_model", "model_mistake", "rated"]

_POSITIVE: Final = ("beta", "sigma", "volatility", "scale", "tau", "period_days")
"""Parameters that must not be 0 either."""
_MOST: Final = {"volatility": 1.0, "mu": 1e6}
_MOST_ELSE: Final = 1e6


class Ratings(NamedTuple):
    """Ratings of some players, float64[players] each."""

    mu: Array
    sigma: Array
    volatility: Array

    def take(self, places: Array) -> "Ratings":
        """The ratings at these places, in the order given."""
        return Ratings(self.mu[places], self.sigma[places], self.volatility[places])


class RatingModel(Protocol):
    """How results become ratings."""

    @property
    def newcomer(self) -> tuple[float, float, float]:
        """mu, sigma and volatility of a player without a result."""

    def odds(self, ratings: Ratings, start: Array) -> Array:
        """float64[teams]: how likely each team is to win, by these ratings, not calibrated."""

    def updated(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:
        """The ratings after a match; `games`, int64[players]: matches rated before."""

    def updated_many(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:
        """The same after many matches of one shape, each with players of its own; `rank`, int64[matches, teams]."""

    def away(self, ratings: Ratings, days: Array) -> Ratings:
        """The ratings after so many days without a match, float64[players]."""


class WengLin(msgspec.Struct, frozen=True, kw_only=True):
    """Weng and Lin's Plackett-Luce: any number of teams of any size. The default."""

    mu: float = 1500.0
    sigma: float = 500.0
    beta: float = 250.0
    """Spread of a team's performance."""
    tau: float = 5.0
    """Drift a match."""
    drift_a_day: float = 0.0
    """Drift a day away, up to the sigma of a newcomer."""
    kappa: float = 1e-4

    @property
    def newcomer(self) -> tuple[float, float, float]:
        """A player without a result."""
        return self.mu, self.sigma, 0.0

    def odds(self, ratings: Ratings, start: Array) -> Array:
        """By normal strengths."""
        return weng_lin.odds(ratings.mu, ratings.sigma, start, self.beta)

    def updated(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:  # noqa: ARG002 not read here
        """One step of moment matching."""
        mu, sigma = weng_lin.updated(ratings.mu, ratings.sigma, start, rank, self.beta, self.tau, self.kappa)
        return Ratings(mu, sigma, ratings.volatility)

    def updated_many(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:  # noqa: ARG002 not read here
        """The same, match by match."""
        mu, sigma = weng_lin.updated_many(ratings.mu, ratings.sigma, start, rank, self.beta, self.tau, self.kappa)
        return Ratings(mu, sigma, ratings.volatility)

    def away(self, ratings: Ratings, days: Array) -> Ratings:
        """Sigma grows."""
        grown = np.sqrt(ratings.sigma**2 + days * self.drift_a_day**2)
        return ratings._replace(sigma=np.minimum(grown, np.maximum(self.sigma, ratings.sigma)))


class Elo(msgspec.Struct, frozen=True, kw_only=True):
    """Elo, with a larger k while a player is placed."""

    mu: float = 1500.0
    k: float = 32.0
    k_placement: float = 64.0
    placement: int = 10
    """Matches during which a player is placed."""
    scale: float = 400.0

    @property
    def newcomer(self) -> tuple[float, float, float]:
        """A player without a result."""
        return self.mu, 0.0, 0.0

    def odds(self, ratings: Ratings, start: Array) -> Array:
        """By mean ratings."""
        return elo.odds(ratings.mu, start, self.scale)

    def updated(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:
        """Everybody moves by k times the surprise."""
        k = np.where(games < self.placement, self.k_placement, self.k)
        return ratings._replace(mu=elo.updated(ratings.mu, k, start, rank, self.scale))

    def updated_many(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:
        """The same, match by match."""
        k = np.where(games < self.placement, self.k_placement, self.k)
        return ratings._replace(mu=elo.updated_many(ratings.mu, k, start, rank, self.scale))

    def away(self, ratings: Ratings, days: Array) -> Ratings:  # noqa: ARG002 nothing changes
        """Elo knows no doubt, so nothing changes."""
        return ratings


class Glicko2(msgspec.Struct, frozen=True, kw_only=True):
    """Glicko-2, each match a period of its own."""

    mu: float = 1500.0
    sigma: float = 350.0
    volatility: float = 0.06
    tau: float = 0.5
    period_days: float = 7.0
    """So many days away widen the deviation like a period without games."""

    @property
    def newcomer(self) -> tuple[float, float, float]:
        """A player without a result."""
        return self.mu, self.sigma, self.volatility

    def odds(self, ratings: Ratings, start: Array) -> Array:
        """By means and joint deviations."""
        return glicko2.odds(ratings.mu, ratings.sigma, start)

    def updated(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:  # noqa: ARG002 not read here
        """Steps 3 to 8 of the paper against each other team."""
        return Ratings(*glicko2.updated(*ratings, start, rank, self.tau))

    def updated_many(self, ratings: Ratings, games: Array, start: Array, rank: Array) -> Ratings:  # noqa: ARG002 not read here
        """The same, match by match."""
        return Ratings(*glicko2.updated_many(*ratings, start, rank, self.tau))

    def away(self, ratings: Ratings, days: Array) -> Ratings:
        """The deviation grows by the volatility."""
        grown = glicko2.away(ratings.sigma, ratings.volatility, days / self.period_days, self.sigma)
        return ratings._replace(sigma=grown)


MODELS: Final[Mapping[str, type[WengLin] | type[Elo] | type[Glicko2]]] = {
    "weng_lin": WengLin,
    "elo": Elo,
    "glicko2": Glicko2,
}
"""Name -> model; its fields are its parameters."""


def model_mistake(name: str, parameters: Mapping[str, Any]) -> str:
    """What is wrong with a model's name or parameters, and what would be right; empty = nothing."""
    if name not in MODELS:
        return f"unknown rating model {name!r}: known: {', '.join(MODELS)}"
    known = [field.name for field in msgspec.structs.fields(MODELS[name])]
    for parameter, value in parameters.items():
        if parameter not in known:
            return f"{name}: unknown parameter {parameter!r}: known: {', '.join(known)}"
        whole = parameter == "placement"
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not (fits and math.isfinite(value) and (value >= 0 or parameter == "mu")):
            right = "a whole number" if whole else "a number"
            return f"{name}: {parameter} must be {right}, not below 0, not {value!r}"
        if value == 0 and parameter in _POSITIVE:
            return f"{name}: {parameter} must be above 0"
        most = _MOST.get(parameter, _MOST_ELSE)
        if abs(value) > most:
            return f"{name}: {parameter} must be at most {most:g}, not {value!r}"
    return ""


def build_model(name: str, parameters: Mapping[str, Any]) -> RatingModel:
    """The model of that name with these parameters, in which there is no mistake."""
    typed: dict[str, Any] = {key: value if key == "placement" else float(value) for key, value in parameters.items()}
    return MODELS[name](**typed)


def rated(model: RatingModel, ratings: Ratings, games: Array, start: Array, rank: Array, left: Array) -> Ratings:
    """The ratings after a match; `left`, bool[players]: who left it."""
    after = model.updated(ratings, games, start, rank)
    for team in range(len(rank) if left.any() else 0):
        own = slice(start[team], start[team + 1])
        if left[own].any():
            last = rank.copy()
            last[team] = rank.max() + 1
            blamed = np.flatnonzero(left[own]) + start[team]
            as_last = model.updated(ratings, games, start, last)
            for column, worse in zip(after, as_last, strict=True):
                column[blamed] = worse[blamed]
    return after
