"""When the journal fails, everybody concerned is told 503, memory goes back to the truth, and life goes on."""

import asyncio
import contextlib
import resource
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from evenmatch.core import engine as engine_module
from evenmatch.core.decide import decide
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.drill.auditor import Book, Joined, Log, Row, audit, number, read_book
from evenmatch.errors import JournalError
from evenmatch.service.app import App
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal, MemoryStore
from tests import postgres

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, eventually, queue
from .inside import FailingMemory, FailingPostgres, FailingSqlite, app_over, living, memory_and_journal, until

POOL = QueueSpec("pool", Format(2, 100))
DUEL = QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(60.0))


FailingJournal = FailingMemory | FailingSqlite | FailingPostgres


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> FailingJournal:
    if request.param == "postgres":
        return FailingPostgres(postgres.cleared(), "the database")
    return FailingMemory() if request.param == "memory" else FailingSqlite(tmp_path / "journal.db")


def body(player: str, rating: float = 1500.0) -> dict[str, Any]:
    return {"players": [{"id": player, "rating": rating}]}


async def join(client: httpx.AsyncClient, player: str, key: str | None = None, **more: Any) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await client.post("/v1/queues/pool/tickets", json=body(player, **more), headers=headers)


async def together(app: App, journal: FailingJournal, *orders: Any) -> list[httpx.Response]:
    """The answers to requests that all get into one commit, the first after the one that waits at the gate."""
    journal.reached.clear()
    journal.gate.clear()
    client = orders[0]
    first = asyncio.create_task(join(client, f"gate {id(orders)}"))
    await until(journal.reached.is_set, "the gate")
    rest = [asyncio.create_task(order) for order in orders[1:]]
    await until(lambda: app.runner.depth >= len(rest), "a mailbox with all of them")
    journal.gate.set()
    assert (await first).status_code == 201
    return list(await asyncio.gather(*rest))


def check_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["reason"] == "journal_unavailable"
    assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_everyone_in_a_failed_commit_is_told_503_and_a_repeat_is_safe(journal: FailingJournal, when: str) -> None:
    async def play() -> None:
        app = app_over(journal, POOL)
        async with living(app) as client:
            kept = (await join(client, "kept")).json()["ticket"]["id"]
            sequence = app.runner.engine.state.sequence
            journal.failures = ["", when]
            answers = await together(app, journal, client, *(join(client, f"p{n}", key=f"k{n}") for n in range(20)))
            for answer in answers:
                check_unavailable(answer)
                said = "nothing was changed" if when == "before" else "not known if this was carried out"
                assert said in answer.text
            memory, truth = await memory_and_journal(app)
            assert memory == truth
            waiting = (await client.get("/v1/queues/pool")).json()["queue"]["waiting"]
            assert waiting == (2 if when == "before" else 22)  # after: written, and nobody could know
            assert (await client.get(f"/v1/tickets/{kept}")).json()["ticket"]["status"] == "waiting"
            again = [await join(client, f"p{n}", key=f"k{n}") for n in range(20)]
            assert {answer.status_code for answer in again} == {201}
            assert len({answer.json()["ticket"]["id"] for answer in again}) == 20
            assert (await client.get("/v1/queues/pool")).json()["queue"]["waiting"] == 22
            assert (await client.delete(f"/v1/tickets/{kept}")).status_code == 204
            memory, truth = await memory_and_journal(app)
            assert memory == truth
            assert app.runner.engine.state.sequence > sequence
            assert "evenmatch_commit_failures_total 1.0" in (await client.get("/metrics")).text

    asyncio.run(play())


def test_an_accept_that_could_not_be_written_has_not_happened(journal: FailingJournal) -> None:
    async def play() -> None:
        app = app_over(journal, DUEL)
        async with living(app) as client:
            tickets = [
                (await client.post("/v1/queues/duel/tickets", json=body(name))).json()["ticket"]["id"] for name in "ab"
            ]

            async def proposed() -> Any:
                return (await client.get(f"/v1/tickets/{tickets[0]}")).json()["ticket"]["proposal"]

            proposal = (await until(proposed, "a proposal"))["id"]
            path = f"/v1/proposals/{proposal}/accept"
            journal.failures = ["before"]
            check_unavailable(await client.post(path, json={"player": "a"}))
            assert (await proposed())["pending"] == 2
            assert (await client.post(path, json={"player": "a"})).status_code == 200
            journal.failures = ["after"]
            check_unavailable(await client.post(path, json={"player": "b"}))
            again = await client.post(path, json={"player": "b"})
            assert (again.status_code, again.json()["reason"]) == (409, "already_accepted")
            for ticket in tickets:
                assert (await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["status"] == "matched"
            memory, truth = await memory_and_journal(app)
            assert memory == truth

    asyncio.run(play())


def test_while_nothing_can_be_read_or_written_the_server_is_not_ready_and_then_it_is_again(
    journal: FailingJournal,
) -> None:
    async def play() -> None:
        app = app_over(journal, POOL)
        async with living(app) as client:
            await join(client, "kept")
            journal.broken = True
            for player in "abc":
                check_unavailable(await join(client, player))
                assert (await client.get("/readyz")).status_code == 503
            check_unavailable(await client.get("/v1/queues"))
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/metrics")).status_code == 200
            journal.broken = False

            async def ready() -> bool:
                return (await client.get("/readyz")).status_code == 200

            await until(ready, "readiness")
            assert (await join(client, "a")).status_code == 201
            assert (await client.get("/v1/queues/pool")).json()["queue"]["waiting"] == 2
            memory, truth = await memory_and_journal(app)
            assert memory == truth

    asyncio.run(play())


@pytest.mark.parametrize("seed", range(3))
def test_under_random_failures_every_key_has_one_ticket_and_the_audit_is_clean(
    journal: FailingJournal, seed: int
) -> None:
    chance = Random(seed)
    log = Log()

    async def insist(client: httpx.AsyncClient, n: int) -> None:
        key, player = f"key {n}", f"player {n % 23}"
        log.attempted[key] = (player,)
        while True:
            headers = {"Idempotency-Key": key}
            answer = await client.post("/v1/queues/duel/tickets", json=body(player), headers=headers)
            if answer.status_code == 201:
                ticket = answer.json()["ticket"]
                mine = number(ticket)
                assert mine is not None
                log.joined.append(Joined(key, mine, "duel", (player,), ticket["joined_ms"]))
                return
            if answer.status_code == 409:
                del log.attempted[key]
                return
            check_unavailable(answer)

    async def play() -> None:
        app = app_over(journal, DUEL)
        async with living(app) as client:
            for turn in range(12):
                journal.failures = chance.choices(["", "", "before", "after"], k=6)
                await asyncio.gather(*(insist(client, turn * 8 + n) for n in range(8)))
                journal.failures = []
                await until(lambda: app.runner.ready, "readiness")
                memory, truth = await memory_and_journal(app)
                assert memory == truth

    asyncio.run(play())
    if isinstance(journal, FailingMemory):
        store = journal.store
        book = Book([Row(c.first_sequence, c.last_sequence, 1, c.events) for c in store.commits], store.names)
    else:
        assert journal.place is not None
        book = read_book(journal.place)
    found = audit(book, log)
    assert found.faults == []
    assert len(log.joined) > 20


# -- our own mistakes --------------------------------------------------------------------------------------------------


def test_a_command_that_makes_the_engine_raise_fails_alone(
    journal: FailingJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(state: Any, command: cmd.Command, now_ms: int, **more: Any) -> Any:
        requests = command.requests if isinstance(command, cmd.JoinMany) else ()
        if any(member.rating == 666 for request in requests for member in request.members):
            raise ZeroDivisionError("our bug")
        return decide(state, command, now_ms, **more)

    monkeypatch.setattr(engine_module, "decide", poisoned)

    async def play() -> None:
        app = app_over(journal, POOL)
        async with living(app) as client:
            orders = [join(client, f"p{n}", rating=666.0 if n == 7 else 1500.0) for n in range(15)]
            answers = await together(app, journal, client, *orders)
            for n, answer in enumerate(answers):
                assert answer.status_code == (500 if n == 7 else 201), answer.text
            assert answers[7].headers["content-type"] == "application/problem+json"
            assert answers[7].json()["reason"] == "internal_error"
            assert (await client.get("/v1/queues/pool")).json()["queue"]["waiting"] == 15
            assert (await join(client, "p7")).status_code == 201
            memory, truth = await memory_and_journal(app)
            assert memory == truth
            assert (await client.get("/readyz")).status_code == 200

    asyncio.run(play())


def test_a_question_that_raises_fails_alone() -> None:
    async def play() -> None:
        app = app_over(MemoryJournal(), POOL)
        async with living(app) as client:
            failed = await app.runner.ask(lambda _views, _now: 1 / 0)
            assert (failed.status, failed.reason) == (500, "internal_error")
            assert (await client.get("/v1/queues")).status_code == 200

    asyncio.run(play())


# -- another owner (I9) ------------------------------------------------------------------------------------------------


def test_an_owner_that_was_replaced_cannot_write_and_says_so() -> None:
    store = MemoryStore()
    said: list[str] = []

    async def play() -> None:
        app = app_over(MemoryJournal(store), POOL)
        app.runner.fatal = said.append
        async with living(app) as client:
            assert (await join(client, "mine")).status_code == 201
            commits = len(store.commits)
            MemoryJournal(store)  # somebody else takes over
            check_unavailable(await join(client, "late"))
            await until(lambda: said, "the word that it is over")
            check_unavailable(await join(client, "later"))
            assert len(store.commits) == commits
            assert (await client.get("/readyz")).status_code == 503
        assert len(store.commits) == commits
        assert not store.checkpoints  # a stale owner does not save its state either

    asyncio.run(play())
    assert len(said) == 1
    assert "taken over" in said[0]


def test_a_real_server_that_was_replaced_stops(make_server: MakeServer) -> None:
    server = make_server(queue("duel", size=9))
    server.join("duel", "ann")
    with contextlib.closing(sqlite3.connect(server.db, isolation_level=None, timeout=PATIENCE_S)) as db:
        db.execute("UPDATE owner SET fence = fence + 1")
    with contextlib.suppress(httpx.TransportError):
        answer = server.try_join("duel", "ben")
        assert answer.status_code == 503
        assert answer.json()["reason"] in ("journal_unavailable", "busy")
    assert server.process is not None
    server.process.wait(PATIENCE_S)
    assert "another owner" in server.log.read_text()
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.process = None
    server.start()
    assert server.waiting("duel") == 1


# -- a full disk -------------------------------------------------------------------------------------------------------


def fill(server: Server, start: int = 0) -> tuple[dict[str, str], httpx.Response]:
    """Join until the server cannot; the acknowledged tickets by player, and the refusal."""
    joined: dict[str, str] = {}
    for place in range(start, start + 5_000):
        player = f"player {place}"
        answer = server.try_join("pool", player, key=player, attributes={"about": "x" * 250})
        if answer.status_code != 201:
            return joined, answer
        joined[player] = answer.json()["ticket"]["id"]
    raise AssertionError("the disk never filled")


def check_all_there(server: Server, joined: dict[str, str]) -> None:
    for player, ticket in joined.items():
        view = server.ticket(ticket)
        assert (view["status"], view["players"][0]["id"]) == ("waiting", player)
    assert server.waiting("pool") == len(joined)


def test_a_full_disk_answers_503_and_loses_nothing(make_server: MakeServer) -> None:
    server = make_server(queue("pool", size=100, every_s=60.0), EVENMATCH_CHECKPOINT_DEBT="40")
    server.stop()
    server.start(file_size_max=300_000)
    assert server.process is not None
    pid = server.process.pid
    joined, refused = fill(server)
    check_unavailable(refused)
    assert len(joined) > 10
    eventually(lambda: _refused(server), "refusals that last")
    assert server.http.get("/healthz").status_code == 200
    check_unavailable(server.try_join("pool", "one more"))
    # Space is freed: the same process goes on.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    eventually(lambda: server.try_join("pool", "after", key="after").status_code == 201, "recovery")
    joined["after"] = server.join("pool", "after", key="after")["id"]
    eventually(lambda: server.http.get("/readyz").status_code == 200)
    check_all_there(server, joined)
    # Full again; this time the process is killed, and the next one has all the space it wants.
    size = max(path.stat().st_size for path in server.folder.iterdir())
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 100_000, resource.RLIM_INFINITY))
    more, refused = fill(server, start=10_000)
    check_unavailable(refused)
    server.kill()
    server.start()
    unsure = f"player {10_000 + len(more)}"
    again = server.join("pool", unsure, key=unsure, attributes={"about": "x" * 250})  # the refused may ask again
    check_all_there(server, joined | more | {unsure: again["id"]})
    server.kill()
    assert server.verify()["events"] > len(joined)


def _refused(server: Server) -> bool:
    return server.try_join("pool", "nobody", attributes={"about": "x" * 250}).status_code == 503


def test_a_locked_file_answers_503_and_then_goes_on(make_server: MakeServer) -> None:
    server = make_server(queue("pool", size=100))
    with contextlib.closing(sqlite3.connect(server.db, isolation_level=None, timeout=PATIENCE_S)) as db:
        db.execute("BEGIN EXCLUSIVE")
        refused = server.try_join("pool", "ann")  # SQLite waits for five seconds
        db.execute("ROLLBACK")
    check_unavailable(refused)
    assert "locked" in refused.json()["detail"]
    assert server.join("pool", "ann")
    assert server.waiting("pool") == 1


# -- stopping ----------------------------------------------------------------------------------------------------------


def test_orders_that_wait_when_the_server_stops_are_still_carried_out() -> None:
    store = MemoryStore()
    journal = FailingMemory(store)

    async def play() -> None:
        app = app_over(journal, POOL, settings=Settings(tick_ms=5))
        async with living(app) as client:
            journal.reached.clear()
            journal.gate.clear()
            asked = [asyncio.create_task(join(client, "first"))]
            await until(journal.reached.is_set, "the gate")
            asked += [asyncio.create_task(join(client, f"p{n}")) for n in range(10)]
            await until(lambda: app.runner.depth >= 10, "a mailbox with all of them")
            stopping = asyncio.create_task(app.runner.stop())
            await until(lambda: app.runner.full(), "the stop")
            late = await join(client, "late")
            assert (late.status_code, late.json()["reason"]) == (503, "stopping")
            journal.gate.set()
            assert [answer.status_code for answer in await asyncio.gather(*asked)] == [201] * 11
            await stopping
            assert store.checkpoints[-1].sequence == store.commits[-1].last_sequence

    asyncio.run(play())


def test_a_queue_that_cannot_be_opened_is_an_error_at_once() -> None:
    with pytest.raises(JournalError, match=r"format\.teams"):
        app_over(MemoryJournal(), QueueSpec("bad", Format(0, 1)))
