"""Backups over HTTP: whole, noted, one at a time, never where the caller likes, and never half."""

import asyncio
import shutil
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenmatch.recovery import verify
from evenmatch.service import backups
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.sqlite import SqliteJournal

from .callers import SPECS, bearer, key_in, settings_in
from .inside import FailingSqlite, app_over, living, until


class Told:
    """A client with an operator's key, over a journal on disk."""

    def __init__(self, client: httpx.AsyncClient, folder: Path, key: str) -> None:
        self.client, self.folder, self.headers = client, folder, bearer(key)

    async def backup(self, query: str = "", **more: Any) -> httpx.Response:
        return await self.client.post(f"/v1/backup{query}", headers=self.headers, **more)

    async def audit(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get("/v1/audit", headers=self.headers)).json()["entries"]
        return found

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if "backup" in path.name)


def tell(folder: Path, story: Any, journal: Any = None) -> None:
    key = key_in(folder, "operator")

    async def run() -> None:
        kept = SqliteJournal(folder / "evenmatch.db") if journal is None else journal
        async with living(app_over(kept, *SPECS, settings=settings_in(folder))) as client:
            await story(Told(client, folder, key))

    asyncio.run(run())


def test_a_backup_is_whole_and_noted(tmp_path: Path) -> None:
    async def story(told: Told) -> None:
        body = {"players": [{"id": "ann"}]}
        joined = await told.client.post("/v1/queues/pool/tickets", json=body, headers=told.headers)
        assert joined.status_code == 201
        answers = [await told.backup(), await told.backup()]
        assert [answer.status_code for answer in answers] == [200, 200]
        made = [answer.json()["backup"] for answer in answers]
        assert told.files() == sorted(one["file"] for one in made)
        for one in made:
            copy = tmp_path / one["file"]
            assert copy.stat().st_size == one["bytes"]
            with SqliteJournal(copy, read_only=True) as journal:
                assert journal.last == one["sequence"]
                assert verify(journal).events == one["sequence"]
        entries = await told.audit()
        assert [(entry["action"], entry["subject"]) for entry in entries] == [("backup", one["file"]) for one in made]
        assert "the operator" in entries[0]["who"]

    tell(tmp_path, story)


def test_the_caller_chooses_no_path(tmp_path: Path) -> None:
    async def story(told: Told) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        asked = {"path": str(elsewhere / "x.db"), "file": "../x.db", "target": str(elsewhere)}
        answer = await told.backup("?file=../x.db&path=/tmp/x.db", json=asked)
        assert answer.status_code == 200
        assert "/" not in answer.json()["backup"]["file"]
        assert list(elsewhere.iterdir()) == []

    tell(tmp_path, story)


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on = threading.Event(), threading.Event()
    copied = backups._copied

    def slow(place: str, lane: str) -> Any:
        entered.set()
        assert go_on.wait(60)
        return copied(place, lane)

    monkeypatch.setattr(backups, "_copied", slow)

    async def story(told: Told) -> None:
        first = asyncio.create_task(told.backup())
        await until(entered.is_set, "the first backup")
        refused = await told.backup()
        assert (refused.status_code, refused.json()["reason"]) == (409, "backup_under_way")
        go_on.set()
        assert (await first).status_code == 200
        assert (await told.backup()).status_code == 200

    tell(tmp_path, story)


def test_a_full_disk_and_a_journal_in_memory_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 99, 1))

    async def full(told: Told) -> None:
        refused = await told.backup()
        assert (refused.status_code, refused.json()["reason"]) == (503, "no_backup")
        assert "1 bytes are free" in refused.json()["detail"]
        assert str(tmp_path) not in refused.text
        assert (told.files(), await told.audit()) == ([], [])

    tell(tmp_path, full)

    async def nowhere(told: Told) -> None:
        refused = await told.backup()
        assert (refused.status_code, refused.json()["reason"]) == (503, "no_backup")

    tell(tmp_path, nowhere, MemoryJournal())


def test_what_cannot_be_noted_is_not_kept(tmp_path: Path) -> None:
    journal = FailingSqlite(tmp_path / "evenmatch.db")

    async def story(told: Told) -> None:
        journal.failures = ["before"]
        refused = await told.backup()
        assert (refused.status_code, refused.json()["reason"]) == (503, "journal_unavailable")
        assert told.files() == []
        assert (await told.backup()).status_code == 200
        assert len(told.files()) == 1

    tell(tmp_path, story, journal)
