"""A database that fails under a real server: restarted, replaced by its standby, slow, cut off, silent, full.

Each time clients get honest answers and none waits for ever, the server recovers by itself, and in the end the auditor
finds everything that was acknowledged, the rules whole (I1-I11), and the journal's hash (I8).
"""

import os
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from evenmatch.cli.journal import prune
from evenmatch.drill.auditor import Audit, audit, read_book
from evenmatch.drill.proxy import Proxy
from evenmatch.errors import ConfigError
from evenmatch.storage.places import open_store
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import Server, evenmatch, eventually, queue
from .test_matcher_room import ended, find_worker, given_up
from .test_postgres import POOL, Joining, check_honest, check_whole

ANSWERED_S = 30.0
"""Twice as long as anybody waits for an answer while the database is silent."""


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


@pytest.fixture
def own_postgres() -> Iterator[postgres.Server]:
    """A PostgreSQL of the test's own."""
    with postgres.running() as server:
        yield server


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    """A network between the server and its database."""
    with Proxy("127.0.0.1", postgres.port_of(url)) as made:
        yield made


def through(url: str, proxy: Proxy) -> str:
    return postgres.at_port(url, proxy.port)


def is_ready(server: Server) -> bool:
    return server.http.get("/readyz").status_code == 200


def refused(server: Server) -> httpx.Response:
    """An order while the database is away, answered in time."""
    answer = httpx.post(
        f"{server.url}/v1/queues/pool/tickets", json={"players": [{"id": "nobody"}]}, timeout=ANSWERED_S
    )
    check_honest([answer])
    return answer


def read_by_the_rules(url: str) -> Audit:
    """The auditor's account of a journal, without what clients know."""
    found = Audit()
    found.read(read_book(url))
    assert found.faults == []
    return found


def check_answers(joining: Joining) -> None:
    check_honest(joining.refused)
    assert joining.slowest_s < ANSWERED_S


def test_a_database_that_is_restarted_in_good_order_under_load_is_survived(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    with postgres.database(own_postgres.url) as url:
        server = make_server(POOL, place=url)
        joining = Joining(server)
        for _ in range(2):
            joining.until(40)
            own_postgres.stop(signal.SIGINT)
            refused(server)
            own_postgres.start()
            joining.until(40)
        log = joining.stop()
        check_answers(joining)
        server.stop()
        check_whole(url, log, server)
        assert {row.fence for row in read_book(url).rows} == {1}


# A standby takes over.


@pytest.fixture
def pair(own_postgres: postgres.Server) -> Iterator[tuple[postgres.Server, postgres.Server, str, str]]:
    """A primary, its synchronous standby, a database by a URL that names both, and the same on the standby alone."""
    with postgres.running(own_postgres) as standby:
        bare(own_postgres.url, "CREATE DATABASE games TEMPLATE template0 ENCODING 'UTF8'")
        postgres.wait_for_standby(own_postgres)
        yield (
            own_postgres,
            standby,
            postgres.both(own_postgres, standby, "games"),
            postgres.renamed(standby.url, "games"),
        )


def test_a_standby_that_takes_over_has_all_that_was_acknowledged_and_the_server_finds_it(
    pair: tuple[postgres.Server, postgres.Server, str, str], make_server: MakeServer
) -> None:
    primary, standby, url, alone = pair
    server = make_server(POOL, place=url)
    joining = Joining(server)
    joining.until(60)
    primary.stop()
    refused(server)
    postgres.promote(standby)
    joining.until(60)
    eventually(lambda: is_ready(server), "readiness")
    log = joining.stop()
    check_answers(joining)
    server.stop()
    found = audit(read_book(alone), log)
    assert found.faults == []
    fences = [row.fence for row in read_book(alone).rows]
    assert set(fences) == {1, 2}, "a fence of its own on the new primary"
    done = evenmatch("journal", "verify", alone, "--json")
    assert done.returncode == 0, done.stderr


def test_a_primary_that_was_left_behind_is_not_written_to_though_it_answers(
    pair: tuple[postgres.Server, postgres.Server, str, str], make_server: MakeServer
) -> None:
    primary, standby, url, alone = pair
    with Proxy("127.0.0.1", standby.port) as proxy:
        server = make_server(POOL, place=url.replace(str(standby.port), str(proxy.port)))
        server.join("pool", "ann")
        primary.stop()
        postgres.promote(standby)
        eventually(lambda: server.try_join("pool", "ben").status_code == 201, "the new primary")
        eventually(lambda: is_ready(server), "readiness")
        primary.more = {"synchronous_standby_names": ""}  # or its commits would wait for ever, which protects as well
        primary.start()  # as the primary that it was
        ends = "SELECT fence, last FROM evenmatch.leases"
        old = postgres.renamed(primary.url, "games")
        before = bare(old, ends)
        proxy.refusing = True
        proxy.cut()
        refused(server)
        assert not is_ready(server)
        assert "left behind" in server.log.read_text()
        assert bare(old, ends) == before
        proxy.refusing = False
        primary.stop()
        eventually(lambda: server.try_join("pool", "cat").status_code == 201, "the new primary again")
        server.stop()
    assert sorted(read_book(alone).names.values()) == ["ann", "ben", "cat"]


def test_nothing_is_acknowledged_while_the_synchronous_standby_is_away(
    pair: tuple[postgres.Server, postgres.Server, str, str], make_server: MakeServer
) -> None:
    primary, standby, url, _ = pair
    server = make_server(POOL, place=url)
    joining = Joining(server)
    joining.until(20)
    standby.stop()
    refused(server)
    eventually(lambda: not is_ready(server), "unreadiness")
    before = len(joining.log.joined)
    refused(server)
    assert len(joining.log.joined) == before
    standby.start()
    joining.until(20)
    log = joining.stop()
    check_answers(joining)
    server.stop()
    assert audit(read_book(url), log).faults == []
    assert primary.runs


# The network between.


def test_a_slow_network_makes_everything_slow_and_nothing_wrong(
    url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    server = make_server(POOL, place=through(url, proxy))
    proxy.delay_s = 0.1  # 200 ms there and back
    joining = Joining(server)
    joining.until(24)
    assert is_ready(server)
    second = evenmatch("serve", "--db", url, "--port", "0")
    assert second.returncode == 2
    assert "is serving" in second.stderr
    joining.until(12)
    log = joining.stop()
    assert joining.refused == []
    proxy.delay_s = 0.0
    server.stop()
    check_whole(url, log, server)
    assert {row.fence for row in read_book(url).rows} == {1}


def test_a_narrow_network_makes_everything_slow_and_nothing_wrong(
    url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    server = make_server(POOL, place=through(url, proxy))
    proxy.bytes_a_s = 20_000
    joining = Joining(server)
    joining.until(24)
    log = joining.stop()
    assert joining.refused == []
    proxy.bytes_a_s = 0.0
    server.stop()
    check_whole(url, log, server)


def test_connections_that_are_cut_under_load_are_made_anew(url: str, proxy: Proxy, make_server: MakeServer) -> None:
    server = make_server(POOL, place=through(url, proxy))
    joining = Joining(server)
    for _ in range(5):
        joining.until(20)
        proxy.cut()
    joining.until(20)
    proxy.refusing = True
    proxy.cut()
    refused(server)
    proxy.refusing = False
    joining.until(20)
    log = joining.stop()
    check_answers(joining)
    server.stop()
    check_whole(url, log, server)
    assert {row.fence for row in read_book(url).rows} == {1}


def test_a_network_that_swallows_everything_is_given_up_and_found_again(
    url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    server = make_server(POOL, place=through(url, proxy))
    joining = Joining(server)
    joining.until(40)
    with proxy.hole():
        refused(server)
        assert not is_ready(server)
        assert server.http.get("/healthz").status_code == 200
        refused(server)
    joining.until(40)
    eventually(lambda: is_ready(server), "readiness")
    log = joining.stop()
    check_answers(joining)
    server.stop()
    check_whole(url, log, server)


def test_answers_that_are_lost_on_their_way_leave_nothing_doubled(
    url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    server = make_server(POOL, place=through(url, proxy))
    joining = Joining(server)
    for _ in range(3):
        joining.until(20)
        proxy.losing = True
        time.sleep(0.05)  # the instant is what is being tried
        proxy.cut()
        proxy.losing = False
    joining.until(20)
    log = joining.stop()
    check_answers(joining)
    server.stop()
    check_whole(url, log, server)


def test_an_idle_server_that_is_told_to_stop_while_its_database_is_silent_stops(
    url: str, proxy: Proxy, make_server: MakeServer
) -> None:
    server = make_server(POOL, place=through(url, proxy))
    server.join("pool", "ann")
    with proxy.hole():
        server.stop()
    server.place = url
    assert server.verify()["events"] == 2


def test_a_database_that_hangs_with_its_connections_open_is_given_up_and_found_again(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    with postgres.database(own_postgres.url) as url:
        server = make_server(POOL, place=url)
        joining = Joining(server)
        joining.until(40)
        own_postgres.send(signal.SIGSTOP)
        try:
            refused(server)
            assert not is_ready(server)
        finally:
            own_postgres.send(signal.SIGCONT)
        joining.until(40)
        log = joining.stop()
        check_answers(joining)
        server.stop()
        check_whole(url, log, server)


# Clocks, disks, matchers.


def skewed(seconds: int) -> dict[str, str]:
    """The environment of a server whose clock is wrong."""
    path = os.pathsep.join([str(Path(__file__).with_name("skewed")), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path, "SKEW_S": str(seconds)}


def test_servers_whose_clocks_are_hours_apart_agree_on_the_lease_and_never_go_back_in_time(
    url: str, make_server: MakeServer
) -> None:
    ahead = make_server(POOL, place=url, **skewed(3600))
    ahead.join("pool", "ann")
    for seconds in (-3600, 0, 3600):  # a living owner is not replaced, whatever the time is elsewhere
        other = evenmatch("serve", "--db", url, "--port", "0", env=skewed(seconds))
        assert other.returncode == 2
        assert "is serving" in other.stderr
    left = bare(url, "SELECT extract(epoch FROM until - clock_timestamp())::integer FROM evenmatch.leases")
    assert 0 < left[0][0] <= 10
    ahead.kill()
    behind = make_server(POOL, place=url, **skewed(-3600))
    assert "the clock is behind the journal" not in behind.log.read_text()  # time is the database's
    behind.join("pool", "ben")
    assert behind.waiting("pool") == 2
    behind.stop()
    server = make_server(POOL, place=url)
    server.join("pool", "cat")
    server.stop()
    read_by_the_rules(url)
    book = read_book(url)
    times = [event.at_ms for row in book.rows for event in row.events]
    assert all(before <= after for before, after in pairwise(times))
    assert times[-1] - times[0] < 600_000, "one clock, two hours off, would have let hours pass"
    assert server.verify()["events"] == book.rows[-1].last


def test_a_full_disk_is_told_and_nothing_is_half_written(make_server: MakeServer) -> None:
    with postgres.running(room_mb=200) as own:
        bare(own.url, "CREATE DATABASE games TEMPLATE template0 ENCODING 'UTF8'")
        url = postgres.renamed(own.url, "games")
        server = make_server(POOL, place=url, EVENMATCH_CHECKPOINT_DEBT="50")
        joining = Joining(server)
        joining.until(40)
        own.fill_disk()
        eventually(lambda: len(joining.refused) > 3, "a full disk")
        eventually(lambda: not is_ready(server), "unreadiness")
        own.free_disk()
        joining.until(40)
        eventually(lambda: is_ready(server), "readiness")
        log = joining.stop()
        check_answers(joining)
        server.stop()
        check_whole(url, log, server)


def test_a_matcher_that_dies_or_hangs_costs_its_wave_only(url: str, make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None, isolate=True, deadline_s=3.0), place=url)
    first = server.join("duel", "ann")["id"]
    worker = find_worker(server)
    worker.kill()
    eventually(lambda: ended(worker), "the worker's end")
    server.join("duel", "ben")
    server.when(first, "matched")
    find_worker(server).send_signal(signal.SIGSTOP)
    second = server.join("duel", "cat")["id"]
    server.join("duel", "dan")
    server.when(second, "matched")
    assert any("no plan" in why for why in given_up(server))
    server.stop()
    read_by_the_rules(url)
    assert server.verify()["unrecorded"] == 0


# What is kept.


@pytest.mark.parametrize("store", [pytest.param("sqlite", marks=pytest.mark.slow), "postgres"])
def test_events_are_archived_and_old_records_dropped_while_a_server_runs(
    url: str, make_server: MakeServer, tmp_path: Path, store: str
) -> None:
    duel = queue("duel", timeout_s=None)
    env = skewed(-7200) | {"EVENMATCH_KEEP_S": "0", "EVENMATCH_CHECKPOINT_DEBT": "5"}
    server = make_server(duel + POOL, place=url if store == "postgres" else None, **env)
    old = [server.join("duel", player)["id"] for player in ("ann", "ben")]
    server.when(old[0], "matched")
    joining = Joining(server)
    joining.until(20)
    with open_store(server.place, read_only=True) as journal:
        eventually(lambda: len(journal.recent_tickets(9)) == 2 and journal.finished_match(1), "records of what is over")
    moved = evenmatch("journal", "archive", server.place, str(tmp_path / "old.db"))
    assert "events moved" in moved.stdout, moved.stderr
    later = skewed(7200) if store == "postgres" else {}  # there the server's time is the database's
    gone = evenmatch("journal", "prune", server.place, "--older-than", "1h", "--json", env=later)
    assert gone.stdout == '{"tickets":2,"matches":1}\n', gone.stderr
    assert server.http.get(f"/v1/tickets/{old[0]}").status_code == 404
    again = evenmatch("journal", "prune", server.place, "--older-than", "1d")
    assert again.stdout == "0 tickets and 0 matches older than 1d are gone\n", again.stderr
    joining.until(20)
    joining.stop()
    assert joining.refused == []
    server.stop()
    assert server.verify()["first_sequence"] > 1


@pytest.mark.parametrize("age", ["90", "0d", "5x", "-3d", "1.5d", ""])
def test_an_age_that_is_none_is_refused(age: str) -> None:
    with pytest.raises(ConfigError, match="use days or hours, such as 90d or 36h"):
        prune("nowhere.db", older_than=age)
    assert not Path("nowhere.db").exists()
