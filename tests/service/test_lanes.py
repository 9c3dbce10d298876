"""Several lanes behind one door: where every request goes, what is told of all lanes, and what if one of them fails."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenmatch.domain.ids import first_number, lane_of, match_id, number_of, ticket_id
from evenmatch.domain.queue import CooldownSpec, Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.rating import RatingSpec
from evenmatch.service.access import RIGHTS
from evenmatch.service.app import App
from evenmatch.service.lanes import WAYS, Lanes, Way
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.outbox import Letter

from . import callers
from .callers import bearer, key_in, settings_in, token
from .inside import SETTINGS, FailingMemory, app_over, living, until

COOLING = CooldownSpec(60.0)
SPECS: dict[int, tuple[QueueSpec, ...]] = {
    1: (
        QueueSpec(
            "duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0), cooldown=COOLING
        ),
        QueueSpec("pool", Format(2, 100)),
    ),
    2: (
        QueueSpec(
            "arena", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0), cooldown=COOLING
        ),
        QueueSpec("swift", Format(2, 1), wave=WaveSpec(every_s=0.02), rating=RatingSpec()),
        QueueSpec("wide", Format(2, 100)),
    ),
    3: (QueueSpec("late", Format(2, 100)),),
}
SECOND = first_number(2)


def lane(number: int, settings: Settings = SETTINGS) -> App:
    """The application of one lane, over a journal in memory that fails when it is told to."""
    app = app_over(FailingMemory(), *SPECS[number], settings=settings)
    state = app.runner.engine.state
    state.next_ticket = state.next_proposal = first_number(number)
    return app


def two(settings: Settings = SETTINGS) -> Lanes:
    """Two lanes."""
    return Lanes({number: lane(number, settings) for number in (1, 2)})


def broken(lanes: Lanes, number: int, is_broken: bool = True) -> None:
    """Let a lane's journal fail, or not any more."""
    lanes.apps[number].runner.journal.broken = is_broken  # type: ignore[attr-defined]


class Operator:
    """Operators' rights, on a server of two lanes."""

    def __init__(self, lanes: Lanes, client: httpx.AsyncClient) -> None:
        self.lanes, self.client = lanes, client

    async def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.client.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def join(self, queue: str, *players: str, **more: Any) -> str:
        body = {"players": [{"id": player} for player in players], **more}
        return str((await self.ask("POST", f"/v1/queues/{queue}/tickets", body, 201))["ticket"]["id"])

    async def proposal(self, ticket: str) -> str:
        async def proposed() -> Any:
            return (await self.ask("GET", f"/v1/tickets/{ticket}"))["ticket"]["proposal"]

        return str((await until(proposed, "a proposal"))["id"])

    async def played(self, *players: str) -> str:
        """A rated match in the second lane, won by the first."""
        ticket, *_ = [await self.join("swift", player) for player in players]

        async def made() -> Any:
            return (await self.ask("GET", f"/v1/tickets/{ticket}"))["ticket"]["match"]

        match = str((await until(made, "a match"))["id"])
        await self.ask("POST", f"/v1/matches/{match}/result", {"teams": [{"rank": 1}, {"rank": 2}]})
        return match


@contextlib.asynccontextmanager
async def operated(folder: Path, **more: Any) -> AsyncIterator[Operator]:
    key = key_in(folder, "operator")
    lanes = two(settings_in(folder, **more))
    async with living(lanes) as client:
        client.headers.update(bearer(key))
        yield Operator(lanes, client)


def run(test: Callable[[Operator], Coroutine[Any, Any, None]], folder: Path, **more: Any) -> None:
    async def inside() -> None:
        async with operated(folder, **more) as operator:
            await test(operator)

    asyncio.run(inside())


# -- the table ---------------------------------------------------------------------------------------------------------


def test_every_path_that_somebody_may_use_has_a_way() -> None:
    assert set(WAYS) == set(RIGHTS)


def test_ways_go_by_what_paths_name() -> None:
    for (_, path), way in WAYS.items():
        named = path.split("/")[2] if path.startswith("/v1/") and "{" in path else ""
        expected = {"queues": Way.QUEUE, "players": None, "": None}.get(named, Way.NUMBER)
        assert way is expected or (expected is None and way not in (Way.QUEUE, Way.NUMBER)), path


def test_ids_of_later_lanes_can_be_printed_and_read() -> None:
    assert ticket_id(SECOND) == "t-1099511627777"
    for number in (1, 2**40, SECOND, 2 * 2**40, 8_000 * 2**40):
        assert number_of("t-", ticket_id(number)) == number
        assert number_of("m-", match_id(number)) == number
    assert [lane_of(number) for number in (1, 2**40, 2**40 + 1, 2**41, 2**41 + 1)] == [1, 1, 2, 2, 3]


# -- one lane ----------------------------------------------------------------------------------------------------------


class Stopped:
    """A clock that stands still."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        pass

    def now_ms(self, floor: int = 0) -> int:
        return max(floor, 4_000_000_000_000)


JOIN = {"players": [{"id": "ann", "rating": 1500}], "attributes": {"a": 1}}
REQUESTS: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/queues/pool/mode", {"mode": "paused"}),  # so that no wave says why a ticket still waits
    ("POST", "/v1/queues/pool/tickets", JOIN),
    ("POST", "/v1/queues/pool/tickets", JOIN),
    ("POST", "/v1/queues/pool/tickets", {"players": []}),
    ("POST", "/v1/queues/nope/tickets", JOIN),
    ("POST", "/v1/queues/pool/tickets:batch", {"tickets": [{"players": [{"id": "ben"}]}, {"players": []}]}),
    ("GET", "/v1/tickets/t-000000000001", None),
    ("GET", "/v1/tickets/t-1099511627777", None),
    ("GET", "/v1/tickets/nonsense", None),
    ("HEAD", "/v1/tickets/t-000000000001", None),
    ("PATCH", "/v1/tickets/t-000000000001", {"attributes": {"a": 2}}),
    ("POST", "/v1/tickets/t-000000000001/heartbeat", None),
    ("POST", "/v1/tickets/t-000000000001/cancel", {}),
    ("GET", "/v1/tickets/t-000000000001/story", None),
    ("POST", "/v1/proposals/p-000000000001/accept", {"player": "ann"}),
    ("GET", "/v1/matches/m-000000000001", None),
    ("GET", "/v1/queues", None),
    ("HEAD", "/v1/queues", None),
    ("GET", "/v1/queues/pool", None),
    ("GET", "/v1/queues/nope", None),
    ("PUT", "/v1/players/ann/blocks", {"players": ["eve"]}),
    ("PUT", "/v1/players/ann/blocks", {"player": ["eve"]}),
    ("GET", "/v1/players/ann", None),
    ("GET", "/v1/players/nobody", None),
    ("GET", "/v1/players/ann/ratings", None),
    ("GET", "/v1/players/ann/history?limit=3", None),
    ("GET", "/v1/players/ann/history?limit=x", None),
    ("GET", "/v1/players/ann/export", None),
    ("DELETE", "/v1/players/ann/cooldowns", None),
    ("DELETE", "/v1/players/ann/cooldowns?queue=nope", None),
    ("GET", "/v1/audit?after=0&limit=2", None),
    ("GET", "/v1/audit?after=1:1", None),
    ("GET", "/v1/deadletters", None),
    ("POST", "/v1/deadletters/a-000000000001/retry", None),
    ("POST", "/v1/backup", None),
    ("DELETE", "/v1/players/ann", None),
    ("DELETE", "/v1/players/ann", None),
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/", None),
    ("GET", "/docs", None),
    ("GET", "/openapi.json", None),
    ("GET", "/nope", None),
    ("PUT", "/v1/queues/pool/tickets", {}),
    ("OPTIONS", "/v1/queues", None),
]


async def _raw(app: App | Lanes, key: str) -> list[tuple[int, list[tuple[bytes, bytes]], bytes]]:
    found = []
    async with living(app) as client:
        client.headers.update(bearer(key))
        for method, path, body in REQUESTS:
            answer = await client.request(method, path, json=body)
            found.append((answer.status_code, answer.headers.raw, answer.content))
    return found


def test_one_lane_is_answered_byte_for_byte_as_by_its_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.service.owner.Clock", Stopped)
    key = key_in(tmp_path, "operator")
    alone, behind = (lane(1, settings_in(tmp_path)) for _ in range(2))
    by_itself, by_lanes = asyncio.run(_raw(alone, key)), asyncio.run(_raw(Lanes({1: behind}), key))
    for request, one, other in zip(REQUESTS, by_itself, by_lanes, strict=True):
        assert one == other, request
    assert {status for status, _, _ in by_itself} >= {200, 201, 204, 400, 404, 405, 409, 422, 503}


# -- by queue and by number --------------------------------------------------------------------------------------------


def test_tickets_proposals_and_matches_are_found_in_their_lanes(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        here, there = await operator.join("pool", "ann"), await operator.join("wide", "ben")
        assert (here, there) == ("t-000000000001", ticket_id(SECOND))
        assert (await operator.ask("GET", f"/v1/tickets/{there}"))["ticket"]["players"][0]["id"] == "ben"
        assert (await operator.client.head(f"/v1/tickets/{there}")).status_code == 200
        for path in ("heartbeat", "cancel"):
            await operator.ask("POST", f"/v1/tickets/{there}/{path}", {}, 204)
        tickets = [await operator.join("arena", player) for player in ("cat", "dan")]
        proposal = await operator.proposal(tickets[0])
        assert lane_of(int(proposal[2:])) == 2
        for player in ("cat", "dan"):
            await operator.ask("POST", f"/v1/proposals/{proposal}/accept", {"player": player})
        match = f"m-{proposal[2:]}"
        assert (await operator.ask("GET", f"/v1/matches/{match}"))["match"]["queue"] == "arena"
        for path in (f"tickets/t-{first_number(3)}", "tickets/t-000000000099", f"matches/m-{first_number(9)}"):
            assert (await operator.ask("GET", f"/v1/{path}", None, 404))["reason"].startswith("unknown_")
        assert (await operator.ask("GET", "/v1/queues/swift/leaderboard"))["queue"] == "swift"

    run(test, tmp_path)


def test_an_unknown_queue_is_answered_with_the_queues_of_all_lanes(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        known = "open queues: arena, duel, pool, swift, wide"
        for method, path, body in (
            ("GET", "/v1/queues/nope", None),
            ("POST", "/v1/queues/nope/tickets", JOIN),
            ("GET", "/v1/watch?queue=nope", None),
        ):
            answer = await operator.client.request(method, path, json=body)
            assert answer.status_code == 404
            assert answer.json()["detail"].endswith(known), (path, answer.text)
            assert int(answer.headers["content-length"]) == len(answer.content)
        await operator.join("pool", "ann")
        assert (await operator.ask("DELETE", "/v1/players/ann/cooldowns?queue=nope", None, 404))["reason"] == (
            "unknown_queue"
        )
        assert (await operator.ask("GET", "/nope", None, 404))["reason"] == "not_found"
        head = await operator.client.head("/v1/queues/nope")
        assert (head.status_code, head.content) == (404, b"")

    run(test, tmp_path)


def test_websockets_and_streams_go_to_the_lane_of_their_ticket(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        for queue, player in (("pool", "ann"), ("wide", "ben")):
            ticket = await operator.join(queue, player)
            query = f"token={operator.client.headers['authorization'].split()[1]}"
            code, said = await callers.watch(operator.lanes, ticket, query)
            assert code is None
            assert json.loads(said)["ticket"] == ticket
            status, told = await callers.stream(operator.lanes, ticket, query)
            assert status == 200
            assert f'"queue":"{queue}"' in told
        assert (await callers.watch(operator.lanes, f"t-{first_number(7)}", query))[0] == 4404

    run(test, tmp_path)


# -- the whole server --------------------------------------------------------------------------------------------------


def test_queues_of_all_lanes_are_in_one_list(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        names = [queue["name"] for queue in (await operator.ask("GET", "/v1/queues"))["queues"]]
        assert names == ["arena", "duel", "pool", "swift", "wide"]
        head = await operator.client.head("/v1/queues")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["cache-control"] == "no-store"

    run(test, tmp_path)


def test_a_player_is_shown_as_all_lanes_know_one(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        await operator.ask("GET", "/v1/players/ann", None, 404)
        only = await operator.join("wide", "ann")
        assert (await operator.ask("GET", "/v1/players/ann"))["player"]["tickets"] == [only]
        also = await operator.join("pool", "ann")
        told = await operator.ask("PUT", "/v1/players/ann/blocks", {"players": ["eve", "dan"]})
        assert told == await operator.ask("GET", "/v1/players/ann")
        assert told["player"] == {"id": "ann", "tickets": [also, only], "cooldowns": [], "blocks": ["dan", "eve"]}
        for app in operator.lanes.apps.values():
            assert len(app.runner.engine.state.blocks) == 1
        for queue in ("duel", "arena"):
            ticket = await operator.join(queue, "fay")
            await operator.join(queue, "gus")
            proposal = await operator.proposal(ticket)
            await operator.ask("POST", f"/v1/proposals/{proposal}/decline", {"player": "fay"})
        cooling = (await operator.ask("GET", "/v1/players/fay"))["player"]["cooldowns"]
        assert [one["queue"] for one in cooling] == ["duel", "arena"]
        await operator.ask("DELETE", "/v1/players/fay/cooldowns?queue=arena", None, 204)
        cooling = (await operator.ask("GET", "/v1/players/fay"))["player"]["cooldowns"]
        assert [one["queue"] for one in cooling] == ["duel"]
        await operator.ask("DELETE", "/v1/players/fay/cooldowns", None, 204)
        assert (await operator.ask("GET", "/v1/players/fay"))["player"]["cooldowns"] == []
        await operator.ask("DELETE", "/v1/players/nobody/cooldowns", None, 404)
        bad = await operator.ask("PUT", "/v1/players/ann/blocks", {"players": [""]}, 422)
        assert bad["reason"] == "bad_player_id"
        assert (await operator.ask("PUT", "/v1/players/ann/blocks", {"x": 1}, 400))["reason"] == "malformed"
        large = {"players": ["x" * 100] * 2_000}
        assert (await operator.ask("PUT", "/v1/players/ann/blocks", large, 413))["reason"] == "too_large"

    run(test, tmp_path, body_max_bytes=4_096)


def test_ratings_and_results_of_a_player_are_told_of_all_lanes(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        await operator.join("pool", "ann")
        played = [await operator.played("ann", "ben") for _ in range(2)]
        told = await operator.ask("GET", "/v1/players/ann/ratings")
        assert [(one["ladder"], one["games"]) for one in told["ratings"]] == [("swift", 2)]
        history = (await operator.ask("GET", "/v1/players/ann/history"))["history"]
        assert [one["match"] for one in history] == played[::-1]
        assert (await operator.ask("GET", "/v1/players/ann/history?limit=1"))["history"] == history[:1]
        await operator.ask("GET", "/v1/players/ann/history?limit=0", None, 400)
        export = (await operator.ask("GET", "/v1/players/ann/export"))["export"]
        assert [ticket["queue"] for ticket in export["tickets"]] == ["pool", "swift", "swift"]
        assert [match["id"] for match in export["matches"]] == played
        assert len(export["results"]) == len(export["history"]) == 2
        assert [rating["ladder"] for rating in export["ratings"]] == ["swift"]

    run(test, tmp_path)


def test_an_erased_player_is_gone_from_all_lanes(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        for queue in ("pool", "wide"):
            await operator.join(queue, "ann", attributes={"name": "Ann Archer"})
        await operator.ask("PUT", "/v1/players/ben/blocks", {"players": ["ann"]})
        erased = (await operator.ask("DELETE", "/v1/players/ann"))["erased"]
        assert (erased["tickets_cancelled"], erased["attributes_removed"], erased["blocks_removed"]) == (2, 2, 1)
        assert erased["shown_as"] == "#1"
        await operator.ask("GET", "/v1/players/ann", None, 404)
        await operator.ask("DELETE", "/v1/players/ann", None, 404)
        for ticket in ("t-000000000001", ticket_id(SECOND)):
            shown = (await operator.ask("GET", f"/v1/tickets/{ticket}"))["ticket"]
            assert (shown["status"], shown["players"][0]["id"], shown["attributes"]) == ("cancelled", "#1", {})
        await operator.ask("DELETE", "/v1/players/ben?name=maybe", None, 400)
        kept = await operator.ask("DELETE", "/v1/players/ben?name=keep")
        assert kept["erased"]["tickets_cancelled"] == 0
        assert (await operator.ask("GET", "/v1/players/ben"))["player"]["blocks"] == []

    run(test, tmp_path)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_player_is_erased_from_all_lanes_where_they_share_their_names(tmp_path: Path, failing: int) -> None:
    async def test(operator: Operator) -> None:
        stores = [app.runner.journal.store for app in operator.lanes.apps.values()]  # type: ignore[attr-defined]
        stores[1].names, stores[1].numbers = stores[0].names, stores[0].numbers
        tickets = [await operator.join(queue, "ann") for queue in ("pool", "wide")]
        if failing:
            broken(operator.lanes, failing)
            await operator.ask("DELETE", "/v1/players/ann", None, 503)
            assert stores[0].numbers == {"ann": 1}  # so that it can be asked for again, by name
            broken(operator.lanes, failing, False)
            await until(lambda: all(app.runner.ready for app in operator.lanes.apps.values()), "ready")
        assert (await operator.ask("DELETE", "/v1/players/ann"))["erased"]["shown_as"] == "#1"
        assert stores[0].numbers == {}
        await operator.ask("GET", "/v1/players/ann", None, 404)
        for ticket in tickets:
            shown = (await operator.ask("GET", f"/v1/tickets/{ticket}"))["ticket"]
            assert (shown["status"], shown["players"][0]["id"]) == ("cancelled", "#1")

    run(test, tmp_path)


def test_the_audit_of_all_lanes_is_read_to_its_end_without_a_gap_or_a_repeat(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        modes = ["paused", "open", "draining", "open", "paused"]
        for number, mode in enumerate(modes):
            queue = ("pool", "wide", "wide", "pool", "wide")[number]
            await operator.ask("PUT", f"/v1/queues/{queue}/mode", {"mode": mode}, 204)
            await asyncio.sleep(0.003)
        read: list[dict[str, Any]] = []
        after = "0"
        while entries := (page := await operator.ask("GET", f"/v1/audit?limit=2&after={after}"))["entries"]:
            assert len(entries) <= 2
            read += entries
            after = page["after"]
        assert page["after"] == after
        assert [entry["action"] for entry in read] == [f"set_mode {mode}" for mode in modes]
        assert [entry["lane"] for entry in read] == [1, 2, 2, 1, 2]
        assert (await operator.ask("GET", "/v1/audit"))["entries"] == read
        first = [entry["sequence"] for entry in read if entry["lane"] == 1]
        alone = await operator.ask("GET", "/v1/audit?lane=1")
        assert ([entry["sequence"] for entry in alone["entries"]], alone["after"]) == (first, first[-1])
        rest = await operator.ask("GET", f"/v1/audit?after={first[-1]}")  # read while there was one lane
        assert rest["entries"] == [entry for entry in read if entry["lane"] == 2]
        for query in (
            "after=x",
            "after=1:",
            "after=1:2,",
            "limit=0",
            "limit=x",
            "lane=7",
            "lane=x",
            "lane=1&after=1:1",
        ):
            assert (await operator.ask("GET", f"/v1/audit?{query}", None, 400))["reason"] == "malformed", query

    run(test, tmp_path)


def test_dead_letters_of_all_lanes_are_listed_and_found_by_number(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        for number, made_ms in ((1, 20), (2, 10)):
            match = first_number(number)
            journal = operator.lanes.apps[number].runner.journal
            assert isinstance(journal, MemoryJournal)
            journal.store.outbox[match] = Letter(match, "duel", made_ms, status="dead")
        told = (await operator.ask("GET", "/v1/deadletters"))["deadletters"]
        assert [letter["id"] for letter in told] == [f"a-{SECOND}", "a-000000000001"]
        over = await operator.ask("POST", f"/v1/deadletters/a-{SECOND}/retry", None, 409)
        assert over["reason"] == "match_over"
        told = (await operator.ask("GET", "/v1/deadletters"))["deadletters"]
        assert [letter["id"] for letter in told] == ["a-000000000001"]

    run(test, tmp_path)


def test_a_backup_is_of_the_lane_that_is_asked_for(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        for query in ("", "?lane=2"):
            assert (await operator.ask("POST", f"/v1/backup{query}", None, 503))["reason"] == "no_backup"
        assert "lanes: 1 (main), 2 (main)" in (await operator.ask("POST", "/v1/backup?lane=3", None, 400))["detail"]

    run(test, tmp_path)


def test_metrics_of_all_lanes_have_every_sample_once(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        await operator.join("pool", "ann")
        await operator.join("wide", "ben")
        await operator.ask("GET", "/v1/queues")
        await operator.ask("GET", "/v1/players/nobody", None, 404)
        text = (await operator.client.get("/metrics")).text
        families = list(text_string_to_metric_families(text))
        assert len({family.name for family in families}) == len(families)
        samples = [(sample.name, tuple(sorted(sample.labels.items()))) for f in families for sample in f.samples]
        assert len(set(samples)) == len(samples)
        values = {
            (sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples
        }
        assert values["evenmatch_tickets_waiting", "pool"] == values["evenmatch_tickets_waiting", "wide"] == 1
        assert values["evenmatch_tickets_joined_total", "wide"] == 1
        assert values["evenmatch_http_requests_total", "POST", "201"] == 2
        assert values["evenmatch_http_requests_total", "GET", "200"] == 1
        assert values["evenmatch_http_requests_total", "GET", "404"] == 1
        assert values["evenmatch_refusals_total", "unknown_player"] == 1
        assert values["evenmatch_ready",] == 1
        counted = sum(app.runner.metrics.events for app in operator.lanes.apps.values())
        assert values["evenmatch_events_total",] == counted
        commits = [sample.value for f in families if f.name == "evenmatch_commit_seconds" for sample in f.samples]
        assert commits[:13] == sorted(commits[:13])
        broken(operator.lanes, 2)
        await operator.ask("POST", "/v1/queues/wide/tickets", JOIN, 503)
        assert "\nevenmatch_ready 0.0\n" in (await operator.client.get("/metrics")).text

    run(test, tmp_path)


def test_a_server_is_ready_once_all_its_lanes_are(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        assert await operator.ask("GET", "/readyz") == {"status": "ready"}
        broken(operator.lanes, 2)
        await operator.ask("POST", "/v1/queues/wide/tickets", JOIN, 503)
        told = await operator.ask("GET", "/readyz", None, 503)
        assert told.pop("why").startswith("lane main: the ")
        assert told == {"status": "not ready", "lanes": "main (2)"}
        assert await operator.ask("GET", "/healthz") == {"status": "ok"}
        await operator.join("pool", "ann")  # the other lane goes on
        broken(operator.lanes, 2, False)

        async def ready() -> bool:
            return (await operator.client.get("/readyz")).status_code == 200

        await until(ready, "ready again")

    run(test, tmp_path)


def test_one_stream_shows_the_queues_of_all_lanes(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        await operator.join("wide", "ann")
        query = f"token={operator.client.headers['authorization'].split()[1]}"
        for queue, waiting in (("", None), ("pool", 0), ("wide", 1)):
            asked = f"{query}&queue={queue}" if queue else query
            status, told = await callers.stream(operator.lanes, "", asked, path="/v1/watch")
            assert status == 200
            frame = json.loads(told.partition("data: ")[2])
            assert [card["queue"] for card in frame["queues"]] == ["arena", "duel", "pool", "swift", "wide"]
            assert {card["queue"]: card["waiting"] for card in frame["queues"]}["wide"] == 1
            assert (frame["server"]["ready"], frame["server"]["watchers"]) == (True, 1)
            states = [app.runner.engine.state for app in operator.lanes.apps.values()]
            assert frame["server"]["sequence"] == sum(state.sequence for state in states)
            picture = frame["picture"]
            assert (picture is None) if waiting is None else (picture["queue"], picture["waiting"]) == (queue, waiting)

    run(test, tmp_path)


# -- if one lane fails -------------------------------------------------------------------------------------------------


def test_a_question_to_all_lanes_fails_if_one_fails(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        await operator.join("pool", "ann")
        broken(operator.lanes, 2)
        await operator.ask("POST", "/v1/queues/wide/tickets", JOIN, 503)
        for path in ("/v1/queues", "/v1/players/ann", "/v1/audit", "/v1/deadletters", "/v1/players/ann/export"):
            answer = await operator.client.get(path)
            assert (answer.status_code, answer.json()["reason"]) == (503, "journal_unavailable"), path
            assert answer.json()["detail"].startswith("lane 2: ")
            assert int(answer.headers["retry-after"]) >= 1
            names = [name for name, _ in answer.headers.raw]
            assert len(set(names)) == len(names)
        assert (await operator.ask("GET", "/v1/queues/pool"))["queue"]["waiting"] == 1

    run(test, tmp_path)


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/players/ann/blocks", {"players": ["eve"]}),
        ("DELETE", "/v1/players/ann/cooldowns", None),
        ("DELETE", "/v1/players/ann", None),
    ],
)
def test_an_order_that_not_all_lanes_carry_out_says_so_and_can_be_given_again(
    tmp_path: Path, method: str, path: str, body: Any, failing: int
) -> None:
    async def test(operator: Operator) -> None:
        for queue in ("pool", "wide"):
            await operator.join(queue, "ann")
        broken(operator.lanes, failing)
        answer = await operator.client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["reason"]) == (503, "partly_done"), answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert f"lane {failing} did not do it (journal_unavailable" in answer.json()["detail"]
        erasing = method == "DELETE" and path.endswith("ann")
        others = "no lane did" if erasing and failing == 2 else f"lane {3 - failing} did"
        assert others in answer.json()["detail"]
        broken(operator.lanes, failing, False)

        async def again() -> bool:
            return (await operator.client.request(method, path, json=body)).status_code in (200, 204)

        await until(again, "done by all")
        if erasing:
            await operator.ask("GET", "/v1/players/ann", None, 404)
            for ticket in ("t-000000000001", ticket_id(SECOND)):
                assert (await operator.ask("GET", f"/v1/tickets/{ticket}"))["ticket"]["status"] == "cancelled"
        elif method == "PUT":
            for app in operator.lanes.apps.values():
                assert len(app.runner.engine.state.blocks) == 1

    run(test, tmp_path)


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_a_rate_holds_over_all_lanes_and_a_request_to_all_counts_once(tmp_path: Path) -> None:
    key = key_in(tmp_path, "reader", "slow", rate=0.01)  # one at once, and then one in 100 s

    async def test(operator: Operator) -> None:
        for first in ("/v1/queues", "/v1/queues/wide"):
            operator.lanes.gate.buckets._full_at.clear()
            statuses = [
                (await operator.client.get(path, headers=bearer(key))).status_code
                for path in (first, "/v1/queues/pool", "/v1/queues/wide", "/v1/queues")
            ]
            assert statuses == [200, 429, 429, 429]
        assert (await operator.client.get("/v1/audit", headers=bearer(key))).status_code == 429
        nobody = await operator.client.get("/v1/audit", headers={"authorization": "Bearer em_nonsense"})
        assert nobody.status_code == 401

    run(test, tmp_path)


def test_a_player_is_bound_to_tickets_and_matches_of_every_lane(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        match = await operator.played("ann", "ben")
        tickets = [await operator.join("pool", "ann"), await operator.join("wide", "ann")]
        ann, eve = bearer(token("ann")), bearer(token("eve"))
        for path in (*(f"tickets/{ticket}" for ticket in tickets), f"matches/{match}", "players/ann"):
            assert (await operator.client.get(f"/v1/{path}", headers=ann)).status_code == 200, path
            refused = await operator.client.get(f"/v1/{path}", headers=eve)
            assert (refused.status_code, refused.json()["reason"]) == (403, "not_yours"), path
        assert (await callers.watch(operator.lanes, tickets[1], f"token={token('ann')}"))[0] is None
        assert (await callers.watch(operator.lanes, tickets[1], f"token={token('eve')}"))[0] == 4403
        assert (await operator.client.delete("/v1/players/ann", headers=ann)).status_code == 403
        assert (await operator.client.get("/v1/queues", headers=ann)).status_code == 200

    run(test, tmp_path)


# -- from start to stop ------------------------------------------------------------------------------------------------


def test_a_lane_may_come_while_the_server_runs(tmp_path: Path) -> None:
    async def test(operator: Operator) -> None:
        late = lane(3, operator.lanes.first.settings)
        await operator.ask("GET", "/v1/queues/late", None, 404)
        operator.lanes.add(3, late)
        assert late.gate.keys is operator.lanes.gate.keys
        ticket = await operator.join("late", "ann")
        assert lane_of(int(ticket[2:])) == 3
        assert "late" in [queue["name"] for queue in (await operator.ask("GET", "/v1/queues"))["queues"]]
        assert 'evenmatch_tickets_waiting{queue="late"} 1.0' in (await operator.client.get("/metrics")).text

    run(test, tmp_path)


def test_all_lanes_stop_with_the_server_and_their_lines_hear_of_it(tmp_path: Path) -> None:
    async def inside() -> None:
        async with operated(tmp_path) as operator:
            ticket = await operator.join("wide", "ann")
            heard = asyncio.create_task(callers.messages(operator.lanes, ticket, "never", f"token={token('ann')}"))
            await until(lambda: operator.lanes.apps[2].hub.open, "a line")
            operator.lanes.hang_up()
            with pytest.raises(AssertionError, match="1001"):
                await heard
        for app in operator.lanes.apps.values():
            assert app.runner.stopping
            assert not app.runner.ready

    asyncio.run(inside())


def test_an_application_that_cannot_start_is_heard_of(tmp_path: Path) -> None:
    async def inside() -> None:
        lanes = two(settings_in(tmp_path))
        lanes.apps[2].runner.start = None  # type: ignore[method-assign, assignment]
        to_app: asyncio.Queue[Any] = asyncio.Queue()
        to_app.put_nowait({"type": "lifespan.startup"})
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        with pytest.raises(TypeError):
            await lanes({"type": "lifespan"}, to_app.get, send)
        assert sent == []
        assert lanes.apps[1].runner.stopping

    asyncio.run(inside())
