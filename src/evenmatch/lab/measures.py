"""What a run was like for those who lived through it, in numbers.

Everything but `timing` hangs on the seed alone. A ticket that was still waiting when the run ended counts in no share;
those who were turned away at the door, gave up or expired were never matched. `wait_s` is of those who were matched;
`wait_to_match_s` also counts, as far as they waited, those who were not (Kaplan and Meier), so that a matcher gains
nothing by letting the hard ones go.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.wait_curve import wait_curve

from .log import End, Log
from .people import People
from .population import HOURS, Population

__all__ = ["FAIR", "histogram", "measured", "quantiles", "timing", "within"]

FAIR: Final = 0.55
"""A match is fair when the favourite wins at most this often: odds of 45 to 55 %."""
WORST: Final = 0.01
DECILES: Final = 10
_QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_CLASSES: Final = 20
_MANY: Final = 1 << 40
_MATCHES: Final = ((1, 2), (3, 5), (6, 10), (11, 20), (21, _MANY))
"""Newcomers are told apart by how many matches they have had."""


def measured(log: Log, people: People, population: Population) -> dict[str, Any]:
    """All measures of a run, as plain values."""
    tickets, matches = log.tickets, log.matches
    end = tickets.column("end")
    wait = (tickets.column("ended_ms") - tickets.column("joined_ms")) / 1000.0
    matched = end == End.MATCHED
    refused = sum(log.refused.values())
    settled = int(np.isin(end, _SETTLED).sum()) + refused
    lost = settled - int(matched.sum())
    overtaken = tickets.column("overtaken")
    hours = log.until_ms / 3_600_000
    left_behind = (overtaken > 0) & np.isin(end, (End.GAVE_UP, End.EXPIRED))
    return {
        "tickets": tickets.count + refused,
        "matches": len(matches),
        "matches_an_hour": _round(len(matches) / hours),
        "turned_away": dict(sorted(log.refused.items())),
        "never_matched": _share(lost, settled),
        "ends": {one.name.lower(): int((end == one).sum()) for one in End},
        "wait_s": quantiles(wait[matched]),
        "wait_to_match_s": _curve(log),
        "longest_wait_s": _round(float(_waited(log).max())) if tickets.count else None,
        "gap": quantiles(matches.column("gap")),
        "odds": _odds(matches.column("odds")),
        "true_gap": quantiles(matches.column("true_gap")),
        "true_odds": _odds(matches.column("true_odds")),
        "latency_extra_ms": quantiles(log.seats.column("extra_ms")),
        "overtaking": {
            "share": _share(int((overtaken > 0).sum()), tickets.count),
            "mean": _mean(overtaken),
            "most": int(overtaken.max()) if tickets.count else 0,
        },
        "starved": _share(int(left_behind.sum()), tickets.count),
        "rating_error": _learning(log, people),
        "waves": log.waves,
        "failed_waves": log.failed_waves,
        "sessions_skipped": log.skipped,
        "by": _by(log, people, population),
        "histograms": {
            "wait_s": histogram(wait[matched]),
            "true_odds": histogram(matches.column("true_odds"), 0.5, 1.0),
            "gap": histogram(matches.column("gap")),
        },
        "state_hash": log.state_hash,
    }


_SETTLED: Final = (End.MATCHED, End.GAVE_UP, End.EXPIRED)
"""Who let a ready check fail says nothing of the matcher, and counts neither way."""


def timing(log: Log) -> dict[str, Any]:
    """What hangs on the machine."""
    spent = np.array(log.wave_s) * 1000.0
    return {"wave_ms": quantiles(spent), "waves_s": _round(float(spent.sum()) / 1000.0)}


def quantiles(values: Array) -> dict[str, float | None]:
    """Mean, median and the far end; None where there is nothing."""
    if not len(values):
        return dict.fromkeys(("mean", *_QUANTILES))
    return {"mean": _mean(values)} | {
        name: _round(float(np.quantile(values, share))) for name, share in _QUANTILES.items()
    }


def histogram(values: Array, low: float = 0.0, high: float | None = None) -> dict[str, list[float]]:
    """How often values of about so much occur: the edges of classes, and the counts in them."""
    if not len(values):
        return {"edges": [], "counts": []}
    if high is None:
        high = float(np.quantile(values, 0.99)) or 1.0
    counts, edges = np.histogram(values, _CLASSES, (low, high))
    return {"edges": [_round(edge) for edge in edges.tolist()], "counts": counts.tolist()}


def within(told: dict[str, list[float]], most: float = 99.0) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of a histogram that has `most` % of all: values, and the share of all, in %, that is no larger."""
    total = sum(told["counts"])
    shares = np.cumsum([0.0, *told["counts"]]) * (most / total) if total else np.empty(0)
    return (tuple(told["edges"]), tuple(shares.tolist())) if total else ((), ())


def _odds(favourite: Array) -> dict[str, float | None]:
    """How often favourites win: the less, the better; and the share of matches that are fair."""
    if not len(favourite):
        return dict.fromkeys(("mean", *_QUANTILES, "fair_share", "worst"))
    worst = np.sort(favourite)[-max(1, round(len(favourite) * WORST)) :]
    return quantiles(favourite) | {
        "fair_share": _share(int((favourite <= FAIR).sum()), len(favourite)),
        "worst": _mean(worst),
    }


def _waited(log: Log) -> Array:
    """float64[n]: how long each ticket waited, or has waited by the end of the run."""
    tickets = log.tickets
    ended = np.where(tickets.column("end") <= End.PROPOSED, log.until_ms, tickets.column("ended_ms"))
    waited: Array = (ended - tickets.column("joined_ms")) / 1000.0
    return waited


def _curve(log: Log) -> dict[str, float | None]:
    end = log.tickets.column("end")
    curve = wait_curve(np.full(len(end), -1.0), _waited(log), end == End.MATCHED, np.ones(len(end)))
    found = {name: curve.quantile(share) for name, share in _QUANTILES.items()}
    return {name: None if value is None else _round(value) for name, value in found.items()}


def _learning(log: Log, people: People) -> dict[str, Any]:
    """How far ratings are off, on average: of all at the start and the end; then of those who played, before and after;
    and of newcomers, by the number of matches they have had when the run ends."""
    before, after = np.abs(people.ratings.mu - people.skill), np.abs(log.ended_mu - people.skill)
    played = log.ended_games - people.games
    new = people.games == 0
    within = [new & (played >= least) & (played <= most) for least, most in _MATCHES]
    return {
        "start": _round(log.started_skill_error),
        "end": _round(log.ended_skill_error),
        "played": {"start": _mean(before[played > 0]), "end": _mean(after[played > 0])},
        "newcomers": {
            "0": _mean(before[new]),
            **{_named(*bounds): _mean(after[mine]) for bounds, mine in zip(_MATCHES, within, strict=True)},
        },
    }


def _named(least: int, most: int) -> str:
    return f"{least}-{most}" if most < _MANY else f"{least}+"


def _by(log: Log, people: People, population: Population) -> dict[str, list[dict[str, Any]]]:
    """The same for parts of the crowd: who pays for whose good matches?"""
    tickets = log.tickets
    skill = tickets.column("skill")
    edges = np.quantile(people.skill, np.arange(1, DECILES) / DECILES)
    hour = tickets.column("joined_ms") // 3_600_000
    sizes = sorted(int(size) for size in population.parties)
    return {
        "skill": _parts(
            log, np.searchsorted(edges, skill, "right"), [f"{10 * n}-{10 * n + 10} %" for n in range(DECILES)]
        ),
        "party": _parts(log, np.searchsorted(sizes, tickets.column("size")), [str(size) for size in sizes]),
        "region": _parts(log, tickets.column("region"), people.regions),
        "hour": _parts(log, hour, _clock(population.arrivals.from_h, int(np.ceil(log.until_ms / 3_600_000)))),
    }


def _clock(from_h: float, hours: int) -> list[str]:
    """When each hour of a run begins, by the clock of its people."""
    begins = [round(60 * (from_h + n)) for n in range(hours)]
    day = [f"day {minute // 1440 + 1}, " if hours > HOURS else "" for minute in begins]
    return [f"{when}{minute // 60 % 24:02}:{minute % 60:02}" for when, minute in zip(day, begins, strict=True)]


def _parts(log: Log, part: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    tickets, seats, matches = log.tickets, log.seats, log.matches
    end = tickets.column("end")
    wait = (tickets.column("ended_ms") - tickets.column("joined_ms")) / 1000.0
    odds = extra_ms = np.empty(0)
    whose = np.empty(0, np.int64)
    if len(matches):
        extra_ms = seats.column("extra_ms")
        number = matches.column("match")
        order = np.argsort(number)
        odds = matches.column("true_odds")[order[np.searchsorted(number[order], seats.column("match"))]]
        whose = part[seats.column("ticket") - 1]
    found = []
    for place, name in enumerate(names):
        mine = part == place
        settled = int(np.isin(end[mine], _SETTLED).sum())
        matched = mine & (end == End.MATCHED)
        played = odds[whose == place]
        found.append(
            {
                "name": name,
                "tickets": int(mine.sum()),
                "wait_s": quantiles(wait[matched]),
                "never_matched": _share(settled - int(matched.sum()), settled),
                "fair_share": _share(int((played <= FAIR).sum()), len(played)),
                "overtaken": _share(int((tickets.column("overtaken")[mine] > 0).sum()), int(mine.sum())),
                "latency_extra_ms": quantiles(extra_ms[whose == place]),
            }
        )
    return found


def _share(part: int, whole: int) -> float | None:
    return _round(part / whole) if whole else None


def _mean(values: Array) -> float | None:
    return _round(float(values.mean())) if len(values) else None


def _round(value: float) -> float:
    """Enough digits for anybody, and few enough to read."""
    return float(f"{value:.6g}")
