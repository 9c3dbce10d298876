"""All that is known of a player, handed out; and a player erased, while the journal goes on as if nothing was."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenmatch.domain import events as ev
from evenmatch.domain.queue import CooldownSpec, Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.rating import RatingSpec
from evenmatch.recovery import verify
from evenmatch.service.directory import Directory
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal, MemoryStore
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.protocol import Commit, Journal
from evenmatch.storage.sqlite import SqliteJournal
from tests import postgres

from .callers import bearer, key_in, settings_in, token
from .inside import FailingMemory, app_over, living, memory_and_journal, until

SPECS = (
    QueueSpec("rated", Format(2, 1), wave=WaveSpec(every_s=0.02), rating=RatingSpec(model="elo")),
    QueueSpec(
        "checked",
        Format(2, 1),
        wave=WaveSpec(every_s=0.02),
        ready_check=ReadyCheckSpec(600.0),
        cooldown=CooldownSpec(decline_s=600.0),
    ),
    QueueSpec("pool", Format(2, 50)),
)


class Operator:
    """An application over a journal, and an operator's key to it."""

    def __init__(self, folder: Path, journal: Journal, keep_s: float = 60.0) -> None:
        note = folder / "key.txt"
        if not note.exists():
            note.write_text(key_in(folder, "operator"))
        self.key = note.read_text()
        settings: Settings = settings_in(folder, keep_s=keep_s)
        self.app = app_over(journal, *SPECS, settings=settings)

    async def live(self, story: Any) -> Any:
        async with living(self.app) as client:
            client.headers.update(bearer(self.key))
            told = await story(client)
            memory, replayed = await memory_and_journal(self.app)
            assert memory == replayed
            return told


async def shown(client: httpx.AsyncClient, path: str) -> Any:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def join(client: httpx.AsyncClient, queue: str, *names: str, **more: Any) -> str:
    body = {"players": [{"id": name} for name in names], **more}
    answer = await client.post(f"/v1/queues/{queue}/tickets", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"]["id"])


async def play(client: httpx.AsyncClient) -> dict[str, str]:
    """ann plays ben, declines dan, blocks eve, is blocked by fay, and waits with gil."""
    first = await join(client, "rated", "ann", attributes={"real_name": "Ann Archer"})
    await join(client, "rated", "ben")

    async def match() -> Any:
        return (await shown(client, f"/v1/tickets/{first}"))["ticket"]["match"]

    played = (await until(match, "a match"))["id"]
    told = await client.post(f"/v1/matches/{played}/result", json={"teams": [{"rank": 1}, {"rank": 2}]})
    assert told.status_code == 200, told.text
    checked = await join(client, "checked", "ann")
    await join(client, "checked", "dan")

    async def proposal() -> Any:
        return (await shown(client, f"/v1/tickets/{checked}"))["ticket"]["proposal"]

    proposed = (await until(proposal, "a proposal"))["id"]
    assert (await client.post(f"/v1/proposals/{proposed}/decline", json={"player": "ann"})).status_code == 200
    for who, whom in (("ann", ["eve"]), ("fay", ["ann", "eve"])):
        assert (await client.put(f"/v1/players/{who}/blocks", json={"players": whom})).status_code == 200
    waits = await join(client, "pool", "ann", "gil", attributes={"note": "Ann's party"})
    assert (await client.delete("/v1/players/ann/cooldowns?queue=pool")).status_code == 204
    return {"first": first, "match": played, "checked": checked, "waits": waits}


def opened(kind: str, folder: Path, store: MemoryStore, *, anew: bool = False) -> Journal:
    """The one journal of a kind that a test has."""
    if kind == "postgres":
        return PostgresJournal(postgres.cleared() if anew else postgres.kept(), "the database")
    return MemoryJournal(store) if kind == "memory" else SqliteJournal(folder / "evenmatch.db")


@pytest.mark.parametrize("keep_s", [60.0, 0.0], ids=["in the state", "in the tables"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_an_export_has_all_that_is_known(tmp_path: Path, kind: str, keep_s: float) -> None:
    journal = opened(kind, tmp_path, MemoryStore(), anew=True)

    async def story(client: httpx.AsyncClient) -> None:
        made = await play(client)
        told = (await shown(client, "/v1/players/ann/export"))["export"]
        assert [ticket["id"] for ticket in told["tickets"]] == [made["first"], made["checked"], made["waits"]]
        assert told["tickets"][0]["attributes"] == {"real_name": "Ann Archer"}
        assert [match["id"] for match in told["matches"]] == [made["match"]]
        assert [result["match"] for result in told["results"]] == [made["match"]]
        assert [rating["ladder"] for rating in told["ratings"]] == ["rated"]
        assert [change["match"] for change in told["history"]] == [made["match"]]
        assert (told["blocks"], told["cooldowns"][0]["queue"]) == (["eve"], "checked")
        assert [(e["action"], e["subject"]) for e in told["audit"]] == [
            ("report_result", made["match"]),
            ("lift_cooldown", "ann"),
        ]
        again = (await shown(client, "/v1/players/ann/export"))["export"]
        assert again["audit"][-1]["action"] == "export_player"
        unknown = await client.get("/v1/players/nobody/export")
        assert (unknown.status_code, unknown.json()["reason"]) == (404, "unknown_player")

    asyncio.run(Operator(tmp_path, journal, keep_s).live(story))


@pytest.mark.parametrize("keep_s", [60.0, 0.0], ids=["in the state", "in the tables"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_an_erased_player_is_a_number_and_the_name_is_free(tmp_path: Path, kind: str, keep_s: float) -> None:
    store = MemoryStore()
    opened(kind, tmp_path, store, anew=True).close()

    def again() -> Journal:
        return opened(kind, tmp_path, store)

    async def story(client: httpx.AsyncClient) -> tuple[dict[str, str], str]:
        made = await play(client)
        erased = await client.delete("/v1/players/ann")
        assert erased.status_code == 200, erased.text
        told = erased.json()["erased"]
        assert (told["tickets_cancelled"], told["attributes_removed"], told["blocks_removed"]) == (1, 3, 2)
        await check(client, made, told["shown_as"])
        for path in ("/v1/players/ann", "/v1/players/ann/export", "/v1/players/ann/ratings"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_player"), path
        twice = await client.delete("/v1/players/ann")
        assert (twice.status_code, twice.json()["reason"]) == (404, "unknown_player")
        assert (await shown(client, "/v1/players/fay"))["player"]["blocks"] == ["eve"]
        return made, told["shown_as"]

    async def check(client: httpx.AsyncClient, made: dict[str, str], shown_as: str) -> None:
        match = (await shown(client, f"/v1/matches/{made['match']}"))["match"]
        assert sorted(name for team in match["teams"] for name in team["players"]) == [shown_as, "ben"]
        ticket = (await shown(client, f"/v1/tickets/{made['first']}"))["ticket"]
        assert (ticket["players"][0]["id"], ticket["attributes"]) == (shown_as, {})
        party = (await shown(client, f"/v1/tickets/{made['waits']}"))["ticket"]
        assert (party["status"], party["cause"], party["attributes"]) == ("cancelled", "operator", {})
        audit = (await shown(client, "/v1/audit"))["entries"]
        assert [e["subject"] for e in audit if e["action"] in ("lift_cooldown", "erase_player")] == [shown_as] * 2

    async def newcomer(client: httpx.AsyncClient) -> Any:
        await join(client, "checked", "ann")  # the cool-down was another's
        return (await shown(client, "/v1/players/ann/export"))["export"]

    made, shown_as = asyncio.run(Operator(tmp_path, again(), keep_s).live(story))
    asyncio.run(Operator(tmp_path, again(), keep_s).live(lambda client: check(client, made, shown_as)))
    export = asyncio.run(Operator(tmp_path, again(), keep_s).live(newcomer))
    assert f"#{export['number']}" != shown_as
    assert (len(export["tickets"]), export["matches"], export["history"], export["blocks"]) == (1, [], [], [])
    if kind == "sqlite":
        with SqliteJournal(tmp_path / "evenmatch.db", read_only=True) as journal:
            assert verify(journal).unrecorded == 0


def test_neither_name_nor_attributes_are_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "evenmatch.db"

    async def story(client: httpx.AsyncClient) -> None:
        await join(client, "pool", "xanthippe-of-athens", attributes={"real_name": "Zanthippe Sokratous"})
        await client.delete("/v1/players/xanthippe-of-athens/cooldowns")
        assert (await client.delete("/v1/players/xanthippe-of-athens")).status_code == 200

    asyncio.run(Operator(tmp_path, SqliteJournal(path)).live(story))
    content = path.read_bytes()  # after a clean stop the write-ahead log is in it
    assert b"xanthippe" not in content
    assert b"Zanthippe" not in content


def test_the_last_number_is_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "evenmatch.db"

    async def first(client: httpx.AsyncClient) -> None:
        await join(client, "pool", "ann")
        assert (await client.delete("/v1/players/ann")).json()["erased"]["shown_as"] == "#1"

    async def second(client: httpx.AsyncClient) -> int:
        await join(client, "pool", "ben")
        return int((await shown(client, "/v1/players/ben/export"))["export"]["number"])

    asyncio.run(Operator(tmp_path, SqliteJournal(path)).live(first))
    assert asyncio.run(Operator(tmp_path, SqliteJournal(path)).live(second)) == 2


def test_a_token_with_an_erased_name_opens_nothing_old(tmp_path: Path) -> None:
    operator = Operator(tmp_path, MemoryJournal())

    async def story(client: httpx.AsyncClient) -> None:
        ticket = await join(client, "pool", "ann")
        own = bearer(token("ann"))
        assert (await client.get(f"/v1/tickets/{ticket}", headers=own)).status_code == 200
        assert (await client.delete("/v1/players/ann")).status_code == 200
        answer = await client.get(f"/v1/tickets/{ticket}", headers=own)
        assert (answer.status_code, answer.json()["reason"]) == (403, "not_yours")

    asyncio.run(operator.live(story))


def test_an_erasure_whose_commit_fails_never_happened(tmp_path: Path) -> None:
    journal = FailingMemory()

    async def story(client: httpx.AsyncClient) -> None:
        ticket = await join(client, "pool", "ann", attributes={"a": "b"})
        journal.failures = ["before"]
        answer = await client.delete("/v1/players/ann")
        assert (answer.status_code, answer.json()["reason"]) == (503, "journal_unavailable")
        told = (await shown(client, f"/v1/tickets/{ticket}"))["ticket"]
        assert (told["status"], told["players"][0]["id"], told["attributes"]) == ("waiting", "ann", {"a": "b"})
        assert (await client.delete("/v1/players/ann")).status_code == 200

    asyncio.run(Operator(tmp_path, journal).live(story))


def test_many_erasures_and_joins_of_one_name_at_once(tmp_path: Path) -> None:
    """Each erasure forgets one player, and each join after it is of somebody new; nobody has two numbers at a time."""

    async def story(client: httpx.AsyncClient) -> None:
        await join(client, "pool", "ann")
        for _ in range(5):
            erase = [client.delete("/v1/players/ann") for _ in range(3)]
            joins = [client.post("/v1/queues/pool/tickets", json={"players": [{"id": "ann"}]}) for _ in range(3)]
            answers = await asyncio.gather(*erase, *joins)
            assert {answer.status_code for answer in answers[:3]} <= {200, 404}
            assert {answer.status_code for answer in answers[3:]} <= {201, 409}
        await client.delete("/v1/players/ann")
        assert (await shown(client, "/v1/queues/pool"))["queue"]["waiting"] == 0

    asyncio.run(Operator(tmp_path, MemoryJournal()).live(story))


def test_an_erased_player_can_be_named_as_it_is_shown() -> None:
    journal = MemoryJournal()
    journal.append(Commit(1, 0, [ev.Resumed(1, 0)], names=[(2, "ben")]))  # of player 1 no name is left
    found = Directory(journal).shown(["#1", "#2", "#3", "#x", "ben", "cat"])
    assert found == {"#1": 1, "ben": 2}, "neither who has a name, nor who never was"
