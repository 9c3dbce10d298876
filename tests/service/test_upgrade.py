"""A rolling upgrade: two versions side by side on one database, under load, the old one leaving process by process."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evenmatch.drill.auditor import Joined, number
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually
from .test_cluster import POOL, check_honest, check_whole, owned_by
from .test_postgres import Joining

NEWER = os.pathsep.join([str(Path(__file__).with_name("newer")), os.environ.get("PYTHONPATH", "")])


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


def serving(make_server: MakeServer, url: str, role: str, **more: str) -> Server:
    return make_server(POOL if role == "worker" else None, place=url, EVENMATCH_ROLE=role, **more)


def status(url: str) -> dict[str, Any]:
    told = evenmatch("cluster", "status", "--db", url, "--json")
    assert told.returncode in (0, 1), told.stderr  # 1 = something is to be seen to, such as a node that lags
    return json.loads(told.stdout)  # type: ignore[no-any-return]


def joined(joining: Joining, node: Server, player: str) -> str:
    """One player more, at another node than all the others; its ticket."""
    ticket = node.join("pool", player, key=player)
    found = number(ticket)
    assert found is not None
    joining.log.attempted[player] = (player,)
    joining.log.joined.append(Joined(player, found, "pool", (player,), ticket["joined_ms"]))
    return str(ticket["id"])


def test_a_version_that_adds_a_column_replaces_the_old_one_under_load_and_nobody_is_refused(
    url: str, make_server: MakeServer
) -> None:
    old_worker, old_node = serving(make_server, url, "worker"), serving(make_server, url, "api")
    joining = Joining(old_node)
    joining.until(20)
    new_worker = serving(make_server, url, "worker", PYTHONPATH=NEWER)
    new_node = serving(make_server, url, "api", PYTHONPATH=NEWER)
    assert bare(url, "SELECT count(*) FROM evenmatch.migrations WHERE name = 'zones'") == [(1,)]
    told = status(url)
    assert {node["version"] for node in told["nodes"]} == {"0.1.0", "0.2.0"}
    assert any("0.1.0" in note and "0.2.0" in note for note in told["notes"])
    ticket = joined(joining, new_node, "by the new")
    assert old_node.join("pool", "by the new", key="by the new")["id"] == ticket
    joining.until(20)
    old_worker.stop()
    eventually(lambda: owned_by(url, new_worker) == [1], "the new owner")
    joining.until(20)
    written = joined(joining, new_node, "while the new one owns")
    eventually(lambda: old_node.http.get(f"/v1/tickets/{written}").status_code == 200, "an old node that reads it")
    back = serving(make_server, url, "worker")  # the way back is open
    new_worker.stop()
    eventually(lambda: owned_by(url, back) == [1], "the old version as an owner again")
    joining.until(20)
    assert joining.refused == []
    check_whole(url, joining)


@pytest.mark.slow
def test_processes_that_cannot_read_what_the_new_version_writes_say_so_and_take_nothing(
    url: str, make_server: MakeServer
) -> None:
    old_worker, old_node = serving(make_server, url, "worker"), serving(make_server, url, "api")
    new_node = serving(make_server, url, "api", PYTHONPATH=NEWER, CODEC="1")
    joining = Joining(new_node)
    joining.until(20)
    assert old_node.try_join("pool", "still").status_code == 201, "as long as the owner is the old one"
    new_worker = serving(make_server, url, "worker", PYTHONPATH=NEWER, CODEC="1")
    old_worker.stop()
    eventually(lambda: owned_by(url, new_worker) == [1], "the new owner")
    joining.until(20)
    eventually(lambda: old_node.http.get("/readyz").status_code == 503, "an old node that is not ready")
    check_honest([old_node.http.get("/v1/queues/pool")])
    assert old_node.http.get("/healthz").status_code == 200
    eventually(lambda: "upgrade" in old_node.log.read_text(), "what to do, in the log")
    too_old = evenmatch("serve", "--role", "worker", "--port", "0", "--db", url)
    assert too_old.returncode == 2
    assert "newer evenmatch" in too_old.stderr
    assert joining.refused == []
    joining.until(10)
    joining.stop()
