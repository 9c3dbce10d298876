"""evenmatch top: the queues of a server, in a terminal.

It needs what any dashboard needs: `/v1/queues` for what waits now, and `/metrics` for what has happened. Counters only
rise, so what happened in between is the difference of two looks. Rates are over the time that was watched, five minutes
at most; waits, qualities and ready checks too, or since the server's start where nothing happened while we watched.
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections import deque
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenmatch.errors import ConfigError, EvenmatchError
from evenmatch.settings import API_KEY

_WATCHED_S = 300.0
_TIMEOUT_S = 10.0
_Labels = tuple[tuple[str, str], ...]


class NoAnswer(EvenmatchError):
    """The server does not answer, or not as a server of ours would."""


class Look(msgspec.Struct, frozen=True):
    """What one look at a server has found."""

    at_s: float
    queues: list[dict[str, Any]]
    samples: dict[str, dict[_Labels, float]]
    """Name of a sample -> its labels -> its value."""

    def value(self, name: str, **labels: str) -> float:
        """The sum over all samples that have these labels."""
        wanted = set(labels.items())
        return sum(value for found, value in self.samples.get(name, {}).items() if wanted <= set(found))

    def buckets(self, name: str, **labels: str) -> dict[float, float]:
        """The upper bounds of a histogram's buckets, and how many values lie below each."""
        wanted, found = set(labels.items()), dict[float, float]()
        for told, value in self.samples.get(f"{name}_bucket", {}).items():
            if wanted <= set(told):
                bound = float(dict(told)["le"])
                found[bound] = found.get(bound, 0.0) + value
        return dict(sorted(found.items()))


def top(
    *,
    url: str = "http://127.0.0.1:8750",
    key: str | None = None,
    every: float = 2.0,
    once: bool = False,
    json_output: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Watch the queues of a server in the terminal, until Ctrl-C.

    Parameters
    ----------
    url
        Where the server is.
    key
        An API key; a reader's is enough. Default: EVENMATCH_API_KEY, where other users of the machine do not see it.
    every
        Seconds between two looks.
    once
        Look twice, print one frame and end.
    json_output
        With --once: print the numbers as JSON.
    """
    if not 0.1 <= every <= 3600:
        raise ConfigError(f"--every is {every:g}: use 0.1 to 3600 seconds")
    if json_output and not once:
        raise ConfigError("--json prints one frame: add --once")
    credential = os.environ.get(API_KEY, "").strip() if key is None else key
    if not credential.isascii() or not credential.isprintable():
        raise ConfigError("the key cannot be one: it has characters that no key has")
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    url = url.rstrip("/")
    looks = deque([look(url, headers)])
    console = Console(highlight=False)
    try:
        if once:
            time.sleep(every)
            looks.append(look(url, headers))
            if json_output:
                print(json.dumps(numbers(looks[0], looks[-1])))
            else:
                console.print(frame(url, looks[0], looks[-1], console.width))
            return
        with Live(
            frame(url, looks[0], looks[0], console.width),
            console=console,
            auto_refresh=False,
            screen=console.is_terminal,
        ) as live:
            while True:
                time.sleep(every)
                try:
                    looks.append(look(url, headers))
                except NoAnswer as error:
                    live.update(Text(f"{error}\ntrying again every {every:g} s; Ctrl-C ends"), refresh=True)
                    continue
                while looks[-1].at_s - looks[0].at_s > _WATCHED_S or restarted(looks[0], looks[-1]):
                    looks.popleft()
                live.update(frame(url, looks[0], looks[-1], console.width), refresh=True)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def look(url: str, headers: dict[str, str]) -> Look:
    """Ask a server how it does."""
    queues = json.loads(_fetched(f"{url}/v1/queues", headers))["queues"]
    return Look(time.monotonic(), queues, samples_of(_fetched(f"{url}/metrics", headers)))


def samples_of(text: str) -> dict[str, dict[_Labels, float]]:
    """Prometheus' text format, by name and labels."""
    found: dict[str, dict[_Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def _fetched(address: str, headers: dict[str, str]) -> str:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=_TIMEOUT_S) as answer:
            text: str = answer.read().decode()
            return text
    except urllib.error.HTTPError as error:
        what = {401: "give it a key: --key, or EVENMATCH_API_KEY", 403: "the key's role may not look"}.get(error.code)
        raise NoAnswer(f"{address} answers {error.code}: {what or error.reason}") from None
    except (OSError, ValueError) as error:
        raise NoAnswer(f"{address} does not answer: {getattr(error, 'reason', error)}. Is --url right?") from None


def restarted(before: Look, after: Look) -> bool:
    """Has the server begun to count anew?"""
    return after.value("evenmatch_events_total") < before.value("evenmatch_events_total")


def quantile(before: dict[float, float], after: dict[float, float], share: float) -> float | None:
    """The value below which a share of what came between two looks lies, as Prometheus estimates it; None = nothing."""
    counts = [(bound, count - before.get(bound, 0.0)) for bound, count in after.items()]
    if not counts or counts[-1][1] <= 0:
        return None
    wanted = share * counts[-1][1]
    for (low, below), (high, count) in pairwise([(0.0, 0.0), *counts]):
        if count >= wanted:
            if high == float("inf"):
                return low
            return low + (high - low) * (wanted - below) / (count - below) if count > below else high
    return None


def numbers(before: Look, after: Look) -> dict[str, Any]:
    """What a frame shows, as plain numbers."""
    minutes = (after.at_s - before.at_s) / 60
    return {
        "queues": [_queue(view, before, after, minutes) for view in after.queues],
        "ready": bool(after.value("evenmatch_ready")),
        "mailbox": int(after.value("evenmatch_mailbox_depth")),
        "sockets": int(after.value("evenmatch_sockets_open")),
        "commit_p99_s": _quantile("evenmatch_commit_seconds", 0.99, before, after),
        "journal_lag_p99_s": _quantile("evenmatch_journal_lag_seconds", 0.99, before, after),
        "refusals": {
            dict(labels)["reason"]: int(value)
            for labels, value in sorted(after.samples.get("evenmatch_refusals_total", {}).items())
        },
    }


def _queue(view: dict[str, Any], before: Look, after: Look, minutes: float) -> dict[str, Any]:
    name = view["name"]

    def rate(counter: str) -> float | None:
        more = after.value(counter, queue=name) - before.value(counter, queue=name)
        return round(more / minutes, 1) if minutes > 0 else None

    made = _recent("evenmatch_ready_checks_total", before, after, queue=name, outcome="made")
    ended = _recent("evenmatch_ready_checks_total", before, after, queue=name)
    return {
        "queue": name,
        "mode": view["mode"],
        "waiting": view["waiting"],
        "oldest_s": view["oldest_wait_ms"] / 1000,
        "joins_a_minute": rate("evenmatch_tickets_joined_total"),
        "matches_a_minute": rate("evenmatch_matches_made_total"),
        "wait_p50_s": _quantile("evenmatch_wait_seconds", 0.5, before, after, queue=name),
        "wait_p90_s": _quantile("evenmatch_wait_seconds", 0.9, before, after, queue=name),
        "quality": _mean("evenmatch_match_quality", before, after, queue=name),
        "ready_checks_kept": made / ended if ended else None,
        "wave_s": _mean("evenmatch_wave_seconds", before, after, queue=name),
    }


def _happened(name: str, before: Look, after: Look, **labels: str) -> bool:
    return after.value(name, **labels) > before.value(name, **labels)


def _recent(name: str, before: Look, after: Look, **labels: str) -> float:
    """How much was counted while we watched; since the server's start where nothing of the queue was."""
    since = before.value(name, **labels) if _happened(name, before, after, queue=labels["queue"]) else 0.0
    return after.value(name, **labels) - since


def _quantile(name: str, share: float, before: Look, after: Look, **labels: str) -> float | None:
    recent = _happened(f"{name}_count", before, after, **labels)
    return quantile(before.buckets(name, **labels) if recent else {}, after.buckets(name, **labels), share)


def _mean(name: str, before: Look, after: Look, **labels: str) -> float | None:
    recent = _happened(f"{name}_count", before, after, **labels)
    count, total = (
        after.value(f"{name}_{part}", **labels) - (before.value(f"{name}_{part}", **labels) if recent else 0.0)
        for part in ("count", "sum")
    )
    return total / count if count else None


_WIDE = 120
"""Columns of a terminal that all of a frame's columns need."""
_HEADINGS = ("waiting", "oldest", "joins/min", "matches/min", "wait p50", "p90", "even", "ready", "wave")
_NARROW = {"waiting": "waiting", "oldest": "oldest", "matches/min": "match/min", "wait p50": "p50", "p90": "p90"}
"""What is shown in a narrower one, and under which heading."""


def frame(url: str, before: Look, after: Look, width: int = _WIDE) -> Group:
    """One picture; it can be read without colours. In a narrow terminal it has fewer columns, but always the mode."""
    told = numbers(before, after)
    shown = {heading: heading for heading in _HEADINGS} if width >= _WIDE else _NARROW
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("queue", style="cyan", no_wrap=True, overflow="ellipsis")
    table.add_column("mode", no_wrap=True, min_width=len("draining"))
    for heading in shown.values():
        table.add_column(heading, justify="right", no_wrap=True, min_width=len(heading))
    for queue in told["queues"]:
        cells = _cells(queue)
        mode = Text(queue["mode"], style="" if queue["mode"] == "open" else "yellow")
        table.add_row(_fitting(queue["queue"], width), mode, *(cells[heading] for heading in shown))
    state = Text("ready", style="green") if told["ready"] else Text("NOT READY", style="bold red")
    watched_s = after.at_s - before.at_s
    head = Text.assemble(("evenmatch", "bold"), f" {url}  ", state, f"  watched for {watched_s:.0f} s")
    foot = Text(
        f"journal: commit p99 {_seconds(told['commit_p99_s'])}, lag p99 {_seconds(told['journal_lag_p99_s'])}   "
        f"mailbox: {told['mailbox']:,}   sockets: {told['sockets']:,}"
    )
    most = sorted(told["refusals"].items(), key=lambda one: (-one[1], one[0]))[:5]
    refused = Text("refused since the start: " + (", ".join(f"{why} {count:,}" for why, count in most) or "nobody"))
    return Group(head, Text(), table, Text(), foot, refused)


def _cells(queue: dict[str, Any]) -> dict[str, str]:
    """What stands under each heading."""
    rates = (queue["joins_a_minute"], queue["matches_a_minute"])
    shares = (queue["quality"], queue["ready_checks_kept"])
    cells = (
        f"{queue['waiting']:,}",
        _seconds(queue["oldest_s"]),
        *("-" if rate is None else f"{rate:,.1f}" for rate in rates),
        _seconds(queue["wait_p50_s"]),
        _seconds(queue["wait_p90_s"]),
        *("-" if share is None else f"{share:.0%}" for share in shares),
        _seconds(queue["wave_s"]),
    )
    return dict(zip(_HEADINGS, cells, strict=True))


def _fitting(name: str, width: int) -> str:
    """A queue's name, cut where it would push out what is beside it."""
    most = max(8, width - (99 if width >= _WIDE else 63))
    return name if len(name) <= most else name[: most - 1] + "…"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"
