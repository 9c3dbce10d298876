"""Processes that begin as copies of one which has loaded evenmatch already.

To load it takes two seconds of a core, and the tests start a thousand. So one process a test run loads it once, and
each server and each run of the command line is forked from there: a process of its own, with its own environment,
folder, output and end. Whoever needs an interpreter of its own (another PYTHONPATH, a limit on files) starts one as a
user would.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Final

_LOADED: Final = [
    *(f"evenmatch.cli.{verb}" for verb in ("serve", "check", "cluster", "journal", "keys", "plan", "queues", "rate")),
    *("evenmatch.node_wiring", "evenmatch.matchers.first_come", "evenmatch.matchers.even", "uvicorn", "uvloop"),
]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_LOADED)
_PATIENCE_S: Final = 240.0


def _become(
    arguments: list[str], env: dict[str, str], cwd: str | None, log: str, said: "Connection[bytes, bytes] | str"
) -> None:
    """In the new process: be the command line. `said`: where it prints to, a pipe or a file."""
    os.environ.clear()
    os.environ.update(env)
    if cwd is not None:
        os.chdir(cwd)
    _lead(2, log)
    if isinstance(said, str):
        _lead(1, said)
    else:
        os.dup2(said.fileno(), 1)
        said.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.argv = ["evenmatch", *arguments]
    from evenmatch.cli import main

    main()


def _lead(output: int, path: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(opened, output)
    os.close(opened)


def run(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = _PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    with tempfile.TemporaryDirectory(prefix="evenmatch-run-") as name:
        out, err = Path(name, "out"), Path(name, "err")
        given = dict(os.environ if env is None else env), None if cwd is None else str(cwd), str(err), str(out)
        process = _context.Process(target=_become, args=(list(arguments), *given))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["evenmatch", *arguments], timeout, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(
            ["evenmatch", *arguments], process.exitcode, out.read_text("utf-8"), err.read_text("utf-8")
        )


class Forked:
    """A process that goes on, used as one of `subprocess` is."""

    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: Path | None, log: Path) -> None:
        hears, said = _context.Pipe(duplex=False)
        given = (arguments, dict(env), None if cwd is None else str(cwd), str(log), said)
        self._process = _context.Process(target=_become, args=given)
        self._process.start()
        said.close()
        self.stdout: IO[bytes] = os.fdopen(os.dup(hears.fileno()), "rb", buffering=0)
        hears.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """How it ended; None = it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """How it ended, once it has."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("evenmatch", timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)
