"""What a process of a cluster counts of itself, beside the numbers of the lanes that it follows or owns.

The numbers of events, matches and players are those of the followers where it serves clients, and of its own lanes
where it is only a worker (`node_app`): a process that does both has them twice, and shows them once. What is here is
about the process, so that it can be added to either.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

DONE: Final = "done"
NOT_DONE: Final = "not_done"
"""It was taken back, and nothing was changed."""
UNKNOWN: Final = "unknown"
"""The database could not be asked what became of it."""
_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class NodeMetrics:
    """The numbers of one node; written on the event loop and read by whoever scrapes."""

    def __init__(self, role: str, node: str, version: str) -> None:
        self.registry = CollectorRegistry()
        about = Gauge(
            "evenmatch_node_info", "A process of a cluster", ["role", "node", "version"], registry=self.registry
        )
        about.labels(role, node, version).set(1)
        self._owned = Gauge("evenmatch_lanes_owned", "Lanes that this process owns", registry=self.registry)
        self._waiting: Gauge | None = None
        if role != "worker":
            self._forward_s = Histogram(
                "evenmatch_forward_seconds",
                "Time from taking a request to the answer of its lane's owner",
                registry=self.registry,
                buckets=_SECONDS,
            )
            self._forwarded = Counter(
                "evenmatch_forwarded", "Requests handed to owners, by outcome", ["outcome"], registry=self.registry
            )
            for outcome in (DONE, NOT_DONE, UNKNOWN):
                self._forwarded.labels(outcome)
            self._lag_s = Gauge(
                "evenmatch_follower_lag_seconds",
                "How old a commit of a lane was at most when it was read here, in the last ten seconds or so",
                ["lane"],
                registry=self.registry,
            )
        self._failed: Counter | None = None
        self._failed_so_far = 0
        if (
            role == "all"
        ):  # a worker shows the numbers of its lanes' owners, here those of followers stand in their place
            self._failed = Counter("evenmatch_commit_failures", "Commits that failed", registry=self.registry)
        if role != "api":
            self._waiting = Gauge(
                "evenmatch_inbox_waiting",
                "Requests in the inbox of a lane that this process owns, as it last looked",
                ["lane"],
                registry=self.registry,
            )

    def forwarded(self, outcome: str, seconds: float) -> None:
        """A request that was handed to an owner has its answer."""
        self._forwarded.labels(outcome).inc()
        self._forward_s.observe(seconds)

    def refresh(self, lags_s: dict[str, float], waiting: dict[str, int], failed: int) -> None:
        """Bring gauges up to date: followers' lags, what waits in the inboxes of own lanes, commits that failed."""
        if self._failed is not None:
            self._failed.inc(failed - self._failed_so_far)
            self._failed_so_far = failed
        self._owned.set(len(waiting))
        for lane, lag_s in lags_s.items():
            self._lag_s.labels(lane).set(lag_s)
        if self._waiting is not None:
            self._waiting.clear()  # a lane that was given back is another's to tell of
            for lane, count in waiting.items():
                self._waiting.labels(lane).set(count)
