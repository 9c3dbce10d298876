"""`evenmatch cluster status`: who is there and who owns what, in words, numbers and a status, from outside alone."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.cluster import told
from evenmatch.storage.postgres_nodes import Cluster, LaneRow, NodeRow
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually, queue

TWO_LANES = queue("duel") + queue("ranked") + '[lanes]\neu = ["ranked"]\n'


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


def asked(url: str, *more: str, columns: int = 120) -> tuple[int, str, str]:
    """How the verb ends, and what it says."""
    done = evenmatch("cluster", "status", "--db", url, *more, env={"COLUMNS": str(columns)})
    return done.returncode, done.stdout, done.stderr


def status(url: str) -> dict[str, Any]:
    """What it says as JSON."""
    code, said, errors = asked(url, "--json")
    assert said, errors
    found: dict[str, Any] = json.loads(said)
    assert code == (0 if found["healthy"] else 1)
    return found


def status_when(url: str, look: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
    """The first that is as wanted."""
    seen: list[dict[str, Any]] = []

    def is_so() -> bool:
        seen.append(status(url))
        return look(seen[-1])

    eventually(is_so, what)
    return seen[-1]


def owned(found: dict[str, Any]) -> bool:
    """Has every lane an owner?"""
    return all(lane["owner"] is not None for lane in found["lanes"]) and len(found["lanes"]) == 2


def node(name: str = "a:1", role: str = "all", seen_s: float = 0.5, **about: Any) -> NodeRow:
    """A node as the database has it."""
    return NodeRow(name, name, role, 60.0, seen_s, {"version": "1.0", "ready": True} | about)


def lane(number: int = 1, name: str = "main", owner: str = "evenmatch on a, process 1", **more: Any) -> LaneRow:
    """A lane as the database has it."""
    free = not owner
    given = {"fence": 3, "last": 100, "left_s": 0.0 if free else 9.0, "inbox": 0, "inbox_s": 0.0} | more
    return LaneRow(journal=number, name=name, owner=owner, free=free, **given)


# -- real processes --


def test_nodes_and_lanes_of_a_cluster_are_told(url: str, make_server: MakeServer) -> None:
    worker = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    status_when(url, owned, "owners of both lanes")
    code, said, _ = asked(url)
    assert code == 1
    assert "NOT WELL: nobody serves clients: start a process with --role api or all" in said
    api = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="api")
    api.join("ranked", "ann")
    found = status_when(url, lambda found: bool(found["healthy"]), "health")
    assert found["verdict"] == "all lanes have owners, and clients are served"
    assert found["cluster"] == "evenmatch"
    assert worker.process is not None
    by_role = {row["role"]: row for row in found["nodes"]}
    assert {row["role"]: row["alive"] and row["ready"] for row in found["nodes"]} == {"worker": True, "api": True}
    assert by_role["worker"]["name"].endswith(f":{worker.process.pid}")
    assert by_role["worker"]["lanes"] == ["main", "eu"]
    assert by_role["api"]["lanes"] == []
    assert by_role["api"]["address"] == api.url
    assert re.match(r"\d+\.\d+", by_role["api"]["version"])
    assert [row["name"] for row in found["lanes"]] == ["main", "eu"]
    for row in found["lanes"]:
        assert row["owner"] == by_role["worker"]["name"]
        assert row["fence"] >= 1
        assert 0 < row["lease_left_s"] <= 10
        assert [one["node"] for one in row["followers"]] == [by_role["api"]["name"]]
    assert "***" in found["database"]
    for columns in (80, 120):
        code, said, _ = asked(url, columns=columns)
        assert code == 0
        lines = said.splitlines()
        assert max(map(len, lines[1:])) <= columns
        for word in ("worker", "api", "main", "eu", "ready", "all lanes have owners"):
            assert word in said


def test_looking_takes_no_lease_and_a_killed_owner_is_missed(url: str, make_server: MakeServer) -> None:
    worker = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    status_when(url, owned, "owners of both lanes")
    before = bare(url, "SELECT journal, fence FROM evenmatch.leases ORDER BY 1")
    status(url)
    worker.kill()
    found = status_when(url, lambda found: found["lanes"][1]["owner"] is None, "its end")
    assert "lane eu has no owner: the last one's connection ended" in found["verdict"]
    assert bare(url, "SELECT journal, fence FROM evenmatch.leases ORDER BY 1") == before


def test_a_server_that_is_alone_is_no_trouble(url: str, make_server: MakeServer) -> None:
    server = make_server(queue("duel"), place=url)
    found = status(url)
    assert (found["healthy"], found["nodes"]) == (True, [])
    assert found["verdict"] == "one server that is alone owns the journal and serves its clients"
    assert server.process is not None
    assert found["lanes"][0]["owner"].endswith(f"process {server.process.pid}")
    server.stop()
    assert "lane main has no owner: the last one gave it back" in status(url)["verdict"]


# -- what cannot be looked at --


def test_a_file_is_no_cluster(tmp_path: Path) -> None:
    code, said, errors = asked(str(tmp_path / "evenmatch.db"))
    assert (code, said) == (2, "")
    assert "is a file, which one server has for itself: name the cluster's database with --db postgresql://" in errors
    assert not (tmp_path / "evenmatch.db").exists()


def test_a_wrong_url_is_said_without_its_password() -> None:
    code, _, errors = asked("postgresql://owner:secret-word@127.0.0.1:1/none")
    assert code == 2
    assert "cannot be reached" in errors
    assert "secret-word" not in errors
    code, _, errors = asked("mysql://owner@127.0.0.1/none")
    assert code == 2
    assert "use a file, or postgresql://" in errors


def test_a_database_without_a_journal_is_left_without_one(url: str) -> None:
    code, _, errors = asked(url)
    assert code == 2
    assert "has no journal: there is no schema evenmatch in it" in errors
    assert bare(url, "SELECT to_regnamespace('evenmatch')") == [(None,)]


def test_an_older_schema_is_not_brought_up_to_date(url: str, make_server: MakeServer) -> None:
    make_server(queue("duel"), place=url).stop()
    bare(url, "DELETE FROM evenmatch.migrations WHERE number > 2")
    code, _, errors = asked(url)
    assert code == 2
    assert "was made by an older evenmatch (migration 2 of " in errors
    assert bare(url, "SELECT max(number) FROM evenmatch.migrations") == [(2,)]


def test_a_user_without_rights_is_told_so(url: str, make_server: MakeServer) -> None:
    make_server(queue("duel"), place=url).stop()
    bare(url, "DROP ROLE IF EXISTS looker", "CREATE ROLE looker LOGIN PASSWORD 'looks'")
    code, _, errors = asked(postgres.as_user(url, "looker", "looks"))
    assert code == 2
    assert "the user has too few rights" in errors


def test_a_user_who_may_read_can_look(url: str, make_server: MakeServer) -> None:
    make_server(queue("duel"), place=url)
    bare(url, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN PASSWORD 'reads'")
    bare(url, "GRANT USAGE ON SCHEMA evenmatch TO reader", "GRANT SELECT ON ALL TABLES IN SCHEMA evenmatch TO reader")
    try:
        assert status(postgres.as_user(url, "reader", "reads"))["healthy"]
    finally:
        bare(url, "DROP OWNED BY reader", "DROP ROLE reader")


def test_a_row_that_somebody_edited_stops_nobody(url: str, make_server: MakeServer) -> None:
    make_server(queue("duel"), place=url, EVENMATCH_ROLE="all")
    bare(url, "INSERT INTO evenmatch.nodes (node, name, role, about) VALUES (gen_random_uuid(), 'x', 'api', '[oops')")
    found = status(url)
    assert "x is not ready" in found["verdict"]


# -- the words --


def test_a_lane_without_an_owner_says_for_how_long() -> None:
    rows = [lane(), lane(2, "eu", "", over_s=75.0), lane(3, "us", "", fence=0), lane(4, "asia", "", over_s=-3.0)]
    found = told(Cluster("c", [node()], rows), "there")
    assert not found["healthy"]
    assert found["verdict"].split("; ") == [
        "lane eu has had no owner for 75 s or longer",
        "lane us has never had an owner: start a worker whose queues.toml has queues in it",
        "lane asia has no owner: the last one's connection ended",
    ]


def test_requests_and_followers_that_lag_are_trouble() -> None:
    late = node("b:2", "api", follows={"1": 90}, behind_s={"1": 7.25})
    found = told(Cluster("c", [node(), late], [lane(inbox=4, inbox_s=6.5)]), "there")
    assert found["verdict"].split("; ") == [
        "a request for lane main has waited for 6.5 s",
        "b:2 is 7.2 s behind lane main",
    ]
    (follower,) = found["lanes"][0]["followers"]
    assert follower == {"node": "b:2", "sequence": 90, "behind": 10, "behind_s": 7.25}


def test_a_lane_whose_lease_was_deleted_is_told() -> None:
    found = told(Cluster("c", [node(owns=[1])], [lane(owner="", fence=-1, last=0)]), "there")
    assert not found["healthy"]
    assert "lane main has no lease: somebody has deleted its row" in found["verdict"]


def test_a_node_that_is_gone_and_versions_side_by_side_are_notes() -> None:
    nodes = [node(), node("b:2", "api", version="1.1"), node("c:3", "worker", 40.0, owns=[1])]
    found = told(Cluster("c", nodes, [lane()]), "there")
    assert found["healthy"]
    assert found["notes"] == [
        "c:3 was not seen for 40 s; it is shown for an hour",
        "several versions side by side: 1.0, 1.1",
    ]
    assert [(one["alive"], one["ready"]) for one in found["nodes"]] == [(True, True), (True, True), (False, False)]


def test_api_nodes_alone_are_told_that_nobody_works() -> None:
    found = told(Cluster("c", [node(role="api")], [lane(owner="")]), "there")
    assert "nobody owns queues: start a process with --role worker or all" in found["verdict"]


def test_an_owner_that_was_not_seen_and_what_keeps_a_node_from_being_ready_are_told() -> None:
    nodes = [node("a:1", "worker", 7.5, owns=[1]), node("b:2", "api", ready=False, trouble="the lease was edited")]
    found = told(Cluster("c", [*nodes, node("d:4")], [lane()]), "there")
    assert found["verdict"].split("; ") == [
        "b:2 is not ready (the lease was edited)",
        "the owner of lane main, a:1, was not seen for 7.5 s",
    ]
    assert [one["trouble"] for one in found["nodes"]] == ["", "the lease was edited", ""]


def why(server: Server) -> str:
    """Why a server is not ready, as it says itself: without the database's address and user. Empty = it is ready."""
    answer = server.http.get("/readyz")
    said = answer.json()
    assert (answer.status_code, said["status"]) == ((503, "not ready") if "why" in said else (200, "ready"))
    for secret in ("://", "127.0.0.1", "owner:", "@", "connection"):
        assert secret not in answer.text
    return str(said.get("why", ""))


def test_a_node_without_an_owner_says_so_and_its_status_too(url: str, make_server: MakeServer) -> None:
    worker = make_server(TWO_LANES, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    assert why(node) == why(worker) == ""
    worker.stop()
    eventually(lambda: why(node) == "lanes main, eu: no owner", "what is missing")
    assert node.http.get("/readyz").json()["lanes"] == "main (1), eu (2)"
    status_when(url, lambda seen: [one["trouble"] for one in seen["nodes"]] == ["lanes main, eu: no owner"], "the same")


def test_a_lane_that_cannot_be_taken_is_told_by_its_worker_and_logged_once(url: str, make_server: MakeServer) -> None:
    worker = make_server(queue("duel"), place=url, EVENMATCH_ROLE="worker")
    eventually(lambda: status(url)["lanes"][0]["owner"] is not None, "an owner")
    worker.stop()
    bare(url, "UPDATE evenmatch.leases SET last = last + 100")
    worker.start(ready=False)
    eventually(lambda: "lane main: the lease says that the journal ends at" in why(worker), "the reason")
    status_when(url, lambda seen: "lane main: the lease says" in seen["nodes"][0]["trouble"], "the same")
    time.sleep(1.5)
    assert worker.log.read_text().count("a lane could not be taken") == 1
    bare(url, "UPDATE evenmatch.leases SET last = last + 100")
    eventually(lambda: worker.log.read_text().count("a lane could not be taken") == 2, "other words")
    bare(url, "UPDATE evenmatch.leases SET last = last - 200")
    eventually(lambda: why(worker) == "", "readiness")
    assert worker.log.read_text().count("a lane that could not be taken has an owner again") == 1


@pytest.mark.parametrize("role", ["worker", None])
def test_a_lease_that_was_deleted_is_told_though_nobody_asks_for_anything(
    url: str, make_server: MakeServer, role: str | None
) -> None:
    server = make_server(queue("duel"), place=url, **({"EVENMATCH_ROLE": role} if role else {}))
    eventually(lambda: status(url)["lanes"][0]["owner"] is not None, "an owner")
    bare(url, "DELETE FROM evenmatch.leases")
    said = ("lane main: " if role else "") + "the lease of journal 1 is missing. Restore it from a backup"
    eventually(lambda: why(server) == said, "the reason")


def test_a_database_that_is_away_is_told_without_its_address(make_server: MakeServer) -> None:
    with postgres.running() as server:
        nodes = [make_server(queue("duel"), place=server.url, EVENMATCH_ROLE=role) for role in ("worker", "api")]
        server.stop()
        for node in nodes:
            eventually(lambda node=node: why(node) == "the database cannot be used", "the reason")  # type: ignore[misc]
        alone_text = nodes[0].log.read_text()
        assert alone_text.count("lanes cannot be looked at") <= 2
        server.start()
        for node in nodes:
            eventually(lambda node=node: why(node) == "", "readiness")  # type: ignore[misc]


def test_a_server_that_is_alone_says_why_it_is_not_ready_without_the_address(make_server: MakeServer) -> None:
    with postgres.running() as database:
        server = make_server(queue("duel"), place=database.url)
        database.stop()
        eventually(lambda: why(server) == "the database cannot be used", "the reason")


@pytest.mark.parametrize("role", ["worker", "all"])
def test_an_owner_that_cannot_write_is_not_ready_says_why_and_goes_on_when_it_can(
    url: str, make_server: MakeServer, role: str
) -> None:
    owner = make_server(queue("duel"), place=url, EVENMATCH_ROLE=role)
    serving = owner if role == "all" else make_server(None, place=url, EVENMATCH_ROLE="api")
    assert serving.try_join("duel", "before").status_code == 201
    bare(url, "UPDATE evenmatch.leases SET last = last + 100")
    assert serving.try_join("duel", "meanwhile").status_code == 503
    eventually(lambda: owner.http.get("/readyz").status_code == 503, "an owner that is not ready")
    found = status_when(url, lambda seen: "Somebody edited" in seen["verdict"], "the reason")
    assert not found["healthy"]
    assert "lane main: the lease says that the journal ends at" in why(owner)
    if serving is not owner:
        eventually(lambda: why(serving) == "lane main: the owner does not answer", "what the node knows of it")
        status_when(url, lambda seen: "lane main: the owner does not answer" in seen["verdict"], "the same")
    assert re.search(r"^evenmatch_commit_failures_total [1-9]", owner.http.get("/metrics").text, re.MULTILINE)
    log = owner.log.read_text()
    assert log.count("commit failed") <= 3, "it says so once and not for every try"
    bare(url, "UPDATE evenmatch.leases SET last = last - 100")
    eventually(lambda: owner.http.get("/readyz").status_code == 200, "an owner that is ready again")
    eventually(lambda: serving.try_join("duel", "after").status_code in (200, 201), "a join")
