"""The numbers of several lanes in one text for Prometheus, each sample once.

Every lane counts what it did itself and a request is counted by one lane only, so sums are the process's. A number that
is not a sum over lanes is the lowest (`ready`, when counting began) or the highest (waits); those of a queue are its
lane's, and where it was in two lanes, the higher.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

_LOWEST: Final = frozenset({"evenmatch_ready"})
_HIGHEST: Final = frozenset(
    {
        "evenmatch_oldest_wait_seconds",
        "evenmatch_prediction_log_loss",
        "evenmatch_forecast_coverage",
        "evenmatch_forecasts_settled",
    }
)


def text(registries: Sequence[CollectorRegistry]) -> bytes:
    """All samples of some registries, as Prometheus reads them."""
    if len(registries) == 1:
        return generate_latest(registries[0])
    together = CollectorRegistry(auto_describe=False)
    together.register(_Together(registries))
    return generate_latest(together)


class _Together(Collector):
    """Several registries as one."""

    def __init__(self, registries: Sequence[CollectorRegistry]) -> None:
        self._registries = registries

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is, `collect` finds out."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Every family once, with the samples of all."""
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                known = families.get(family.name)
                if known is None:
                    known = families[family.name] = Metric(family.name, family.documentation, family.type)
                known.samples.extend(family.samples)
        for family in families.values():
            family.samples = _once(family.samples)
            yield family


def _once(samples: Iterable[Sample]) -> list[Sample]:
    """Every name and labels once, in the order in which they came."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    for sample in samples:
        key = sample.name, tuple(sorted(sample.labels.items()))
        known = found.get(key)
        found[key] = sample if known is None else known._replace(value=_joined(sample.name, known.value, sample.value))
    return list(found.values())


def _joined(name: str, one: float, other: float) -> float:
    if name in _LOWEST or name.endswith("_created"):
        return min(one, other)
    return max(one, other) if name in _HIGHEST else one + other
