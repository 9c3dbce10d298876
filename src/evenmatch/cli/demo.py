"""evenmatch demo: a server of its own with simulated players, to look at."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from importlib import resources
from pathlib import Path

from evenmatch.client import Client
from evenmatch.demo.crowd import Crowd
from evenmatch.errors import ConfigError, EvenmatchError
from evenmatch.service import keys

_TOLD_S = 15.0
_KEYS = "evenmatch.keys"


class NoStart(EvenmatchError):
    """The demonstration's server did not start."""


def demo(*, port: int = 8750, pace: float = 1.0, seed: int = 7, seconds: float | None = None) -> None:
    """Run a server with a simulated crowd until Ctrl-C; its journal is thrown away afterwards.

    Parameters
    ----------
    port
        The port to listen on.
    pace
        So many times as many players come: 0.1 to 10.
    seed
        Who comes, and what everybody does.
    seconds
        End by itself after so long.
    """
    if not 0.1 <= pace <= 10:
        raise ConfigError(f"--pace is {pace:g}: use 0.1 to 10")
    if not 1 <= port <= 65_535:
        raise ConfigError(f"--port is {port}: use 1 to 65535")
    url = f"http://127.0.0.1:{port}"
    config = resources.files("evenmatch.demo").joinpath("queues.toml")
    with tempfile.TemporaryDirectory(prefix="evenmatch-demo-") as folder, resources.as_file(config) as file:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends us ends the server with us
        # On loopback only, in a file of its own, and gone with the demonstration.
        operator = keys.add(Path(folder) / _KEYS, "demo", "operator")
        server = _started(Path(folder), file, port)
        try:
            _until_ready(server, url)
            said = f"The crowd is coming. Open {url}/ and watch; Ctrl-C ends it.\n"
            said += f"To operate it, open a queue, then Operate, and use this key: {operator}"
            asyncio.run(_crowd(server, url, said, seed, pace, seconds))
        except KeyboardInterrupt:
            print("The demonstration is over.")
        finally:
            server.terminate()
            server.wait()


def _started(folder: Path, config: Path, port: int) -> "subprocess.Popen[bytes]":
    where = ["--config", str(config), "--db", str(folder / "evenmatch.db"), "--port", str(port)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENMATCH_")}
    return subprocess.Popen(
        [sys.executable, "-m", "evenmatch", "serve", *where, "--log-level", "warning"],
        env=kept | {"EVENMATCH_KEYS": str(folder / _KEYS)},
        stdout=subprocess.DEVNULL,
    )


def _until_ready(server: "subprocess.Popen[bytes]", url: str) -> None:
    """However long it takes: a first start may compile for minutes, and who waits is told that it goes on."""
    began = told = time.monotonic()
    while server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        if time.monotonic() - told >= _TOLD_S:
            told = time.monotonic()
            print(f"evenmatch: the server is starting, {told - began:.0f} s so far", file=sys.stderr, flush=True)
    raise NoStart("the server did not start; what it said stands above. Is another one there? Try --port")


async def _crowd(
    server: "subprocess.Popen[bytes]", url: str, said: str, seed: int, pace: float, seconds: float | None
) -> None:
    """Play until the time is over, somebody ends us, or the server ends; `said` once somebody may end us."""
    ended = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        # An exception out of nowhere would leave tasks half done; this way everybody goes home first.
        asyncio.get_running_loop().add_signal_handler(one, ended.set)
    print(said, flush=True)
    async with Client(url) as client:
        playing = asyncio.create_task(Crowd(client, seed, pace).play())
        until = None if seconds is None else time.monotonic() + seconds
        try:
            while server.poll() is None and not playing.done() and not ended.is_set():
                if until is not None and time.monotonic() >= until:
                    break
                await asyncio.sleep(0.2)
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
    if ended.is_set():
        raise KeyboardInterrupt
    if server.poll() is not None:
        raise NoStart("the server ended; what it said stands above")
