"""A queue's rules, changed while it runs: validated, versioned, taken back, and kept over a restart."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import structlog

from evenmatch import config
from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, TicketSpec, WaveSpec
from evenmatch.errors import ConfigError
from evenmatch.recovery import verify
from evenmatch.storage.memory import MemoryJournal, MemoryStore
from evenmatch.storage.protocol import Journal
from evenmatch.storage.sqlite import SqliteJournal
from evenmatch.wiring import refuse_without_secrets

from .callers import bearer, key_in, settings_in
from .inside import FailingMemory, app_over, living, memory_and_journal, until

DUEL = QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=600.0))
TEAM = QueueSpec("team", Format(2, 3), wave=WaveSpec(every_s=600.0))
RULES = {
    "format": {"teams": 2, "size": 1},
    "matcher": {"name": "first_come"},
    "wave": {"every_s": 300.0},
    "ready_check": {"timeout_s": 9},
}

Talk = Callable[[httpx.AsyncClient], Awaitable[Any]]


def talk(folder: Path, journal: Journal, *specs: QueueSpec, to: Talk, fast: bool = True) -> Any:
    """Talk to an application as an operator; what the journal gives is what the engine has."""
    keys = folder / "evenmatch.keys"
    key = keys.with_suffix(".txt")
    if not keys.exists():
        key.write_text(key_in(folder, "operator", "night shift"))
    app = app_over(journal, *specs, fast=fast, settings=settings_in(folder))

    async def session() -> Any:
        async with living(app) as client:
            client.headers.update(bearer(key.read_text()))
            said = await to(client)
            memory, replayed = await memory_and_journal(app)
            assert memory == replayed
            return said

    return asyncio.run(session())


async def put(client: httpx.AsyncClient, rules: Any, queue: str = "duel", **more: Any) -> tuple[int, Any]:
    answer = await client.put(f"/v1/queues/{queue}/spec", json=rules, **more)
    return answer.status_code, answer.json()


def test_a_change_says_what_changed_and_holds_at_once(tmp_path: Path) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        status, said = await put(client, RULES)
        assert status == 200
        assert said["change"] == {
            "queue": "duel",
            "version": 2,
            "previous": 1,
            "dry_run": False,
            "changes": [
                {"key": "ready_check.timeout_s", "before": None, "after": 9.0},
                {"key": "wave.every_s", "before": 600.0, "after": 300.0},
            ],
            "cancelled": 0,
        }
        queue = (await client.get("/v1/queues/duel")).json()["queue"]
        assert (queue["version"], queue["spec"]["ready_check"]) == (2, {"timeout_s": 9.0})
        status, said = await put(client, RULES)  # the same again
        assert (status, said["change"]["version"], said["change"]["changes"]) == (200, 2, [])
        audit = (await client.get("/v1/audit")).json()["entries"]
        assert [(entry["action"], entry["subject"]) for entry in audit] == [("change_rules", "duel")]
        assert "wave.every_s 600.0 -> 300.0" in audit[0]["detail"]
        assert audit[0]["who"].startswith("night shift")

    talk(tmp_path, MemoryJournal(), DUEL, to=to)


def test_a_change_says_which_default_counted_before_or_will_count(tmp_path: Path) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        wider = {**RULES, "matcher": {"name": "even", "window": 150, "window_free_s": 60}}
        await put(client, {**RULES, "matcher": {"name": "even"}})
        _, said = await put(client, wider)
        assert said["change"]["changes"] == [
            {"key": "matcher.window", "before": None, "after": 150, "default": 100},
            {"key": "matcher.window_free_s", "before": None, "after": 60, "default": 600},
        ]
        back = await client.post("/v1/queues/duel/rollback", json={"version": 2})
        assert back.json()["change"]["changes"][0] == {
            "key": "matcher.window",
            "before": 150,
            "after": None,
            "default": 100,
        }
        details = [entry["detail"] for entry in (await client.get("/v1/audit")).json()["entries"]]
        assert "matcher.window 100 (default) -> 150;" in details[1]
        assert "matcher.window 150 -> 100 (default);" in details[2]

    talk(tmp_path, MemoryJournal(), DUEL, to=to)


def test_a_dry_run_changes_nothing_and_counts_those_who_would_have_to_go(tmp_path: Path) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        parties = (["ann", "ben"], ["cat"], ["dan", "eve"])
        tickets = []
        for party in parties:
            joined = await client.post("/v1/queues/team/tickets", json={"players": [{"id": name} for name in party]})
            tickets.append(joined.json()["ticket"]["id"])
        smaller = {"format": {"teams": 2, "size": 1}, "wave": {"every_s": 600}}
        status, said = await put(client, smaller, "team", params={"dry_run": "true"})
        assert (status, said["change"]["dry_run"], said["change"]["cancelled"]) == (200, True, 2)
        queue = (await client.get("/v1/queues/team")).json()["queue"]
        assert (queue["version"], queue["waiting"]) == (1, 3)
        assert (await client.get("/v1/audit")).json()["entries"] == []
        status, said = await put(client, smaller, "team")
        assert (status, said["change"]["cancelled"]) == (200, 2)
        told = [(await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["cause"] for ticket in tickets]
        assert told == ["rules_changed", None, "rules_changed"]

    talk(tmp_path, MemoryJournal(), TEAM, to=to)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"wave": {"every": 1}}, "wave.every: unknown key 'every'"),
        ({"every_s": 1}, "did you mean 'wave.every_s'?"),
        ({"format": {"teams": 0}}, "format.teams: 0 is not a number of teams"),
        ({"matcher": {"name": "first"}}, "matcher"),
        ({"matcher": {"name": "epgc", "parameters": {"nonsense": 1}}}, "nonsense"),
        ({"cooldown": {}}, "there is no ready check"),
        ({"name": "other"}, "unknown key 'name'"),
        ({"door": {}}, "unknown key 'door'"),
        ({"wave": {"every_s": 2**63}}, "does not fit"),
        ({"matcher": {"name": "ladder"}, "format": {"teams": 3, "size": 1}}, "format"),
        ({"rating": {"model": "elo", "ladder": "shared"}}, "share the ladder 'shared'"),
    ],
)
def test_bad_rules_are_refused_as_a_file_would_be(tmp_path: Path, rules: Any, said: str) -> None:
    rated = msgspec.convert({"name": "rated", "rating": {"model": "glicko2", "ladder": "shared"}}, QueueSpec)

    async def to(client: httpx.AsyncClient) -> None:
        status, problem = await put(client, rules)
        assert (status, problem["reason"]) == (422, "bad_spec")
        assert said in problem["detail"]
        assert (await client.get("/v1/queues/duel")).json()["queue"]["version"] == 1

    talk(tmp_path, MemoryJournal(), rated, DUEL, to=to)


def test_rules_whose_secret_is_not_there_are_refused_as_at_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GAME_SECRET", raising=False)
    asking = RULES | {"allocate": {"url": "https://game.example/allocate", "secret": "GAME_SECRET"}}
    journal = SqliteJournal(tmp_path / "j.db")

    async def to(client: httpx.AsyncClient) -> None:
        for text, what in ((None, "is not set"), ("short", "is too short")):
            if text is not None:
                monkeypatch.setenv("GAME_SECRET", text)
            for query in ("", "?dry_run=true"):
                answer = await client.put(f"/v1/queues/duel/spec{query}", json=asking)
                assert (answer.status_code, answer.json()["reason"]) == (422, "bad_spec")
                with pytest.raises(ConfigError) as at_a_start:
                    refuse_without_secrets([config.of_table("duel", asking)])
                assert answer.json()["detail"] == str(at_a_start.value)
                assert f"queues.duel.allocate.secret: the variable GAME_SECRET {what}" in answer.json()["detail"]
        monkeypatch.setenv("GAME_SECRET", "known to the game and to us")
        assert (await put(client, asking))[1]["change"]["version"] == 2
        assert (await put(client, RULES))[1]["change"]["version"] == 3
        monkeypatch.delenv("GAME_SECRET")
        back = await client.post("/v1/queues/duel/rollback", json={"version": 2})
        assert (back.status_code, back.json()["reason"]) == (422, "bad_spec")
        monkeypatch.setenv("GAME_SECRET", "known to the game and to us")
        assert (await put(client, asking))[1]["change"]["version"] == 4

    talk(tmp_path, journal, DUEL, to=to)

    async def nothing(client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/queues/duel")).json()["queue"]["version"] == 4

    for text, warnings in (("known to the game and to us", 0), ("", 1)):
        monkeypatch.setenv("GAME_SECRET", text)
        with structlog.testing.capture_logs() as logged:
            talk(tmp_path, SqliteJournal(tmp_path / "j.db"), DUEL, to=nothing)
        said = [line for line in logged if line["event"] == "a queue's matches will get no game server"]
        assert len(said) == warnings
        assert all(line["log_level"] == "warning" and "GAME_SECRET is not set" in line["why"] for line in said)


@pytest.mark.parametrize("fast", [True, False])
def test_what_is_not_even_rules_is_refused(tmp_path: Path, fast: bool) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        for content, params, header in (
            (b"", {}, {}),
            (b"[]", {}, {}),
            (b"{", {}, {}),
            (b"{}", {"dry_run": "perhaps"}, {}),
            (b"{}", {}, {"if-match": "one"}),
        ):
            answer = await client.put("/v1/queues/duel/spec", content=content, params=params, headers=header)
            assert (answer.status_code, answer.json()["reason"]) == (400, "malformed"), content
        for path in ("/v1/queues/none/spec", "/v1/queues/none/rollback"):
            body: Any = {"version": 1} if path.endswith("rollback") else {"nonsense": 1}
            method = "POST" if path.endswith("rollback") else "PUT"
            answer = await client.request(method, path, json=body)
            assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_queue")
        answer = await client.get("/v1/queues/none/versions")
        assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_queue")
        for body in ({}, {"version": "1"}, {"version": 1, "whom": ""}):
            answer = await client.post("/v1/queues/duel/rollback", json=body)
            assert (answer.status_code, answer.json()["reason"]) == (400, "malformed"), body
        answer = await client.post("/v1/queues/duel/rollback", json={"version": 7})
        assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_version")
        assert "kept versions: 1 to 1" in answer.json()["detail"]

    talk(tmp_path, MemoryJournal(), DUEL, to=to, fast=fast)


def test_if_match_keeps_two_operators_from_undoing_each_other(tmp_path: Path) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        first = await client.put("/v1/queues/duel/spec", json=RULES, headers={"If-Match": '"1"'})
        assert (first.status_code, first.headers["etag"]) == (200, '"2"')
        status, problem = await put(client, {}, headers={"If-Match": "1"})
        assert (status, problem["reason"]) == (412, "wrong_version")
        assert (await client.get("/v1/queues/duel")).json()["queue"]["version"] == 2
        back = await client.post("/v1/queues/duel/rollback", json={"version": 1}, headers={"If-Match": "1"})
        assert (back.status_code, back.json()["reason"]) == (412, "wrong_version")
        assert (await put(client, {}, headers={"If-Match": "*"}))[0] == 200

    talk(tmp_path, MemoryJournal(), DUEL, to=to)


def test_a_rollback_is_a_new_version_with_old_rules(tmp_path: Path) -> None:
    async def to(client: httpx.AsyncClient) -> None:
        await put(client, RULES)
        asked = await client.post("/v1/queues/duel/rollback", json={"version": 1, "dry_run": True})
        assert [change["key"] for change in asked.json()["change"]["changes"]] == [
            "ready_check.timeout_s",
            "wave.every_s",
        ]
        done = await client.post("/v1/queues/duel/rollback", json={"version": 1})
        assert (done.status_code, done.json()["change"]["version"]) == (200, 3)
        told = (await client.get("/v1/queues/duel/versions")).json()
        assert told["version"] == 3
        assert [(v["version"], v["source"]) for v in told["versions"]] == [
            (1, "file"),
            (2, "operator"),
            (3, "operator"),
        ]
        assert told["versions"][0]["rules"] == told["versions"][2]["rules"]
        assert told["versions"][1]["changes"][1] == {"key": "wave.every_s", "before": 600.0, "after": 300.0}
        # What is shown can be sent back.
        status, said = await put(client, told["versions"][1]["rules"])
        assert (status, said["change"]["version"]) == (200, 4)
        shown = (await client.get("/v1/queues/duel")).json()["queue"]["spec"]
        del shown["name"], shown["door"]
        assert (await put(client, shown))[1]["change"]["version"] == 4
        actions = [entry["action"] for entry in (await client.get("/v1/audit")).json()["entries"]]
        assert actions == ["change_rules", "rollback to 1", "change_rules"]

    talk(tmp_path, MemoryJournal(), DUEL, to=to)


def journals(tmp_path: Path, kind: str) -> Callable[[], Journal]:
    store = MemoryStore()
    return (lambda: MemoryJournal(store)) if kind == "memory" else lambda: SqliteJournal(tmp_path / "evenmatch.db")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_restart_with_the_same_file_does_not_undo_an_operators_rules(tmp_path: Path, kind: str) -> None:
    again = journals(tmp_path, kind)

    async def change(client: httpx.AsyncClient) -> None:
        assert (await put(client, RULES))[0] == 200

    async def look(client: httpx.AsyncClient) -> tuple[float, int]:
        queue = (await client.get("/v1/queues/duel")).json()["queue"]
        return queue["spec"]["wave"]["every_s"], queue["version"]

    talk(tmp_path, again(), DUEL, to=change)
    assert talk(tmp_path, again(), DUEL, to=look) == (300.0, 2)
    assert talk(tmp_path, again(), to=look) == (300.0, 2)  # a file without the queue
    edited = msgspec.structs.replace(DUEL, wave=WaveSpec(every_s=200.0))
    assert talk(tmp_path, again(), edited, to=look) == (200.0, 3)  # the file has changed: it counts
    assert talk(tmp_path, again(), edited, to=look) == (200.0, 3)
    talk(tmp_path, again(), edited, to=change)
    assert talk(tmp_path, again(), edited, to=look) == (300.0, 4)
    assert talk(tmp_path, again(), DUEL, to=look) == (600.0, 5)  # back to what it said once: that is a change too


def test_a_file_that_takes_over_an_operators_rules_counts_as_applied(tmp_path: Path) -> None:
    again = journals(tmp_path, "memory")

    async def change(client: httpx.AsyncClient) -> None:
        assert (await put(client, RULES))[0] == 200

    async def look(client: httpx.AsyncClient) -> float:
        return float((await client.get("/v1/queues/duel")).json()["queue"]["spec"]["wave"]["every_s"])

    talk(tmp_path, again(), DUEL, to=change)
    taken = msgspec.structs.replace(DUEL, wave=WaveSpec(every_s=300.0), ready_check=ReadyCheckSpec(9.0))
    assert talk(tmp_path, again(), taken, to=look) == 300.0
    assert talk(tmp_path, again(), DUEL, to=look) == 600.0


def test_a_journal_from_before_versions_keeps_an_operators_rules_too(tmp_path: Path) -> None:
    again = journals(tmp_path, "sqlite")

    async def change(client: httpx.AsyncClient) -> None:
        assert (await put(client, RULES))[0] == 200

    async def look(client: httpx.AsyncClient) -> Any:
        told = (await client.get("/v1/queues/duel/versions")).json()["versions"]
        return [(version["source"], version["rules"]["wave"]["every_s"]) for version in told]

    talk(tmp_path, again(), DUEL, to=look)
    with again() as journal:  # type: ignore[attr-defined]
        journal._db.execute("DROP TABLE queue_versions")
    talk(tmp_path, again(), DUEL, to=change)
    assert talk(tmp_path, again(), DUEL, to=look) == [("file", 600.0), ("operator", 300.0)]
    with SqliteJournal(tmp_path / "evenmatch.db", read_only=True) as journal:
        assert verify(journal).hash


def test_a_change_whose_commit_fails_never_happened(tmp_path: Path) -> None:
    journal = FailingMemory()

    async def to(client: httpx.AsyncClient) -> None:
        journal.failures = ["before"]
        status, problem = await put(client, RULES)
        assert (status, problem["reason"]) == (503, "journal_unavailable")
        assert (await client.get("/v1/queues/duel")).json()["queue"]["version"] == 1
        assert (await client.get("/v1/audit")).json()["entries"] == []
        assert (await put(client, RULES))[0] == 200
        journal.failures = ["before"]
        assert (await put(client, {}))[0] == 503
        queue = (await client.get("/v1/queues/duel")).json()["queue"]  # reloading is a restart, too
        assert (queue["version"], queue["spec"]["wave"]["every_s"]) == (2, 300.0)

    talk(tmp_path, journal, DUEL, to=to)


def test_those_who_wait_are_tried_as_often_as_the_new_rules_say(tmp_path: Path) -> None:
    slow = QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=600.0), ticket=TicketSpec(9_000.0, 9_000.0))

    async def to(client: httpx.AsyncClient) -> None:
        async def shown(path: str, part: str) -> Any:
            return next(iter((await client.get(path)).json().values()))[part]

        tickets = []
        for name in ("ann", "ben"):
            joined = await client.post("/v1/queues/duel/tickets", json={"players": [{"id": name}]})
            tickets.append(joined.json()["ticket"]["id"])
            await until(lambda: shown("/v1/queues/duel", "wave"), "the first wave")  # the next is due in ten minutes
        assert await shown(f"/v1/tickets/{tickets[1]}", "status") == "waiting"
        rules = {"wave": {"every_s": 0.02}, "ticket": {"expires_s": 9_000}, "ready_check": {"timeout_s": 600}}
        assert (await put(client, rules))[0] == 200
        proposal = await until(lambda: shown(f"/v1/tickets/{tickets[0]}", "proposal"), "a proposal")
        assert proposal["pending"] == 2

    talk(tmp_path, MemoryJournal(), slow, to=to)
