"""Rules for backfill, as data: who may be asked to join a match that runs, and how that goes."""

from collections.abc import Iterator
from typing import Final

import msgspec

from evenmatch.domain.ticket import FACT_MAX

PRIORITIES: Final = ("first", "last")
LATE_RATED: Final = ("full", "wins", "none")
GROWS_MAX: Final = 10_000.0
LATENCY_MAX_MS: Final = 100_000.0


class BackfillSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How places of running matches are filled."""

    enabled: bool = True
    window: float = 400.0
    """How far a newcomer's rating may be from the mean of the team; 0 = any rating will do."""
    grows: float = 20.0
    """The window widens by so many points a second, while the place has been open and while the ticket has waited."""
    latency_max_ms: float = 0.0
    """How far a newcomer may be from the match's region; 0 = as far as the venue says."""
    priority: str = "first"
    """Before a wave's own matches, or from what they leave."""
    expires_s: float = 300.0
    """Places that nobody has taken by then are given up; 0 = they stay open until the match ends."""
    ready_check: bool = True
    """Newcomers are asked, where the queue has a ready check; otherwise they join at once."""
    rated: str = "wins"
    """How late-comers are rated: full, wins (a defeat costs them nothing) or none."""
    asks: bool = False
    """Only tickets that say so are asked; otherwise all but those that say no."""
    leave_s: float = 0.0
    """How long players who left may not join again; it grows as cool-downs do."""


def backfill_rules_broken(spec: BackfillSpec, seconds_max: float) -> Iterator[tuple[str, str]]:
    """Every rule that a spec breaks, as (key, what is wrong and what would be right)."""
    if not 0 <= spec.window <= FACT_MAX:
        yield "backfill.window", f"{spec.window} is no distance: use 0 (any rating) to {FACT_MAX:g}"
    if not 0 <= spec.grows <= GROWS_MAX:
        yield "backfill.grows", f"{spec.grows} is not a usable number of points: use 0 to {GROWS_MAX:g} a second"
    if not 0 <= spec.latency_max_ms <= LATENCY_MAX_MS:
        yield (
            "backfill.latency_max_ms",
            (f"{spec.latency_max_ms} is not a usable number of milliseconds: use 0 to {LATENCY_MAX_MS:g}"),
        )
    if spec.priority not in PRIORITIES:
        yield "backfill.priority", f"{spec.priority!r} is not known: use {' or '.join(PRIORITIES)}"
    if spec.rated not in LATE_RATED:
        yield "backfill.rated", f"{spec.rated!r} is not known: use {', '.join(LATE_RATED)}"
    for name in ("expires_s", "leave_s"):
        seconds = getattr(spec, name)
        if not 0 <= seconds <= seconds_max:  # false for NaN too
            yield f"backfill.{name}", f"{seconds} is not a usable number of seconds: use 0 to {seconds_max:g}"
