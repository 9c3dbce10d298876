"""Whatever happens to a matcher, its wave comes back or is given up, and the next one works."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest

from evenmatch.domain import events as ev
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, WaveSpec
from evenmatch.matchers import registry
from evenmatch.storage.memory import MemoryJournal, MemoryStore

from .conftest import MakeServer
from .harness import Server, eventually, queue
from .inside import app_over, living, until
from .strange_matchers import TABLE, Cheats, Hangs, Raises


@pytest.fixture(autouse=True)
def _strange(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "MATCHERS", {**registry.MATCHERS, **TABLE})
    monkeypatch.setattr(Raises, "times", 2)
    monkeypatch.setattr(Cheats, "honest", False)
    monkeypatch.setattr(Hangs, "called", 0)
    Hangs.let_go.clear()
    yield
    Hangs.let_go.set()


def spec(matcher: str, *, deadline_s: float = 30.0) -> QueueSpec:
    wave = WaveSpec(every_s=0.02, deadline_s=deadline_s, isolate=False)
    return QueueSpec("duel", Format(2, 1), MatcherSpec(matcher), wave)


async def enter(client: httpx.AsyncClient, name: str, player: str) -> str:
    answer = await client.post(f"/v1/queues/{name}/tickets", json={"players": [{"id": player}]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"]["id"])


async def when_matched(client: httpx.AsyncClient, ticket: str) -> None:
    async def matched() -> bool:
        return bool((await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["status"] == "matched")

    await until(matched, f"a match for {ticket}")


def abandoned(store: MemoryStore) -> list[str]:
    return [event.why for commit in store.commits for event in commit.events if isinstance(event, ev.WaveAbandoned)]


def test_a_matcher_that_raises_costs_its_wave_only() -> None:
    store = MemoryStore()

    async def play() -> None:
        async with living(app_over(MemoryJournal(store), spec("raises"))) as client:
            first = await enter(client, "duel", "ann")
            await enter(client, "duel", "ben")
            await when_matched(client, first)

    asyncio.run(play())
    assert abandoned(store) == ["ZeroDivisionError: a matcher's mistake"] * 2


def test_a_plan_that_breaks_the_rules_is_refused_whole() -> None:
    store = MemoryStore()

    async def play() -> None:
        async with living(app_over(MemoryJournal(store), spec("cheats"))) as client:
            first = await enter(client, "duel", "ann")
            await enter(client, "duel", "ben")
            await until(lambda: len(abandoned(store)) >= 2, "refusals")
            assert (await client.get(f"/v1/tickets/{first}")).json()["ticket"]["status"] == "waiting"
            Cheats.honest = True
            await when_matched(client, first)

    asyncio.run(play())
    assert "seated twice (I1)" in abandoned(store)[0]


def test_a_matcher_that_hangs_loses_its_wave_at_the_deadline_and_holds_up_nobody_else() -> None:
    store = MemoryStore()
    other = QueueSpec("other", Format(2, 1), wave=WaveSpec(every_s=0.02))

    async def play() -> None:
        async with living(app_over(MemoryJournal(store), spec("hangs", deadline_s=0.1), other)) as client:
            first = await enter(client, "duel", "ann")
            await enter(client, "duel", "ben")
            # More deadlines pass than the room has threads, and the other queue is served all the same.
            await until(lambda: len(abandoned(store)) >= 6, "waves that were given up")
            elsewhere = await enter(client, "other", "cat")
            await enter(client, "other", "dan")
            await when_matched(client, elsewhere)
            Hangs.let_go.set()
            await when_matched(client, first)

    asyncio.run(play())
    assert "no plan came back within" in abandoned(store)[0]


def test_a_matcher_that_hangs_does_not_keep_the_server_from_stopping() -> None:
    async def play() -> None:
        async with living(app_over(MemoryJournal(), spec("hangs"))) as client:
            await enter(client, "duel", "ann")
            await enter(client, "duel", "ben")
            await until(lambda: Hangs.called, "the matcher's call")

    started = time.monotonic()
    asyncio.run(play())
    assert time.monotonic() - started < 20


# -- worker processes --------------------------------------------------------------------------------------------------


def worker_of(server: Server) -> psutil.Process | None:
    """The process that plans the server's waves."""
    assert server.process is not None
    for child in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("spawn_main" in part for part in child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                return child
    return None


def ended(worker: psutil.Process) -> bool:
    try:
        return bool(worker.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def given_up(server: Server) -> list[Any]:
    return [event["why"] for event in server.events() if event["type"] == "wave_abandoned"]


def find_worker(server: Server) -> psutil.Process:
    found = eventually(lambda: worker_of(server), "a worker process")
    assert found is not None
    return found


def test_waves_in_a_worker_process_survive_its_death_and_its_silence(make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None, isolate=True, deadline_s=3.0))
    first = server.join("duel", "ann")["id"]
    eventually(lambda: server.ticket(first)["reason"] == "too_few_players", "a wave")
    worker = find_worker(server)
    worker.kill()  # while it has nothing to do: another takes its place
    eventually(lambda: ended(worker), "the worker's end")
    server.join("duel", "ben")
    server.when(first, "matched")

    worker = find_worker(server)
    worker.send_signal(signal.SIGSTOP)  # it will not answer
    second, third = server.join("duel", "cat")["id"], server.join("duel", "dan")["id"]
    server.when(second, "matched")
    server.when(third, "matched")
    assert any("no plan" in why for why in given_up(server))
    assert ended(worker)

    worker = find_worker(server)
    worker.send_signal(signal.SIGSTOP)
    fourth = server.join("duel", "eve")["id"]
    eventually(lambda: server.http.get("/v1/queues/duel").json()["queue"]["wave"] > 3, "a wave in flight")
    worker.kill()  # in the middle of it
    server.join("duel", "fay")
    server.when(fourth, "matched")

    worker = find_worker(server)
    server.stop()
    eventually(lambda: ended(worker), "the worker's end")
    assert "resource_tracker" not in server.log.read_text()


def test_a_worker_process_ends_with_a_server_that_was_killed(make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None, isolate=True))
    first = server.join("duel", "ann")["id"]
    worker = find_worker(server)
    server.kill()
    eventually(lambda: ended(worker), "the worker's end")
    server.start()
    server.join("duel", "ben")
    server.when(first, "matched")
