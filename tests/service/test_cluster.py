"""Several real processes on one real PostgreSQL: what any of them is told all of them know, and any may die."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenmatch.drill.auditor import audit, read_book
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, evenmatch, eventually, queue
from .test_postgres import Joining

POOL = queue("pool", size=100, every_s=60.0)
DUEL = queue("duel")
TWO_LANES = POOL + DUEL + queue("night") + '[lanes]\neast = ["duel"]\nwest = ["night"]\n'


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


def owners(url: str) -> dict[int, str]:
    """Lane -> who holds its lease."""
    return dict(bare(url, "SELECT journal, holder FROM evenmatch.leases"))


def pid(server: Server) -> int:
    assert server.process is not None
    return server.process.pid


def owned_by(url: str, server: Server) -> list[int]:
    return [lane for lane, holder in owners(url).items() if holder.endswith(f"process {pid(server)}")]


def check_honest(answers: list[httpx.Response]) -> None:
    for answer in answers:
        assert answer.status_code == 503, answer.text
        assert answer.json()["reason"] in ("journal_unavailable", "busy", "stopping", "no_owner")
        assert int(answer.headers["retry-after"]) >= 1
        assert "postgresql://" not in answer.text


def check_whole(url: str, joining: Joining) -> None:
    log = joining.stop()
    assert audit(read_book(url), log).faults == []
    assert evenmatch("journal", "verify", url).returncode == 0


def test_what_one_node_was_told_all_nodes_know(url: str, make_server: MakeServer) -> None:
    make_server(DUEL, place=url, EVENMATCH_ROLE="worker")
    one, other = (make_server(None, place=url, EVENMATCH_ROLE="api") for _ in range(2))
    first = one.join("duel", "ann", key="once")
    assert other.join("duel", "ann", key="once")["id"] == first["id"]
    with other.listen(first["id"]) as listener:
        assert listener.until("queued")["ticket"] == first["id"]
        second = other.join("duel", "ben")
        proposal = listener.until("proposed")["proposal"]["id"]
        assert one.respond(proposal, "ann").status_code == 200
        assert other.respond(proposal, "ben").status_code == 200
        made = listener.until("matched")["match"]
    seen = one.when(second["id"], "matched")["match"]
    assert seen["id"] == made["id"]
    assert one.story(first["id"]) == other.story(first["id"])
    ended = one.http.post(f"/v1/matches/{made['id']}/end")
    assert ended.status_code in (200, 204, 409), ended.text
    assert [queue["name"] for queue in other.http.get("/v1/queues").json()["queues"]] == ["duel"]
    assert other.http.get("/").status_code == 200


def test_a_client_goes_on_at_another_node_where_it_left_off(url: str, make_server: MakeServer) -> None:
    make_server(DUEL, place=url, EVENMATCH_ROLE="worker")
    one, other = (make_server(None, place=url, EVENMATCH_ROLE="api") for _ in range(2))
    ticket = one.join("duel", "ann")["id"]
    with one.listen(ticket) as listener:
        last = listener.until("queued")["sequence"]
        one.kill()
    other.join("duel", "ben")
    with other.listen(ticket, after=last) as listener:
        heard = listener.until("proposed")
    assert heard["sequence"] > last
    assert listener.types == ["proposed"]


def test_an_owner_that_is_killed_is_replaced_and_nothing_is_lost_or_doubled(url: str, make_server: MakeServer) -> None:
    workers = [make_server(POOL, place=url, EVENMATCH_ROLE="worker") for _ in range(2)]
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    joining = Joining(node)
    joining.until(50)
    owner = next(worker for worker in workers if owned_by(url, worker))
    killed_s = time.monotonic()
    owner.kill()
    joining.until(50)
    assert time.monotonic() - killed_s < PATIENCE_S
    check_whole(url, joining)
    check_honest(joining.refused)


def test_an_owner_that_stops_hands_its_lane_over_and_nobody_is_refused(url: str, make_server: MakeServer) -> None:
    first = make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: owned_by(url, first) == [1], "an owner")
    make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    joining = Joining(node)
    joining.until(30)
    first.stop()
    joining.until(30)
    assert joining.refused == []
    check_whole(url, joining)


def test_an_owner_that_slept_past_its_lease_writes_nothing_and_comes_back_as_a_candidate(
    url: str, make_server: MakeServer
) -> None:
    first = make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: owned_by(url, first) == [1], "an owner")
    second = make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    joining = Joining(node)
    joining.until(20)
    os.kill(pid(first), signal.SIGSTOP)
    try:
        eventually(lambda: node.http.get("/readyz").status_code == 503, "a node that says that its owner is silent")
        eventually(lambda: owned_by(url, second) == [1], "another owner")
        eventually(lambda: node.http.get("/readyz").status_code == 200, "a node that is ready again")
        joining.until(20)
    finally:
        os.kill(pid(first), signal.SIGCONT)
    joining.until(20)
    check_whole(url, joining)
    check_honest(joining.refused)
    second.kill()
    eventually(lambda: owned_by(url, first) == [1], "the first one again")
    assert node.try_join("pool", "afterwards").status_code in (201, 503)


def test_without_a_worker_a_node_says_so_and_what_it_took_back_is_never_done(url: str, make_server: MakeServer) -> None:
    worker = make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    assert node.try_join("pool", "before").status_code == 201
    worker.stop()
    answer = node.try_join("pool", "meanwhile")
    check_honest([answer])
    assert answer.json()["reason"] == "no_owner"
    eventually(lambda: node.http.get("/readyz").status_code == 503, "a node that is not ready")
    assert node.http.get("/healthz").status_code == 200
    assert node.waiting("pool") == 1  # reading goes on
    make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: node.http.get("/readyz").status_code == 200, "a node that is ready")
    assert node.try_join("pool", "after").status_code == 201
    assert node.waiting("pool") == 2


def test_workers_share_lanes_out_and_a_new_one_gets_its_share(url: str, make_server: MakeServer) -> None:
    first = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: len(owned_by(url, first)) == 3, "all lanes")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    assert {queue["name"] for queue in node.http.get("/v1/queues").json()["queues"]} == {"pool", "duel", "night"}
    joining = Joining(node)
    joining.until(10)
    second = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: sorted(map(len, (owned_by(url, first), owned_by(url, second)))) == [1, 2], "a fair share")
    joining.until(10)
    second.kill()
    eventually(lambda: len(owned_by(url, first)) == 3, "all lanes again")
    joining.until(10)
    assert joining.refused == []
    joining.stop()


def test_nobody_is_in_two_proposals_of_different_lanes(url: str, make_server: MakeServer) -> None:
    for _ in range(2):
        make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    eventually(lambda: all(owners(url).values()), "owners of all lanes")
    tickets = {(name, lane): node.join(lane, name)["id"] for name in ("ann", "ben") for lane in ("duel", "night")}

    def claimed() -> list[tuple[str, str]]:
        return [key for key, ticket in tickets.items() if node.ticket(ticket)["status"] == "proposed"]

    found = eventually(lambda: claimed() if len(claimed()) >= 2 else None, "a proposal")
    assert found is not None
    assert len({lane for _, lane in found}) == 1
    assert {name for name, _ in found} == {"ann", "ben"}
    lane = found[0][1]
    other = next(one for one in ("duel", "night") if one != lane)
    held = tickets["ann", other]
    eventually(lambda: node.ticket(held)["suspended"], "a suspended ticket")
    proposal = node.ticket(tickets["ann", lane])["proposal"]["id"]
    assert node.respond(proposal, "ann", "decline").status_code == 200
    eventually(lambda: not node.ticket(held)["suspended"], "a ticket that waits on")


@pytest.mark.slow
def test_one_process_may_do_both_and_a_second_of_its_kind_takes_over(url: str, make_server: MakeServer) -> None:
    first, second = (make_server(DUEL, place=url, EVENMATCH_ROLE="all") for _ in range(2))
    ticket = first.join("duel", "ann")["id"]
    assert second.ticket(ticket)["status"] == "waiting"
    owner, other = (first, second) if owned_by(url, first) else (second, first)
    owner.kill()
    other.join("duel", "ben")
    proposal = other.when(ticket, "proposed")["proposal"]["id"]
    for player in ("ann", "ben"):
        assert other.respond(proposal, player).status_code == 200
    assert other.when(ticket, "matched")["match"]["id"]


def test_a_result_is_reported_once_whichever_node_and_owner_hears_it(url: str, make_server: MakeServer) -> None:
    rated = queue("duel", timeout_s=None, runs_s=600.0) + "[queues.duel.rating]\n"
    workers = [make_server(rated, place=url, EVENMATCH_ROLE="worker") for _ in range(2)]
    nodes = [make_server(None, place=url, EVENMATCH_ROLE="api") for _ in range(2)]
    ticket = nodes[0].join("duel", "ann")["id"]
    nodes[1].join("duel", "ben")
    match = nodes[1].when(ticket, "matched")["match"]["id"]
    said = {"teams": [{"rank": 1}, {"rank": 2}]}
    answers = [nodes[0].http.post(f"/v1/matches/{match}/result", json=said)]
    next(worker for worker in workers if owned_by(url, worker)).kill()
    answers += [eventually(lambda node=node: _settled(node, match, said), "an answer") for node in nodes]  # type: ignore[misc]
    assert {answer.status_code for answer in answers} <= {200, 201}, [answer.text for answer in answers]
    history = nodes[1].http.get("/v1/players/ann/history").json()
    assert len(history["history"]) == 1, history


def _settled(node: Server, match: str, said: dict[str, Any]) -> httpx.Response | None:
    answer = node.http.post(f"/v1/matches/{match}/result", json=said)
    return None if answer.status_code == 503 else answer


@pytest.mark.slow
def test_clocks_that_are_hours_apart_move_no_deadline(url: str, make_server: MakeServer) -> None:
    beside = str(Path(__file__).with_name("skewed"))
    path = os.pathsep.join([beside, os.environ.get("PYTHONPATH", "")])
    first = make_server(DUEL, place=url, EVENMATCH_ROLE="worker", PYTHONPATH=path, SKEW_S="7200")
    node = make_server(None, place=url, EVENMATCH_ROLE="api", PYTHONPATH=path, SKEW_S="-7200")
    joined = node.join("duel", "ann")
    assert abs(joined["joined_ms"] / 1000 - time.time()) < PATIENCE_S
    make_server(DUEL, place=url, EVENMATCH_ROLE="worker")
    first.kill()
    eventually(lambda: node.try_join("duel", "ben").status_code == 201, "a new owner")
    assert node.when(joined["id"], "proposed")["waited_ms"] < PATIENCE_S * 1000


def test_a_role_needs_a_database_and_lanes_that_fit(url: str, make_server: MakeServer, tmp_path: Path) -> None:
    told = evenmatch("serve", "--role", "api", "--port", "0", "--db", str(tmp_path / "x.db"))
    assert told.returncode == 2
    assert "--db postgresql://" in told.stderr
    worker = make_server(DUEL, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: owned_by(url, worker) == [1], "an owner")
    moved = tmp_path / "queues.toml"
    moved.write_text(DUEL + '[lanes]\neast = ["duel"]\n')
    told = evenmatch("serve", "--role", "worker", "--port", "0", "--db", url, "--config", str(moved))
    assert told.returncode == 2
    assert "the queue duel is in the lane main" in told.stderr
    assert worker.process is not None
    assert worker.process.poll() is None
    status = httpx.get(f"{worker.url}/v1/queues")
    assert status.status_code == 404
    assert "a worker serves" in json.loads(status.text)["detail"]


@pytest.mark.slow
def test_stopping_and_starting_at_random_under_load_loses_nothing(url: str, make_server: MakeServer) -> None:
    workers = [make_server(POOL, place=url, EVENMATCH_ROLE="worker") for _ in range(2)]
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    joining = Joining(node)
    for turn in range(4):
        joining.until(15)
        victim = workers[turn % 2]
        victim.kill()
        joining.until(5)
        victim.start()
    check_whole(url, joining)
    check_honest(joining.refused)


def test_what_a_killed_worker_left_is_not_given_back_to_it(url: str, make_server: MakeServer) -> None:
    workers = [make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker") for _ in range(2)]
    eventually(lambda: sorted(len(owned_by(url, one)) for one in workers) == [1, 2], "a fair share")
    poorer, richer = sorted(workers, key=lambda one: len(owned_by(url, one)))
    richer.kill()
    eventually(lambda: len(owned_by(url, poorer)) == 3, "all lanes")
    fences = bare(url, "SELECT journal, fence FROM evenmatch.leases ORDER BY 1")
    eventually(
        lambda: not bare(url, "SELECT 1 FROM evenmatch.nodes WHERE seen > clock_timestamp() - interval '7 s' OFFSET 1"),
        "a worker that counts as gone",
    )
    assert bare(url, "SELECT journal, fence FROM evenmatch.leases ORDER BY 1") == fences
    assert len(owned_by(url, poorer)) == 3
