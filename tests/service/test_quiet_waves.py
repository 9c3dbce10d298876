"""Waves one after the other, both ways; and those that matched nobody, which no journal has."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from evenmatch.core.waves import UNRECORDED_TICKETS, UNRECORDED_WAVES, Timetable, Unrecorded
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.service import past_waves
from evenmatch.service.app import App
from evenmatch.service.picture import OLDEST, picture_of
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.sqlite import SqliteJournal

from .inside import until
from .test_watch import SKILL, ask, joined, many, matched


async def pairs(client: httpx.AsyncClient, count: int) -> list[int]:
    """So many waves that match a pair each; their numbers, oldest first."""
    for rating in range(count):
        pair = [await joined(client, "skill", f"{name}{rating}", rating=100 * rating) for name in ("ann", "ben")]
        await matched(client, *pair)
    waves = (await client.get("/v1/queues/skill/waves?limit=200")).json()["waves"]
    return [row["number"] for row in reversed(waves)]


async def after(client: httpx.AsyncClient, wave: int, limit: int = 1) -> list[int]:
    answer = await client.get(f"/v1/queues/skill/waves?after={wave}&limit={limit}")
    return [row["number"] for row in answer.json()["waves"]]


def test_the_wave_after_one_is_the_next_and_not_one_of_the_newest() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        numbers = await pairs(client, 5)
        both = await client.get("/v1/queues/skill/waves?after=1&before=9")
        return numbers, [await after(client, one) for one in numbers], await after(client, 0, 2), both.status_code

    numbers, following, first_two, both = ask(look)
    assert following == [[one] for one in numbers[1:]] + [[]]
    assert first_two == [numbers[1], numbers[0]]
    assert both == 400


def test_the_wave_after_one_from_before_a_start_is_read_from_the_journal(tmp_path: Path) -> None:
    async def play(client: httpx.AsyncClient, _: App) -> Any:
        return await pairs(client, 3)

    numbers = ask(play, SqliteJournal(tmp_path / "evenmatch.db"))

    async def look(client: httpx.AsyncClient, _: App) -> Any:
        before = [await after(client, one) for one in numbers]
        pair = [await joined(client, "skill", name, rating=900) for name in ("cat", "dan")]
        await matched(client, *pair)
        return before, [await after(client, one) for one in numbers]

    before, now = ask(look, SqliteJournal(tmp_path / "evenmatch.db"))
    assert before == [[one] for one in numbers[1:]] + [[]]
    assert now[:2] == before[:2]
    assert len(now[2]) == 1


def test_a_wave_that_matched_nobody_can_be_opened_and_says_why() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        for name, rating in (("ann", 0), ("ben", 100_000)):
            await joined(client, "skill", name, rating=rating)

        async def quiet() -> Any:
            number = (await client.get("/v1/queues/skill")).json()["queue"]["wave"]
            answer = await client.get(f"/v1/queues/skill/waves/{number}")
            return answer.json()["wave"] if answer.status_code == 200 and answer.json()["wave"]["reasons"] else None

        async def of_both() -> Any:
            found = await quiet()
            return found if found and found["wave"]["waiting"] == 2 else None

        return await until(of_both, "a wave of both")

    wave = ask(look)
    assert wave["recorded"] is False
    assert wave["proven"] is True
    assert wave["proposals"] == []
    assert wave["cost"] is None
    assert wave["wave"]["sequence"] == 0
    assert [(row["reason"], row["count"]) for row in wave["reasons"]] == [("nobody_in_range", 2)]
    assert wave["snapshot"]["waiting"] == len(wave["unmatched"]) == 2


def test_a_wave_that_is_not_kept_names_those_that_are() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        numbers = await pairs(client, 2)
        return numbers, (await client.get("/v1/queues/skill/waves/999999")).json()["detail"]

    numbers, detail = ask(look)
    assert "a wave that matched nobody is not recorded" in detail
    assert str(numbers[-1]) in detail.partition("can be shown: ")[2]


def test_unrecorded_waves_are_few_and_small() -> None:
    timetable = Timetable()

    def wave(number: int, tickets: int) -> Unrecorded:
        return Unrecorded(number, 1, 0, 1, SKILL, Snapshot.from_columns(rating=np.zeros(tickets)), 0)

    for number in range(UNRECORDED_WAVES + 5):
        timetable.keep(wave(number, 2))
    assert [one.wave for one in timetable.unrecorded] == list(range(5, UNRECORDED_WAVES + 5))
    timetable.keep(wave(100, UNRECORDED_TICKETS + 1))
    assert timetable.unrecorded[-1].wave == UNRECORDED_WAVES + 4
    timetable.keep(wave(101, UNRECORDED_TICKETS))
    assert [one.wave for one in timetable.unrecorded] == [101]


def test_all_parameters_in_force_are_told_and_which_were_given_and_the_total() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        (number,) = await pairs(client, 1)
        return (await client.get(f"/v1/queues/skill/waves/{number}")).json()["wave"]

    wave = ask(look, MemoryJournal())
    assert set(wave["parameters"]) == {"bucket", "growth_s", "range_max", "reciprocity", "look"}
    assert wave["given"] == ["growth_s", "range_max"]
    assert wave["cost"] == sum(one["cost"] for one in wave["proposals"])
    assert wave["recorded"] is True
    assert past_waves.WaveRow(**wave["wave"]).proposals == 1


@pytest.mark.parametrize("count", [3, 500])
def test_the_longest_waiting_are_named_however_many_wait(count: int) -> None:
    spec = QueueSpec("skill", Format(2, 1), matcher=MatcherSpec("buckets", {"bucket": 50}))
    snapshot = msgspec.structs.replace(many(count), format=Format(2, 1))
    picture = picture_of(spec, snapshot, 0, [], 0)
    waits = np.sort(snapshot.waited_ms)[::-1][:OLDEST] / 1000
    assert [one.waited_s for one in picture.oldest] == waits.round(1).tolist()
    assert all(one.low <= one.rating <= one.high for one in picture.oldest if one.low is not None and one.high)
    assert picture.bucket == 50
    assert ("mean over a dot's tickets" in picture.words) == (count > 400)
