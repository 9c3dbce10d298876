"""Waves from end to end: an engine with many waiting tickets, its journal on disk, and joins that come meanwhile.

Every case (a matcher and a number of waiting tickets) runs in a process of its own, so that its memory is its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from evenmatch.errors import MatcherError, TicketError

from .machine import machine

SIZES: Final = (1_000, 100_000, 1_000_000)
MATCHERS: Final = ("first_come", "buckets", "ladder", "epgc")
_MOST: Final = 10_000_000
PHASES: Final = ("copy", "plan", "vetting", "event", "journal", "total", "longest")


def measure(
    matchers: Sequence[str] = MATCHERS,
    sizes: Sequence[int] = SIZES,
    repeats: int = 3,
    joins_s: float = 2.0,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """Run all cases: {"machine", "repeats", "cases"}. A case that fails has "failed", in words, in place of numbers.

    A case: "matcher", "waiting" (tickets), "load" (of the machine, before it began), "matches" (of one wave), "events"
    (a large wave is several);
    {"p50", "p99"} in milliseconds each for
      "copy_ms"     freezing the queue, in the engine thread; of a small one the snapshot is copied there too,
      "plan_ms"     the snapshot of a large queue, the matcher, and looking at its plan,
      "vetting_ms"  checking the plan against the queue and making events of it,
      "event_ms"    applying them to the state,
      "journal_ms"  encoding and committing them,
      "total_ms"    all of that,
      "longest_ms"  the longest stretch of the engine thread: nobody who joins waits longer for this wave;
    "journal_bytes" of a wave; "checkpoint_ms", for how long saving the state holds up the engine thread;
    "bytes_per_ticket", peak memory above that of the program without tickets;
    "joins": {"count", "refused", "p50_ms", "p99_ms", "most_ms"}, answered by a running engine thread from the moment
    a wave starts over all tickets until it is recorded, and for `joins_s` at least.
    """
    from evenmatch.numerics import threads

    cases: list[dict[str, Any]] = []
    for size in sizes:
        for matcher in matchers:
            tell(f"{matcher}, {size:,} waiting", len(cases), len(sizes) * len(matchers))
            asked = {"matcher": matcher, "waiting": size, "repeats": repeats, "joins_s": joins_s}
            load = round(os.getloadavg()[0], 2)
            cases.append({"matcher": matcher, "waiting": size, "load": load} | _apart(asked))
    return {"machine": machine(threads.count()), "repeats": repeats, "cases": cases}


def matchers_of(text: str) -> list[str]:
    """Names of matchers out of a text with commas."""
    from evenmatch.matchers import registry

    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in registry.MATCHERS:
            raise MatcherError(f"no matcher is called {name!r}; there are {', '.join(sorted(registry.MATCHERS))}")
    return names


def sizes_of(text: str) -> list[int]:
    """Numbers of tickets out of a text with commas."""
    words = [word.strip().replace("_", "") for word in text.split(",") if word.strip()]
    for word in words:
        if not word.isascii() or not word.isdigit() or not 2 <= int(word) <= _MOST:
            raise TicketError(f"{word!r} is not a number of tickets: use 2 to {_MOST:,}, such as 1000,100000")
    return [int(word) for word in words]


def _apart(asked: dict[str, Any]) -> dict[str, Any]:
    """Run a case in a fresh process."""
    command = [sys.executable, "-m", "evenmatch.bench.wave_case", json.dumps(asked)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"failed": (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
