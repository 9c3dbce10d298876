"""Real servers on a real PostgreSQL: killed, stopped for too long, cut off from the database and back."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from evenmatch.drill.auditor import Joined, Log, audit, number, read_book
from evenmatch.storage.places import open_store
from evenmatch.storage.postgres_lanes import make_lane
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, evenmatch, eventually, queue

POOL = queue("pool", size=100, every_s=60.0)


@pytest.fixture
def url() -> str:
    """A database without a journal."""
    return postgres.cleared()


@pytest.fixture
def own_postgres() -> Iterator[postgres.Server]:
    """A PostgreSQL of the test's own, to be stopped and started."""
    with postgres.running() as server:
        yield server


_PAUSE_S = 0.01
"""Players come steadily, not as fast as the machine can: processes that start meanwhile need some of it too."""


class Joining:
    """Players who join one after the other, from several threads, until they are told to stop."""

    def __init__(self, server: Server, threads: int = 4) -> None:
        self.server = server
        self.log = Log()
        self.refused: list[httpx.Response] = []
        self.slowest_s = 0.0
        """The longest that anybody waited for an answer."""
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._join, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _join(self) -> None:
        with httpx.Client(timeout=PATIENCE_S) as client:
            while not self._over.is_set():
                with self._lock:
                    player = f"player {next(self._numbers)}"
                    self.log.attempted[player] = (player,)
                self._insist(client, player)
                self._over.wait(_PAUSE_S)

    def _insist(self, client: httpx.Client, player: str) -> None:
        """One player asks with one key until there is an answer."""
        while True:
            try:
                answer = client.post(
                    f"{self.server.url}/v1/queues/pool/tickets",
                    json={"players": [{"id": player}]},
                    headers={"Idempotency-Key": player},
                )
            except httpx.TransportError:
                if self._over.is_set():
                    return
                continue
            self.slowest_s = max(self.slowest_s, answer.elapsed.total_seconds())
            if answer.status_code == 201:
                ticket = answer.json()["ticket"]
                found = number(ticket)
                assert found is not None
                with self._lock:
                    self.log.joined.append(Joined(player, found, "pool", (player,), ticket["joined_ms"]))
                return
            self.refused.append(answer)
            if self._over.wait(0.01):
                return

    def until(self, more: int) -> None:
        """Wait until so many more have joined."""
        wanted = len(self.log.joined) + more
        eventually(lambda: len(self.log.joined) >= wanted, f"{more} more joins")

    def stop(self) -> Log:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return self.log


def check_honest(answers: list[httpx.Response]) -> None:
    for answer in answers:
        assert answer.status_code == 503, answer.text
        assert answer.json()["reason"] in ("journal_unavailable", "busy", "stopping")
        assert int(answer.headers["retry-after"]) >= 1
        assert "postgresql://" not in answer.text
        assert "127.0.0.1" not in answer.text


def check_whole(url: str, log: Log, server: Server) -> None:
    found = audit(read_book(url), log)
    assert found.faults == []
    assert server.verify()["unrecorded"] == 0


def test_everything_a_server_keeps_is_in_the_database(url: str, make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None), place=url, EVENMATCH_KEEP_S="0")
    key = evenmatch("keys", "add", "night", "--role", "operator", cwd=server.folder)
    assert key.returncode == 0, key.stderr
    tickets = [server.join("duel", player, attributes={"hat": "red"})["id"] for player in ("ann", "ben")]
    for ticket in tickets:
        assert server.when(ticket, "matched")["attributes"] == {"hat": "red"}
    eventually(lambda: bare(url, "SELECT count(*) FROM evenmatch.tickets") == [(2,)], "records of finished tickets")
    server.stop()
    server.start()
    server.sign_in(key.stdout.split()[0])
    assert server.ticket(tickets[0])["status"] == "matched"
    made = server.http.post("/v1/backup")
    assert made.status_code == 200, made.text
    backup = server.folder / made.json()["backup"]["file"]
    with SqliteJournal(backup, read_only=True) as journal:
        assert journal.last == made.json()["backup"]["sequence"]
    assert server.http.get("/v1/audit").json()["entries"][-1]["action"] == "backup"
    waves = server.http.get("/v1/queues/duel/waves").json()["waves"]
    again = server.http.get(f"/v1/queues/duel/waves/{waves[0]['number']}").json()
    assert again["wave"]["proven"] is True
    server.stop()
    assert bare(url, "SELECT holder FROM evenmatch.leases") == [("",)]


def test_a_look_at_one_lane_of_several_says_that_there_are_others(url: str) -> None:
    with open_store(url):
        pass
    line = Line(url, "the database")
    for lane in ("eu", "us"):
        make_lane(line, lane)
    line.close()
    told = evenmatch("journal", "show", url)
    assert "0 events shown" in told.stderr
    assert "lane main only; the database has 3. The others: eu, us (--lane NAME)" in told.stderr
    assert "lane eu only; the database has 3" in evenmatch("journal", "show", url, "--lane", "eu", "--json").stderr


def test_the_command_line_takes_a_url_where_it_takes_a_file(url: str, make_server: MakeServer, tmp_path: Path) -> None:
    server = make_server(POOL, place=url, EVENMATCH_CHECKPOINT_DEBT="5")
    for player in range(30):
        server.join("pool", f"player {player}")
    proved = json.loads(evenmatch("journal", "verify", url, "--json").stdout)
    assert proved["events"] > 30
    assert "tickets_joined" in evenmatch("journal", "show", url, "--limit", "9").stdout
    assert "state hash" in evenmatch("replay", url).stdout
    server.stop()
    there, back = tmp_path / "there.db", tmp_path / "back.db"
    told = [evenmatch("journal", "copy", url, str(there), "--json")]
    moved = evenmatch("journal", "archive", url, str(tmp_path / "old.db"))
    assert "events moved" in moved.stdout, moved.stderr
    assert postgres.cleared() == url
    told += [evenmatch("journal", "copy", str(there), url, "--json")]
    told += [evenmatch("journal", "backup", url, str(back), "--json")]
    hashes = {json.loads(one.stdout)["hash"] for one in told}
    assert len(hashes) == 1, [one.stderr for one in told]
    twice = evenmatch("journal", "copy", str(there), url)
    assert twice.returncode == 2
    assert "nothing is overwritten" in twice.stderr
    for one in (*told, moved, twice):
        assert "Traceback" not in one.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "--db", "postgresql://u:s3cret@127.0.0.1:1/d", "--port", "0"), "cannot be reached"),
        (("serve", "--db", "mysql://u:s3cret@h/d", "--port", "0"), "use a file, or postgresql://"),
        (("journal", "verify", "postgresql://u:s3cret@127.0.0.1:1/d"), "cannot be reached"),
        (("drill", "crash", "--db", "some.db"), "is not a database"),
    ],
)
def test_a_place_that_cannot_be_used_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = evenmatch(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


def test_a_second_server_is_turned_away_and_a_killed_one_is_replaced_at_once(url: str, make_server: MakeServer) -> None:
    server = make_server(POOL, place=url)
    server.join("pool", "ann")
    second = evenmatch("serve", "--db", url, "--port", "0")
    assert second.returncode == 2
    assert "is serving" in second.stderr
    server.kill()
    server.start()
    assert server.waiting("pool") == 1


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_under_load(url: str, make_server: MakeServer) -> None:
    server = make_server(POOL, place=url, EVENMATCH_CHECKPOINT_DEBT="50")
    joining = Joining(server)
    for _ in range(2):
        joining.until(40)
        server.kill()
        server.start()
    joining.until(40)
    log = joining.stop()
    check_honest(joining.refused)
    server.stop()
    assert len({row.fence for row in read_book(url).rows}) == 3
    check_whole(url, log, server)


def test_a_database_that_restarts_under_load_is_survived(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    with postgres.database(own_postgres.url) as url:
        server = make_server(POOL, place=url)
        joining = Joining(server)
        for _ in range(3):
            joining.until(40)
            own_postgres.stop()
            refused = server.try_join("pool", "nobody")
            check_honest([refused])
            assert server.http.get("/readyz").status_code == 503
            assert server.http.get("/healthz").status_code == 200
            own_postgres.start()
            eventually(lambda: server.http.get("/readyz").status_code == 200, "readiness")
        joining.until(40)
        log = joining.stop()
        check_honest(joining.refused)
        assert joining.refused
        server.stop()
        check_whole(url, log, server)


def test_an_idle_server_notices_that_its_database_is_gone(
    own_postgres: postgres.Server, make_server: MakeServer
) -> None:
    with postgres.database(own_postgres.url) as url:
        server = make_server(POOL, place=url)
        own_postgres.stop()
        eventually(lambda: server.http.get("/readyz").status_code == 503, "unreadiness")
        own_postgres.start()
        eventually(lambda: server.http.get("/readyz").status_code == 200, "readiness")
        assert server.join("pool", "ann")


def test_a_server_that_was_stopped_past_its_lease_is_replaced_and_writes_nothing_when_it_wakes_up(
    url: str, make_server: MakeServer
) -> None:
    """I9: SIGSTOP, a takeover, SIGCONT."""
    zombie = make_server(POOL, place=url)
    zombie.join("pool", "ann")
    assert zombie.process is not None
    os.kill(zombie.process.pid, signal.SIGSTOP)
    try:
        eventually(
            lambda: bare(url, "SELECT until < clock_timestamp() FROM evenmatch.leases") == [(True,)], "the lease's end"
        )
        server = make_server(POOL, place=url)
        server.join("pool", "ben")
    finally:
        os.kill(zombie.process.pid, signal.SIGCONT)
    try:
        late = zombie.try_join("pool", "cat")
        assert late.status_code == 503
    except httpx.TransportError:
        pass  # it has stopped already
    zombie.process.wait(PATIENCE_S)
    assert "another owner" in zombie.log.read_text()
    assert server.waiting("pool") == 2
    server.stop()
    book = read_book(url)
    assert [row.fence for row in book.rows] == sorted(row.fence for row in book.rows)
    assert sorted(book.names.values()) == ["ann", "ben"]
    assert server.verify()["events"] == book.rows[-1].last


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_players_lose_nothing_when_a_server_on_postgresql_is_killed_under_load(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenmatch", "drill", "crash", "--json", "--folder", str(tmp_path / "drill")]
    asked = ["--players", "60", "--kills", "2", "--seed", "9", "--processes", "2", "--db", url]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert found["owners"] == 3
    assert found["stories_followed"] == found["joins_acknowledged"] >= 60
    assert found["tickets"]["matched"] == 2 * found["results_acknowledged"] > 0
    used = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=60)
    assert used.returncode == 2
    assert "give the drill an empty database" in used.stderr
