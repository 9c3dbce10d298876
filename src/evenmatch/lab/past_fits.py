"""Another matcher for a journal's queue: the queue's own rules, and parameters that fit those who came.

A journal is a population too: its ratings are known, how many came, in which parties, and how long they waited before
they gave up. So a matcher is fitted to it by the very rules by which the lab fits one to any population (`fits`).
"""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import numpy as np

from evenmatch import config
from evenmatch.domain.queue import MatcherSpec, QueueSpec
from evenmatch.errors import ConfigError, LabError
from evenmatch.numerics.wait_curve import wait_curve

from .fits import Fitter
from .log import End
from .past import Past
from .population import HOURS, Arrivals, Game, Population, Ratings, Sessions, Skill
from .queues import NotApplicable, fitted

__all__ = ["fitted_to_past", "patience_s", "population_of"]

_HOUR_MS: Final = 3_600_000
_FILE: Final = "ratings.csv"


def fitted_to_past(past: Past, matcher: str) -> tuple[QueueSpec, str]:
    """The journal's queue with another matcher, and where its parameters come from: fitted, or default."""
    with TemporaryDirectory(prefix="evenmatch-") as folder:
        ratings = [[member.rating] for wish in past.wishes for member in wish.request.members]
        with (Path(folder) / _FILE).open("w", newline="") as file:
            csv.writer(file).writerows([["rating"], *ratings])
        try:
            tried, origin = Fitter(population_of(past), Path(folder)).set_up(matcher)
        except NotApplicable as why:
            raise LabError(f"{matcher} cannot play {past.spec.name}: {why}") from None
    form, _ = fitted(matcher, past.spec.format)
    spec = msgspec.structs.replace(past.spec, format=form, matcher=MatcherSpec(matcher, tried.matcher.parameters))
    try:
        return config.parse(config.to_toml([spec]), past.spec.name)[0], origin
    except ConfigError as error:
        raise LabError(f"{matcher} cannot play {past.spec.name}: {str(error).partition(': ')[2]}") from None


def population_of(past: Past) -> Population:
    """What a journal says of those who came, as a population; their ratings are in a file beside it."""
    hours = max(1.0, past.last_ms - past.first_ms) / _HOUR_MS
    sizes = [len(wish.request.members) for wish in past.wishes]
    expires_s = past.spec.ticket.expires_s
    patience = min(patience_s(past) or Sessions().patience_s, expires_s)  # nobody waits longer than that
    return Population(
        title=f"the players of {past.spec.name}",
        game=Game(
            format=past.spec.format,
            every_s=past.spec.wave.every_s,
            ready_check_s=0.0,
            expires_s=expires_s,
        ),
        skill=Skill(kind="csv", file=_FILE, column="rating"),
        ratings=Ratings(error=0.0, newcomers=0.0),
        arrivals=Arrivals(sessions_a_day=len(past.wishes) * HOURS / hours),
        sessions=Sessions(games=1.0, patience_s=patience),
        parties={str(size): sizes.count(size) / len(sizes) for size in sorted(set(sizes))},
    )


def patience_s(past: Past) -> float | None:
    """Within which half would give up, were nobody matched (Kaplan and Meier); None = too few did to tell."""
    story = past.story
    waited = [(story.ended_ms.get(one, past.last_ms) - at_ms) / 1000.0 for one, at_ms in story.joined_ms.items()]
    gave_up = np.array([story.end[one] == End.GAVE_UP for one in story.joined_ms])
    many = len(waited)
    return wait_curve(np.full(many, -1.0), np.array(waited), gave_up, np.ones(many)).quantile(0.5)
