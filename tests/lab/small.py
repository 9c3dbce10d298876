"""A crowd that is small enough for tests."""

from pathlib import Path

import msgspec

from evenmatch.lab import people, population, queues, traffic
from evenmatch.lab.log import Log
from evenmatch.lab.population import Population
from evenmatch.lab.world import STEP_MS, World

FOLDER = Path()


def crowd(name: str = "duel-small", **tables: dict[str, object]) -> Population:
    """A preset with some keys of its tables changed."""
    given, _ = population.load(name)
    changed = {table: msgspec.structs.replace(getattr(given, table), **keys) for table, keys in tables.items()}
    return msgspec.structs.replace(given, **changed)


def lived(
    given: Population, matcher: str = "first_come", seed: int = 1, hours: float = 0.5, step_ms: int = STEP_MS
) -> tuple[World, Log]:
    """One run."""
    folder = Path()
    spec = queues.for_matcher(given, matcher)
    world = World(
        spec,
        given,
        people.draw(given, folder, seed, traffic.crowd(given)),
        traffic.draw(given, folder, seed, hours),
        seed,
        hours,
        step_ms=step_ms,
    )
    return world, world.run()
