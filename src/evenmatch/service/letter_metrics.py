"""Requests for game servers in numbers: how many wait, were delivered, failed and why, and were given up.

What waits or is dead is known from the journal when the engine is loaded, and from every commit since. Reasons are a
handful of words (`posting.Failure`), whatever an allocator answers.
"""

from collections import Counter as Counted

from prometheus_client import CollectorRegistry, Counter, Gauge

from evenmatch.storage.outbox import Letter


class LetterMetrics:
    """Counters and gauges of one server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open: dict[int, tuple[str, str]] = {}
        """Match -> queue and status of its letter, as long as it is pending or dead."""
        self._counts: Counted[tuple[str, str]] = Counted()
        self._delivered = Counter(
            "evenmatch_letters_delivered", "Game servers that were given, by queue", ["queue"], registry=registry
        )
        self._failed = Counter(
            "evenmatch_letter_attempts_failed",
            "Requests for game servers that were not answered well, by queue and reason",
            ["queue", "reason"],
            registry=registry,
        )
        self._given_up = Counter(
            "evenmatch_letters_given_up",
            "Requests for game servers that became dead letters, by queue",
            ["queue"],
            registry=registry,
        )
        self._waiting = Gauge(
            "evenmatch_letters_waiting", "Requests for game servers not answered yet", ["queue"], registry=registry
        )
        self._dead = Gauge("evenmatch_letters_dead", "Dead letters not sent again", ["queue"], registry=registry)

    def known(self, letters: list[Letter]) -> None:
        """Start from what the journal has: all letters that are pending or dead."""
        before = {queue for queue, _ in self._counts}
        self._open = {letter.match: (letter.queue, letter.status) for letter in letters}
        self._counts = Counted(self._open.values())
        self._show(before | {letter.queue for letter in letters})

    def committed(self, letters: list[Letter]) -> None:
        """Note letters as a commit left them."""
        for letter in letters:
            before = self._open.pop(letter.match, None)
            if before is not None:
                self._counts[before] -= 1
            if letter.status in ("pending", "dead"):
                self._open[letter.match] = now = (letter.queue, letter.status)
                self._counts[now] += 1
            if letter.status == "done":
                self._delivered.labels(letter.queue).inc()
            elif letter.status == "dead":
                self._given_up.labels(letter.queue).inc()
        if letters:
            self._show({letter.queue for letter in letters})

    def failed(self, queue: str, reason: str) -> None:
        """Note an attempt that was not answered well."""
        self._failed.labels(queue, reason).inc()

    def _show(self, queues: set[str]) -> None:
        for queue in queues:
            self._waiting.labels(queue).set(self._counts[queue, "pending"])
            self._dead.labels(queue).set(self._counts[queue, "dead"])
