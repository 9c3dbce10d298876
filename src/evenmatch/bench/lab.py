"""How fast the lab lives: simulated player-hours a second, beside a bare model of the same comings and goings.

The baseline is simpy: a process a session, the same arrivals, patience, match lengths and wishes to play on, and a
plain first-come pairing of whoever waits. It has no engine, no rules, no ready check, no ratings and no measures: the
least that any simulation of this traffic costs.
"""

import time
from collections import deque
from collections.abc import Generator
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.lab import people, population, queues, traffic
from evenmatch.lab.behaviour import GAMES, Behaviour
from evenmatch.lab.population import Population
from evenmatch.lab.world import World

__all__ = ["SIZES", "measure"]

SIZES: Final = (10_000, 100_000, 400_000)
_HOUR_MS: Final = 3_600_000
_WARM_H: Final = 0.02


def measure(
    sizes: tuple[int, ...] = SIZES, hours: float = 0.5, matcher: str = "buckets", step_s: float = 1.0
) -> dict[str, Any]:
    """Both, for so many sessions a day each."""
    given, folder = population.load("duel-large")
    _ours(given, folder, _WARM_H, matcher, round(step_s * 1000))  # a first run reads code, of both
    _plain(given, folder, _WARM_H)
    found = []
    for size in sizes:
        arrivals = msgspec.structs.replace(given.arrivals, sessions_a_day=float(size))
        crowd = msgspec.structs.replace(given, arrivals=arrivals)
        ours, plain = _ours(crowd, folder, hours, matcher, round(step_s * 1000)), _plain(crowd, folder, hours)
        found.append({"sessions_a_day": size, "evenmatch": ours, "simpy": plain, "ratio": _ratio(ours, plain)})
    growth = {kind: _growth(found, kind) for kind in _KINDS}
    return {"hours": hours, "step_s": step_s, "matcher": matcher, "sizes": found, "growth": growth}


_KINDS: Final = ("evenmatch", "simpy")


def _ours(given: Population, folder: Any, hours: float, matcher: str, step_ms: int) -> dict[str, float]:
    began = time.process_time()
    world = World(
        queues.for_matcher(given, matcher),
        given,
        people.draw(given, folder, 1, traffic.crowd(given)),
        traffic.draw(given, folder, 1, hours),
        1,
        hours,
        step_ms=step_ms,
    )
    log = world.run()
    spent = time.process_time() - began
    tickets, matches = log.tickets, log.matches
    ended = np.where(tickets.column("ended_ms") > 0, tickets.column("ended_ms"), log.until_ms)
    waited = float(((ended - tickets.column("joined_ms")) * tickets.column("size")).sum())
    over = np.minimum(matches.column("at_ms") + matches.column("lasts_ms"), log.until_ms)
    played = float(((over - matches.column("at_ms")) * matches.column("players")).sum())
    return _told((waited + played) / _HOUR_MS, spent, tickets.count)


def _plain(given: Population, folder: Any, hours: float) -> dict[str, float]:
    import simpy

    began = time.process_time()
    coming = traffic.draw(given, folder, 1, hours)
    behaviour = Behaviour(given.sessions, 1)
    env = simpy.Environment()
    waiting: deque[Any] = deque()
    until_ms = hours * _HOUR_MS
    spent_ms, tickets = 0.0, 0
    keys = np.arange(len(coming)) * GAMES

    def session(
        at_ms: float, patience: list[int], lasts: list[int], pause: list[int], stays: list[bool]
    ) -> Generator[Any, Any, None]:
        nonlocal spent_ms, tickets
        yield env.timeout(at_ms)
        for game in range(len(stays)):
            tickets += 1
            spent_ms += until_ms - env.now
            while waiting and waiting[0].triggered:
                waiting.popleft()
            length: Any = lasts[game]
            if waiting:
                waiting.popleft().succeed(length)
            else:
                met = env.event()
                waiting.append(met)
                yield met | env.timeout(patience[game])
                if not met.triggered:
                    met.succeed(0)
                    spent_ms -= until_ms - env.now
                    return
                length = met.value
            yield env.timeout(length)
            spent_ms -= until_ms - env.now
            if not stays[game]:
                return
            yield env.timeout(pause[game])

    most = 24
    table = keys[:, None] + np.arange(most)
    columns = [
        column(table.ravel()).reshape(table.shape).tolist()
        for column in (behaviour.patience_ms, behaviour.match_ms, behaviour.pause_ms, behaviour.stays)
    ]
    for number, at_ms in enumerate(coming.at_ms.tolist()):
        env.process(session(at_ms, *(column[number] for column in columns)))
    env.run(until=until_ms)
    return _told(spent_ms / _HOUR_MS, time.process_time() - began, tickets)


def _told(player_hours: float, spent_s: float, tickets: int) -> dict[str, float]:
    return {
        "player_hours": round(player_hours, 1),
        "cpu_s": round(spent_s, 3),
        "player_hours_per_s": round(player_hours / spent_s, 1),
        "tickets": tickets,
        "us_a_ticket": round(spent_s / max(1, tickets) * 1e6, 1),
    }


def _ratio(ours: dict[str, float], plain: dict[str, float]) -> float:
    """How many times as fast as the bare model."""
    return round(ours["player_hours_per_s"] / plain["player_hours_per_s"], 3)


def _growth(found: list[dict[str, Any]], kind: str) -> float | None:
    """The exponent with which processor time grows with the sessions."""
    if len(found) < 2:
        return None
    first, last = found[0], found[-1]
    times = np.log(last[kind]["cpu_s"] / first[kind]["cpu_s"])
    return round(float(times / np.log(last["sessions_a_day"] / first["sessions_a_day"])), 3)
