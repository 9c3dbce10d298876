"""For those who run the server: numbers by queue, `evenmatch top`, a backup under load, and the page of refusals."""

import asyncio
import io
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from evenmatch.cli import top
from evenmatch.domain.queue import CooldownSpec, Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.errors import JournalError, JournalForeign
from evenmatch.recovery import verify
from evenmatch.service.refusals_page import refusals_page
from evenmatch.storage.backup import back_up
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.sqlite import SqliteJournal

from .conftest import MakeServer
from .harness import evenmatch, eventually, queue
from .inside import app_over, living, until

SPECS = (
    QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02)),
    QueueSpec(
        "checked",
        Format(2, 1),
        wave=WaveSpec(every_s=0.02),
        ready_check=ReadyCheckSpec(600.0),
        cooldown=CooldownSpec(),
    ),
)


async def numbers_of(client: httpx.AsyncClient) -> top.Look:
    return top.Look(0.0, [], top.samples_of((await client.get("/metrics")).text))


async def join(client: httpx.AsyncClient, name: str, player: str) -> str:
    answer = await client.post(f"/v1/queues/{name}/tickets", json={"players": [{"id": player}]})
    return str(answer.json()["ticket"]["id"])


@pytest.mark.parametrize("fast", [True, False], ids=["hot", "litestar"])
def test_what_players_live_through_is_counted_by_queue(fast: bool) -> None:
    async def story() -> None:
        async with living(app_over(MemoryJournal(), *SPECS, fast=fast)) as client:
            found = await numbers_of(client)
            assert found.samples["evenmatch_matches_made_total"][(("queue", "duel"),)] == 0
            joins = (("duel", "ann"), ("duel", "ben"), ("checked", "eve"), ("checked", "fay"))
            tickets = [await join(client, name, player) for name, player in joins]

            async def shown(ticket: str, part: str) -> Any:
                return (await client.get(f"/v1/tickets/{ticket}")).json()["ticket"][part]

            await until(lambda: shown(tickets[0], "match"), "a match")
            proposal = (await until(lambda: shown(tickets[2], "proposal"), "a proposal"))["id"]
            for player in ("eve", "fay"):
                assert (
                    await client.post(f"/v1/proposals/{proposal}/accept", json={"player": player})
                ).status_code == 200
            again = [await join(client, "checked", player) for player in ("cat", "dan")]
            proposal = (await until(lambda: shown(again[0], "proposal"), "a proposal"))["id"]
            await client.post(f"/v1/proposals/{proposal}/decline", json={"player": "cat"})
            assert (await client.post("/v1/queues/none/tickets", json={"players": [{"id": "x"}]})).status_code == 404
            assert (await client.get("/v1/matches/m-000000000099")).status_code == 404
            assert (await client.get("/nowhere")).status_code == 404

            found = await numbers_of(client)
            for name, joined, made in (("duel", 2, 1), ("checked", 4, 1)):
                assert found.value("evenmatch_tickets_joined_total", queue=name) == joined
                assert found.value("evenmatch_matches_made_total", queue=name) == made
                assert found.value("evenmatch_wait_seconds_count", queue=name) == 2
                assert found.value("evenmatch_match_quality_count", queue=name) == 1
                assert found.buckets("evenmatch_match_quality", queue=name)[1.0] == 1
                assert found.value("evenmatch_match_quality_sum", queue=name) == pytest.approx(1.0)
            assert found.value("evenmatch_ready_checks_total", queue="checked", outcome="made") == 1
            assert found.value("evenmatch_ready_checks_total", queue="checked", outcome="declined") == 1
            assert found.value("evenmatch_tickets_gone_total", queue="checked", cause="declined") == 1
            assert found.value("evenmatch_cooldowns_total", queue="checked", cause="declined") == 1
            assert found.value("evenmatch_refusals_total", reason="unknown_queue") == 1
            assert found.value("evenmatch_refusals_total", reason="unknown_match") == 1
            assert found.value("evenmatch_refusals_total", reason="not_found") == 1
            assert found.value("evenmatch_journal_lag_seconds_count") > 0

    asyncio.run(story())


def test_the_page_of_refusals_is_that_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "refusals.md"
    assert page.read_text("utf-8") == refusals_page(), "make it anew: evenmatch refusals > docs/refusals.md"


# -- top ---------------------------------------------------------------------------------------------------------------


def test_quantiles_are_of_what_came_between_two_looks() -> None:
    before, after = {1.0: 10.0, 2.0: 10.0, float("inf"): 10.0}, {1.0: 10.0, 2.0: 14.0, float("inf"): 15.0}
    assert top.quantile(before, after, 0.4) == pytest.approx(1.5)
    assert top.quantile(before, after, 0.99) == 2.0  # beyond the last bound all that is known is the bound
    assert top.quantile({}, before, 0.5) == pytest.approx(0.5)
    assert top.quantile(before, before, 0.5) is None
    assert top.quantile({}, {}, 0.5) is None


def test_top_prints_one_frame_that_reads_without_colours(make_server: MakeServer) -> None:
    server = make_server(queue("duel", timeout_s=None) + queue("quiet", size=3))
    tickets = [server.http.post("/v1/queues/duel/tickets", json={"players": [{"id": n}]}) for n in ("ann", "ben")]
    server.http.post("/v1/queues/quiet/tickets", json={"players": [{"id": "cat"}]})
    server.http.post("/v1/queues/none/tickets", json={"players": [{"id": "cat"}]})
    assert [answer.status_code for answer in tickets] == [201, 201]

    def told() -> Any:
        ran = evenmatch("top", "--url", server.url, "--once", "--every", "0.1", "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    found = told()
    while found["queues"][0]["wait_p50_s"] is None:
        found = told()
    duel, quiet = found["queues"]
    assert (duel["queue"], duel["waiting"], duel["quality"]) == ("duel", 0, 1.0)
    assert (quiet["waiting"], quiet["wait_p50_s"], quiet["ready_checks_kept"]) == (1, None, None)
    assert (found["ready"], found["refusals"]) == (True, {"unknown_queue": 1})
    ran = evenmatch("top", "--url", server.url, "--once", "--every", "0.1")
    assert ran.returncode == 0, ran.stderr
    assert "\x1b" not in ran.stdout
    for word in ("ready", "waiting", "matches/min", "wait p50", "duel", "quiet", "100%", "unknown_queue 1", "lag p99"):
        assert word in ran.stdout, word


@pytest.mark.parametrize("width", [60, 80, 119, 120, 200])
def test_top_shows_the_mode_in_a_terminal_of_any_width(width: int) -> None:
    modes = {"duel": "open", "team5": "paused", "a-queue-with-a-name-that-is-very-long-indeed": "draining"}
    views = [
        {"name": name, "mode": mode, "waiting": 123_456, "oldest_wait_ms": 7_100_000} for name, mode in modes.items()
    ]
    before, after = top.Look(0.0, views, {}), top.Look(60.0, views, {})
    console = Console(width=width, file=io.StringIO())
    console.print(top.frame("http://127.0.0.1:8750", before, after, console.width))
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    heading, *rows = lines[2:6]
    assert heading.split()[:3] == ["queue", "mode", "waiting"]
    assert ("wave" in heading) == (width >= 120)
    for (name, mode), row in zip(modes.items(), rows, strict=True):
        shown, *cells = row.split()
        assert name.startswith(shown.rstrip("…")), row
        assert cells[:4] == [mode, "123,456", "118.3", "min"], row


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--url", "http://127.0.0.1:9", "--once"), "does not answer"),
        (("--every", "0"), "--every is 0"),
        (("--json",), "add --once"),
        (("--key", "schlüssel"), "the key cannot be one"),
    ],
)
def test_top_says_what_is_wrong(arguments: tuple[str, ...], said: str) -> None:
    ran = evenmatch("top", *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


# -- backup ------------------------------------------------------------------------------------------------------------


def test_a_backup_under_load_is_a_moment_of_the_journal(make_server: MakeServer, tmp_path: Path) -> None:
    server = make_server(queue("duel", timeout_s=None))
    stop, joined = threading.Event(), [0]

    def load() -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            while not stop.is_set():
                body = {"tickets": [{"players": [{"id": f"p{joined[0]}-{n}"}]} for n in range(10)]}
                assert client.post("/v1/queues/duel/tickets:batch", json=body).status_code == 200
                joined[0] += 1

    thread = threading.Thread(target=load)
    thread.start()
    try:
        for number in range(2):
            before = joined[0]
            eventually(lambda before=before: joined[0] > before or not thread.is_alive(), "joins")  # type: ignore[misc]
            target = tmp_path / f"copy{number}.db"
            last = back_up(str(server.db), target)
            with SqliteJournal(target, read_only=True) as journal:
                assert verify(journal).events == last
    finally:
        stop.set()
        thread.join()
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy0.db", "copy1.db"]


def test_a_backup_overwrites_nothing_and_leaves_nothing_half(tmp_path: Path) -> None:
    path, target = tmp_path / "journal.db", tmp_path / "copy.db"
    SqliteJournal(path).close()
    target.write_text("mine")
    with pytest.raises(JournalError, match="is there already"):
        back_up(str(path), target)
    with pytest.raises(JournalError, match="is there already"):
        back_up(str(path), path)
    with pytest.raises(JournalError, match="make it first"):
        back_up(str(path), tmp_path / "none" / "copy.db")
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(JournalForeign):
        back_up(str(other), tmp_path / "new.db")
    assert target.read_text() == "mine"
    assert {one.name for one in tmp_path.iterdir()} - {"journal.db.lock"} == {"journal.db", "copy.db", "other.db"}
    ran = evenmatch("journal", "backup", str(path), str(tmp_path / "new.db"), "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["sequence"] == 0
    with SqliteJournal(tmp_path / "new.db", read_only=True) as journal:
        assert verify(journal).events == 0
    with SqliteJournal(tmp_path / "new.db") as journal:  # a server could go on from it
        assert journal.last == 0
