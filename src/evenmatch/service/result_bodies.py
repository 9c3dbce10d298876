"""Results, corrections and seasons as they come over the wire, checked for form."""

import math
from typing import Final

import msgspec

from .wire import Problem, WireReasons

_SCORE_MAX: Final = 1e12
_RANK_MAX: Final = 1_000


class TeamResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a team ended: its rank (1 is best) or its score (higher is better). Equal ones drew."""

    rank: int | None = None
    score: float | None = None


class ResultBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a match ended."""

    teams: list[TeamResult]
    """Every team of the match, in its order: all with a rank, or all with a score."""
    leavers: list[str] = []
    """Players who left; each is rated as if the own team had come last."""


class CorrectionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a result should have been, or that it counts no longer."""

    teams: list[TeamResult] = []
    leavers: list[str] = []
    void: bool = False
    """Annul the result: leave out the rest."""


class SeasonBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a season begins."""

    season: int
    """The number of the season to start, one more than the one that runs; so a repeat changes nothing."""
    keep: float = 0.5
    """The share of each rating's distance to the start that is kept, 0 to 1."""
    deviation: float | None = None
    """Nobody is surer than this afterwards; left out: half of a newcomer's."""


FIELDS: Final = tuple(
    name for kind in (ResultBody, TeamResult, CorrectionBody, SeasonBody) for name in kind.__struct_fields__
)
"""All fields that may have been meant by one that is unknown."""


class Told(msgspec.Struct, frozen=True):
    """A result, checked for form."""

    teams: list[dict[str, float]]
    ranks: list[int]
    leavers: tuple[str, ...]


def told(teams: list[TeamResult], leavers: list[str]) -> Told | Problem:
    """A result whose form is right."""
    ranked = [team.rank for team in teams if team.rank is not None and team.score is None]
    scores = [team.score for team in teams if team.score is not None and team.rank is None]
    if not teams or (len(ranked) < len(teams) and len(scores) < len(teams)):
        return WireReasons.MALFORMED.problem(
            'teams: give every team a rank, or every team a score, such as [{"rank": 1}, {"rank": 2}]'
        )
    wrong = next((rank for rank in ranked if not 1 <= rank <= _RANK_MAX), None)
    if wrong is not None:
        return WireReasons.MALFORMED.problem(f"{wrong} is not a rank: use 1 to {_RANK_MAX}, 1 is best")
    odd = next((score for score in scores if not abs(score) <= _SCORE_MAX), None)
    if odd is not None:
        return WireReasons.MALFORMED.problem(f"{odd} is not a score: use a number up to {_SCORE_MAX:g} either way")
    if len(set(leavers)) < len(leavers):
        return WireReasons.MALFORMED.problem("leavers: a player stands there twice")
    if ranked:
        return Told([{"rank": float(rank)} for rank in ranked], _dense(ranked), tuple(leavers))
    return Told([{"score": score} for score in scores], _dense([-score for score in scores]), tuple(leavers))


def _dense(values: list[int] | list[float]) -> list[int]:
    """Ranks from 0, without gaps; equal values share one."""
    order = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return [order[value] for value in values]


def correction(body: CorrectionBody) -> Told | Problem | None:
    """A correction whose form is right; None = the result is annulled."""
    if not body.void:
        return told(body.teams, body.leavers)
    if body.teams or body.leavers:
        return WireReasons.MALFORMED.problem("a result that is void has neither teams nor leavers: leave them out")
    return None


def season_problem(body: SeasonBody) -> Problem | None:
    """What is wrong with the numbers of a season."""
    if not 0 <= body.keep <= 1:
        return WireReasons.MALFORMED.problem(f"keep is {body.keep}: use 0 (all start anew) to 1 (nothing changes)")
    if body.deviation is not None and not (math.isfinite(body.deviation) and body.deviation >= 0):
        return WireReasons.MALFORMED.problem(f"deviation is {body.deviation}: use a number from 0 on")
    if body.season < 2:
        return WireReasons.MALFORMED.problem(f"season {body.season} cannot be started: the first that can is 2")
    return None
