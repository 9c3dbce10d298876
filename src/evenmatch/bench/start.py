"""What a start costs: the program itself, and the first wave of each matcher after its compiled code was loaded.

Every number is from fresh processes, of which the first is not counted: it brings files into the system's cache, and
makes compiled code that `make setup` has not. A matcher's process does what a server does before it listens
(`warming.load_matchers`), and then plans the same small queue twice. The program's times are those of whole processes,
the interpreter's own start included, which is measured beside them.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from evenmatch.bench.machine import machine
from evenmatch.errors import ConfigError

__all__ = ["AIMS_MS", "PROGRAMS", "first_waves", "measure"]

WAITING: Final = 30
PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "python": ("-c", "pass"),
    "import evenmatch": ("-c", "import evenmatch"),
    "evenmatch --help": ("-m", "evenmatch", "--help"),
}
"""What is started, and how the interpreter is told to."""
AIMS_MS: Final = {"import evenmatch": 300.0, "evenmatch --help": 300.0, "first": 50.0}
PHASES: Final = ("load", "first", "second")


def measure(
    matchers: Sequence[str], repeats: int = 5, tell: Callable[[str, int, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Start everything so many times: {"machine", "repeats", "waiting", "programs", "matchers", "aims_ms"}.

    A program: "program", "numba" (whether it was imported), and "wall_ms". A matcher: "matcher", "load_ms" (reading its
    code, compiled parts included), "first_ms" and "second_ms" (its plans of `waiting` tickets), or "failed", in words.
    All times are {"least", "median"} in milliseconds.
    """
    from evenmatch.numerics import threads

    if repeats < 1:
        raise ConfigError(f"--repeats must be 1 or more, not {repeats}")
    total = len(PROGRAMS) + len(matchers)
    programs: list[dict[str, Any]] = []
    cases: list[dict[str, Any]] = []
    for program, arguments in PROGRAMS.items():
        tell(program, len(programs), total)
        numba = _imports_numba(arguments)
        took = [_wall_ms(arguments) for _ in range(repeats)]
        programs.append({"program": program, "numba": numba, "wall_ms": _of(took)})
    for matcher in matchers:
        tell(matcher, len(programs) + len(cases), total)
        cases.append({"matcher": matcher} | _apart(matcher, repeats))
    return {
        "machine": machine(threads.count()),
        "repeats": repeats,
        "waiting": WAITING,
        "programs": programs,
        "matchers": cases,
        "aims_ms": AIMS_MS,
    }


def first_waves(matcher: str) -> dict[str, float]:
    """Load a matcher as a server does, and plan twice: milliseconds by phase. For a process of its own."""
    started = time.perf_counter()
    from evenmatch.warming import load_matchers

    load_matchers([matcher])
    loaded = time.perf_counter()
    from evenmatch.bench.contests.small import plan, wave

    given, moments = wave(matcher, WAITING, 1), [time.perf_counter()]
    for _ in range(2):
        plan(given)
        moments.append(time.perf_counter())
    took = loaded - started, moments[1] - moments[0], moments[2] - moments[1]
    return dict(zip(PHASES, (1000 * seconds for seconds in took), strict=True))


def _apart(matcher: str, repeats: int) -> dict[str, Any]:
    """The waves of a matcher in as many processes as asked for, and one before them."""
    found: list[dict[str, float]] = []
    for _ in range(repeats + 1):
        command = [sys.executable, "-m", "evenmatch.bench.start", matcher]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            return {"failed": (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]}
        found.append(json.loads(ran.stdout))
    return {f"{phase}_ms": _of([one[phase] for one in found[1:]]) for phase in PHASES}


def _of(took_ms: Sequence[float]) -> dict[str, float]:
    return {"least": round(min(took_ms), 3), "median": round(statistics.median(took_ms), 3)}


def _wall_ms(arguments: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - started)


def _imports_numba(arguments: Sequence[str]) -> bool:
    """Whether numba is among what the interpreter says it imports; it takes longer to load than all of evenmatch."""
    command = [sys.executable, "-X", "importtime", *arguments]
    said = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
    return any(line.rpartition("|")[2].strip() == "numba" for line in said.splitlines())


if __name__ == "__main__":
    print(json.dumps(first_waves(sys.argv[1])))
