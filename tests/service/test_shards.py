"""A queue that is split: clients name the queue, tickets wait in shards, in lanes of their own or in one."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.domain.ids import first_number
from evenmatch.domain.queue import Format, QueueSpec, WaveSpec
from evenmatch.domain.shards import Split, shard_of
from evenmatch.errors import JournalDamaged
from evenmatch.service.app import App
from evenmatch.service.lanes import Lanes
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.postgres_shards import declare, declared
from tests import postgres

from .callers import bearer, key_in, settings_in, token
from .conftest import MakeServer
from .harness import eventually, queue
from .inside import SETTINGS, FailingMemory, app_over, living

REGIONS = Split("duel", "region", {"eu": ("eu-west", "eu-east"), "us": ("us",)})
BANDS = Split("duel", "rating", bands={"low": (0.0, 1600.0), "high": (1500.0, 4000.0)})
MODES = Split("duel", "attributes.ranked", {"yes": ("true",), "no": ("false",)})


def spec(name: str) -> QueueSpec:
    return QueueSpec(name, Format(2, 100), wave=WaveSpec(60.0))


def lane(number: int, *specs: QueueSpec, **more: Any) -> App:
    app = app_over(FailingMemory(), *specs, settings=more.get("settings", SETTINGS))
    app.runner.engine.state.next_ticket = app.runner.engine.state.next_proposal = first_number(number)
    return app


def lanes(split: Split, *whole: QueueSpec, **more: Any) -> Lanes:
    """A lane for each shard, from the second on; the first has what is not split."""
    apps = {1: lane(1, spec("pool"), *whole, **more)}
    apps |= {number: lane(number, spec(name), **more) for number, name in enumerate(split.queues, 2)}
    return Lanes(apps, {split.queue: split})


class Asking:
    """A client of a split queue."""

    def __init__(self, door: Lanes, client: httpx.AsyncClient) -> None:
        self.door, self.client = door, client

    async def ask(self, method: str, path: str, body: Any = None, status: int = 200, key: str = "") -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        answer = await self.client.request(method, path, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def join(self, body: dict[str, Any], key: str = "") -> dict[str, Any]:
        found: dict[str, Any] = (await self.ask("POST", "/v1/queues/duel/tickets", body, 201, key))["ticket"]
        return found

    async def batch(self, *tickets: Any, status: int = 200, key: str = "") -> Any:
        return await self.ask("POST", "/v1/queues/duel/tickets:batch", {"tickets": list(tickets)}, status, key)


@contextlib.asynccontextmanager
async def asking(door: Lanes) -> AsyncIterator[Asking]:
    async with living(door) as client:
        yield Asking(door, client)


def run(door: Lanes, test: Callable[[Asking], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        async with asking(door) as found:
            await test(found)

    asyncio.run(inside())


def player(name: str, **more: Any) -> dict[str, Any]:
    return {"players": [{"id": name, **more}]}


# -- one ticket --------------------------------------------------------------------------------------------------------


def test_a_ticket_waits_in_its_shard_and_goes_on_by_its_number() -> None:
    async def test(asks: Asking) -> None:
        here, there = await asks.join(player("ann", region="eu-east")), await asks.join(player("ben", region="us"))
        assert (here["queue"], there["queue"]) == ("duel-eu", "duel-us")
        assert (await asks.ask("GET", f"/v1/tickets/{there['id']}"))["ticket"]["queue"] == "duel-us"
        await asks.ask("DELETE", f"/v1/tickets/{here['id']}", status=204)
        answer = await asks.client.post("/v1/queues/duel/tickets", json=player("cid", region="us"))
        assert answer.headers["location"] == f"/v1/tickets/{answer.json()['ticket']['id']}"
        assert (await asks.ask("POST", "/v1/queues/duel-eu/tickets", player("dan"), 201))["ticket"][
            "queue"
        ] == "duel-eu"

    run(lanes(REGIONS), test)


def test_the_leader_speaks_for_a_party_and_its_rating_is_the_mean() -> None:
    async def by_region(asks: Asking) -> None:
        party: dict[str, Any] = {"players": [{"id": "ann", "region": "us"}, {"id": "ben", "region": "eu-west"}]}
        assert (await asks.join(party))["queue"] == "duel-us"
        party = {"players": [{"id": "cid", "region": "us"}, {"id": "dan", "region": "eu-west"}], "leader": "dan"}
        assert (await asks.join(party))["queue"] == "duel-eu"

    async def by_rating(asks: Asking) -> None:
        party = {"players": [{"id": "ann", "rating": 900}, {"id": "ben", "rating": 2900}]}
        assert (await asks.join(party))["queue"] == "duel-high"
        assert (await asks.join(player("cid", rating=-50)))["queue"] == "duel-low"

    run(lanes(REGIONS), by_region)
    run(lanes(BANDS), by_rating)


def test_an_attribute_may_be_a_boolean() -> None:
    async def test(asks: Asking) -> None:
        for value, expected in ((True, "duel-yes"), (False, "duel-no"), ("true", "duel-yes")):
            found = await asks.join(player(f"ann {value!r}") | {"attributes": {"ranked": value}})
            assert found["queue"] == expected
        refused = await asks.ask("POST", "/v1/queues/duel/tickets", player("ben"), 422)
        assert refused["reason"] == "no_shard"
        assert refused["detail"] == "attributes.ranked is missing, and duel is split by it: use true, false"

    run(lanes(MODES), test)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (player("ann"), 422, "no_shard"),
        (player("ann", region="mars"), 422, "no_shard"),
        ({"players": []}, 422, "empty_party"),
        ({"players": "ann"}, 400, "malformed"),
        (player("ann", region="us", rating=1e9), 422, "bad_rating"),
    ],
)
def test_what_cannot_join_is_told_why(body: Any, status: int, reason: str) -> None:
    async def test(asks: Asking) -> None:
        assert (await asks.ask("POST", "/v1/queues/duel/tickets", body, status))["reason"] == reason

    run(lanes(REGIONS), test)


def test_a_key_finds_its_ticket_again_however_many_have_come_to_the_other_band() -> None:
    async def test(asks: Asking) -> None:
        for n in range(6):
            body, key = player(f"ann{n}", rating=1550), f"key-{n}"
            first = await asks.join(body, key)
            others = [player(f"x{n}-{k}", rating=100 if first["queue"] == "duel-low" else 3900) for k in range(5)]
            await asks.batch(*others)
            assert await asks.join(body, key) == first
            twice = await asks.ask("POST", "/v1/queues/duel/tickets", body, 409)
            assert twice["reason"] == "already_waiting"

    run(lanes(BANDS), test)


# -- batches -----------------------------------------------------------------------------------------------------------

regions = st.sampled_from(["eu-west", "eu-east", "us", "mars", None])


@settings(max_examples=25, deadline=None)
@given(st.lists(regions, max_size=12))
def test_outcomes_of_a_batch_stand_in_the_order_asked(wanted: list[str | None]) -> None:
    async def test(asks: Asking) -> None:
        tickets = [player(f"p{n}", **({} if region is None else {"region": region})) for n, region in enumerate(wanted)]
        found = (await asks.batch(*tickets))["outcomes"]
        assert len(found) == len(wanted)
        for n, (region, outcome) in enumerate(zip(wanted, found, strict=True)):
            expected = shard_of(REGIONS, region, f"p{n}")
            if expected is None:
                assert outcome["problem"]["reason"] == "no_shard"
            else:
                assert outcome["ticket"]["queue"] == expected
                assert outcome["ticket"]["players"][0]["id"] == f"p{n}"
        again = (await asks.batch(*tickets))["outcomes"]
        assert {one["problem"]["reason"] for one in again} <= {"no_shard", "already_waiting"}

    run(lanes(REGIONS), test)


def test_a_batch_that_is_sent_again_with_its_key_is_answered_as_before() -> None:
    async def test(asks: Asking) -> None:
        tickets = [player(f"p{n}", rating=1550) for n in range(12)]
        first = await asks.batch(*tickets, key="one")
        assert {one["ticket"]["queue"] for one in first["outcomes"]} == {"duel-low", "duel-high"}
        await asks.batch(*[player(f"q{n}", rating=100) for n in range(12)])
        assert await asks.batch(*tickets, key="one") == first

    run(lanes(BANDS), test)


def test_a_bad_ticket_spoils_no_other_and_a_bad_batch_is_refused_whole() -> None:
    async def test(asks: Asking) -> None:
        good, bad = player("ann", region="us"), {"players": 3}
        found = (await asks.batch(bad, good))["outcomes"]
        assert found[0]["problem"]["reason"] == "malformed"
        assert found[1]["ticket"]["queue"] == "duel-us"
        bodies: list[Any] = [[], {"tickets": 3}, {"ticket": []}]
        for body in bodies:
            assert (await asks.ask("POST", "/v1/queues/duel/tickets:batch", body, 400))["reason"] == "malformed"
        assert await asks.batch() == {"outcomes": []}
        refused = await asks.batch(player("ben", region="us"), status=400, key="x" * 300)
        assert refused["reason"] == "bad_key"

    run(lanes(REGIONS), test)


def test_if_one_shard_fails_its_tickets_alone_are_told_so_and_a_repetition_mends_it() -> None:
    async def test(asks: Asking) -> None:
        journal: Any = asks.door.apps[3].runner.journal
        tickets = [player("ann", region="us"), player("ben", region="eu-west"), player("cid", region="us")]
        journal.failures.append("before")
        found = (await asks.batch(*tickets, key="one"))["outcomes"]
        assert [one.get("problem", {}).get("status") for one in found] == [503, None, 503]
        mended = (await asks.batch(*tickets, key="one"))["outcomes"]
        assert [one["ticket"]["queue"] for one in mended] == ["duel-us", "duel-eu", "duel-us"]
        assert mended[1] == found[1]
        journal.failures.append("before")
        assert (await asks.batch(player("dan", region="us"), status=503))["reason"] == "journal_unavailable"

    run(lanes(REGIONS), test)


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_a_split_queue_is_seen_as_one_with_the_numbers_of_its_shards() -> None:
    async def test(asks: Asking) -> None:
        party = {"players": [{"id": "ann", "region": "us"}, {"id": "ben"}]}
        await asks.batch(party, player("cid", region="us"), player("dan", region="eu-west"))
        found = (await asks.ask("GET", "/v1/queues/duel"))["queue"]
        assert (found["name"], found["waiting"], found["players_waiting"], found["mode"]) == ("duel", 3, 4, "open")
        assert found["spec"]["name"] == "duel"
        assert [(one["name"], one["waiting"]) for one in found["shards"]] == [("duel-eu", 1), ("duel-us", 2)]
        listed = [one["name"] for one in (await asks.ask("GET", "/v1/queues"))["queues"]]
        assert listed == ["duel-eu", "duel-us", "pool"]
        assert (await asks.client.head("/v1/queues/duel")).status_code == 200

    run(lanes(REGIONS), test)


def test_a_forecast_is_of_the_shard_that_would_take_the_ticket() -> None:
    async def by_rating(asks: Asking) -> None:
        found = await asks.ask("GET", "/v1/queues/duel/forecast?rating=2500")
        assert found["forecast"]["queue"] == "duel-high"
        for query in ("", "?rating=nan", "?rating=x"):
            assert (await asks.ask("GET", f"/v1/queues/duel/forecast{query}", status=409))["reason"] == "split"

    async def by_region(asks: Asking) -> None:
        found = await asks.ask("GET", "/v1/queues/duel/forecast?region=us")
        assert found["forecast"]["queue"] == "duel-us"
        refused = await asks.ask("GET", "/v1/queues/duel/forecast?region=mars", status=409)
        assert refused["detail"].endswith(
            "ask /v1/queues/duel-eu/forecast or /v1/queues/duel-us/forecast, or say region="
        )

    run(lanes(BANDS), by_rating)
    run(lanes(REGIONS), by_region)


def test_what_shards_cannot_answer_together_names_them() -> None:
    async def test(asks: Asking) -> None:
        for method, path in (("GET", "leaderboard"), ("GET", "waves"), ("GET", "versions"), ("GET", "history")):
            refused = await asks.ask(method, f"/v1/queues/duel/{path}", status=409)
            assert refused["reason"] == "split"
            assert f"/v1/queues/duel-eu/{path} or /v1/queues/duel-us/{path}" in refused["detail"]
        assert (await asks.ask("GET", "/v1/queues/nope", status=404))["detail"].endswith("duel-eu, duel-us, pool")

    run(lanes(REGIONS), test)


def test_a_queue_that_was_open_before_goes_on_beside_its_shards_and_takes_nobody() -> None:
    async def test(asks: Asking) -> None:
        assert (await asks.join(player("ann", region="us")))["queue"] == "duel-us"
        found = (await asks.ask("GET", "/v1/queues/duel"))["queue"]
        assert [one["name"] for one in found["shards"]] == ["duel-eu", "duel-us", "duel"]
        await asks.ask("GET", "/v1/queues/duel/history")

    run(lanes(REGIONS, spec("duel")), test)


def test_a_shard_that_nobody_has_opened_yet_is_told_to_come_again() -> None:
    async def test(asks: Asking) -> None:
        refused = await asks.client.post("/v1/queues/duel/tickets", json=player("ann", region="us"))
        assert (refused.status_code, refused.json()["reason"]) == (503, "shard_not_open")
        assert refused.headers["retry-after"] == "1"
        found = (await asks.ask("GET", "/v1/queues/duel"))["queue"]
        assert [one["name"] for one in found["shards"]] == ["duel-eu"]

    run(Lanes({1: lane(1, spec("duel-eu"))}, {"duel": REGIONS}), test)


def test_one_server_alone_serves_shards_as_well() -> None:
    async def test(asks: Asking) -> None:
        for region, expected in (("us", "duel-us"), ("eu-west", "duel-eu")):
            found = await asks.join(player(region, region=region))
            assert found["queue"] == expected
            assert (await asks.ask("GET", f"/v1/tickets/{found['id']}"))["ticket"]["queue"] == expected
        assert (await asks.ask("GET", "/v1/queues/duel"))["queue"]["waiting"] == 2

    run(Lanes({1: lane(1, spec("duel-eu"), spec("duel-us"))}, {"duel": REGIONS}), test)


def test_players_join_as_themselves_and_every_request_is_granted_and_counted_once(tmp_path: Path) -> None:
    key_in(tmp_path, "backend")
    door = lanes(REGIONS, settings=settings_in(tmp_path))

    async def test(asks: Asking) -> None:
        path, body = "/v1/queues/duel/tickets", player("ann", region="us")
        assert (await asks.client.post(path, json=body)).status_code == 401
        shown = bearer(token("ben"))
        assert (await asks.client.post(path, json=body, headers=shown)).json()["reason"] == "not_yours"
        shown = bearer(token("ann"))
        rated = player("ann", region="us", rating=9)
        assert (await asks.client.post(path, json=rated, headers=shown)).json()["reason"] == "rating_not_yours"
        assert (await asks.client.post(path, json=body, headers=shown)).status_code == 201
        assert [app.runner.metrics.requests.get(("POST", 201), 0) for app in door.apps.values()] == [1, 0, 0]

    run(door, test)


# -- the table of the database -----------------------------------------------------------------------------------------


@pytest.fixture
def url() -> str:
    return postgres.cleared()


def test_a_file_speaks_for_the_queues_that_it_names(url: str) -> None:
    PostgresJournal(url, "the database").close()
    with contextlib.closing(Line(url, "the database")) as line:
        assert declared(line) == {}
        assert list(declare(line, {"duel": REGIONS}, ["pool"])) == ["duel"]
        assert declare(line, {"duel": REGIONS}, ["pool"]) == {}
        assert declare(line, {}, ["pool"]) == {}
        assert declared(line) == {"duel": REGIONS}
        ((queue_, (was, now)),) = declare(line, {"duel": BANDS}, []).items()
        assert (queue_, json.loads(was)["by"], json.loads(now)["by"]) == ("duel", "region", "rating")
        assert declared(line) == {"duel": BANDS}
        assert list(declare(line, {}, ["duel"])) == ["duel"]
        assert declared(line) == {}
        with line.use() as db:
            db.execute("INSERT INTO shards VALUES ('duel', '{}')")
        with pytest.raises(JournalDamaged, match=r"start a worker with its queues\.toml again"):
            declared(line)
        declare(line, {"duel": BANDS}, [])
        assert declared(line) == {"duel": BANDS}


SPLIT = queue("duel", size=100, every_s=60.0) + '[shards.duel]\nby = "region"\neu = ["eu"]\nus = ["us"]\n'


def test_a_node_without_a_file_sends_tickets_to_shards_that_workers_own(url: str, make_server: MakeServer) -> None:
    make_server(SPLIT, place=url, EVENMATCH_ROLE="worker")
    node = make_server(place=url, EVENMATCH_ROLE="api")

    def joined(name: str, region: str) -> Any:
        answer = node.http.post(
            "/v1/queues/duel/tickets", json=player(name, region=region), headers={"Idempotency-Key": name}
        )
        return answer.json()["ticket"] if answer.status_code == 201 else None

    first = eventually(lambda: joined("ann", "us"), "a worker that has opened the shard")
    assert first["queue"] == "duel-us"
    assert joined("ann", "us") == first
    assert eventually(lambda: joined("ben", "eu"))["queue"] == "duel-eu"
    found = node.http.get("/v1/queues/duel").json()["queue"]
    assert (found["waiting"], [one["name"] for one in found["shards"]]) == (2, ["duel-eu", "duel-us"])
