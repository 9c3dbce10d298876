"""What operators watch: plain counters, shown in Prometheus' text format.

The engine thread and the event loop each write their own numbers and `render` reads them, so no lock is needed. Queue
depths are read from committed state when somebody scrapes.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evenmatch.domain import events as ev
from evenmatch.domain.ticket import Cause
from evenmatch.numerics.predictions import Predictions

from .forecasts import SHARES, Record
from .views import QueueView

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The numbers of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.commit_failures = 0
        self.joined = 0
        self.matches = 0
        self.proposals = 0
        self.gone: dict[str, int] = {}
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
                ("tickets_joined", "Tickets that joined a queue", ()),
                ("matches_made", "Matches made", ()),
                ("proposals_made", "Proposals made", ()),
                ("commit_failures", "Commits that failed", ()),
                ("busy_refusals", "Requests turned away because the mailbox was full", ()),
                ("tickets_gone", "Tickets that left without a match, by cause", ("cause",)),
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
                ("oldest_wait_seconds", "Longest wait of a waiting ticket", ("queue",)),
                ("prediction_log_loss", "Mean log-loss of a queue's predictions so far", ("queue",)),
                (
                    "forecast_coverage",
                    "Share of the matched that waited no longer than told",
                    ("queue", "quantile"),
                ),
                ("forecasts_settled", "Forecasts that the coverage is of", ("queue",)),
                ("mailbox_depth", "Orders that wait for the engine", ()),
                ("sockets_open", "WebSockets open", ()),
                ("ready", "1 when orders can be carried out", ()),
            )
        }

    def committed(self, events: list[ev.Event], seconds: float) -> None:
        """Note a commit."""
        self._commit_s.observe(seconds)
        self.events += len(events)
        for event in events:
            match event:
                case ev.TicketsJoined():
                    self.joined += len(event.size)
                case ev.TicketsGone():
                    self._count_gone(event.cause, len(event.ticket))
                case ev.ProposalsFailed():
                    self._count_gone(event.cause, len(event.blamed))
                case ev.WaveFinished():
                    self.waves[event.queue] = self.waves.get(event.queue, 0) + 1
                    self.proposals += len(event.roster)
                    self.matches += 0 if event.deadline_ms else len(event.roster)
                case ev.WaveAbandoned():
                    self.abandoned[event.queue] = self.abandoned.get(event.queue, 0) + 1
                case ev.MatchMade():
                    self.matches += 1
                case ev.ResultReported():
                    self.results[event.queue] = self.results.get(event.queue, 0) + 1

    def _count_gone(self, cause: int, count: int) -> None:
        word = Cause(cause).word
        self.gone[word] = self.gone.get(word, 0) + count

    def predicted(self, predictions: dict[str, Predictions]) -> None:
        """Note how good each queue's predictions are."""
        for queue, told in predictions.items():
            if told.games:
                self.log_loss[queue] = told.log_loss / told.games

    def wave(self, queue: str, seconds: float) -> None:
        """Note how long a matcher took."""
        self._wave_s.labels(queue).observe(seconds)

    def answered(self, method: str, status: int) -> None:
        """Note a request."""
        key = (method, status)
        self.requests[key] = self.requests.get(key, 0) + 1

    def render(self, queues: list[QueueView], depth: int, sockets: int, ready: bool) -> bytes:
        """All numbers as Prometheus reads them."""
        for name, value in (
            ("events", self.events),
            ("tickets_joined", self.joined),
            ("matches_made", self.matches),
            ("proposals_made", self.proposals),
            ("commit_failures", self.commit_failures),
            ("busy_refusals", self.refused_busy),
        ):
            _set(self._counters[name], value)
        for cause, value in self.gone.items():
            _set(self._counters["tickets_gone"].labels(cause), value)
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
            self._gauges["oldest_wait_seconds"].labels(view.name).set(view.oldest_wait_ms / 1000)
        self._gauges["mailbox_depth"].set(depth)
        self._gauges["sockets_open"].set(sockets)
        self._gauges["ready"].set(ready)
        return generate_latest(self.registry)


def _set(counter: Counter, value: float) -> None:
    """Bring a counter up to a number that is counted elsewhere."""
    counter.inc(value - counter._value.get())
