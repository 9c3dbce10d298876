"""Metrics of the processes of a cluster: each role has its own, nothing is counted twice, and the text parses."""

import os
import re
import signal
import time
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenmatch.cli.top import samples_of
from evenmatch.service.metrics import Peak
from tests import postgres

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually, queue

TWO_LANES = queue("duel") + queue("ranked") + '[lanes]\neu = ["ranked"]\n'
NODE = {"evenmatch_node_info", "evenmatch_lanes_owned"}
API = {"evenmatch_forward_seconds_count", "evenmatch_forwarded_total", "evenmatch_follower_lag_seconds"}
WORKER = {"evenmatch_inbox_waiting"}


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


def read(server: Server) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """A node's metrics, of which each sample and each family stands once."""
    text = server.http.get("/metrics").text
    families = list(text_string_to_metric_families(text))
    stood = Counter((sample.name, tuple(sorted(sample.labels.items()))) for one in families for sample in one.samples)
    assert [sample for sample, times in stood.items() if times > 1] == []
    kinds = Counter(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    assert [name for name, times in kinds.items() if times > 1] == []
    return samples_of(text)


def play(server: Server) -> None:
    """A match in each of two lanes, without what comes after."""
    for name in ("duel", "ranked"):
        tickets = [server.join(name, f"{player} of {name}")["id"] for player in ("ann", "ben")]
        proposal = server.when(tickets[0], "proposed")["proposal"]["id"]
        for player in ("ann", "ben"):
            assert server.respond(proposal, f"{player} of {name}").status_code == 200
        server.when(tickets[0], "matched")


def test_a_process_with_both_roles_counts_everything_once(url: str, make_server: MakeServer) -> None:
    server = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="all")
    play(server)
    found = read(server)
    assert found.keys() >= NODE | API | WORKER
    assert found["evenmatch_matches_made_total"] == {(("queue", "duel"),): 1.0, (("queue", "ranked"),): 1.0}
    assert found["evenmatch_tickets_joined_total"] == {(("queue", "duel"),): 2.0, (("queue", "ranked"),): 2.0}
    events = postgres.bare(url, "SELECT sum(last) FROM evenmatch.leases")[0][0]
    assert 0 < found["evenmatch_events_total"][()] <= float(events)
    assert found["evenmatch_forwarded_total"] == {
        (("outcome", "done"),): 8.0,
        (("outcome", "not_done"),): 0.0,
        (("outcome", "unknown"),): 0.0,
    }
    assert found["evenmatch_forward_seconds_count"][()] == 8.0
    assert found["evenmatch_lanes_owned"][()] == 2.0
    assert found["evenmatch_inbox_waiting"].keys() == {(("lane", "eu"),), (("lane", "main"),)}
    assert found["evenmatch_follower_lag_seconds"].keys() == {(("lane", "eu"),), (("lane", "main"),)}
    assert all(0 <= lag < 60 for lag in found["evenmatch_follower_lag_seconds"].values())
    ((labels, one),) = found["evenmatch_node_info"].items()
    assert one == 1.0
    assert dict(labels)["role"] == "all"
    assert server.process is not None
    assert dict(labels)["node"].endswith(f":{server.process.pid}")


def test_each_role_has_the_numbers_of_what_it_does(url: str, make_server: MakeServer) -> None:
    worker = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: read(worker)["evenmatch_lanes_owned"][()] == 2.0, "both lanes")
    api = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="api")
    play(api)
    at_worker, at_api = read(worker), read(api)
    assert at_worker.keys() >= NODE | WORKER
    assert not API & at_worker.keys()
    assert at_api.keys() >= NODE | API
    assert not WORKER & at_api.keys()
    assert at_api["evenmatch_lanes_owned"][()] == 0.0
    assert at_api["evenmatch_forwarded_total"][(("outcome", "done"),)] == 8.0
    for found in (at_worker, at_api):
        assert sum(found["evenmatch_matches_made_total"].values()) == 2.0
    assert "evenmatch_http_requests_total" in at_api


def test_a_request_that_nobody_carries_out_is_counted_as_not_done(url: str, make_server: MakeServer) -> None:
    worker = make_server(queue("duel"), place=url, EVENMATCH_ROLE="worker")
    api = make_server(queue("duel"), place=url, EVENMATCH_ROLE="api")
    worker.kill()
    refused = api.try_join("duel", "ann")
    assert (refused.status_code, refused.json()["reason"]) == (503, "no_owner")
    assert "Retry-After" in refused.headers
    found = read(api)
    assert found["evenmatch_forwarded_total"][(("outcome", "not_done"),)] == 1.0
    assert found["evenmatch_forward_seconds_count"][()] == 1.0


def test_a_process_that_slept_is_behind_no_longer_than_it_is(url: str, make_server: MakeServer) -> None:
    make_server(queue("duel", size=100), place=url, EVENMATCH_ROLE="worker")
    awake, sleepy = (make_server(None, place=url, EVENMATCH_ROLE="api") for _ in range(2))
    assert sleepy.process is not None
    os.kill(sleepy.process.pid, signal.SIGSTOP)
    awake.join("duel", "ann")
    time.sleep(6.0)
    os.kill(sleepy.process.pid, signal.SIGCONT)
    woke_s = time.monotonic()
    eventually(lambda: sleepy.waiting("duel") == 1, "what was missed")
    eventually(lambda: evenmatch("cluster", "status", "--db", url).returncode == 0, "health")
    assert time.monotonic() < woke_s + 5.0
    (lag_s,) = read(sleepy)["evenmatch_follower_lag_seconds"].values()
    assert lag_s > 5.0, "what was of late is remembered for ten seconds"


def test_the_highest_of_late_is_forgotten_after_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1_001.0
    monkeypatch.setattr("evenmatch.service.metrics.time.monotonic", lambda: now_s)
    peak = Peak()
    assert peak.read() == 0.0
    peak.note(7.0)
    peak.note(3.0)
    for passed_s in range(8):
        now_s = 1_001.0 + passed_s
        assert peak.read() == 7.0
    now_s = 1_006.0
    peak.note(2.0)
    now_s = 1_011.0
    assert peak.read() == 2.0
    now_s = 1_100.0
    assert peak.read() == 0.0
