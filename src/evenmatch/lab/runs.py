"""One case: a queue, a population, a seed. What a pool of processes, a cluster or a notebook runs."""

import hashlib
import time
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch import __version__
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.shards import Split

from . import people, traffic
from .measures import measured, timing
from .population import Population
from .world import STEP_MS, World

__all__ = ["Case", "Found", "program", "run"]

_ROOMS: Final = ("domain", "core", "matchers", "numerics", "lab")


class Case(msgspec.Struct, frozen=True):
    """What is run."""

    name: str
    """What the queue is called in tables."""
    spec: QueueSpec
    population: Population
    folder: str
    """Where the files are that the population names."""
    seed: int
    hours: float
    step_ms: int = STEP_MS
    split: Split | None = None
    """How the queue is split; None = it is not."""

    @property
    def digest(self) -> str:
        """The same for the same case under the same program, and for no other."""
        plain = msgspec.json.encode(
            [self.spec, self.split, self.population, self.seed, self.hours, self.step_ms, _files(self), program()],
            order="sorted",
        )
        return hashlib.blake2b(plain, digest_size=12).hexdigest()


class Found(msgspec.Struct, frozen=True):
    """What came out."""

    name: str
    seed: int
    measures: dict[str, Any]
    timing: dict[str, Any]


def run(case: Case, progress: Callable[[float], None] = lambda _: None) -> Found:
    """Live through a case."""
    began = time.perf_counter()
    folder = Path(case.folder)
    crowd = people.draw(case.population, folder, case.seed, traffic.crowd(case.population))
    coming = traffic.draw(case.population, folder, case.seed, case.hours)
    hours, step_ms, split = case.hours, case.step_ms, case.split
    world = World(case.spec, case.population, crowd, coming, case.seed, hours, step_ms=step_ms, split=split)
    log = world.run(progress)
    spent = timing(log) | {"run_s": round(time.perf_counter() - began, 3)}
    return Found(case.name, case.seed, measured(log, crowd, case.population), spent)


def _files(case: Case) -> list[str]:
    """What stands in the files that a population names."""
    named = (case.population.skill.file, case.population.arrivals.file, case.population.regions.file)
    paths = [Path(case.folder) / name for name in named if name]
    return [hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest() for path in paths if path.is_file()]


@cache
def program() -> str:
    """The version, and a digest of every file that a run depends on."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=12)
    root = resources.files("evenmatch")
    for room in _ROOMS:
        for file in sorted(Path(str(root / room)).glob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
