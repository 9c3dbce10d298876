"""A real server, killed at random instants while real clients join, accept, decline and leave: nothing acknowledged is
lost, nothing is doubled, nobody was told what is not in the journal. An independent auditor reads both sides (I1-I11).
"""

import itertools
import json
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import connect

from evenmatch.drill.auditor import Joined, Log, Seen, Told, audit, number, read_book

from .harness import PATIENCE_S, Server, eventually, queue

QUEUES = (
    queue("duel", timeout_s=1.0)
    + queue("team2", size=2, timeout_s=1.5)
    + queue("quick", timeout_s=None, runs_s=0.3)
    + queue("builds", timeout_s=1.0, require_equal=("build",), expires_s=1.0)
    + queue("lonely", size=100, expires_s=0.3)
)
ENV = {"EVENMATCH_KEEP_S": "1", "EVENMATCH_CHECKPOINT_DEBT": "60"}


class World:
    """The server as clients find it: now and then it is away, and comes back at another address."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.up = threading.Event()
        self.over = threading.Event()
        self.log = Log()
        self.failures: list[BaseException] = []
        self.keys = itertools.count()

    def address(self) -> str:
        assert self.up.wait(PATIENCE_S)
        return self.server.url


class Client:
    """A game client, or a game's backend, with players of its own; whatever it is not sure of it asks again."""

    def __init__(self, world: World, name: str, seed: str) -> None:
        self.world = world
        self.name = name
        self.chance = Random(seed)
        self.http = httpx.Client(timeout=PATIENCE_S)
        self.tickets: dict[int, tuple[str, ...]] = {}
        """Live tickets and their players."""
        self.listeners: dict[int, threading.Thread] = {}

    def run(self) -> None:
        try:
            while not self.world.over.is_set():
                if len(self.tickets) < 6:
                    self._join()
                for ticket in list(self.tickets):
                    self._tend(ticket)
            for ticket in self.listeners:
                self._leave(ticket)  # so that its story comes to an end
            for thread in self.listeners.values():
                thread.join(PATIENCE_S)
                assert not thread.is_alive(), "a listener hears nothing"
        except BaseException as error:
            self.world.failures.append(error)
        finally:
            self.http.close()

    def _ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        """An answer that is certain; with the same key as often as it takes."""
        headers = {} if key is None else {"Idempotency-Key": key}
        while True:
            try:
                answer = self.http.request(method, self.world.address() + path, json=body, headers=headers)
            except httpx.TransportError:
                time.sleep(0.01)  # the server is away
                continue
            if answer.status_code != 503:
                assert answer.status_code < 500, answer.text
                return answer

    def _party(self, name: str) -> dict[str, Any]:
        size = self.chance.choice((1, 1, 2)) if name == "team2" else 1
        players = [f"{self.name}.{number}" for number in self.chance.sample(range(8), size)]
        body: dict[str, Any] = {"players": [{"id": p, "rating": self.chance.randint(1000, 2000)} for p in players]}
        if name == "builds":
            body["attributes"] = {"build": self.chance.choice(("1.0", "1.1"))}
        return body

    def _join(self) -> None:
        name = self.chance.choice(("duel", "duel", "duel", "team2", "team2", "quick", "quick", "builds", "lonely"))
        key = f"{self.name}/{next(self.world.keys)}"
        log = self.world.log
        path = f"/v1/queues/{name}/tickets"
        if self.chance.random() < 0.7:
            bodies = [self._party(name)]
            log.attempted[f"{key}#0"] = _players(bodies[0])
            answer = self._ask("POST", path, bodies[0], key)
            outcomes = [answer.json() if answer.status_code == 201 else {"problem": answer.json()}]
        else:
            bodies = [self._party(name) for _ in range(self.chance.randint(2, 5))]
            log.attempted.update({f"{key}#{place}": _players(body) for place, body in enumerate(bodies)})
            answer = self._ask("POST", f"{path}:batch", {"tickets": bodies}, key)
            assert answer.status_code == 200, answer.text
            outcomes = answer.json()["outcomes"]
        for place, (body, outcome) in enumerate(zip(bodies, outcomes, strict=True)):
            if "problem" in outcome:
                assert outcome["problem"]["reason"] == "already_waiting", outcome
                del log.attempted[f"{key}#{place}"]
                continue
            ticket = outcome["ticket"]
            mine = number(ticket)
            assert mine is not None
            log.joined.append(Joined(f"{key}#{place}", mine, name, _players(body), ticket["joined_ms"]))
            self.tickets[mine] = _players(body)
            if self.chance.random() < 0.3:
                self.listeners[mine] = threading.Thread(target=self._listen, args=(mine,), daemon=True)
                self.listeners[mine].start()

    def _tend(self, ticket: int) -> None:
        view = self._ask("GET", f"/v1/tickets/t-{ticket:012d}").json()["ticket"]
        seen = Seen(
            ticket, view["status"], view["waited_ms"], view["misses"], number(view["proposal"]), number(view["match"])
        )
        self.world.log.seen.append(seen)
        players = self.tickets[ticket]
        if seen.status not in ("waiting", "proposed"):
            del self.tickets[ticket]
        elif seen.proposal is not None and self.chance.random() < 0.6:
            for player in players:
                self._respond(seen.proposal, player, "accept" if self.chance.random() < 0.9 else "decline")
        elif self.chance.random() < 0.03:
            self._leave(ticket)

    def _leave(self, ticket: int) -> None:
        answer = self._ask("DELETE", f"/v1/tickets/t-{ticket:012d}")
        if answer.status_code == 204:
            self.world.log.left.append(ticket)
        else:
            assert answer.status_code in (409, 410), answer.text

    def _respond(self, proposal: int, player: str, verb: str) -> None:
        answer = self._ask("POST", f"/v1/proposals/p-{proposal:012d}/{verb}", {"player": player})
        if answer.status_code == 200 or answer.json()["reason"] == "already_accepted":
            known = (
                self.world.log.declined if answer.status_code == 200 and verb == "decline" else self.world.log.accepted
            )
            known.append((proposal, player))
        else:
            assert answer.status_code in (409, 410), answer.text

    def _listen(self, ticket: int) -> None:
        """Follow a ticket to the end of its story, over as many connections as it takes."""
        heard: list[Told] = []
        try:
            while True:
                after = f"?after={heard[-1].sequence}" if heard else ""
                address = self.world.address().replace("http", "ws", 1)
                try:
                    with connect(f"{address}/v1/tickets/t-{ticket:012d}/events{after}") as socket:
                        while True:
                            message = json.loads(socket.recv(timeout=PATIENCE_S))
                            told = Told(ticket, message["sequence"], message["type"])
                            assert not heard or told.sequence > heard[-1].sequence, "told again"
                            heard.append(told)
                            self.world.log.told.append(told)
                except ConnectionClosed as closed:
                    if closed.rcvd is not None and closed.rcvd.code == 1000:
                        self.world.log.stories[ticket] = heard
                        return
                except (OSError, InvalidHandshake, EOFError):
                    time.sleep(0.01)
        except BaseException as error:
            self.world.failures.append(error)


def _players(body: dict[str, Any]) -> tuple[str, ...]:
    return tuple(player["id"] for player in body["players"])


def storm(folder: Path, seed: int, kills: int, clients: int = 4) -> None:
    """Kill the server so many times while clients are at work, then audit everything."""
    chance = Random(seed)
    server = Server(folder, QUEUES, ENV)
    world = World(server)
    workers = [Client(world, f"client{place}", f"{seed}.{place}") for place in range(clients)]
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    try:
        server.start()
        world.up.set()
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.1, 3.0))  # the instant is what is being tried
            world.up.clear()
            server.kill()
            server.start()
            world.up.set()
        time.sleep(chance.uniform(0.5, 1.0))
        world.over.set()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
            assert not thread.is_alive(), "a client has got stuck"
        assert not world.failures, world.failures
        _settle(world, workers)
        server.kill()
    finally:
        world.over.set()
        server.close()
    found = audit(read_book(server.db), world.log)
    assert not found.faults, "\n".join(found.faults[:20])
    counts = found.counts()
    assert sum(counts.values()) == len(found.tickets)  # I4
    for status in ("matched", "cancelled", "expired"):
        assert counts.get(status), f"no ticket was {status}: the storm was too mild, {counts}"
    assert len(world.log.joined) > 20 * clients
    assert any(kind == "requeued" for ticket in found.tickets.values() for _, kind in ticket.story)
    assert len(world.log.stories) > clients
    fences = {row.fence for row in read_book(server.db).rows}
    assert len(fences) > kills // 2
    assert server.verify()["events"] == found.sequence  # I8


def _settle(world: World, workers: list[Client]) -> None:
    """After the storm every ticket can be read, and whoever waits knows why (I10)."""
    server = world.server

    def reasons() -> bool:
        for worker in workers:
            for ticket in worker.tickets:
                view = server.ticket(f"t-{ticket:012d}")
                if view["status"] == "waiting" and not view["suspended"] and view["reason"] is None:
                    return False
        return True

    eventually(reasons, "reasons")
    for joined in world.log.joined:
        view = server.ticket(f"t-{joined.ticket:012d}")
        assert tuple(player["id"] for player in view["players"]) == joined.players
        seen = Seen(joined.ticket, view["status"], view["waited_ms"], view["misses"], number(view["proposal"]))
        world.log.seen.append(seen)


@pytest.mark.timeout(600)
def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    storm(tmp_path, seed=20_261_115, kills=6)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_in_longer_storms_either(tmp_path: Path, seed: int) -> None:
    storm(tmp_path, seed=seed, kills=14, clients=6)
