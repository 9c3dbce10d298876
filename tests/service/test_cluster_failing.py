"""A cluster whose database, or the way to it, fails under load: honest answers, and everything whole afterwards."""

from collections.abc import Iterator

import pytest

from evenmatch.drill.auditor import audit, read_book
from evenmatch.drill.proxy import Proxy
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually
from .test_cluster import POOL, check_honest, check_whole, owned_by
from .test_postgres import Joining


@pytest.fixture
def own_postgres() -> Iterator[postgres.Server]:
    """A PostgreSQL of the test's own."""
    with postgres.running() as server:
        yield server


def is_ready(server: Server) -> bool:
    return server.http.get("/readyz").status_code == 200


def test_a_database_that_restarts_is_found_again_by_all_processes(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    url = own_postgres.url
    make_server(POOL, place=url, EVENMATCH_ROLE="worker")
    node = make_server(None, place=url, EVENMATCH_ROLE="api")
    joining = Joining(node)
    joining.until(20)
    own_postgres.stop()
    eventually(lambda: not is_ready(node), "a node that is not ready")
    own_postgres.start()
    joining.until(20)
    eventually(lambda: is_ready(node), "readiness")
    check_whole(url, joining)
    check_honest(joining.refused)


def test_a_standby_that_takes_over_is_found_by_all_processes_and_has_all_that_was_acknowledged(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    with postgres.running(own_postgres) as standby:
        bare(own_postgres.url, "CREATE DATABASE games TEMPLATE template0 ENCODING 'UTF8'")
        postgres.wait_for_standby(own_postgres)
        url, alone = postgres.both(own_postgres, standby, "games"), postgres.renamed(standby.url, "games")
        make_server(POOL, place=url, EVENMATCH_ROLE="worker")
        node = make_server(None, place=url, EVENMATCH_ROLE="api")
        joining = Joining(node)
        joining.until(20)
        own_postgres.stop()
        postgres.promote(standby)
        joining.until(20)
        log = joining.stop()
        check_honest(joining.refused)
        assert audit(read_book(alone), log).faults == []
        assert evenmatch("journal", "verify", alone).returncode == 0


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    """A network between a process and the database; it outlives the processes."""
    with Proxy("127.0.0.1", postgres.port_of(url)) as made:
        yield made


@pytest.mark.parametrize("whose", ["worker", "api"])
@pytest.mark.parametrize("how", ["cut", pytest.param("silent", marks=pytest.mark.slow)])
def test_a_process_whose_way_to_the_database_fails_comes_back_and_nothing_is_lost(
    whose: str, how: str, url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    ways = {name: postgres.at_port(url, proxy.port) if name == whose else url for name in ("worker", "api")}
    worker = make_server(POOL, place=ways["worker"], EVENMATCH_ROLE="worker")
    eventually(lambda: owned_by(url, worker) == [1], "an owner")
    node = make_server(None, place=ways["api"], EVENMATCH_ROLE="api")
    joining = Joining(node)
    joining.until(20)
    if how == "cut":
        for _ in range(3):
            proxy.cut()
            joining.until(5)
    else:
        with proxy.hole():
            eventually(lambda: joining.refused or not is_ready(node), "an honest answer")
    joining.until(20)
    check_whole(url, joining)
    check_honest(joining.refused)
