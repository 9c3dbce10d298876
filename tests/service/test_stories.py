"""Stories blame whom they should, names turn no sentence round, and `why` says what the other numbers say."""

import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from evenmatch.config import with_door
from evenmatch.domain.events import ProposalsFailed
from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, TicketSpec, WaveSpec
from evenmatch.domain.ticket import Cause
from evenmatch.matchers.contract import window_words
from evenmatch.matchers.registry import build
from evenmatch.service.app import App
from evenmatch.service.isolating import isolated
from evenmatch.service.spans import span
from evenmatch.service.storytelling import at_fault
from evenmatch.service.wave_words import next_wave
from evenmatch.service.why import Look
from evenmatch.service.why import told as why_told
from evenmatch.storage.sqlite import SqliteJournal

from .inside import until
from .test_watch import ask, joined, ticket

TEAMS = QueueSpec("teams", Format(2, 3), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0))
LARGE = QueueSpec("large", Format(2, 50), wave=WaveSpec(every_s=0.02))
RANGED = QueueSpec(
    "ranged",
    Format(2, 1),
    matcher=MatcherSpec("buckets", {"bucket": 50, "growth_s": 0.5, "range_max": 4}),
    wave=WaveSpec(every_s=0.02),
)


async def party(client: httpx.AsyncClient, queue: str, *players: str) -> str:
    answer = await client.post(f"/v1/queues/{queue}/tickets", json={"players": [{"id": one} for one in players]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"]["id"])


async def proposed(client: httpx.AsyncClient, name: str) -> str:
    async def proposal() -> Any:
        return (await ticket(client, name))["proposal"]

    return str((await until(proposal, "a proposal"))["id"])


async def words(client: httpx.AsyncClient, name: str) -> list[str]:
    story = (await client.get(f"/v1/tickets/{name}/story")).json()["story"]
    return [sentence["words"] for sentence in story["sentences"]]


def test_who_declined_is_blamed_and_not_the_whole_party() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        one, other = await party(client, "teams", "p56", "q32", "q50"), await party(client, "teams", "a", "b", "c")
        proposal = await proposed(client, other)
        await client.post(f"/v1/proposals/{proposal}/decline", json={"player": "p56"})
        return await words(client, one), await words(client, other)

    theirs, others = ask(look, None, TEAMS)
    assert theirs[-1] == "p56 declined; the whole party was taken out of the queue."
    assert others[-1].startswith("p56 declined; this ticket waits again, with ")


def test_nobody_of_another_proposal_is_blamed_and_an_old_journal_says_only_which_party() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        parties = [await party(client, "large", f"{name}1", f"{name}2") for name in ("ann", "ben", "cat")]
        tickets = np.array([int(name.removeprefix("t-")) for name in parties])
        known = app.runner.directory.known(["ann2", "cat1"])
        none = np.zeros(0, np.int64)
        # Two ready checks end at once: that of the first two tickets, and that of the third.
        failed = ProposalsFailed(1, "large", Cause.LAPSED, np.array([1, 2]), tickets[[0, 2]], none, tickets[1:2], none)
        named = msgspec.structs.replace(failed, guilty=np.array(list(known.values())))
        together = tickets[:2].tolist()
        return await app.runner.ask(lambda views, _: [at_fault(views, e, together, "lapsed") for e in (named, failed)])

    assert ask(look, None, LARGE) == ["ann2 did not answer in time", "One of ann1, ann2 did not answer in time"]


NAMES = {
    "ann": "ann",
    "Łukasz Ñ 7": "Łukasz Ñ 7",
    "\u202eunclosed": "\u2068\u202eunclosed\u2069",
    "\u05d3\u05df": "\u2068\u05d3\u05df\u2069",
    "x\u2069\u202ey": "\u2068x\u202ey\u2069",
    "\u2067x": "\u2068\u2067x\u2069\u2069",
    "\u2067x\u2069": "\u2068\u2067x\u2069\u2069",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_would_turn_a_sentence_round_is_isolated(name: str) -> None:
    shown = isolated(name)
    assert shown == NAMES[name]
    opened = sum(shown.count(mark) for mark in "\u2066\u2067\u2068")
    assert shown.count("\u2069") == opened


def test_names_are_isolated_in_stories() -> None:
    hostile = "\u202eunclosed"

    async def look(client: httpx.AsyncClient, _: App) -> Any:
        one, other = await party(client, "teams", hostile, "b", "c"), await party(client, "teams", "d", "e", "f")
        proposal = await proposed(client, other)
        await client.post(f"/v1/proposals/{proposal}/accept", json={"player": hostile})
        await client.post(f"/v1/proposals/{proposal}/decline", json={"player": hostile})
        return await words(client, one), await words(client, other)

    for told in ask(look, None, TEAMS):
        naming = [sentence for sentence in told if hostile in sentence]
        assert naming
        assert all(isolated(hostile) in sentence for sentence in naming)


def test_why_tells_the_window_of_now_and_of_the_beginning() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        name = await joined(client, "ranged", "ann", rating=1010)
        await joined(client, "ranged", "ben", rating=9000)

        async def grown() -> Any:
            why = (await client.get(f"/v1/tickets/{name}/why")).json()["why"]
            return why if (why["window"] or {"low": 1000})["low"] < 1000 else None

        return await until(grown, "a range that grows")

    window = ask(look, None, RANGED)["window"]
    assert (window["first_low"], window["first_high"]) == (1000, 1050)
    assert window["high"] - 1050 == 1000 - window["low"] > 0


def test_why_does_not_say_that_no_wave_came_where_some_were_missed() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        name = await joined(client, "ranged", "ann", rating=1010)
        number = int(name.removeprefix("t-"))
        found = await app.runner.ask(lambda views, now_ms: views.ticket(number, now_ms))
        return [why_told(Look(msgspec.structs.replace(found, reason=None, misses=misses), 0)) for misses in (0, 2)]

    none, two = (view.words for view in ask(look, None, RANGED))
    assert "No wave has looked at it since it came, or came back." in none
    assert "No wave has looked at it since it came back to the queue, or the server started." in two


def test_the_guilty_stand_in_the_event_also_without_cool_downs() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        await party(client, "teams", "p56", "q32", "q50")
        other = await party(client, "teams", "a", "b", "c")
        proposal = await proposed(client, other)
        await client.post(f"/v1/proposals/{proposal}/decline", json={"player": "q50"})
        number = app.runner.directory.known(["q50"])["q50"]
        return number, [event for _, event in app.runner.journal.read(0) if isinstance(event, ProposalsFailed)]

    number, (failed,) = ask(look, None, TEAMS)
    assert failed.guilty.tolist() == [number]
    assert not np.any(failed.offender)


# -- the numbers -------------------------------------------------------------------------------------------------------

GROWING = MatcherSpec("even", {"window": 100, "window_growth": 1000, "window_density": 1})
BRIEF = QueueSpec("brief", Format(2, 1), GROWING, WaveSpec(every_s=0.02), ticket=TicketSpec(60.0, heartbeat_s=0.5))
SHORT = QueueSpec("short", Format(2, 1), wave=WaveSpec(every_s=0.02), ticket=TicketSpec(expires_s=0.3))
SLOW = QueueSpec("slow", Format(2, 1), wave=WaveSpec(every_s=600.0))


async def ended(client: httpx.AsyncClient, name: str) -> list[str]:
    async def over() -> Any:
        return (await client.get(f"/v1/tickets/{name}/story")).json()["story"]["over"]

    await until(over, "an end")
    return await words(client, name)


def test_a_ticket_that_expired_is_told_its_wait_the_limit_the_waves_and_its_first_window() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        await ended(client, await joined(client, "brief", "ann"))  # the first wave of all takes its time
        brief, short = await joined(client, "brief", "ann"), await joined(client, "short", "ben")
        return await ended(client, brief), await ended(client, short)

    brief, short = ask(look, None, BRIEF, SHORT)
    assert brief[0] == "It joined brief; window 100 points at first."
    limit = r"not heard of for 500 ms, which is as long as the queue allows, and the ticket expired\."
    assert re.fullmatch(rf"After [\d.]+ m?s, its client was {limit}", brief[1])
    assert short[0] == "It joined short."
    limit = r"for 300 ms, which is as long as the queue allows, and expired\."
    assert re.fullmatch(rf"After [\d.]+ m?s, it had been in the queue {limit}", short[1])


def test_the_limits_and_windows_that_are_told_are_those_that_were_in_force(tmp_path: Path) -> None:
    async def first(client: httpx.AsyncClient, _: App) -> Any:
        name = await joined(client, "brief", "ann")
        await ended(client, name)
        return name

    name = ask(first, SqliteJournal(tmp_path / "em.db"), BRIEF)

    async def later(client: httpx.AsyncClient, _: App) -> Any:
        return await words(client, name), await words(client, await joined(client, "brief", "ann"))

    even = MatcherSpec("even", {"window": 555, "window_density": 1})
    changed = msgspec.structs.replace(BRIEF, matcher=even, ticket=TicketSpec(heartbeat_s=45.0))
    (began, ends), newcomer = ask(later, SqliteJournal(tmp_path / "em.db"), changed)
    assert began == "It joined brief; window 100 points at first."
    assert re.match(r"After [\d.]+ m?s, its client was not heard of for 500 ms, ", ends)
    assert newcomer == ["It joined brief; window 555 points at first."]


def test_a_proposal_is_told_with_the_window_by_then() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        spread = {"ann": 1000, "ben": 1500}
        names = [await joined(client, "checked", player, rating=rating) for player, rating in spread.items()]
        proposal = await proposed(client, names[0])
        await client.post(f"/v1/proposals/{proposal}/decline", json={"player": "ben"})
        return await words(client, names[0]), (await client.get(f"/v1/tickets/{names[0]}/story")).json()["story"]["now"]

    checked = QueueSpec("checked", Format(2, 1), GROWING, WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0))
    told, now = ask(look, None, checked)
    found = re.match(r"After ([\d.]+) (m?s) \(window by then ([\d,.]+) points\), it was proposed", told[1])
    assert found is not None, told[1]
    waited_s, window = float(found[1]) / (1000 if found[2] == "ms" else 1), float(found[3].replace(",", ""))
    assert 450 <= window <= 100 + 1000 * waited_s + 1, "the mean of both windows has reached the gap of 500"
    assert re.match(r"It has waited for [\d.]+ m?s; window by now [\d,.]+ points\. ", now)


def test_a_story_counts_the_waves_that_the_ticket_itself_counts_and_goes_on_doing_so() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        sides = [{"bw": 1500}, {"sc2": 2900}]
        for player, ratings in zip(("ann", "ben"), sides, strict=True):
            body = {"players": [{"id": player, "ratings": ratings}]}
            assert (await client.post("/v1/queues/sides/tickets", json=body)).status_code == 201

        async def left() -> Any:
            return (await ticket(client, "t-000000000001"))["misses"] > 3

        await until(left, "some waves")
        await client.delete("/v1/tickets/t-000000000001")
        first = await words(client, "t-000000000001")

        def forgets(views: Any, _: int) -> None:
            views.engine.timetable("sides").unrecorded.clear()

        await app.runner.ask(forgets)
        return (await ticket(client, "t-000000000001"))["misses"], first, await words(client, "t-000000000001")

    sides = QueueSpec("sides", Format(2, 1), MatcherSpec("ladder", {}), WaveSpec(every_s=0.02))
    misses, first, later = ask(look, None, with_door(sides))
    assert f" and {misses} recorded waves that left it, it left the queue." in first[-1]
    assert first == later


def test_who_waits_for_a_slow_wave_is_told_when_it_is_due() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        first = await joined(client, "slow", "ann")

        async def run() -> bool:
            timetable = await app.runner.ask(lambda views, _: views.engine.timetable("slow"))
            return timetable.next_wave_ms > 0 and timetable.flight is None

        await until(run, "the first wave's end")
        await client.delete(f"/v1/tickets/{first}")
        name = await joined(client, "slow", "ben")
        story = (await client.get(f"/v1/tickets/{name}/story")).json()["story"]
        why = (await client.get(f"/v1/tickets/{name}/why")).json()["why"]
        gone = (await client.get(f"/v1/tickets/{first}/story")).json()["story"]
        return story["now"], why["words"], gone["now"]

    now, why, gone = ask(look, None, SLOW)
    due = r"The next wave is due in (10\.0|9\.9) min\."
    assert re.search(due, now)
    assert re.search(rf"No wave has looked at it since it came, or came back\. .*{due}", why)
    assert gone is None


def test_an_engine_without_a_timetable_tells_the_beat_and_one_with_nothing_to_do_says_so() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        await joined(client, "slow", "ann")

        def asked(views: Any, now_ms: int) -> list[str | None]:
            engine, queue = views.engine, views.engine.state.queues["slow"]
            del engine.timetables["slow"]  # as in a process that follows another's journal
            follows = next_wave(engine, queue, now_ms)
            engine.timetable("slow").tried = queue.changed
            return [follows, next_wave(engine, queue, now_ms)]

        return await app.runner.ask(asked)

    follows, idle = ask(look, None, SLOW)
    assert follows == "A wave comes every 10.0 min, if it could change anything."
    assert idle == "The next wave comes when something changes in the queue."


WINDOWS: list[tuple[str, dict[str, Any], int, int | None, str | None]] = [
    ("even", {"window": 100, "window_growth": 1.5, "window_density": 1}, 50_000, None, "175 points"),
    (
        "even",
        {"window": 100, "window_growth": 1.5, "window_density": 3},
        50_000,
        None,
        "175 points, wider while few others are near",
    ),
    ("even", {"window_free_s": 60}, 60_000, None, "without limit"),
    ("buckets", {"growth_s": 20, "range_max": 10}, 25_000, None, "1 bucket"),
    ("buckets", {"growth_s": 20, "range_max": 2, "bucket": 50}, 90_000, None, "2 buckets of 50 points"),
    ("buckets", {"growth_s": 1, "range_max": "1%"}, 90_000, None, "15 buckets"),
    ("ladder", {}, 0, 0, "75 to 125 points, by how many wait"),
    ("ladder", {"windows": [[75, 25]] * 3}, 0, 2, "125 points"),
    ("ladder", {}, 9000, None, None),
    ("first_come", {}, 9000, 3, None),
    ("cinder", {}, 9000, 3, None),
]


@pytest.mark.parametrize(("name", "parameters", "waited_ms", "misses", "expected"), WINDOWS)
def test_a_window_is_told_where_it_follows_from_the_wait(
    name: str, parameters: dict[str, Any], waited_ms: int, misses: int | None, expected: str | None
) -> None:
    assert window_words(build(name, parameters), waited_ms, misses, 1500.0) == expected


def test_spans_are_written_as_the_page_writes_them() -> None:
    spans = {
        0: "0 s",
        38.4: "38.4 ms",
        537: "537 ms",
        999.6: "1 s",
        41_260: "41.3 s",
        99_940: "99.9 s",
        99_960: "1.7 min",
        292_000: "4.9 min",
        1_800_000: "30.0 min",
        9_000_000: "2.5 h",
        259_200_000: "3.0 days",
    }
    assert [span(ms) for ms in spans] == list(spans.values())
