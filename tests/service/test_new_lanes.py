"""Lanes that come: on an empty database, and while a cluster runs. Nobody is told that a queue is unknown meanwhile."""

import threading
import time

import pytest

from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import Server, eventually, queue

DUEL = queue("duel")
THREE_LANES = DUEL + queue("ranked") + queue("night") + '[lanes]\nhigh = ["ranked"]\nlate = ["night"]\n'


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


class Asking:
    """Somebody who joins a queue again and again, and remembers what came of it."""

    def __init__(self, server: Server, queue: str) -> None:
        self.told: list[tuple[bool, int, str]] = []
        """Was the server ready before? Status, reason."""
        self.waits: list[str] = []
        self._server, self._queue = server, queue
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        number = 0
        while not self._ending.wait(0.02):
            number += 1
            ready = self._server.http.get("/readyz").status_code == 200
            answer = self._server.try_join(self._queue, f"{self._queue}{number}")
            self.told.append((ready, answer.status_code, answer.json().get("reason", "")))
            if answer.status_code == 503:
                self.waits.append(answer.headers["retry-after"])

    def until_joined(self) -> None:
        eventually(lambda: any(status == 201 for _, status, _ in self.told), "a join")
        self.stop()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()


def test_on_an_empty_database_no_queue_is_unknown_and_who_is_ready_knows_all(url: str, make_server: MakeServer) -> None:
    nodes = [make_server(None, place=url, ready=False, EVENMATCH_ROLE="api") for _ in range(2)]
    asking = [Asking(node, name) for node, name in zip(nodes, ("ranked", "night"), strict=True)]
    try:
        workers = [make_server(THREE_LANES, place=url, ready=False, EVENMATCH_ROLE="worker") for _ in range(2)]
        for one in asking:
            one.until_joined()
    finally:
        for one in asking:
            one.stop()
    assert len(workers) == 2
    for one in asking:
        assert {(status, reason) for _, status, reason in one.told} == {(503, "no_owner"), (201, "")}
        assert all(int(wait) >= 1 for wait in one.waits)
        assert {status for ready, status, _ in one.told if ready} <= {201}


def test_a_lane_that_is_added_while_a_cluster_runs_is_known_everywhere_at_once(
    url: str, make_server: MakeServer
) -> None:
    make_server(DUEL, place=url, EVENMATCH_ROLE="worker")
    nodes = [make_server(None, place=url, EVENMATCH_ROLE="api") for _ in range(2)]
    assert nodes[0].try_join("night", "early").status_code == 404
    make_server(THREE_LANES, place=url, ready=False, EVENMATCH_ROLE="worker")
    eventually(lambda: bare(url, "SELECT 1 FROM evenmatch.lanes WHERE name = 'late'"), "a new lane")
    until_s = time.monotonic() + 10.0
    while (answer := nodes[0].try_join("night", "ann")).status_code != 201:
        assert (answer.status_code, answer.json()["reason"]) == (503, "no_owner"), answer.text
        assert time.monotonic() < until_s
        time.sleep(0.02)
    assert nodes[1].ticket(answer.json()["ticket"]["id"])["status"] == "waiting"
    assert nodes[1].http.get("/v1/queues/night").status_code == 200
    assert nodes[1].try_join("nowhere", "ann").status_code == 404
    assert nodes[1].http.head("/v1/queues/nowhere").status_code == 404


def test_a_lane_that_nobody_has_opened_keeps_a_node_from_saying_no_for_good(url: str, make_server: MakeServer) -> None:
    node = make_server(None, place=url, ready=False, EVENMATCH_ROLE="api")
    answer = node.try_join("duel", "ann")
    assert (answer.status_code, answer.json()["reason"]) == (503, "no_owner")
    assert "main" in answer.json()["detail"]
    assert answer.headers["retry-after"] == "1"
    assert node.http.get("/readyz").status_code == 503
    assert node.http.get("/v1/queues/duel", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_a_main_lane_without_queues_keeps_nobody_from_being_ready(url: str, make_server: MakeServer) -> None:
    make_server(DUEL + '[lanes]\nhigh = ["duel"]\n', place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    assert node.try_join("duel", "ann").status_code == 201
    assert node.try_join("nowhere", "ann").status_code == 404
