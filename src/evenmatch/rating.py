"""Rating a file of results: every match predicted before it is rated, and the predictions scored.

    results (CSV, in order of time) -> for each: odds by the ratings so far, calibrated by the results so far
                                    -> then, and only then, ratings and calibration learn from it

Nothing that is scored has been fitted on: the second half of the matches is scored, each by what was known before it.
Draws are rated but not scored. The baselines are run over the same matches: a coin, and openskill's defaults as they
come (Weng-Lin on its own scale, not calibrated).
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.errors import RatingError
from evenmatch.numerics import rating_models
from evenmatch.numerics.calibration import Calibration, calibrated, learned
from evenmatch.numerics.rating_models import RatingModel, Ratings, WengLin, model_mistake
from evenmatch.results import Results, Skipped

__all__ = ["Bin", "Outcome", "Point", "Score", "Standing", "build_model", "rate"]

BINS: Final = 10
CLASSES: Final = 24
POINTS: Final = 60
DAY_S: Final = 86_400.0
OPENSKILL: Final = WengLin(mu=25.0, sigma=25 / 3, beta=25 / 6, tau=25 / 300)
"""openskill's defaults; tests hold our kernel against openskill itself."""


class Score(msgspec.Struct, frozen=True):
    """How good predictions were: log-loss (nats, a coin has 0.693), and the share of favourites that won."""

    log_loss: float | None
    accuracy: float | None


class Bin(msgspec.Struct, frozen=True):
    """Predictions that were alike: what they said of the favourite, and how many favourites won."""

    low: float
    high: float
    matches: int
    predicted: float
    won: float


class Standing(msgspec.Struct, frozen=True):
    """A player at the end."""

    player: str
    rating: float
    uncertainty: float
    matches: int


class Point(msgspec.Struct, frozen=True):
    """How good the predictions were up to a match."""

    match: int
    log_loss: float
    openskill: float
    """The same of openskill's defaults."""


class Outcome(msgspec.Struct, frozen=True):
    """What rating a file gave."""

    model: str
    parameters: dict[str, Any]
    games: int
    draws: int
    skipped: int
    skipped_rows: tuple[Skipped, ...]
    scored: int
    log_loss: float | None
    accuracy: float | None
    uncalibrated: Score
    temperature: float
    calibration: list[Bin]
    baselines: dict[str, Score]
    leaders: list[Standing]
    running: list[Point]
    """Log-loss of the matches scored so far, at some of them."""
    histogram: list[tuple[float, int]]
    """Ratings at the end: the middle of a class, and how many players are in it."""


def build_model(name: str, parameters: Mapping[str, Any]) -> RatingModel:
    """The rating model of that name with these parameters; raises RatingError when either can't be used."""
    wrong = model_mistake(name, parameters)
    if wrong:
        raise RatingError(wrong)
    return rating_models.build_model(name, parameters)


def rate(results: Results, name: str, model: RatingModel, *, leaders: int = 10) -> Outcome:
    """Rate all matches in order of time with a model."""
    told, raw, ratings, games, calibration = _walk(results, model)
    plain = _walk(results, OPENSKILL)[1]
    rank = _ranks(results.score)
    scored = np.arange(len(results)) >= len(results) // 2
    scored &= rank[:, 0] != rank[:, 1]
    won = rank[scored, 0] == 0
    best = np.lexsort((np.arange(len(games)), -ratings.mu))[:leaders].tolist()
    score = _score(told[scored], won)
    return Outcome(
        model=name,
        parameters=msgspec.to_builtins(model),
        games=len(results),
        draws=int((rank[:, 0] == rank[:, 1]).sum()),
        skipped=len(results.skipped),
        skipped_rows=results.skipped,
        scored=int(scored.sum()),
        log_loss=score.log_loss,
        accuracy=score.accuracy,
        uncalibrated=_score(raw[scored], won),
        temperature=calibration.temperature,
        calibration=_bins(told[scored], won),
        baselines={"openskill_default": _score(plain[scored], won), "coin": Score(math.log(2.0), 0.5)},
        leaders=[
            Standing(results.names[one], float(ratings.mu[one]), float(ratings.sigma[one]), int(games[one]))
            for one in best
        ],
        running=_running(np.flatnonzero(scored), told[scored], plain[scored], won),
        histogram=_histogram(ratings.mu),
    )


def _losses(odds: Array, won: Array) -> Array:
    losses: Array = -np.log(np.clip(np.where(won, odds, 1.0 - odds), 1e-15, None))
    return losses


def _running(match: Array, odds: Array, plain: Array, won: Array) -> list[Point]:
    """The mean log-loss so far, at evenly spaced matches."""
    count = np.arange(1, len(match) + 1)
    ours, theirs = (np.cumsum(_losses(one, won)) / count for one in (odds, plain))
    places = np.unique(np.linspace(0, len(match) - 1, min(POINTS, len(match))).round().astype(np.int64))
    return [Point(int(match[at]) + 1, float(ours[at]), float(theirs[at])) for at in places.tolist()]


def _histogram(ratings: Array) -> list[tuple[float, int]]:
    low, high = float(ratings.min()), float(ratings.max())
    counts, edges = np.histogram(ratings, CLASSES, (low, high) if high > low else (low - 1.0, high + 1.0))
    middles = (edges[:-1] + edges[1:]) / 2
    return list(zip(middles.tolist(), counts.tolist(), strict=True))


def _ranks(score: Array) -> Array:
    """int64[matches, 2]: 0 for the better score, 1 for the worse, 0 for both of a draw."""
    ranks: Array = (score < score[:, ::-1]).astype(np.int64)
    return ranks


def _walk(results: Results, model: RatingModel) -> tuple[Array, Array, Ratings, Array, Calibration]:
    """The first team's odds in each match, calibrated and as they come; and what is known at the end."""
    players = len(results.names)
    known = Ratings(*(np.full(players, value) for value in model.newcomer))
    games, seen_s = np.zeros(players, np.int64), np.full(players, np.nan)
    told, raw = np.empty(len(results)), np.empty(len(results))
    calibration = Calibration()
    ranks = _ranks(results.score)
    for match in range(len(results)):
        start = results.start[2 * match : 2 * match + 3]
        who = results.player[start[0] : start[2]]
        start = start - start[0]
        now_s = results.at_s[match]
        days = np.nan_to_num((now_s - seen_s[who]) / DAY_S)
        ratings = model.away(known.take(who), days)
        odds = model.odds(ratings, start)
        raw[match], told[match] = odds[0], calibrated(odds, calibration)[0]
        calibration = learned(odds, ranks[match], calibration)
        new = model.updated(ratings, games[who], start, ranks[match])
        known.mu[who], known.sigma[who], known.volatility[who] = new
        games[who] += 1
        seen_s[who] = now_s
    return told, raw, known, games, calibration


def _score(odds: Array, won: Array) -> Score:
    if not len(odds):
        return Score(None, None)
    right = np.where(odds == 0.5, 0.5, (odds > 0.5) == won)
    return Score(float(_losses(odds, won).mean()), float(right.mean()))


def _bins(odds: Array, won: Array) -> list[Bin]:
    """How often favourites won, by how sure the prediction was of them."""
    favoured = np.maximum(odds, 1.0 - odds)
    right = np.where(odds == 0.5, 0.5, (odds > 0.5) == won)
    edges = np.linspace(0.5, 1.0, BINS + 1)
    place = np.clip(np.digitize(favoured, edges) - 1, 0, BINS - 1)
    return [
        Bin(
            float(edges[at]),
            float(edges[at + 1]),
            int(here.sum()),
            float(favoured[here].mean()),
            float(right[here].mean()),
        )
        for at in range(BINS)
        if (here := place == at).any()
    ]
