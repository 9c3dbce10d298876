"""evenmatch lab faults: a world in which much goes wrong, and an auditor who looks at every step."""

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import LabError
from evenmatch.lab import people, population, traffic
from evenmatch.lab.faults import Broken, FaultyWire, Rates
from evenmatch.lab.queues import NotApplicable, for_matcher
from evenmatch.lab.world import World

FOUND = 1


def faults(
    *,
    matcher: str = "buckets",
    population_: Annotated[str, Parameter(name="--population")] = "duel-small",
    hours: float = 1.0,
    seed: int = 1,
    seeds: int = 1,
    lose: float = 0.03,
    delay: float = 0.05,
    double: float = 0.05,
    crash: float = 0.001,
    crash_in_wave: float = 0.02,
    json: bool = False,
) -> None:
    """Lose, delay and double what players send, crash the engine, and audit I1 to I11 after every step.

    Parameters
    ----------
    matcher
        The matcher of the queue.
    population_
        Who plays: a preset, or a TOML file.
    hours
        How much virtual time is run.
    seed
        The first seed.
    seeds
        How many runs, with this seed and those that follow it.
    lose
        The share of all that players send which is lost; they send it again.
    delay
        The share that comes late.
    double
        The share that comes twice.
    crash
        The share of steps at which the engine crashes before anything is durable.
    crash_in_wave
        The share of waves in which it crashes while the matcher is at work.
    json
        Print the counts as JSON.
    """
    if seeds < 1 or seed < 0:
        raise LabError("seeds begin at 0, and there must be one at least")
    rates = Rates(lose=lose, delay=delay, double=double, crash=crash, crash_in_wave=crash_in_wave)
    given, folder = population.load(population_)
    try:
        spec = for_matcher(given, matcher)
    except NotApplicable as why:
        raise LabError(f"{matcher} cannot play {population_}: {why}") from None
    spec = msgspec.structs.replace(spec, match=msgspec.structs.replace(spec.match, runs_s=3 * given.sessions.match_s))
    total: Counter[str] = Counter()
    with Console(stderr=True).status("") as status:
        for one in range(seed, seed + seeds):
            status.update(f"seed {one}, {one - seed + 1} of {seeds}")
            try:
                total += _run(spec, given, folder, one, hours, rates)
            except Broken as fault:
                print(f"evenmatch: seed {one}: {fault}", file=sys.stderr)
                print(f"run it again: {_again(one)}", file=sys.stderr)
                raise SystemExit(FOUND) from None
    told = {"seeds": list(range(seed, seed + seeds)), **dict(sorted(total.items()))}
    if json:
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
        return
    print(f"{seeds} {'run' if seeds == 1 else 'runs'} of {hours:g} h with {matcher}: no invariant was broken")
    print(", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(total.items())))


def _run(
    spec: QueueSpec, given: population.Population, folder: Path, seed: int, hours: float, rates: Rates
) -> Counter[str]:
    wire = FaultyWire(rates, seed)
    crowd = people.draw(given, folder, seed, traffic.crowd(given))
    world = World(spec, given, crowd, traffic.draw(given, folder, seed, hours), seed, hours, wire=wire)
    log = world.run()
    return Counter(wire.counts | {"matches": len(log.matches), "tickets": log.tickets.count})


def _again(seed: int) -> str:
    """The command of this very seed."""
    arguments, kept = sys.argv[1:], []
    while arguments:
        one = arguments.pop(0)
        if one in ("--seed", "--seeds"):
            arguments[:1] = []
        elif not one.startswith(("--seed=", "--seeds=")):
            kept.append(one)
    return shlex.join(["evenmatch", *kept, "--seed", str(seed)])
