"""A player's last tickets, live and finished, and how far back they are looked for."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from evenmatch.service import recent_tickets
from evenmatch.service.app import App
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.sqlite import SqliteJournal

from .test_watch import ask, joined, matched


def test_a_players_last_tickets_are_told_newest_first_with_their_matches(tmp_path: Path) -> None:
    async def play(client: httpx.AsyncClient, _: App) -> list[str]:
        first = [await joined(client, "skill", name, rating=100) for name in ("ann", "ben")]
        await matched(client, *first)
        left = await joined(client, "skill", "ann", rating=900)
        await client.delete(f"/v1/tickets/{left}")
        return [first[0], left]

    async def look(client: httpx.AsyncClient, _: App) -> Any:
        waits = await joined(client, "skill", "ann", rating=900)
        answers = [await client.get(f"/v1/players/{name}/tickets") for name in ("ann", "nobody")]
        return waits, *answers

    path = tmp_path / "evenmatch.db"
    with SqliteJournal(path) as journal:
        first, left = ask(play, journal)
    with SqliteJournal(path) as journal:
        waits, good, unknown = ask(look, journal)
    told = good.json()["recent"]
    assert [row["id"] for row in told["tickets"]] == [waits, left, first]
    assert [row["status"] for row in told["tickets"]] == ["waiting", "cancelled", "matched"]
    assert [row["cause"] for row in told["tickets"]] == [None, "left", None]
    assert [row["match"] for row in told["tickets"]] == [None, None, "m-000000000001"]
    assert told["since_ms"] == 0
    assert unknown.status_code == 404


def test_a_search_for_tickets_is_bounded_and_says_how_far_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()
    for n in range(1, 101):
        record = {"queue": "skill", "status": "matched", "joined_ms": n, "waited_ms": 5, "match": n}
        journal.store.tickets[n] = record | {"players": [{"player": n % 10}]}
    monkeypatch.setattr(recent_tickets, "_PAGE", 10)
    assert recent_tickets.recent(journal, "ann", 3, {}).since_ms == 0
    assert len(recent_tickets.recent(journal, "ann", 3, {}).tickets) == 10
    monkeypatch.setattr(recent_tickets, "SEARCHED", 30)
    bounded = recent_tickets.recent(journal, "ann", 3, {})
    assert ([row.id[-3:] for row in bounded.tickets], bounded.since_ms) == (["093", "083", "073"], 71)
