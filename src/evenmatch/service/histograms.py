"""Histograms by queue for many values at once: a wave may match a hundred thousand tickets in one event."""

from collections.abc import Iterable

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from evenmatch.domain.arrays import Array


class QueueHistogram(Collector):
    """Values counted in buckets, for each queue; written by the engine thread, read by whoever scrapes."""

    def __init__(self, name: str, text: str, bounds: tuple[float, ...], registry: CollectorRegistry) -> None:
        self._name, self._text = name, text
        self._bounds = np.array(bounds)
        self._counts: dict[str, Array] = {}
        self._sums: dict[str, float] = {}
        registry.register(self)

    def observe(self, queue: str, values: Array) -> None:
        """Count values; NaN = there is none."""
        values = values[~np.isnan(values)]
        if not len(values):
            return
        found = np.bincount(np.searchsorted(self._bounds, values), minlength=len(self._bounds) + 1)
        self._sums[queue] = self._sums.get(queue, 0.0) + float(values.sum())
        self._counts[queue] = self._counts.get(queue, 0) + found

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """As Prometheus reads it."""
        family = HistogramMetricFamily(self._name, self._text, labels=["queue"])
        bounds = [f"{bound:g}" for bound in self._bounds] + ["+Inf"]
        for queue, counts in list(self._counts.items()):
            buckets = [(bound, float(count)) for bound, count in zip(bounds, np.cumsum(counts).tolist(), strict=True)]
            family.add_metric([queue], buckets=buckets, sum_value=self._sums[queue])
        yield family
