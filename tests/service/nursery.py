"""Servers that begin as copies of a process which has loaded evenmatch already.

To load it takes a server two seconds of a core, and the tests start hundreds. So one process a test run loads it once,
and each server is forked from there: a process of its own, with its own environment, folder, output and end. Whoever
needs an interpreter of its own (another PYTHONPATH, a limit on files) starts one as a user would.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Final

_LOADED: Final = ["evenmatch.cli.serve", "evenmatch.node_wiring", "evenmatch.matchers.first_come", "uvicorn", "uvloop"]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_LOADED)


def _serve(
    arguments: list[str], env: dict[str, str], cwd: str | None, log: str, said: "Connection[bytes, bytes]"
) -> None:
    """In the new process: become the command line."""
    os.environ.clear()
    os.environ.update(env)
    if cwd is not None:
        os.chdir(cwd)
    stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(stderr, 2)
    os.dup2(said.fileno(), 1)
    os.close(stderr)
    said.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.argv = ["evenmatch", *arguments]
    from evenmatch.cli import main

    main()


class Forked:
    """Such a process, used as one of `subprocess` is."""

    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: Path | None, log: Path) -> None:
        hears, said = _context.Pipe(duplex=False)
        given = (arguments, dict(env), None if cwd is None else str(cwd), str(log), said)
        self._process = _context.Process(target=_serve, args=given)
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
