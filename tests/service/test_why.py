"""Why a ticket waits, over HTTP: what is told of tickets that wait, and of those that do not."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import msgspec
import pytest

from evenmatch import config
from evenmatch.domain.queue import Mode
from evenmatch.errors import MatcherError
from evenmatch.matchers.explaining import explain_wave
from evenmatch.service import copies, why
from evenmatch.service.app import App
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living, until

QUEUES = """
[queues.duel]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
require_equal = ["mode"]

[queues.skill]
wave = { every_s = 0.02 }
matcher = { name = "buckets", growth_s = 100 }

[queues.even]
wave = { every_s = 0.02 }
matcher = { name = "even" }

[queues.sides]
wave = { every_s = 5 }
matcher = { name = "ladder" }

[queues.ready]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
ready_check = { timeout_s = 1000 }

[queues.near]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
venue = { regions = ["EU", "US"], latency_max_ms = 80 }

[queues.long]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
match = { runs_s = 600 }

[queues.pool]
matcher = { name = "first_come" }
format = { teams = 2, size = 50 }

"""
SPECS = config.parse(QUEUES, "queues.toml")
Story = Callable[["Asker"], Awaitable[None]]


class Asker:
    """A client that joins and asks why."""

    def __init__(self, client: httpx.AsyncClient, app: App) -> None:
        self.client, self.app = client, app

    async def join(self, queue: str, player: str, attributes: dict[str, Any] | None = None, **brings: Any) -> str:
        body = {"players": [{"id": player} | brings], "attributes": attributes or {}}
        answer = await self.client.post(f"/v1/queues/{queue}/tickets", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["ticket"]["id"])

    async def why(self, ticket: str) -> Any:
        answer = await self.client.get(f"/v1/tickets/{ticket}/why")
        assert answer.status_code == 200, answer.text
        return answer.json()["why"]

    async def when(self, ticket: str, status: str) -> Any:
        async def look() -> Any:
            told = await self.why(ticket)
            return told if told["status"] == status else None

        return await until(look, status)

    async def left_by_a_wave(self, ticket: str) -> Any:
        async def look() -> Any:
            told = await self.why(ticket)
            return told if told["reason"] else None

        return await until(look, "a wave")


def tell(story: Story) -> None:
    async def run() -> None:
        app = app_over(MemoryJournal(), *SPECS)
        async with living(app) as client:
            await story(Asker(client, app))

    asyncio.run(run())


def rules(told: Any) -> dict[str, int]:
    return {rule["name"]: rule["excluded"] for rule in told["rules"]}


def test_a_waiting_ticket_hears_reason_rules_and_what_would_help() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("duel", "ann", {"mode": "a"})
        await asker.join("duel", "ben", {"mode": "b"})
        told = await asker.left_by_a_wave(ann)
        assert (told["status"], told["reason"]) == ("waiting", "too_few_players")
        assert told["reason_words"] == "fewer players are left than a match needs"
        assert rules(told)["group"] == 1
        assert (told["waiting"], told["acceptable"], told["unlock"]) == (1, 0, "1 more single player")
        assert "What would help: 1 more single player." in told["words"]

    tell(story)


def test_a_paused_queue_is_the_cause_and_said_first() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("skill", "ann", rating=20)
        await asker.left_by_a_wave(ann)
        look = await asker.app.runner.ask(lambda views, now_ms: why.Why(asker.app.runner).look(views, 1, now_ms))
        told = why.explained(msgspec.structs.replace(look, mode=Mode.PAUSED))
        assert re.match(r"It has waited for \S+ m?s\. The queue is paused: no wave runs", told.words)
        assert "The last wave left it" not in told.words
        assert "What would help" not in told.words
        assert told.unlock == "the queue is paused: an operator must open it again"

    tell(story)


def test_a_ticket_that_some_could_meet_by_now_does_not_hear_that_nobody_is_there() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("skill", "ann", rating=20)
        await asker.left_by_a_wave(ann)
        look = await asker.app.runner.ask(lambda views, now_ms: why.Why(asker.app.runner).look(views, 1, now_ms))
        alone, met = why.told(look), why.told(look, "Of 20 others that wait, 3 could meet it now.", 3)
        assert "The last wave left it: no ticket is within range" in alone.words
        waits = r"It has waited for \S+ m?s\. Of 20 others that wait, 3 could meet it now\."
        assert re.fullmatch(rf"{waits} (The next|A) wave .*\.", met.words)
        assert met.reason == "nobody_in_range"

    tell(story)


def test_ranges_say_when_they_will_reach() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("skill", "ann", rating=20)
        await asker.join("skill", "ben", rating=23)
        await asker.join("skill", "cat", rating=900)
        told = await asker.left_by_a_wave(ann)
        assert told["reason"] == "nobody_in_range"
        assert rules(told) == {"range": 2, "reciprocity": 0}
        near = told["soonest"]
        assert (near["distance"], near["unit"], near["acceptable"]) == (3.0, "buckets", False)
        assert 295 < near["reach_s"] <= 300
        assert told["unlock"].startswith("a range of 3 buckets: in ")
        far = await asker.why(await asker.join("skill", "dan", rating=5000))
        assert (far["nearest"]["distance"], far["nearest"]["reach_s"], far["soonest"]) == (4100.0, None, None)

    tell(story)


def test_windows_are_counted_in_waves_of_the_queue() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("sides", "ann", ratings={"bw": 1500})
        await asker.join("sides", "ben", ratings={"sc2": 1700})

        async def misses_now() -> int:
            return int((await asker.client.get(f"/v1/tickets/{ann}")).json()["ticket"]["misses"])

        # Two of two active wait: the window is 75 and grows by 25 a wave; 200 takes five waves of 5 s.
        misses, told = -1, {}
        while misses != await misses_now():  # a wave came between
            misses, told = await misses_now(), await asker.why(ann)
        assert told["nearest"] == {
            "distance": 200.0,
            "unit": "rating points",
            "acceptable": False,
            "reach_s": 25.0 - 5.0 * misses,
        }
        assert told["unlock"] == f"a window of 200 rating points: in {25 - 5 * misses} s"

    tell(story)


def test_a_blocked_player_is_counted_as_kept_apart() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("pool", "ann")
        await asker.join("pool", "ben")
        blocked = await asker.client.put("/v1/players/ann/blocks", json={"players": ["ben"]})
        assert blocked.status_code == 200
        told = await asker.why(ann)
        assert rules(told)["kept_apart"] == 1
        assert (told["acceptable"], told["unlock"]) == (0, "99 more single players")

    tell(story)


def test_a_block_that_alone_keeps_two_apart_is_named() -> None:
    async def story(asker: Asker) -> None:
        assert (await asker.client.put("/v1/players/ann/blocks", json={"players": ["ben"]})).status_code == 200
        ann = await asker.join("duel", "ann", {"mode": "a"})
        ben = await asker.join("duel", "ben", {"mode": "a"})
        for ticket in (ann, ben):
            told = await asker.why(ticket)
            assert (rules(told)["kept_apart"], told["acceptable"]) == (1, 0)
            assert told["unlock"] == (
                "an end of the block, avoidance or pause after a match that keeps others apart from it, "
                "or 1 more single player"
            )

    tell(story)


def test_a_ticket_that_is_suspended_by_a_match_of_its_own_queue_is_not_told_of_another() -> None:
    async def story(asker: Asker) -> None:
        ann, _ = await asker.join("long", "ann"), await asker.join("long", "ben")
        await asker.when(ann, "matched")
        words = (await asker.why(await asker.join("long", "ann")))["words"]
        assert "one of its players is in another proposal, or in a match that runs." in words
        assert "another queue" not in words

    tell(story)


def test_a_match_of_even_tells_its_terms() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("even", "ann", rating=1500)
        left = await asker.left_by_a_wave(ann)
        assert left["unlock"] == "1 more player"
        await asker.join("even", "ben", rating=1540)
        words = (await asker.when(ann, "matched"))["words"]
        assert "Its cost is 0.2263, the sum of spread 0.1, imbalance 0.0263, distribution 0.1." in words
        assert "Its teams are 40 points apart. The plan that its match is of: 2 players are seated" in words

    tell(story)


def test_those_who_do_not_wait_hear_where_they_stand() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("ready", "ann")
        pool = await asker.join("pool", "ann")
        other = await asker.join("pool", "cat")
        ben = await asker.join("ready", "ben")
        told = await asker.when(ann, "proposed")
        assert "which awaits 2 answers" in told["words"]
        assert (told["rules"], told["as_of_ms"], told["unlock"]) == ([], None, None)
        assert "its clock stands still" in (await asker.why(pool))["words"]
        assert rules(await asker.why(other))["suspended"] == 1
        proposal = (await asker.client.get(f"/v1/tickets/{ann}")).json()["ticket"]["proposal"]["id"]
        for player in ("ann", "ben"):
            accepted = await asker.client.post(f"/v1/proposals/{proposal}/accept", json={"player": player})
            assert accepted.status_code == 200
        assert "It is in match m-" in (await asker.when(ben, "matched"))["words"]
        await asker.client.delete(f"/v1/tickets/{other}")
        assert (await asker.when(other, "cancelled"))["words"] == "It is cancelled: its player left the queue."

    tell(story)


def test_the_plan_tells_bound_and_gap_of_its_wave_to_who_is_matched_and_who_waits() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("even", "ann", rating=1500)
        assert (await asker.why(ann))["plan"] in (None, "Nobody is seated; no plan could seat anybody.")
        ben = await asker.join("even", "ben", rating=1520)
        far = await asker.join("even", "far", rating=2500)
        for ticket in (ann, ben):
            told = await asker.when(ticket, "matched")
            assert told["plan"].startswith("2 players are seated, and no plan could seat more.")
            assert "no plan that seats as many costs less" in told["plan"]
            assert f"The plan that its match is of: {told['plan']}" in told["words"]
        told = await asker.left_by_a_wave(far)
        assert told["plan"]
        assert f"The last wave's plan: {told['plan']}" in told["words"]
        other = await asker.left_by_a_wave(await asker.join("skill", "sky"))
        assert other["plan"] is None

    tell(story)


def test_a_ticket_that_is_not_there_is_refused() -> None:
    async def story(asker: Asker) -> None:
        for name in ("t-000000000009", "nonsense", "p-000000000001"):
            answer = await asker.client.get(f"/v1/tickets/{name}/why")
            assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_ticket")

    tell(story)


def test_explanations_are_made_away_from_engine_and_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    explain = explain_wave

    def watched(*given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return explain(*given)

    monkeypatch.setattr(why, "explain_wave", watched)

    async def story(asker: Asker) -> None:
        ann = await asker.join("pool", "ann")
        await asyncio.gather(*(asker.why(ann) for _ in range(8)))
        assert len(threads) == 8
        assert not {"engine", threading.main_thread().name} & set(threads)

    tell(story)


def test_the_latency_cap_is_told() -> None:
    async def story(asker: Asker) -> None:
        ann = await asker.join("near", "ann", latencies={"EU": 20, "US": 120})
        await asker.join("near", "ben", latencies={"EU": 120, "US": 20})

        async def too_far() -> Any:
            told = await asker.why(ann)
            return told if told["reason"] == "too_far" else None

        told = await until(too_far, "a wave that saw both")
        assert (rules(told)["latency_cap"], told["acceptable"], told["unlock"]) == (
            1,
            0,
            "a nearer region, within the latency cap for both, or 1 more single player",
        )
        cat = await asker.join("near", "cat", latencies={"EU": 300})
        told = await asker.left_by_a_wave(cat)
        assert rules(told)["latency_cap"] == 2
        assert "What would help: a region within the latency cap for all its players." in told["words"]

    tell(story)


def test_a_large_queue_is_copied_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "SMALL", 2)
    monkeypatch.setattr(copies, "_MS_PER_TICKET", 1e6)

    async def story(asker: Asker) -> None:
        ann = await asker.join("pool", "ann")
        await asker.join("pool", "ben")
        assert (await asker.why(ann))["waiting"] == 1
        cat = await asker.join("pool", "cat")
        assert (await asker.why(ann))["waiting"] == 1  # the copy from before
        told = await asker.why(cat)
        assert (told["status"], told["waiting"], told["rules"]) == ("waiting", None, [])
        assert "ask again in" in told["words"]

    tell(story)


def test_too_many_questions_at_once_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "_ASKED_MOST", 0)

    async def story(asker: Asker) -> None:
        ann = await asker.join("pool", "ann")
        answer = await asker.client.get(f"/v1/tickets/{ann}/why")
        assert (answer.status_code, answer.json()["reason"]) == (503, "busy")

    tell(story)


def test_a_matcher_that_cannot_plan_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise MatcherError("buckets: ticket 7 has no bucket")

    monkeypatch.setattr(why, "explain_wave", failing)

    async def story(asker: Asker) -> None:
        told = await asker.why(await asker.join("pool", "ann"))
        assert "The matcher cannot plan for this queue: buckets: ticket 7 has no bucket." in told["words"]
        assert told["rules"] == []

    tell(story)
