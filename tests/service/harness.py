"""A real server process to test against: started, asked, stopped, killed, started again on the same journal.

Nothing here waits by sleeping for a guessed time. `eventually` looks again and again until what is waited for is there,
and gives up only after a time that no healthy machine needs.
"""

import contextlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from evenmatch.client import Event, SyncClient
from tests import nursery
from tests.nursery import Forked

PATIENCE_S: Final = 60.0
"""Longer than anything takes, on a loaded machine too."""

T = TypeVar("T")


def eventually(look: Callable[[], T], what: str = "what was waited for", patience_s: float = PATIENCE_S) -> T:
    """The first truthy answer of `look`."""
    until = time.monotonic() + patience_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"{what} did not come within {patience_s:g} s"
        time.sleep(0.005)


def evenmatch(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    given = clean_environment() | dict(env or {})
    if "PYTHONPATH" not in (env or {}):
        return nursery.run(*arguments, env=given, cwd=cwd, timeout=PATIENCE_S)
    command = [sys.executable, "-m", "evenmatch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=given, cwd=cwd)


def clean_environment() -> dict[str, str]:
    """The environment without settings of evenmatch, and wide enough that no line is wrapped."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVENMATCH_")}
    return kept | {"COLUMNS": "200", "PYTHONUNBUFFERED": "1"}


def queue(
    name: str,
    *,
    teams: int = 2,
    size: int = 1,
    every_s: float = 0.02,
    deadline_s: float = 30.0,
    isolate: bool | None = None,
    timeout_s: float | None = 60.0,
    expires_s: float = 600.0,
    heartbeat_s: float = 600.0,
    runs_s: float = 0.0,
    require_equal: tuple[str, ...] = (),
    matcher: str = "first_come",
) -> str:
    """One queue of a configuration file."""
    lines = [
        f"[queues.{name}]",
        f"format = {{ teams = {teams}, size = {size} }}",
        f'matcher = {{ name = "{matcher}" }}',
        f"wave = {{ every_s = {every_s}, deadline_s = {deadline_s}"
        + ("" if isolate is None else f", isolate = {str(isolate).lower()}")
        + " }",
        f"ticket = {{ expires_s = {expires_s}, heartbeat_s = {heartbeat_s} }}",
        f"match = {{ runs_s = {runs_s} }}",
        f"require_equal = {json.dumps(list(require_equal))}",
    ]
    if timeout_s is not None:
        lines.append(f"ready_check = {{ timeout_s = {timeout_s} }}")
    return "\n".join(lines) + "\n\n"


class Server:
    """A server process, its journal and its log."""

    def __init__(
        self,
        folder: Path,
        config: str | None = None,
        env: Mapping[str, str] | None = None,
        place: str | None = None,
    ) -> None:
        """`place`: where the journal is, if not in a file in the folder."""
        self.folder = folder
        self.db = folder / "evenmatch.db"
        self.place = str(self.db) if place is None else place
        self.log = folder / "server.log"
        self.env = {"EVENMATCH_TICK_MS": "5"} | dict(env or {})
        self.arguments = ["serve", "--port", "0", "--db", self.place]
        if config is not None:
            path = folder / "queues.toml"
            path.write_text(config)
            self.arguments += ["--config", str(path)]
        self.url = ""
        self.http = httpx.Client(timeout=PATIENCE_S)
        self.client = SyncClient()
        self.process: subprocess.Popen[bytes] | Forked | None = None

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self, *, file_size_max: int | None = None, ready: bool = True) -> "Server":
        """Start the process and wait until it is `ready`. `file_size_max`: a disk that is full at this size."""
        assert self.process is None, "it runs already"

        def limit() -> None:
            assert file_size_max is not None
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_max, resource.RLIM_INFINITY))

        env, cwd = clean_environment() | self.env, self.folder if "://" in self.place else None
        if file_size_max is None and "PYTHONPATH" not in self.env:
            self.process = Forked(self.arguments, env, cwd, self.log)
        else:
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "evenmatch", *self.arguments],
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=env,
                    cwd=cwd,
                    preexec_fn=None if file_size_max is None else limit,
                )
        self.url = self._address()
        self.http.close()
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE_S)
        self.client.close()
        self.client = SyncClient(self.url, patience_s=0, wait_s=PATIENCE_S)
        if ready:
            eventually(self._is_ready, "readiness")
        return self

    def _address(self) -> str:
        """The URL that stands in the first line of the greeting."""
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE_S), "the server says nothing"
        line = self.process.stdout.readline().decode()
        assert "http://" in line, f"no address in {line!r}; log: {self.log.read_text()[-2000:]}"
        return "http://" + line.split("http://")[1].split()[0]

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-2000:]}"
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        """Ask the server to stop (SIGTERM) and wait until it has; returns how it ended."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def kill(self) -> None:
        """End the process at once (SIGKILL)."""
        if self.process is not None:
            self.process.kill()
            self._ended()

    def _ended(self) -> int:
        assert self.process is not None
        code = self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code

    def close(self) -> None:
        """End everything."""
        self.kill()
        self.http.close()
        self.client.close()

    def sign_in(self, key: str) -> None:
        """Show an API key from now on."""
        self.http.headers["Authorization"] = f"Bearer {key}"
        self.client.close()
        self.client = SyncClient(self.url, key=key, patience_s=0, wait_s=PATIENCE_S)

    # -- HTTP ----------------------------------------------------------------------------------------------------------

    def join(self, queue: str, *players: str, key: str | None = None, **body: Any) -> dict[str, Any]:
        """Join by our own client and return the ticket."""
        content: dict[str, Any] = {"players": [{"id": player} for player in players]} | body
        given = {name: content[name] for name in ("attributes", "avoid") if name in content}
        assert content.keys() <= {"players", *given}, "the client has no such argument"
        ticket: dict[str, Any] = msgspec.to_builtins(self.client.join(queue, *content["players"], key=key, **given))
        return ticket

    def try_join(self, queue: str, *players: str, key: str | None = None, **body: Any) -> httpx.Response:
        """Ask to join."""
        content = {"players": [{"id": player} for player in players]} | body
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.http.post(f"/v1/queues/{queue}/tickets", json=content, headers=headers)

    def ticket(self, ticket: str) -> dict[str, Any]:
        """A ticket as it stands, by our own client."""
        found: dict[str, Any] = msgspec.to_builtins(self.client.ticket(ticket))
        return found

    def when(self, ticket: str, status: str) -> dict[str, Any]:
        """A ticket as soon as it has this status."""

        def look() -> dict[str, Any] | None:
            found = self.ticket(ticket)
            return found if found["status"] == status else None

        found = eventually(look, f"{ticket} {status}")
        assert found is not None
        return found

    def respond(self, proposal: str, player: str, answer: str = "accept") -> httpx.Response:
        """Accept or decline a proposal."""
        return self.http.post(f"/v1/proposals/{proposal}/{answer}", json={"player": player})

    def waiting(self, queue: str) -> int:
        """Tickets that wait in a queue."""
        return int(self.http.get(f"/v1/queues/{queue}").json()["queue"]["waiting"])

    # -- the journal ---------------------------------------------------------------------------------------------------

    def verify(self) -> dict[str, Any]:
        """What `evenmatch journal verify` finds."""
        done = evenmatch("journal", "verify", self.place, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """The journal's events, as `evenmatch journal show` tells them."""
        done = evenmatch("journal", "show", self.place, "--json", "--after", str(after))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    # -- WebSockets ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def listen(self, ticket: str, after: int | str | None = None) -> Iterator["Listener"]:
        """A WebSocket to a ticket's events."""
        query = "" if after is None else f"?after={after}"
        address = f"ws{self.url.removeprefix('http')}/v1/tickets/{ticket}/events{query}"
        with connect(address, open_timeout=PATIENCE_S, close_timeout=PATIENCE_S) as socket:
            yield Listener(socket)

    def watched(self, ticket: str, until: str) -> Event:
        """The next event of this type that a ticket hears of by our own client, past any others."""
        for event in self.client.watch(ticket):
            if event.type == until:
                return event
        raise AssertionError(f"the story of {ticket} ended before {until!r}")

    def story(self, ticket: str, after: int | None = None) -> list[dict[str, Any]]:
        """All messages of a ticket whose story is over."""
        with self.listen(ticket, after) as listener:
            return listener.rest()


class Listener:
    """One open WebSocket and all it has heard."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []
        self.code: int | None = None

    def next(self) -> dict[str, Any] | None:
        """The next message; None when the server has closed the socket, with `code`."""
        try:
            text = self.socket.recv(timeout=PATIENCE_S)
        except ConnectionClosed as closed:
            self.code = closed.rcvd.code if closed.rcvd else None
            return None
        message: dict[str, Any] = json.loads(text)
        self.heard.append(message)
        return message

    def until(self, kind: str) -> dict[str, Any]:
        """The next message of this type, past any others."""
        while (message := self.next()) is not None:
            if message["type"] == kind:
                return message
        raise AssertionError(f"closed with {self.code} before {kind!r}; heard {self.types}")

    def rest(self) -> list[dict[str, Any]]:
        """Everything up to the close."""
        while self.next() is not None:
            pass
        return self.heard

    @property
    def types(self) -> list[str]:
        """The types of all messages heard so far."""
        return [message["type"] for message in self.heard]
