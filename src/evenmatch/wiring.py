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
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import structlog
import uvicorn

from evenmatch import __version__
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.shards import Split
from evenmatch.errors import ConfigError, EvenmatchError
from evenmatch.numerics import threads
from evenmatch.open_files import raise_limit
from evenmatch.service.access import Gate
from evenmatch.service.app import App
from evenmatch.service.chronicle import Chronicle
from evenmatch.service.keys import KeyRing, keys_path
from evenmatch.service.lanes import Lanes
from evenmatch.service.log_lines import Form, Lines, log_to
from evenmatch.service.loopback import is_loopback
from evenmatch.service.matching import MatcherRoom
from evenmatch.service.owner import Owner
from evenmatch.service.signing import lacking
from evenmatch.settings import Settings
from evenmatch.storage.places import open_store
from evenmatch.storage.protocol import Journal
from evenmatch.warming import load_matchers

if TYPE_CHECKING:
    from evenmatch.service.node_app import NodeApp

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
    runner = Owner(journal, specs, settings, room.run)
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
    settings: Settings,
    specs: Iterable[QueueSpec],
    started: Callable[[str, list[QueueSpec], bool], None],
    lanes: Mapping[str, str] | None = None,
    splits: Mapping[str, Split] | None = None,
) -> None:
    """Run the server until it is told to stop; `started` hears its URL, all its open queues, and if it asks no key.

    `lanes`: queue -> its lane, for a process of a cluster; `splits`: queue -> how it is split, for any.
    """
    lines, specs, listening = _ready_to_listen(settings, specs)
    if settings.role:
        _serve_node(settings, specs, (lanes or {}, splits or {}), started, lines, listening)
        return
    journal = open_store(settings.db, cluster=settings.cluster)
    try:
        if journal.shared:
            raise ConfigError(
                f"{journal.name} has several lanes, and a server that is alone would run one of them only: "
                "start it with --role all"
            )
        app = build_app(journal, specs, settings)
    except BaseException:
        journal.close()
        raise
    app.runner.chronicle = Chronicle(lines)
    opened = [queue.spec for queue in app.runner.engine.state.by_index]
    _warm(opened, settings)
    assert app.room is not None
    app.room.prepare(opened)
    _tune()
    server = _uvicorn(Lanes({1: app}, splits) if splits else app)

    def stale(why: str) -> None:
        structlog.get_logger("evenmatch").error("stopping: the journal has another owner", why=why)
        signal.raise_signal(signal.SIGTERM)

    app.runner.fatal = stale
    journal.when_lost(stale)
    _when_stopped(server, app.hub.close)
    started(_url(listening), opened, app.gate.is_open)
    _run(server, listening)


def _serve_node(
    settings: Settings,
    specs: tuple[QueueSpec, ...],
    divided: tuple[Mapping[str, str], Mapping[str, Split]],
    started: Callable[[str, list[QueueSpec], bool], None],
    lines: Lines,
    listening: socket.socket,
) -> None:
    """Run one process of a cluster until it is told to stop; `divided`: lanes and splits, as `serve` has them."""
    from evenmatch.node_wiring import make_node  # it needs psycopg, which others do without

    node, app = make_node(settings, specs, *divided, lines, __version__)
    _warm(specs if settings.role != "api" else (), settings)
    _tune()
    server = _uvicorn(app)
    _when_stopped(server, node.close_lines)
    node.address = _url(listening)
    opened = [queue.spec for follower in node.followers.values() for queue in follower.engine.state.by_index]
    runs = list(specs) if settings.role != "api" else []
    started(node.address, opened or runs, node.lanes is not None and node.lanes.gate.is_open)
    _run(server, listening)


def _ready_to_listen(
    settings: Settings, specs: Iterable[QueueSpec]
) -> tuple[Lines, tuple[QueueSpec, ...], socket.socket]:
    lines = _log_to_stderr(settings)
    refuse_to_be_open(settings)
    specs = tuple(specs)
    refuse_without_secrets(specs)
    files = raise_limit()
    if files < _FILES_FEW:
        structlog.get_logger("evenmatch").warning("few open files are allowed, and each connection is one", most=files)
    return lines, specs, listen(settings)


def _uvicorn(app: "App | Lanes | NodeApp") -> uvicorn.Server:
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
    return uvicorn.Server(config)


def _when_stopped(server: uvicorn.Server, close: Callable[[], object]) -> None:
    """Close lines as soon as the server is told to stop: uvicorn would wait for streams to end by themselves."""
    heard = server.handle_exit

    def stopping(number: int, frame: FrameType | None) -> None:
        close()
        heard(number, frame)

    server.handle_exit = stopping  # type: ignore[method-assign, assignment]


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    with asyncio.Runner(loop_factory=_loop) as runner:
        runner.run(server.serve(sockets=[listening]))


def _warm(specs: Iterable[QueueSpec], settings: Settings) -> None:
    """Load compiled code before traffic: that of the open queues at once, the rest while the server runs already."""
    if settings.threads:
        threads.use(settings.threads)
    load_matchers(spec.matcher.name for spec in specs)
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
