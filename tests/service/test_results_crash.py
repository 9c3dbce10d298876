"""A real server, killed again and again while results come in: every acknowledged one is there afterwards, once."""

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from .harness import PATIENCE_S, Server, queue

QUEUES = queue("duel", timeout_s=None) + "[queues.duel.rating]\nplacement = 0\n"
ENV = {"EVENMATCH_KEEP_S": "0.2", "EVENMATCH_CHECKPOINT_DEBT": "40"}
PAIRS = 4


class Pair:
    """Two players who play each other, over and over, and whoever reports their results."""

    def __init__(self, server: Server, up: threading.Event, over: threading.Event, name: str) -> None:
        self.server, self.up, self.over, self.name = server, up, over, name
        self.chance = Random(name)
        self.http = httpx.Client(timeout=PATIENCE_S)
        self.acknowledged: list[dict[str, Any]] = []
        self.failure: BaseException | None = None

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
        """An answer that is certain, however often the server is away."""
        headers = {"Idempotency-Key": key} if key else {}
        while True:
            assert self.up.wait(PATIENCE_S)
            try:
                answer = self.http.request(method, f"{self.server.url}/v1{path}", json=body, headers=headers)
            except httpx.TransportError:
                time.sleep(0.01)
                continue
            if answer.status_code != 503:
                return answer

    def run(self) -> None:
        try:
            game = 0
            while not self.over.is_set():
                game += 1
                self._play(game)
        except BaseException as error:
            self.failure = error
        finally:
            self.http.close()

    def _play(self, game: int) -> None:
        tickets = []
        for who in ("a", "b"):
            body = {"players": [{"id": f"{self.name}.{who}"}]}
            answer = self.ask("POST", "/queues/duel/tickets", body, f"{self.name}.{who}.{game}")
            assert answer.status_code == 201, answer.text
            tickets.append(answer.json()["ticket"]["id"])
        match = None
        while match is None and not self.over.is_set():
            match = self.ask("GET", f"/tickets/{tickets[0]}").json()["ticket"]["match"]
        other = None
        while other is None and not self.over.is_set():
            other = self.ask("GET", f"/tickets/{tickets[1]}").json()["ticket"]["match"]
        for found in (match, other):
            if found is None:
                return
            # Whoever they met: one reporter a match decides by its number, so both sides tell the same.
            won = int(found["id"][-1]) % 2
            answer = self.ask(
                "POST", f"/matches/{found['id']}/result", {"teams": [{"rank": 1 + won}, {"rank": 2 - won}]}
            )
            assert answer.status_code == 200, answer.text
            self.acknowledged.append(answer.json()["result"])


@pytest.mark.timeout(600)
def test_every_acknowledged_result_is_there_after_kills(tmp_path: Path) -> None:
    chance = Random(19)
    server = Server(tmp_path, QUEUES, ENV)
    up, over = threading.Event(), threading.Event()
    pairs = [Pair(server, up, over, f"pair{number}") for number in range(PAIRS)]
    threads = [threading.Thread(target=pair.run, daemon=True) for pair in pairs]
    try:
        server.start()
        up.set()
        for thread in threads:
            thread.start()
        for _ in range(4):
            time.sleep(chance.uniform(0.3, 1.5))  # the instant is what is being tried
            up.clear()
            server.kill()
            server.start()
            up.set()
        time.sleep(0.5)
        over.set()
        for thread in threads:
            thread.join(2 * PATIENCE_S)
            assert not thread.is_alive(), "a pair has got stuck"
        assert [pair.failure for pair in pairs if pair.failure] == []
        known = {result["match"]: result for pair in pairs for result in pair.acknowledged}
        assert len(known) > 5 * PAIRS
        for pair in pairs:
            for result in pair.acknowledged:
                assert server.http.get(f"{server.url}/v1/matches/{result['match']}/result").json()["result"] == result
        _ratings_are_a_chain(server, known)
        server.kill()
    finally:
        over.set()
        server.close()
    told = [event["match"] for event in server.events() if event["type"] == "result_reported"]
    assert len(told) == len(set(told))
    assert {int(match[2:]) for match in known} <= set(told)
    assert server.verify()["events"]


def _ratings_are_a_chain(server: Server, known: dict[str, Any]) -> None:
    """Every player's results follow from one another, and the rating is what the last one left."""
    players = {p["id"] for result in known.values() for team in result["teams"] for p in team["players"]}
    for player in sorted(players):
        http, base = server.http, f"{server.url}/v1/players/{player}"
        history = http.get(f"{base}/history?limit=1000").json()["history"][::-1]
        assert history[0]["before"] == 1500.0
        assert [one["before"] for one in history[1:]] == [one["after"] for one in history[:-1]]
        (rating,) = http.get(f"{base}/ratings").json()["ratings"]
        assert (rating["rating"], rating["games"]) == (history[-1]["after"], len(history))
