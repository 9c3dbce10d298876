"""Threads that look into the database: woken at once by a ring, and by themselves where none comes."""

import threading
import time
from collections.abc import Collection

from evenmatch.domain.queue import QueueSpec
from evenmatch.service.bell import Bell
from evenmatch.service.inbox import Inbox
from evenmatch.service.owner import Owner
from evenmatch.storage.inbox import Request
from evenmatch.storage.memory import MemoryJournal
from tests import postgres
from tests.postgres import bare

from .conftest import MakeServer
from .harness import PATIENCE_S, queue
from .inside import app_over
from .test_inbox import in_a_loop

LONG_S = 3_600.0


def waits(bell: Bell, most_s: float | None = None) -> threading.Thread:
    thread = threading.Thread(target=bell.wait, args=(most_s,), daemon=True)
    thread.start()
    return thread


def test_a_ring_wakes_whoever_waits_and_whoever_waits_next() -> None:
    bell = Bell(LONG_S, LONG_S)
    waiting = waits(bell)
    bell.ring()
    waiting.join(PATIENCE_S)
    later = waits(bell)
    later.join(PATIENCE_S)
    assert not waiting.is_alive()
    assert not later.is_alive()
    bell.clear()
    unrung = waits(bell)
    unrung.join(0.05)
    assert unrung.is_alive()
    bell.ring()


def test_who_is_deaf_looks_often_and_who_hears_seldom() -> None:
    bell = Bell(0.001, LONG_S)
    waits(bell).join(PATIENCE_S)
    bell.heard = True
    waiting = waits(bell)
    waiting.join(0.05)
    assert waiting.is_alive()
    bell.ring()
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()


@in_a_loop
async def test_an_inbox_that_is_rung_for_is_seldom_looked_into() -> None:
    app = app_over(MemoryJournal(), QueueSpec("duel"))
    assert isinstance(app.runner, Owner)
    looks: list[float] = []

    def look(_: Collection[str]) -> list[Request]:
        looks.append(time.monotonic())
        return []

    inbox = Inbox(app.runner, app.apply, look)
    inbox.bell.heard = True
    inbox.start()
    time.sleep(0.35)
    await inbox.close()
    assert len(looks) <= 5  # every 20 ms it would be 17


def test_a_cluster_goes_on_where_nobody_hears_the_rings(make_server: MakeServer) -> None:
    """The sessions that listen are ended again and again: what was rung meanwhile is found by looking."""
    url = postgres.cleared()
    worker = make_server(queue("duel"), place=url, EVENMATCH_ROLE="worker")
    api = make_server(None, place=url, EVENMATCH_ROLE="api")
    listening = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
    ended = 0
    for number in range(3):
        ended += len(bare(url, f"{listening} AND datname = current_database()"))
        first, second = (api.join("duel", f"{name}-{number}") for name in ("ann", "ben"))
        proposal = api.when(first["id"], "proposed")["proposal"]["id"]
        for name in ("ann", "ben"):
            assert api.respond(proposal, f"{name}-{number}").status_code == 200
        assert api.when(second["id"], "matched")["match"]["id"]
    assert ended >= 2, "nobody was listening"
    assert worker.http.get("/readyz").status_code == 200
