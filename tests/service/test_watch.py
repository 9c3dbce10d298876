"""What a dashboard asks for: the stream of frames, a queue's last hours, past waves rebuilt, stories in words."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import numpy as np
import pytest

from evenmatch.domain.queue import Format, MatcherSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.registry import in_force
from evenmatch.service import history, past_states, past_waves, watching
from evenmatch.service.app import App
from evenmatch.service.forecasts import Forecasts
from evenmatch.service.picture import picture_of
from evenmatch.service.picture_scale import CELLS
from evenmatch.service.queue_history import view_of
from evenmatch.service.waiting import WITHOUT_END
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Journal
from evenmatch.storage.sqlite import SqliteJournal

from .callers import stream
from .inside import app_over, living, until

SKILL = QueueSpec(
    "skill",
    Format(2, 1),
    matcher=MatcherSpec("buckets", {"growth_s": 0.5, "range_max": 1000}),
    wave=WaveSpec(every_s=0.02),
)
CHECKED = QueueSpec("checked", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0))
SPECS = (SKILL, CHECKED)


def ask(look: Callable[[httpx.AsyncClient, App], Any], journal: Journal | None = None, *specs: QueueSpec) -> Any:
    """What a server answers."""

    async def asking() -> Any:
        app = app_over(MemoryJournal() if journal is None else journal, *(specs or SPECS))
        async with living(app) as client:
            return await look(client, app)

    return asyncio.run(asking())


async def joined(client: httpx.AsyncClient, queue: str, player: str, **more: Any) -> str:
    answer = await client.post(f"/v1/queues/{queue}/tickets", json={"players": [{"id": player} | more]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"]["id"])


async def ticket(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/v1/tickets/{name}")).json()["ticket"]
    return found


async def matched(client: httpx.AsyncClient, *names: str) -> None:
    async def all_are() -> bool:
        return all([(await ticket(client, name))["status"] == "matched" for name in names])

    await until(all_are, "matches")


def frame_of(said: str) -> dict[str, Any]:
    (line,) = [line for line in said.splitlines() if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return found


# -- the stream --------------------------------------------------------------------------------------------------------


def test_a_frame_has_every_queues_card_the_servers_health_and_a_picture() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        pair = [await joined(client, "skill", name, rating=20) for name in ("ann", "ben")]
        await matched(client, *pair)
        await joined(client, "skill", "far", rating=900)
        return await stream(app, "", "queue=skill", path="/v1/watch")

    status, said = ask(look)
    frame = frame_of(said)
    assert status == 200
    assert [card["queue"] for card in frame["queues"]] == ["checked", "skill"]
    card = frame["queues"][1]
    assert card["waiting"] == 1
    assert card["joins_a_minute"] > card["matches_a_minute"] > 0
    assert card["wait_p50_s"] > 0
    assert card["mode"] == "open"
    assert frame["queues"][0]["wait_p50_s"] is None
    assert frame["server"]["ready"]
    assert frame["server"]["watchers"] == 1
    picture = frame["picture"]
    assert picture["rating"] == [900.0]
    assert picture["low"][0] <= 900 <= picture["high"][0]
    assert [seat["rating"] for group in picture["groups"] for seat in group["seats"]] in ([20.0, 20.0], [])


def test_without_a_queue_there_is_no_picture_and_an_unknown_one_is_refused() -> None:
    async def look(_: httpx.AsyncClient, app: App) -> Any:
        return [await stream(app, "", query, path="/v1/watch") for query in ("", "queue=nope")]

    (status, said), (refused, why) = ask(look)
    assert status == 200
    assert frame_of(said)["picture"] is None
    assert refused == 404
    assert json.loads(why)["reason"] == "unknown_queue"


def test_who_comes_to_watch_does_not_wait_for_the_next_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "EVERY_S", 3600.0)

    async def look(_: httpx.AsyncClient, app: App) -> Any:
        await stream(app, "", "", path="/v1/watch")
        return await stream(app, "", "queue=skill", path="/v1/watch")

    assert frame_of(ask(look)[1])["picture"]["queue"] == "skill"


def test_nobody_watches_any_more_when_the_stream_was_left() -> None:
    async def look(_: httpx.AsyncClient, app: App) -> int:
        await stream(app, "", "", path="/v1/watch")
        return app.hub.open

    assert ask(look) == 0


# -- the picture -------------------------------------------------------------------------------------------------------


def many(count: int, **facts: Any) -> Snapshot:
    chance = np.random.default_rng(7)
    return Snapshot.from_columns(
        rating=chance.normal(1500, 300, count), waited_ms=chance.integers(0, 60_000, count), **facts
    )


def test_who_waits_is_told_page_by_page_longest_first() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        names = [await joined(client, "checked", f"p{n}", rating=1000 + n) for n in range(1)]
        far = [await joined(client, "skill", f"q{n}", rating=1000 * n) for n in range(3)]
        paths = ("checked/waiting", "skill/waiting?skip=1&limit=1", "skill/waiting?limit=0", "nope/waiting")
        return names, far, [await client.get(f"/v1/queues/{path}") for path in paths]

    names, far, (one, page, wrong, unknown) = ask(look)
    assert [ticket["ticket"] for ticket in one.json()["waiting"]["tickets"]] == names
    told = page.json()["waiting"]
    assert (told["waiting"], told["skipped"]) == (3, 1)
    assert [ticket["ticket"] for ticket in told["tickets"]] == far[1:2]
    assert told["tickets"][0]["low"] <= 1000 <= told["tickets"][0]["high"]
    assert "limit of 1 to 100" in wrong.json()["detail"]
    assert unknown.status_code == 404


def test_a_queue_tells_all_parameters_in_force() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        return (await client.get("/v1/queues/skill")).json()["queue"]

    told = ask(look)
    assert told["parameters"] == json.loads(json.dumps(in_force("buckets", told["spec"]["matcher"]["parameters"])))
    assert told["parameters"]["growth_s"] == 0.5


@pytest.mark.parametrize("count", [0, 1, CELLS, CELLS + 1, 10_000])
def test_a_picture_is_small_however_many_wait_and_counts_them_all(count: int) -> None:
    spec = QueueSpec("skill", Format(2, 1), matcher=MatcherSpec("buckets", {"bucket": 50}))
    snapshot = msgspec.structs.replace(many(count), format=Format(2, 1))
    picture = picture_of(spec, snapshot, 0, [], 0)
    assert len(picture.rating) <= CELLS
    assert picture.waiting == count == sum(picture.count)
    assert picture.binned == (count > CELLS)
    assert len(picture.low) == len(picture.high) == len(picture.rating)
    assert len(msgspec.json.encode(picture)) < 40_000
    if not picture.binned:
        assert len(picture.ticket) == count


def test_epgc_is_pictured_by_tier_and_ping() -> None:
    spec = QueueSpec("lobby", Format(1, 10), matcher=MatcherSpec("epgc", {}))
    ping = np.random.default_rng(1).integers(5, 200, 3000).astype(float)
    picture = picture_of(spec, many(3000, ping_ms=ping), 0, [], 0)
    assert picture.bands == ["Bronze", "Silver", "Gold", "Platinum", "Diamond"]
    assert len(picture.ping_ms) == len(picture.band) == len(picture.rating) <= CELLS
    assert set(picture.band) <= set(range(5))


def test_the_ladder_is_pictured_by_side_with_windows() -> None:
    spec = QueueSpec("ladder", Format(2, 1), matcher=MatcherSpec("ladder", {}))
    nan = float("nan")
    sides = {"bw": [1500.0, nan, 1600.0], "sc2": [nan, 1400.0, 1800.0]}
    picture = picture_of(spec, Snapshot.from_columns(ratings=sides, format=Format(2, 1)), 0, [], 0)
    assert picture.bands == ["bw", "sc2", "either"]
    assert picture.band == [0, 1, 2]
    assert picture.rating == [1500.0, 1400.0, 1700.0]
    assert all(low < rating < high for low, rating, high in zip(picture.low, picture.rating, picture.high, strict=True))


EVEN: Final = {"mean": "the mean of their windows", "older": "has waited longest", "both": "the narrowest"}


@pytest.mark.parametrize("policy", EVEN)
def test_even_is_pictured_with_windows_by_its_policy_and_with_who_goes_first(policy: str) -> None:
    parameters = {"window": 50, "window_growth": 2, "window_free_s": 40, "outlier_s": 30, "window_policy": policy}
    spec = QueueSpec("even", Format(2, 3), matcher=MatcherSpec("even", parameters))
    snapshot = Snapshot.from_columns(
        rating=[1500.0, 1600.0, 1400.0], waited_ms=[10_000, 35_000, 45_000], format=Format(2, 3)
    )
    picture = picture_of(spec, snapshot, 0, [], 0)
    assert list(zip(picture.low, picture.high, strict=True)) == [
        (1430, 1570),
        (1480, 1720),
        (-WITHOUT_END, WITHOUT_END),
    ]
    assert [picture.bands[band] for band in picture.band] == ["waits", "goes first", "goes first"]
    assert EVEN[policy] in picture.words


def test_even_with_sides_is_pictured_by_side_and_a_party_that_fits_no_team_has_no_window() -> None:
    nan = float("nan")
    sided = QueueSpec("even", Format(2, 1), matcher=MatcherSpec("even", {"sides": ["bw", "sc2"]}))
    sides = {"bw": [1500.0, nan, 1600.0, nan], "sc2": [nan, 1400.0, 1800.0, nan]}
    picture = picture_of(sided, Snapshot.from_columns(ratings=sides, format=Format(2, 1)), 0, [], 0)
    assert picture.bands == ["bw", "sc2", "either"]
    assert picture.band == [0, 1, 2, -1]
    assert picture.low[3] == picture.high[3] == picture.rating[3]
    assert picture.low[0] < picture.rating[0] < picture.high[0]


def test_windows_are_those_of_a_tickets_own_group() -> None:
    spec = QueueSpec("even", Format(2, 1), matcher=MatcherSpec("even", {}))
    group = np.repeat([0, 1], 40)
    rating = np.concatenate([np.arange(40.0), 1000 * np.arange(40.0)])
    snapshot = Snapshot.from_columns(rating=rating, format=Format(2, 1))
    apart = msgspec.structs.replace(snapshot, group=group.astype(snapshot.group.dtype))
    wide = [np.subtract(p.high, p.low).max() for p in (picture_of(spec, one, 0, [], 0) for one in (snapshot, apart))]
    assert wide[1] < wide[0]


# -- history -----------------------------------------------------------------------------------------------------------


def test_a_history_keeps_hours_and_no_more() -> None:
    kept = history.History(0)
    for step in range(history.SLOTS + 5):
        kept.count(step * history.STEP_MS, "joins", 1)
    now_ms = (history.SLOTS + 4) * history.STEP_MS
    assert kept.copied(now_ms, 10 * history.SLOTS).total("joins") == history.SLOTS
    assert kept.copied(now_ms, 3).total("joins") == 3


def test_a_step_in_which_nothing_happened_is_as_deep_as_the_one_before() -> None:
    kept = history.History(0)
    kept.depth(0, 7)
    kept.depth(3 * history.STEP_MS, 2)
    assert kept.copied(5 * history.STEP_MS, 10).depth.tolist() == [7, 7, 7, 2, 2, 2]
    assert kept.copied(2 * history.STEP_MS + 1, 1).depth.tolist() == [7]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_quantile_of_waits_is_near_the_true_one(share: float) -> None:
    waits_s = np.random.default_rng(3).exponential(20.0, 5_000) + 0.1
    kept = history.History(0)
    kept.waited(0, waits_s)
    found = kept.copied(0, 1).wait_s(share)
    assert found is not None
    assert abs(found / np.quantile(waits_s, share) - 1) < 0.02


@pytest.mark.parametrize("wait_s", [0.02, 1.0, 12.3, 608.2, 40_000.0])
def test_one_wait_is_told_as_it_was(wait_s: float) -> None:
    kept = history.History(0)
    kept.waited(0, np.array([wait_s]))
    for share in (0.5, 0.9):
        assert kept.copied(0, 1).wait_s(share) == pytest.approx(wait_s, rel=0.016)


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_steps_begin_where_they_did_before_and_the_last_is_not_over(steps: int) -> None:
    kept = history.History(0)
    for bucket in range(50):
        kept.count(bucket * history.STEP_MS, "joins", 1)
    now_ms = 50 * history.STEP_MS - 1
    rows, waits = kept.copied(now_ms, 45), Forecasts().memory("skill").lately(now_ms)
    view = view_of("skill", 0, rows, waits, steps, now_ms)
    begins = [point.at_ms // history.STEP_MS for point in view.points]
    assert all(begin % steps == 0 for begin in begins[1:])
    assert sum(point.joins for point in view.points) == 45
    assert [point.whole for point in view.points] == [True] * (len(begins) - 1) + [False]
    over = view_of("skill", 0, rows, waits, steps, (begins[-1] + steps) * history.STEP_MS)
    assert over.points[-1].whole


def test_the_last_hours_of_a_queue_are_told() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        pairs = [await joined(client, "skill", f"p{n}", rating=10 * (n // 2)) for n in range(20)]
        await matched(client, *pairs)
        leaver = await joined(client, "skill", "leaver", rating=900)
        await client.delete(f"/v1/tickets/{leaver}")
        answers = [await client.get(f"/v1/queues/skill/history?minutes={minutes}") for minutes in (30, 0, 241)]
        return [*answers, await client.get("/v1/queues/nope/history")]

    good, none, far, unknown = ask(look)
    told = good.json()["history"]
    assert sum(point["joins"] for point in told["points"]) == 21
    assert sum(point["matches"] for point in told["points"]) == 10
    assert told["points"][-1]["depth"] >= 0
    assert told["gone"] == {"left": 1}
    assert len(told["by_rating"]) == 10
    assert [row["label"] for row in told["by_party"]] == ["1"]
    assert told["waits_whole"]
    assert [point["gap"] for point in told["points"] if point["gap"] is not None] == [0.0] * len(
        [point for point in told["points"] if point["matches"]]
    )
    assert [none.status_code, far.status_code, unknown.status_code] == [400, 400, 404]
    assert "use 1 to 240" in none.json()["detail"]


def test_a_history_begins_with_the_server_and_with_those_who_wait_already() -> None:
    journal = MemoryJournal()

    async def come(client: httpx.AsyncClient, _: App) -> str:
        return await joined(client, "skill", "ann", rating=900)

    async def look(client: httpx.AsyncClient, app: App) -> tuple[int, Any]:
        began_ms = app.runner.metrics.play.histories.of("skill", 0).since_ms
        return began_ms, (await client.get("/v1/queues/skill/history")).json()["history"]

    ask(come, journal)
    began_ms, told = ask(look, MemoryJournal(journal.store))
    assert told["since_ms"] == began_ms > 0
    assert [point["depth"] for point in told["points"]] == [1.0] * len(told["points"])


# -- past waves --------------------------------------------------------------------------------------------------------


async def waved(client: httpx.AsyncClient, _: App) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Three pairs one after the other; the list of waves, the newest of them, and the answer to one there was not."""
    for rating in (10, 20, 30):
        await joined(client, "skill", f"far{rating}", rating=rating * 10_000)
        pair = [await joined(client, "skill", f"{name}{rating}", rating=rating) for name in ("ann", "ben")]
        await matched(client, *pair)
    waves = (await client.get("/v1/queues/skill/waves")).json()["waves"]
    one = await client.get(f"/v1/queues/skill/waves/{waves[0]['number']}")
    return waves, one.json()["wave"], (await client.get("/v1/queues/skill/waves/999999")).status_code


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_past_wave_is_rebuilt_as_its_matcher_saw_it(tmp_path: Path, kind: str) -> None:
    journal: Journal = MemoryJournal() if kind == "memory" else SqliteJournal(tmp_path / "evenmatch.db")
    waves, wave, unknown = ask(waved, journal)
    assert len(waves) == 3
    assert [row["number"] for row in waves] == sorted((row["number"] for row in waves), reverse=True)
    assert wave["proven"] is True
    assert wave["same_plan"] is True
    assert wave["missing"] is None
    assert wave["matcher"] == "buckets"
    assert wave["snapshot"]["waiting"] == wave["wave"]["waiting"] == 5
    assert wave["trace"][0]["tickets"] == [team[0] for team in wave["proposals"][0]["teams"]]
    assert [(row["reason"], row["count"]) for row in wave["reasons"]] == [("nobody_in_range", 3)]
    assert len(wave["unmatched"]) == 3
    assert unknown == 404


def test_waves_from_before_a_start_are_read_from_the_journal(tmp_path: Path) -> None:
    before, wave, _ = ask(waved, SqliteJournal(tmp_path / "evenmatch.db"))

    async def look(client: httpx.AsyncClient, _: App) -> Any:
        waves = (await client.get("/v1/queues/skill/waves")).json()["waves"]
        older = (await client.get(f"/v1/queues/skill/waves?before={waves[0]['number']}&limit=1")).json()["waves"]
        again = (await client.get(f"/v1/queues/skill/waves/{waves[0]['number']}")).json()["wave"]
        return waves, older, again

    waves, older, again = ask(look, SqliteJournal(tmp_path / "evenmatch.db"))
    assert waves == before
    assert older == before[1:2]
    assert again == wave


def test_a_wave_that_is_too_far_from_any_saved_state_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_states, "REPLAY_MOST", 1)
    _, wave, _ = ask(waved)
    assert "would have to be read again" in wave["missing"]
    assert wave["proven"] is None
    assert len(wave["proposals"]) == 1


def test_the_next_past_wave_is_reached_from_where_the_last_one_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_states, "STONE_EVERY", 3)
    journal = MemoryJournal()
    waves, _, _ = ask(waved, journal)
    states = past_states.PastStates()
    first = [past_waves.rebuilt(journal, "skill", past_waves.WaveRow(**row), states) for row in waves]
    replayed = states.replayed
    again = [past_waves.rebuilt(journal, "skill", past_waves.WaveRow(**row), states) for row in reversed(waves)]
    assert states.replayed - replayed <= 3 * len(waves)
    assert replayed >= waves[0]["sequence"] - 1 > 3 * len(waves)
    assert again[::-1] == first
    assert all(wave.proven and wave.same_plan for wave in again)


def test_stepping_stones_are_few_and_the_longest_unused_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_states, "STONE_EVERY", 1)
    monkeypatch.setattr(past_states, "STONES", 2)
    journal = MemoryJournal()
    ask(waved, journal)
    states = past_states.PastStates()
    late = journal.last - 1  # at the last a checkpoint was saved
    for sequence in (late, 1, late):
        state = states.at(journal, sequence)
        assert not isinstance(state, str)
        assert state.sequence == sequence
    assert len(states._stones) <= 2
    assert states.replayed == late + 1
    assert states.at(journal, journal.last + 1) == f"the journal ends at {journal.last}, before this wave"


# -- stories -----------------------------------------------------------------------------------------------------------


def test_a_story_is_told_in_plain_words() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        ann, ben = [await joined(client, "checked", name) for name in ("ann", "<b>ben")]
        proposed = await until(lambda: proposal(client, ann), "a proposal")
        await client.post(f"/v1/proposals/{proposed}/accept", json={"player": "ann"})
        await client.post(f"/v1/proposals/{proposed}/decline", json={"player": "<b>ben"})
        stories = [(await client.get(f"/v1/tickets/{name}/story")).json()["story"] for name in (ann, ben)]
        return [*stories, (await client.get("/v1/tickets/t-000000000999/story")).status_code]

    async def proposal(client: httpx.AsyncClient, name: str) -> Any:
        found = (await ticket(client, name))["proposal"]
        return found and found["id"]

    ann, ben, unknown = ask(look)
    words = [sentence["words"] for sentence in ann["sentences"]]
    assert words[0] == "It joined checked."
    assert re.fullmatch(r"After [\d.]+ m?s, it was proposed p-\d+ with <b>ben: 10\.0 min to accept\.", words[1])
    assert words[2] == "ann accepted, 1 to go."
    assert words[3].startswith("<b>ben declined; this ticket waits again, with ")
    assert not ann["over"]
    assert ben["over"]
    assert ben["sentences"][-1]["words"] == "It declined, and was taken out of the queue."
    assert unknown == 404
