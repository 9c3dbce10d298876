"""Matchers side by side, on the same traffic.

cases: matchers or queues x seeds ─> those that are kept already, and those that are to be run
                                      └─> a pool of processes, or a cluster ─> kept, one file each ─> Comparison
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch import config
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.shards import Split
from evenmatch.errors import LabError
from evenmatch.matchers import registry

from . import population as populations
from .comparison import Comparison, NotPlayed, Row
from .fits import GIVEN, Fitter
from .intervals import flattened, over
from .pool import Stopped, run_all
from .population import Population
from .queues import NotApplicable, settled
from .runs import Case, Found
from .traffic import require_hours
from .world import STEP_MS

__all__ = ["Stopped", "compare"]

SEEDS_MOST: Final = 1_000
STEP_LEAST_S: Final = 0.01
STEP_MOST_S: Final = 60.0
_NOT_COMPARED: Final = ("by", "histograms")

Progress = Callable[[list[float]], None]
"""Hears the share of each case that is done."""


def compare(
    population: str | Population = "duel-small",
    *,
    matchers: Sequence[str] | None = None,
    queues: Sequence[str | Path] | None = None,
    hours: float = 4.0,
    seeds: int = 3,
    step_s: float = STEP_MS / 1000,
    keep: Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Run every matcher, or every queue of these files, with seeds 1 to `seeds`, and set them side by side.

    `population` is a preset, a file, or a value. Without matchers and queues it is all matchers. With `keep`, a folder,
    what is done is kept there and not done again. `step_s`: how far the moments of virtual time are apart; what is due
    between two happens at the later one. A matcher of which the population says nothing gets parameters that are fitted
    to it. Raises LabError when something cannot be used, and Stopped when it was
    interrupted.
    """
    if isinstance(population, Population):
        given, folder, called = population, Path(), population.title
    else:
        (given, folder), called = populations.load(population), population
    require_hours(hours)
    if isinstance(matchers, str) or isinstance(queues, str):
        raise LabError('give a list: matchers=["epgc", "buckets"], queues=["a.toml", "b.toml"]')
    if not isinstance(seeds, int):
        raise LabError(f"seeds must be a whole number from 1 to {SEEDS_MOST}, not {seeds!r}")
    if not 1 <= seeds <= SEEDS_MOST:
        raise LabError(f"{seeds} seeds cannot be run: use 1 to {SEEDS_MOST}")
    if not STEP_LEAST_S <= step_s <= STEP_MOST_S:
        raise LabError(f"steps of {step_s:g} s cannot be run: use {STEP_LEAST_S:g} to {STEP_MOST_S:g}")
    if matchers is not None and queues is not None:
        raise LabError("give matchers or queues, not both: the rules of a queue name its matcher")
    played, not_played = _queues(given, folder, matchers, queues)
    if not played:
        raise LabError(f"none can play {called}: " + "; ".join(f"{one.name}: {one.why}" for one in not_played))
    step_ms = round(step_s * 1000)
    cases = [
        Case(name, spec, given, str(folder), seed, hours, step_ms, split)
        for name, spec, _, split in played
        for seed in range(1, seeds + 1)
    ]
    found = run_all(cases, keep, workers, dask, progress)
    rows = [_row(*one, [run for run in found if run.name == one[0]]) for one in played]
    return Comparison(called, given, hours, seeds, rows, not_played, step_ms / 1000)


def _queues(
    population: Population, folder: Path, matchers: Sequence[str] | None, queues: Sequence[str | Path] | None
) -> tuple[list[tuple[str, QueueSpec, str, Split | None]], list[NotPlayed]]:
    """Names, rules, where their parameters come from and how they are split; and who cannot play."""
    wanted: list[tuple[str, Callable[[], tuple[QueueSpec, str]]]] = []
    splits: dict[str, Split] = {}
    fitter = Fitter(population, folder)
    if queues is not None:
        for file in queues:
            for spec, split in _of_file(Path(file)):
                name = spec.name if len(queues) == 1 else f"{Path(file).stem}:{spec.name}"
                if split is not None:
                    splits[name] = split
                wanted.append((name, lambda spec=spec: (settled(population, spec), GIVEN)))  # type: ignore[misc]
    else:
        for name in matchers if matchers is not None else registry.names():
            if name not in registry.MATCHERS:
                raise LabError(f"there is no matcher {name!r}: use {', '.join(registry.names())}")
            wanted.append((name, lambda name=name: fitter.set_up(name)))  # type: ignore[misc]
    if not wanted:
        raise LabError("there is nothing to compare: name a matcher or a queue")
    twice = {name for name, _ in wanted if [other for other, _ in wanted].count(name) > 1}
    if twice:
        raise LabError(f"{sorted(twice)[0]} is named twice")
    played, not_played = [], []
    for name, make in wanted:
        try:
            played.append((name, *make(), splits.get(name)))
        except NotApplicable as why:
            not_played.append(NotPlayed(name, str(why)))
    return played, not_played


def _of_file(path: Path) -> list[tuple[QueueSpec, Split | None]]:
    """The queues of a file as its writer named them: one that is split once, under its own name."""
    specs, splits = config.load(path), config.shards_of(path)
    whose = {queue: split for split in splits.values() for queue in split.queues}
    found: dict[str, tuple[QueueSpec, Split | None]] = {}
    for spec in specs:
        split = whose.get(spec.name)
        name = spec.name if split is None else split.queue
        found.setdefault(name, (msgspec.structs.replace(spec, name=name), split))
    return list(found.values())


def _row(name: str, spec: QueueSpec, origin: str, split: Split | None, found: list[Found]) -> Row:
    """What came of one queue, over its seeds."""
    flat = [flattened({key: value for key, value in one.measures.items() if key not in _NOT_COMPARED}) for one in found]
    names = dict.fromkeys(key for one in flat for key in one)
    table: dict[str, Any] = msgspec.to_builtins(spec)
    del table["door"]
    if split is not None:
        table["shards"] = msgspec.to_builtins(split)
    return Row(
        name=name,
        queue=table,
        measures={key: over([one.get(key) for one in flat], key) for key in names},
        runs=[{"seed": one.seed, **one.measures} for one in found],
        timing=[{"seed": one.seed, **one.timing} for one in found],
        origin=origin,
    )
