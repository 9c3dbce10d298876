"""The only place that chooses the real clock, journal, matchers and transport."""

import asyncio
import errno
import gc
import os
import shlex
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

import structlog
import uvicorn

from evenmatch import __version__
from evenmatch.domain.queue import QueueSpec
from evenmatch.errors import ConfigError, EvenmatchError
from evenmatch.numerics import threads
from evenmatch.open_files import raise_limit
from evenmatch.service.access import Gate
from evenmatch.service.app import App
from evenmatch.service.chronicle import Chronicle
from evenmatch.service.keys import KeyRing, keys_path
from evenmatch.service.log_lines import Form, Lines, log_to
from evenmatch.service.loopback import is_loopback
from evenmatch.service.matching import MatcherRoom
from evenmatch.service.runner import Runner
from evenmatch.service.signing import lacking
from evenmatch.settings import Settings
from evenmatch.storage.protocol import Journal
from evenmatch.storage.sqlite import SqliteJournal
from evenmatch.warming import load_matchers

_SWITCH_S = 0.002
"""The engine thread and the event loop hand the interpreter lock over this often at the latest. With Python's own 5 ms
each statement of a commit could wait that long for a busy event loop."""
_GC_THRESHOLDS = (20_000, 50, 100)
"""Requests make no cycles worth looking for every 700 objects; so set, a join costs a fifth less processor time."""
_GRACE_S = 10
_FILES_FEW = 4_096
_SILENCE_MS = 40_000
"""A client that takes nothing for so long, though there is something for it, is gone: its connection is ended."""


class PortTaken(EvenmatchError):
    """Somebody else listens where the server should."""


def first_key(settings: Settings) -> str:
    """The command that makes the key which closes an open server, as it can be typed where the server was started."""
    path = keys_path(settings)
    file = "" if path == Path("evenmatch.keys") else f" --file {shlex.quote(str(path))}"
    return f"{program()} keys add game --role backend{file}"


def program() -> str:
    """How to call evenmatch from the folder the server was started in."""
    here = Path(sys.argv[0])
    if shutil.which("evenmatch") or here.name != "evenmatch":
        return "evenmatch"
    return str(here.relative_to(Path.cwd())) if here.is_absolute() and here.is_relative_to(Path.cwd()) else str(here)


def build_app(journal: Journal, specs: Iterable[QueueSpec], settings: Settings, *, fast: bool = True) -> App:
    """The application over a journal, recovered and with its queues open."""
    room = MatcherRoom()
    runner = Runner(journal, specs, settings, room.run)
    room.waved = runner.metrics.wave
    return App(runner, room, settings, __version__, fast=fast, gate=Gate(runner, settings))


def listen(settings: Settings) -> socket.socket:
    """The socket to serve on."""
    if not 0 <= settings.port <= 65_535:
        raise PortTaken(f"{settings.port} is not a port: use 0 (any free one) to 65535")
    try:
        listening = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            backlog=2048,
        )
    except OSError as error:
        raise PortTaken(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}. {_hint(error)}"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # every connection has it from here; Linux only
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_MS)
    return listening


def _hint(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "Another server is running there: stop it, or choose another --port"
    return "Choose an address of this machine with --host, and a port that may be used with --port"


def refuse_to_be_open(settings: Settings) -> None:
    """Nobody but this machine may reach a server that asks for no key."""
    guarded = KeyRing(keys_path(settings)).has_backend or settings.player_secret is not None or settings.player_jwks
    if not guarded and not is_loopback(settings.host):
        raise ConfigError(
            f"will not listen on {settings.host}: without keys anybody there could play for anybody. "
            f"Make one first: {first_key(settings)}"
        )


def refuse_without_secrets(specs: Iterable[QueueSpec]) -> None:
    """A queue that asks for game servers must have what its requests are signed with."""
    for spec in specs:
        missing = lacking(os.environ, spec)
        if missing is not None:
            raise ConfigError(missing)


def serve(
    settings: Settings, specs: Iterable[QueueSpec], started: Callable[[str, list[QueueSpec], bool], None]
) -> None:
    """Run the server until it is told to stop; `started` hears its URL, all its open queues, and if it asks no key."""
    lines = _log_to_stderr(settings)
    refuse_to_be_open(settings)
    specs = tuple(specs)
    refuse_without_secrets(specs)
    files = raise_limit()
    if files < _FILES_FEW:
        structlog.get_logger("evenmatch").warning("few open files are allowed, and each connection is one", most=files)
    listening = listen(settings)
    journal = SqliteJournal(settings.db)
    try:
        app = build_app(journal, specs, settings)
    except BaseException:
        journal.close()
        raise
    app.runner.chronicle = Chronicle(lines)
    _warm(app)
    _tune()
    config = uvicorn.Config(
        app,
        http="httptools",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        ws_max_size=65_536,
        ws_per_message_deflate=False,
    )
    server = uvicorn.Server(config)

    def stale(why: str) -> None:
        structlog.get_logger("evenmatch").error("stopping: the journal has another owner", why=why)
        signal.raise_signal(signal.SIGTERM)

    app.runner.fatal = stale
    heard = server.handle_exit

    def stopping(number: int, frame: FrameType | None) -> None:
        app.hub.close()  # uvicorn closes WebSockets, but would wait for streams to end by themselves
        heard(number, frame)

    server.handle_exit = stopping  # type: ignore[method-assign, assignment]
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    started(url, [queue.spec for queue in app.runner.engine.state.by_index], app.gate.is_open)
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(server.serve(sockets=[listening]))


def _warm(app: App) -> None:
    """Load compiled code before traffic: that of the open queues at once, the rest while the server runs already."""
    if app.settings.threads:
        threads.use(app.settings.threads)
    load_matchers(queue.spec.matcher.name for queue in app.runner.engine.state.by_index)
    app.room.prepare(queue.spec for queue in app.runner.engine.state.by_index)
    threading.Thread(target=load_matchers, name="warming", daemon=True).start()


def _tune() -> None:
    """Set the interpreter up for two busy threads and many short-lived objects."""
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def _loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def _log_to_stderr(settings: Settings) -> Lines:
    """Where the log goes: lines to read on a terminal, JSON elsewhere, unless one is asked for."""
    form: Form = settings.log or ("text" if sys.stderr.isatty() else "json")  # type: ignore[assignment]
    lines = Lines(sys.stderr, form, settings.log_level)
    log_to(lines)
    return lines
