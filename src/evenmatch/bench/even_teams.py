"""Teams by `even`: seats beside their bound and cost beside its own, with a greedy rule in the same run.

The cases are the usual ones and those in which plans of teams are weak: few players over many regions, lobbies of a
hundred, windows that differ very much, many parties of three, roles that can't be exchanged.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from evenmatch.bench.contests.even import plan
from evenmatch.bench.contests.even_teams import ROLES, by_rating, crowd
from evenmatch.bench.contests.waiting import Wave
from evenmatch.bench.machine import machine
from evenmatch.bench.memory import with_peak_mb
from evenmatch.domain.queue import Format
from evenmatch.matchers.even import Even
from evenmatch.numerics import threads

__all__ = ["CASES", "Case", "measure"]


class Case(NamedTuple):
    """Waiting players of one kind."""

    name: str
    form: Format
    players: int
    about: Mapping[str, Any] = {}
    """What `crowd` is told."""
    parameters: Mapping[str, Any] = {}
    """What `even` is told."""


_FIVES: Final = {"regions": 6, "roles": tuple(ROLES)}
_REACH: Final = {"latency_cap_ms": 120}
_ROLES: Final = {"roles": ROLES, **_REACH}
CASES: Final = (
    Case("4v4, parties", Format(2, 4), 3_000),
    Case("5v5, parties, roles, six regions", Format(2, 5), 10_000, _FIVES, _ROLES),
    Case("5v5, parties, roles, six regions", Format(2, 5), 100_000, _FIVES, _ROLES),
    Case("5v5, parties, six regions", Format(2, 5), 1_000, {"regions": 6}, _REACH),
    Case("5v5, six regions, none within reach of two", Format(2, 5), 1_000, {"regions": 6}, {"latency_cap_ms": 50}),
    Case("4v4, many parties of three", Format(2, 4), 3_000, {"shares": (30, 10, 60)}),
    Case("5v5, windows from 20 to 1,000", Format(2, 5), 1_000, {"waits_s": (0, 330)},
         {"window": 20, "window_growth": 3}),
    Case("5v5, windows from 20 to 1,000, the least counts", Format(2, 5), 1_000, {"waits_s": (0, 330)},
         {"window": 20, "window_growth": 3, "window_policy": "both"}),
    Case("5v5, only roles that were named", Format(2, 5), 3_000, {"roles": tuple(ROLES)},
         {"roles": ROLES, "off_role": "never"}),
    Case("lobby of 100", Format(1, 100), 1_000),
    Case("20 teams of 5", Format(20, 5), 2_000),
    Case("all against all, 8", Format(8, 1), 1_000, {"shares": (1,)}),
)  # fmt: skip


def measure(
    repeats: int = 3,
    seed: int = 1,
    largest: int = 100_000,
    greedy_largest: int = 10_000,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """Run all cases of at most `largest` players: {"machine", "repeats", "seed", "cases"}.

    A case: "name", "format", "players", "tickets"; "seats", "seats_bound" and their "share"; "cost" and "cost_bound", a
    player; "ms", the median of one wave through the matcher, and "cpu_ms", what processors spent on it, which is the
    better measure on a busy machine; "megabytes" beyond what the process held, None = not known; and "greedy":
    {"seats", "share", "cost", "ms", "cpu_ms"}, left out beyond `greedy_largest` players.
    """
    chosen = [case for case in CASES if case.players <= largest]
    cases = []
    for at, case in enumerate(chosen):
        tell(f"{case.name}, {case.players:,} players", at, len(chosen))
        cases.append(_measured(case, repeats, seed, greedy_largest))
    return {"machine": machine(threads.count()), "repeats": repeats, "seed": seed, "cases": cases}


def _measured(case: Case, repeats: int, seed: int, greedy_largest: int) -> dict[str, Any]:
    wave = Wave(Even(**case.parameters), crowd(case.form, case.players, seed, **case.about))
    made, megabytes = with_peak_mb(lambda: plan(wave))
    took = [_timed(lambda: plan(wave))[1:] for _ in range(repeats)]
    seats, bound = int(made.details["seats"]), int(made.details["seats_bound"])
    found: dict[str, Any] = {
        "name": case.name,
        "format": str(case.form),
        "players": case.players,
        "tickets": len(wave.snapshot),
        "seats": seats,
        "seats_bound": bound,
        "share": _share(seats, bound),
        "cost": _each(float(made.cost.sum()), seats),
        "cost_bound": _each(float(made.details["cost_bound"]), seats),
        "ms": round(statistics.median(wall for wall, _ in took), 2),
        "cpu_ms": round(statistics.median(own for _, own in took), 2),
        "megabytes": None if megabytes is None else round(megabytes, 1),
    }
    if case.players <= greedy_largest:
        (matches, cost), ms, cpu_ms = _timed(lambda: by_rating(wave))
        theirs = matches * case.form.seats
        found["greedy"] = {
            "seats": theirs,
            "share": _share(theirs, bound),
            "cost": _each(cost, theirs),
            "ms": round(ms, 2),
            "cpu_ms": round(cpu_ms, 2),
        }
    return found


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call returns, its milliseconds, and those of the processors that it used."""
    started, used = time.perf_counter(), time.process_time()
    done = work()
    return done, (time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000


def _share(seats: int, bound: int) -> float | None:
    return round(seats / bound, 5) if bound else None


def _each(total: float, seats: int) -> float | None:
    return round(total / seats, 4) if seats else None
