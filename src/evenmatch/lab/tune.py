"""Parameters that meet a target, found on simulated traffic and checked on traffic that the search never saw.

    ask for settings (optuna's TPE, two aims) ─> run each on seeds 1..n ─> tell it wait and quality ─> again
    front of all that serve enough ─> of those that meet the target, the best in the other aim ─> held-out seeds

What leaves more than a tenth of those who came without a match is neither on the front nor chosen, unless all do: it
would look quick or fair by serving the easy ones only.

The search is optuna's; what is ours is what it may turn, and how a run is judged. Settings are asked for eight at a
time, whatever the number of processes, so that one seed of the search gives one answer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import LabError
from evenmatch.matchers import registry

from . import people, traffic
from . import population as populations
from .ceiling import Ceiling, ceiling
from .comparison import QUALITY, SERVED_LEAST, WAIT
from .intervals import Interval, flattened, over
from .pool import run_all
from .queues import NotApplicable, for_matcher, settled
from .runs import Case
from .spaces import knobs, parameters
from .targets import Target, implied, of_words

__all__ = ["Maker", "Tried", "Tuned", "contenders", "pick", "tune"]

_AT_ONCE: Final = 8
_NEVER_S: Final = 1e5
"""The wait of those of whom nine in ten are never matched."""


class Tried(msgspec.Struct, frozen=True):
    """One setting, and what came of it."""

    parameters: dict[str, Any]
    every_s: float
    wait_s: float | None
    """Within which nine in ten are matched."""
    fair_share: float | None
    short: float
    """How much is missing to all targets; 0 = they are met."""
    served: float | None = None
    """The share that was matched, of those who came and whose wait ended; None = no wait ended."""

    @property
    def serves_enough(self) -> bool:
        """Whether so many are served that it may be chosen."""
        return self.served is None or self.served >= SERVED_LEAST


class Tuned(msgspec.Struct, frozen=True):
    """What was found."""

    matcher: str
    population: str
    targets: list[Target]
    trials: int
    hours: float
    seeds: list[int]
    held_out: list[int]
    tried: list[Tried]
    """All of it, in order."""
    front: list[Tried]
    chosen: Tried
    met: bool
    """On the seeds of the search."""
    checked: dict[str, Interval]
    """The same measures on seeds that the search never saw."""
    holds: bool
    """The targets are met there too, on average."""
    sure: bool
    """Whether they hold there or not can be told: the intervals lie on one side of what was asked for."""
    toml: str
    notes: list[str]
    """What must be known of results with this population."""
    ceiling: Ceiling
    """How fair matches can be here, whoever matches."""
    implied: list[str] = []
    """Of targets that another one makes needless, what makes them so."""

    @property
    def few_served(self) -> bool:
        """None of the settings serves enough, so all of them count."""
        return not any(one.serves_enough for one in self.tried)


def tune(
    matcher: str,
    targets: Sequence[str],
    population: str = "duel-small",
    *,
    trials: int = 40,
    hours: float = 1.0,
    seeds: int = 2,
    held_out: int = 3,
    keep: Path | None = None,
    workers: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Tuned:
    """Search a matcher's parameters for these targets."""
    try:
        import optuna
    except ImportError:
        raise LabError("tuning needs optuna: install evenmatch[lab]") from None
    wanted = of_words(targets)
    if matcher not in registry.MATCHERS:
        raise LabError(f"there is no matcher {matcher!r}: use {', '.join(registry.names())}")
    if trials < 1 or seeds < 1 or held_out < 1:
        raise LabError("trials, seeds and held-out seeds must be 1 or more")
    traffic.require_hours(hours)
    given, folder = populations.load(population)
    make = Maker(matcher, given, folder)
    # A matcher that cannot play says so before anything is run.
    make({name: knob.low for name, knob in knobs(matcher).items()})
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=1, multivariate=True, n_startup_trials=min(16, trials))
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    tried: list[Tried] = []
    while len(tried) < trials:
        asked = [study.ask() for _ in range(min(_AT_ONCE, trials - len(tried)))]
        made = [make(_drawn(trial, matcher)) for trial in asked]
        cases = [
            Case(f"{matcher}-{len(tried) + place}", spec, given, str(folder), seed, hours)
            for place, (spec, _, _) in enumerate(made)
            for seed in range(1, seeds + 1)
        ]
        found = run_all(cases, keep, workers, None, _share_of(progress, len(tried), len(asked), trials + held_out))
        for place, (trial, (_, own, every_s)) in enumerate(zip(asked, made, strict=True)):
            flat = [flattened(one.measures) for one in found[place * seeds : (place + 1) * seeds]]
            one = _judged(own, every_s, flat, wanted)
            tried.append(one)
            study.tell(trial, [_NEVER_S if one.wait_s is None else one.wait_s, one.fair_share or 0.0])
    chosen = pick(contenders(tried), wanted)
    spec = make.of(chosen.parameters, chosen.every_s)
    fresh = list(range(seeds + 1, seeds + held_out + 1))
    cases = [Case(f"{matcher}-chosen", spec, given, str(folder), seed, hours) for seed in fresh]
    checked = [flattened(one.measures) for one in run_all(cases, keep, workers, None, lambda _: None)]
    measures = sorted({WAIT, QUALITY, "never_matched", *(target.measure for target in wanted)})
    told = {name: over([one.get(name) for one in checked], name) for name in measures}
    surely = [target.surely(told[target.measure], held_out) for target in wanted]
    progress(1.0)
    holds = all(target.short(told[target.measure].mean) == 0 for target in wanted)
    return Tuned(
        matcher=matcher,
        population=population,
        targets=wanted,
        trials=len(tried),
        hours=hours,
        seeds=list(range(1, seeds + 1)),
        held_out=fresh,
        tried=tried,
        front=_front(contenders(tried)),
        chosen=chosen,
        met=chosen.short == 0,
        checked=told,
        holds=holds,
        sure=all(one is True for one in surely) or any(one is False for one in surely),
        toml=_toml(spec, _warning(population, wanted, tried, chosen, holds)),
        notes=populations.notes(given, hours),
        ceiling=ceiling(given, folder),
        implied=implied(targets),
    )


class Maker:
    """Queues from what the search asks for."""

    def __init__(self, matcher: str, given: populations.Population, folder: Path) -> None:
        self._matcher, self._given = matcher, given
        crowd = people.draw(given, folder, 1, traffic.crowd(given))
        self._ratings = crowd.ratings.mu

    def __call__(self, found: dict[str, float]) -> tuple[QueueSpec, dict[str, Any], float]:
        own, every_s = parameters(self._matcher, found, self._boundaries)
        return self.of(own, every_s), own, every_s

    def of(self, own: dict[str, Any], every_s: float) -> QueueSpec:
        """The queue with these parameters."""
        try:
            spec = for_matcher(self._given, self._matcher, **own)
            wave = msgspec.structs.replace(spec.wave, every_s=every_s)
            return settled(self._given, msgspec.structs.replace(spec, wave=wave))
        except NotApplicable as why:
            raise LabError(f"{self._matcher} cannot be tuned here: {why}") from None

    def _boundaries(self, tiers: int) -> list[float]:
        cuts = np.quantile(self._ratings, np.arange(1, tiers) / tiers)
        return [round(float(cut)) for cut in np.unique(np.round(cuts))]


def _share_of(progress: Callable[[float], None], before: int, many: int, of_all: int) -> Callable[[list[float]], None]:
    """Progress of a few cases, as part of all."""
    return lambda shares: progress((before + sum(shares) / len(shares) * many) / of_all)


def _drawn(trial: Any, matcher: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, knob in knobs(matcher).items():
        if knob.whole:
            found[name] = trial.suggest_int(name, int(knob.low), int(knob.high), log=knob.log)
        else:
            found[name] = trial.suggest_float(name, knob.low, knob.high, log=knob.log)
    return found


def _judged(own: dict[str, Any], every_s: float, flat: list[dict[str, float | None]], wanted: list[Target]) -> Tried:
    def mean(name: str) -> float | None:
        values = [one.get(name) for one in flat]
        return None if None in values else over(values).mean

    short = sum(target.short(mean(target.measure)) for target in wanted)
    never = mean("never_matched")
    served = None if never is None else round(1.0 - never, 6)
    return Tried(own, every_s, mean(WAIT), mean(QUALITY), round(short, 6), served)


def contenders(tried: list[Tried]) -> list[Tried]:
    """Those that serve enough to be chosen; all, where none does."""
    return [one for one in tried if one.serves_enough] or tried


def pick(tried: list[Tried], wanted: list[Target]) -> Tried:
    """Of those that meet the targets the best in what was not asked for; of none, the one that misses least."""
    met = [one for one in tried if one.short == 0]
    if not met:
        return min(tried, key=lambda one: one.short)
    if any(target.at_least for target in wanted):
        return min(met, key=lambda one: (_NEVER_S if one.wait_s is None else one.wait_s, -(one.fair_share or 0.0)))
    return max(met, key=lambda one: (one.fair_share or 0.0, -(one.wait_s or 0.0)))


def _front(tried: list[Tried]) -> list[Tried]:
    """Those that no other beats in both, the quickest first."""
    known = [one for one in tried if one.wait_s is not None and one.fair_share is not None]
    found: list[Tried] = []
    for one in sorted(known, key=lambda one: (one.wait_s or 0.0, -(one.fair_share or 0.0))):
        if not found or (one.fair_share or 0.0) > (found[-1].fair_share or 0.0):
            found.append(one)
    return found


def _warning(population: str, wanted: list[Target], tried: list[Tried], chosen: Tried, holds: bool) -> str:
    """What whoever finds these rules in a file should know of them; nothing where all is well."""
    if chosen.short == 0 and holds:
        return ""
    words = " and ".join(target.words for target in wanted)
    if chosen.short == 0:
        why = "on traffic that the search never saw it did not hold"
    elif any(one.short == 0 for one in tried):
        why = f"no setting that was tried met it and served {SERVED_LEAST:.0%} of those who came"
    else:
        why = "no setting that was tried met it"
    return f"# The target was missed ({words}, on {population}): {why}.\n"


def _toml(spec: QueueSpec, warning: str) -> str:
    """The queue as it was simulated, for queues.toml; how often clients are to be heard of is no matter of the lab."""
    import tomli_w

    table = {
        "format": msgspec.to_builtins(spec.format),
        "matcher": {"name": spec.matcher.name, **spec.matcher.parameters},
        "wave": {"every_s": spec.wave.every_s},
        "ticket": {"expires_s": spec.ticket.expires_s},
    }
    if spec.ready_check is not None:
        table["ready_check"] = {"timeout_s": spec.ready_check.timeout_s}
    return warning + tomli_w.dumps({"queues": {spec.name: table}})
