"""Every operation of the OpenAPI document, tried by schemathesis on a real server: no 500, no answer undocumented.

It runs as the program that it is, beside the server, with a key of an operator, one of a backend and none. Its values
are the same on every run. `make test-all` tries far more of them, and follows tickets from one operation to the next.

Of its checks these are off, for they ask for what is not promised:
- positive_data_acceptance: a body may fit its schema and be against a rule of the queue, which is a 422;
- ensure_resource_availability and use_after_free: what was made may be matched or cancelled a moment later, and a
  ticket that has left can still be looked at;
- negative_data_rejection, of a batch only: each ticket is refused by itself, in an answer that is a 200;
- object_level_authorization: it needs two callers who own things; test_access.py tries every caller on every path.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from . import callers
from .harness import Server, clean_environment, eventually, queue

OFF: Final = (
    "positive_data_acceptance",
    "ensure_resource_availability",
    "use_after_free",
    "object_level_authorization",
)
QUEUES: Final = (
    queue("duel", timeout_s=None, runs_s=600.0)
    + '[queues.duel.rating]\nmodel = "weng_lin"\n\n'
    + queue("checked")
    + queue("pool", size=100)
    + queue("far", timeout_s=None)
    + '[queues.far.venue]\nregions = ["EU", "US"]\nlatency_max_ms = 80\n\n'
    + '[queues.far.allocate]\nurl = "http://127.0.0.1:9/"\nsecret = "GAME_SECRET"\nattempts = 1\ntimeout_s = 1\n'
)
PHASES: Final = "examples,coverage,fuzzing"


class Tried:
    """A server on which things have happened, and what they are called."""

    def __init__(self, server: Server, keys: dict[str, str]) -> None:
        self.server, self.keys = server, keys
        self.names: dict[str, list[str]] = {}

    def ask(self, method: str, path: str, body: Any = None, role: str = "backend") -> httpx.Response:
        headers = callers.bearer(self.keys[role])
        return self.server.http.request(method, path, json=body, headers=headers)

    def play(self) -> None:
        """Make one of everything that a path can name."""
        tickets = {}
        for name, player in [("duel", "ann"), ("duel", "ben"), ("checked", "cat"), ("checked", "dan"), ("pool", "eve")]:
            tickets[player] = self._join(name, {"id": player})
        for player in ("fay", "gus"):
            tickets[player] = self._join("far", {"id": player, "latencies": {"EU": 20}})
        match = eventually(lambda: self._ticket(tickets["ann"])["match"], "a match")["id"]
        proposal = eventually(lambda: self._ticket(tickets["cat"])["proposal"], "a proposal")["id"]
        letter = eventually(self._dead_letters, "a dead letter")
        told = self.ask("POST", f"/v1/matches/{match}/result", {"teams": [{"rank": 1}, {"rank": 2}]})
        assert told.status_code == 200, told.text
        self.names = {
            "queue": ["duel", "checked", "pool", "far"],
            "ticket": [tickets["eve"], tickets["cat"], tickets["ann"]],
            "match": [match, self._ticket(tickets["fay"])["match"]["id"]],
            "proposal": [proposal],
            "player": sorted(tickets),
            "letter": [letter[0]["id"]],
        }

    def _dead_letters(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("GET", "/v1/deadletters", role="operator").json()["deadletters"]
        return found

    def _join(self, queue: str, player: dict[str, Any]) -> str:
        joined = self.ask("POST", f"/v1/queues/{queue}/tickets", {"players": [player]})
        assert joined.status_code == 201, joined.text
        return str(joined.json()["ticket"]["id"])

    def _ticket(self, ticket: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"/v1/tickets/{ticket}").json()["ticket"]
        return found

    def configuration(self) -> str:
        """What schemathesis is told: most paths name what there is."""
        lines = ["[checks]", *(f"{check}.enabled = false" for check in OFF)]
        for name, known in self.names.items():
            lines.append(f"[dictionaries.{name}]\nvalues = {json.dumps(known)}\n")
        lines.append("[parameters]")
        for name in self.names:
            lines.append(f'"path.{name}" = {{ dictionary = "{name}", probability = 0.7 }}')
        lines.append('\n[[operations]]\ninclude-path = "/v1/queues/{queue}/tickets:batch"')
        lines.append("checks.negative_data_rejection.enabled = false")
        return "\n".join(lines) + "\n"

    def sweep(self, role: str, *options: str) -> None:
        """Let schemathesis try every operation as this caller."""
        file = self.server.folder / "schemathesis.toml"
        file.write_text(self.configuration())
        shown = ["--header", f"Authorization: Bearer {self.keys[role]}"] if role in self.keys else []
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--no-color", "--config-file", str(file)),
                *("run", f"{self.server.url}/openapi.json", "--generation-deterministic"),
                *("--suppress-health-check", "all", "--warnings", "off"),
                *("--exclude-path", "/v1/watch"),  # a stream without an end: test_watch.py reads it
                *(*shown, *options),
            ],
            capture_output=True,
            text=True,
            cwd=self.server.folder,
            env=clean_environment() | {"PYTHONUTF8": "1"},
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
        ready = self.server.http.get("/readyz")
        assert ready.json() == {"status": "ready"}
        assert "request failed" not in self.server.log.read_text()


@contextmanager
def tried(folder: Path) -> Iterator[Tried]:
    keys = {role: callers.key_in(folder, role) for role in ("operator", "backend")}
    server = Server(folder, QUEUES, env={"GAME_SECRET": "x" * 32})
    try:
        found = Tried(server.start(), keys)
        found.play()
        yield found
    finally:
        server.close()


def test_no_answer_is_a_500_or_undocumented(tmp_path: Path) -> None:
    with tried(tmp_path) as server:
        server.sweep("nobody", "--phases", "examples")
        server.sweep("backend", "--phases", "examples")
        server.sweep("operator", "--phases", PHASES, "--max-examples", "3")
        server.server.verify()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("role", ["operator", "backend", "nobody"])
def test_a_long_sweep_finds_nothing_either(tmp_path: Path, role: str) -> None:
    with tried(tmp_path) as server:
        server.sweep(role, "--phases", f"{PHASES},stateful", "--max-examples", "100")
        server.server.verify()
