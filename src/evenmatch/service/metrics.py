"""What operators watch: plain counters, shown in Prometheus' text format.

The engine thread and the event loop each write their own numbers and `render` reads them, so no lock is needed. Queue
depths are read from committed state when somebody scrapes.
"""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evenmatch.core.state import State
from evenmatch.domain import events as ev
from evenmatch.numerics.predictions import Predictions

from .forecasts import SHARES, Record
from .letter_metrics import LetterMetrics
from .play_metrics import PlayMetrics
from .views import QueueView

_SLICES, _SLICE_S = 5, 2.0
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Peak:
    """The highest number of the last eight to ten seconds; written by one thread, read by any."""

    def __init__(self) -> None:
        self._highest = [(0, 0.0)] * _SLICES
        """Of each slice of time, in turns: its number, and the highest that came in it."""

    def note(self, value: float) -> None:
        """A number came."""
        now = int(time.monotonic() / _SLICE_S)
        known, highest = self._highest[now % _SLICES]
        self._highest[now % _SLICES] = now, max(value, highest) if known == now else value

    def read(self) -> float:
        """The highest of late."""
        now = int(time.monotonic() / _SLICE_S)
        return max((highest for known, highest in self._highest if now - known < _SLICES), default=0.0)


class Metrics:
    """The numbers of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.commit_failures = 0
        self.started_s = time.monotonic()
        self.lag = Peak()
        self.commit = Peak()
        self.wave_s: dict[str, float] = {}
        """Queue -> how long its last plan took."""
        self.play = PlayMetrics(self.registry)
        self.letters = LetterMetrics(self.registry)
        self.refusals: dict[str, int] = {}
        self.waves: dict[str, int] = {}
        self.abandoned: dict[str, int] = {}
        self.events = 0
        self.requests: dict[tuple[str, int], int] = {}
        self.refused_busy = 0
        self.results: dict[str, int] = {}
        self.log_loss: dict[str, float] = {}
        self.forecasts: dict[str, Record] = {}
        self._commit_s = Histogram(
            "evenmatch_commit_seconds",
            "Time to make a group of events durable",
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._lag_s = Histogram(
            "evenmatch_journal_lag_seconds",
            "How long the longest waiting order of a group had waited when the group was durable",
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._wave_s = Histogram(
            "evenmatch_wave_seconds",
            "Time from a wave's snapshot to its plan",
            ["queue"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self._counters = {
            name: Counter(f"evenmatch_{name}", text, labels, registry=self.registry)
            for name, text, labels in (
                ("events", "Events committed", ()),
                ("tickets_joined", "Tickets that joined, by queue", ("queue",)),
                ("matches_made", "Matches made, by queue", ("queue",)),
                ("proposals_made", "Proposals made, by queue", ("queue",)),
                ("ready_checks", "Ready checks that ended, by queue and outcome", ("queue", "outcome")),
                ("cooldowns", "Cool-downs given, by queue and cause", ("queue", "cause")),
                ("places", "Places of running matches, by queue: asked for, filled or given up", ("queue", "outcome")),
                ("refusals", "Requests refused, by reason", ("reason",)),
                ("commit_failures", "Commits that failed", ()),
                ("busy_refusals", "Requests turned away because the mailbox was full", ()),
                ("tickets_gone", "Tickets that left without a match, by queue and cause", ("queue", "cause")),
                ("waves_recorded", "Waves that changed something, by queue", ("queue",)),
                ("waves_abandoned", "Waves whose matcher failed or was too late, by queue", ("queue",)),
                ("results_reported", "Results of matches, by queue", ("queue",)),
                ("http_requests", "Requests answered, by method and status", ("method", "status")),
            )
        }
        self._gauges = {
            name: Gauge(f"evenmatch_{name}", text, labels, registry=self.registry)
            for name, text, labels in (
                ("tickets_waiting", "Tickets waiting now", ("queue",)),
                ("places_open", "Places of running matches that nobody is invited to", ("queue",)),
                ("oldest_wait_seconds", "Longest wait of a waiting ticket", ("queue",)),
                ("prediction_log_loss", "Mean log-loss of a queue's predictions so far", ("queue",)),
                (
                    "forecast_coverage",
                    "Share of the matched that waited no longer than told",
                    ("queue", "quantile"),
                ),
                ("forecasts_settled", "Forecasts that the coverage is of", ("queue",)),
                ("mailbox_depth", "Orders that wait for the engine", ()),
                ("sockets_open", "WebSockets and streams of events open", ()),
                ("ready", "1 when orders can be carried out", ()),
            )
        }

    def committed(self, events: list[ev.Event], seconds: float, state: State) -> None:
        """Note a commit; the state is the one after it."""
        self._commit_s.observe(seconds)
        self.commit.note(seconds)
        self.events += len(events)
        self.play.committed(events, state)
        for event in events:
            match event:
                case ev.WaveFinished():
                    self.waves[event.queue] = self.waves.get(event.queue, 0) + 1
                case ev.WaveAbandoned():
                    self.abandoned[event.queue] = self.abandoned.get(event.queue, 0) + 1
                    self.play.histories.of(event.queue, state.now_ms).count(state.now_ms, "abandoned", 1)
                case ev.ResultReported():
                    self.results[event.queue] = self.results.get(event.queue, 0) + 1

    def lagged(self, seconds: float) -> None:
        """Note how long the longest waiting order of a group had waited when it was durable."""
        self._lag_s.observe(seconds)
        self.lag.note(seconds)

    def refused(self, reason: str) -> None:
        """Note a request that was refused."""
        self.refusals[reason] = self.refusals.get(reason, 0) + 1

    def predicted(self, predictions: dict[str, Predictions]) -> None:
        """Note how good each queue's predictions are."""
        for queue, told in predictions.items():
            if told.games:
                self.log_loss[queue] = told.log_loss / told.games

    def wave(self, queue: str, seconds: float) -> None:
        """Note how long a matcher took."""
        self._wave_s.labels(queue).observe(seconds)
        self.wave_s[queue] = seconds

    def answered(self, method: str, status: int) -> None:
        """Note a request."""
        key = (method, status)
        self.requests[key] = self.requests.get(key, 0) + 1

    def render(self, queues: list[QueueView], depth: int, sockets: int, ready: bool) -> bytes:
        """All numbers as Prometheus reads them."""
        self.refresh(queues, depth, sockets, ready)
        return generate_latest(self.registry)

    def refresh(self, queues: list[QueueView], depth: int, sockets: int, ready: bool) -> None:
        """Bring the registry up to what was counted."""
        for name, value in (
            ("events", self.events),
            ("commit_failures", self.commit_failures),
            ("busy_refusals", self.refused_busy),
        ):
            _set(self._counters[name], value)
        play = self.play
        for view in queues:  # a queue in which nothing has happened yet shows 0
            for name, counted in (("tickets_joined", play.joined), ("proposals_made", play.proposals)):
                _set(self._counters[name].labels(view.name), counted[view.name])
            _set(self._counters["matches_made"].labels(view.name), play.matches[view.name])
        for name, told in (("tickets_gone", play.gone), ("ready_checks", play.ready_checks)):
            for labels, value in list(told.items()):
                _set(self._counters[name].labels(*labels), value)
        for name, told in (("cooldowns", play.cooldowns), ("places", play.places)):
            for labels, value in list(told.items()):
                _set(self._counters[name].labels(*labels), value)
        for reason, value in list(self.refusals.items()):
            _set(self._counters["refusals"].labels(reason), value)
        for queue, value in self.waves.items():
            _set(self._counters["waves_recorded"].labels(queue), value)
        for queue, value in self.abandoned.items():
            _set(self._counters["waves_abandoned"].labels(queue), value)
        for queue, value in list(self.results.items()):
            _set(self._counters["results_reported"].labels(queue), value)
        for queue, loss in list(self.log_loss.items()):
            self._gauges["prediction_log_loss"].labels(queue).set(loss)
        for queue, record in list(self.forecasts.items()):
            self._gauges["forecasts_settled"].labels(queue).set(len(record.hits[0]))
            for (name, _), share in zip(SHARES, record.shares(), strict=True):
                if share is not None:
                    self._gauges["forecast_coverage"].labels(queue, name).set(share)
        for (method, status), value in self.requests.items():
            _set(self._counters["http_requests"].labels(method, str(status)), value)
        for view in queues:
            self._gauges["tickets_waiting"].labels(view.name).set(view.waiting)
            self._gauges["places_open"].labels(view.name).set(view.places_open)
            self._gauges["oldest_wait_seconds"].labels(view.name).set(view.oldest_wait_ms / 1000)
        self._gauges["mailbox_depth"].set(depth)
        self._gauges["sockets_open"].set(sockets)
        self._gauges["ready"].set(ready)


def _set(counter: Counter, value: float) -> None:
    """Bring a counter up to a number that is counted elsewhere."""
    counter.inc(value - counter._value.get())
