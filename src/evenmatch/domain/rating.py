"""Ratings as values: what a queue's spec says of them, and what is known of a player on a ladder.

A ladder is a name under which results and ratings are kept. Queues that name the same one share it; where a matcher has
sides, every side has a ladder of its own, `NAME/SIDE`, for being good at one says little of the other.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from evenmatch.domain.ids import QUEUE_NAME
from evenmatch.domain.ticket import FACT_MAX

PLACEMENT_MAX: Final = 10_000
_ELSEWHERE: Final = {"mu": "start", "sigma": "deviation", "placement": "placement"}
SURE: Final = 2.0
"""So many deviations below the rating a player almost surely is not: what leaderboards rank by."""


class RatingSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a queue's results become ratings."""

    model: str = "weng_lin"
    """weng_lin, elo or glicko2."""
    ladder: str = ""
    """Under which name ratings are kept; queues that name the same one share them. Empty = the queue's own name."""
    start: float = 1500.0
    """The rating of a player without a result."""
    deviation: float = 0.0
    """How unsure that is; 0 = as the model has it."""
    placement: int = 10
    """Results before a player is shown on the leaderboard."""
    trust_backend: bool = False
    """Match by the rating that comes with a ticket even where the player has one of ours."""
    parameters: dict[str, Any] = {}
    """Parameters of the model."""


class Rating(NamedTuple):
    """What is known of a player on a ladder."""

    mu: float
    sigma: float
    volatility: float
    games: int = 0
    last_ms: int = 0
    """When the last result came; 0 = there is none."""

    @property
    def sure(self) -> float:
        """The rating that a player almost surely has."""
        return self.mu - SURE * self.sigma


class Season(NamedTuple):
    """A soft reset: ratings are pulled towards the start, and nobody is surer than `deviation`."""

    number: int
    sequence: int
    at_ms: int
    keep: float
    """The share of the distance to the start that is kept."""
    start: float
    deviation: float
    most: float
    """The deviation of a newcomer; none grows beyond it."""

    def softened(self, rating: Rating) -> Rating:
        """A rating after the reset."""
        mu = self.start + self.keep * (rating.mu - self.start)
        return rating._replace(mu=mu, sigma=min(self.most, max(rating.sigma, self.deviation)))


def ladder_of(spec: RatingSpec, queue: str) -> str:
    """The ladder of a queue."""
    return spec.ladder or queue


def side_ladder(ladder: str, side: str) -> str:
    """The ladder of one side."""
    return f"{ladder}/{side}" if side else ladder


def rating_rules_broken(spec: RatingSpec, teams: int) -> Iterator[tuple[str, str]]:
    """Every rule that a queue's ratings break, as (key, what is wrong and what would be right)."""
    if teams < 2:
        yield "rating", f"a match of {teams} team has no winner to rate: leave this table out, or play 2 teams or more"
    if spec.ladder and not QUEUE_NAME.fullmatch(spec.ladder):
        yield (
            "rating.ladder",
            (
                f"{spec.ladder!r} cannot name a ladder: use 1 to 63 lower-case letters, digits, '-' or '_', "
                "starting with a letter or digit"
            ),
        )
    if not -FACT_MAX <= spec.start <= FACT_MAX:  # false for NaN too
        yield "rating.start", f"{spec.start} is not a rating: use {-FACT_MAX:g} to {FACT_MAX:g}"
    if not 0 <= spec.deviation <= FACT_MAX:
        yield "rating.deviation", f"{spec.deviation} is not a deviation: use 0 to {FACT_MAX:g}"
    if not 0 <= spec.placement <= PLACEMENT_MAX:
        yield "rating.placement", f"{spec.placement} is not a number of results: use 0 to {PLACEMENT_MAX}"
    for name, key in _ELSEWHERE.items():
        if name in spec.parameters:
            yield (
                "rating.parameters",
                f"{name} is not a parameter here: give it as the key {key!r} of the rating table",
            )


def ladders_at_odds(rated: Iterable[tuple[str, RatingSpec]]) -> Iterator[tuple[str, str, str]]:
    """Queues that share a ladder and would rate it in two ways, as (queue, key, what is wrong)."""
    first: dict[str, tuple[str, RatingSpec]] = {}
    for queue, spec in rated:
        ladder = ladder_of(spec, queue)
        other, same = first.setdefault(ladder, (queue, spec))
        for key in ("model", "parameters", "start", "deviation"):
            if getattr(spec, key) != getattr(same, key):
                yield queue, key, f"queues {other} and {queue} share the ladder {ladder!r}: give both the same {key}"
                break
