"""The Python client against a real server: both kinds, both ways to listen, and everything that can break between."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evenmatch.client import Client, Event, Refused, SyncClient, Unreachable
from evenmatch.client.asking import Attempt, Backoff
from evenmatch.client.calls import leave, ticket_body
from evenmatch.client.following import Course, Way

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, queue
from .relay import Relay

QUEUES = (
    queue("duel")
    + "[queues.duel.rating]\nplacement = 0\n\n"
    + queue("idle", size=50)
    + queue("cold", timeout_s=60.0)
    + "cooldown = { decline_s = 77 }\n\n"
)
WAYS: tuple[Way, ...] = ("websocket", "sse")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("client"), QUEUES)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    made = Relay(server)
    yield made
    made.close()


async def play(client: Client, player: str, way: Way | None = None, **facts: Any) -> list[Event]:
    """Join, accept what is proposed, and hear the story to its end."""
    ticket = await client.join("duel", player, **facts)
    heard = []
    async for event in client.watch(ticket.id, way=way):
        heard.append(event)
        if event.type == "proposed":
            assert event.proposal is not None
            await client.accept(event.proposal["id"], player)
    return heard


@pytest.mark.parametrize("way", WAYS)
def test_a_match_from_joining_to_the_leaderboard(server: Server, way: Way) -> None:
    async def run() -> None:
        async with Client(server.url) as client:
            names = [f"{way}-ann", f"{way}-ben"]
            ann, ben = await asyncio.gather(*(play(client, name, way, rating=1500) for name in names))
            assert [event.type for event in ann] == ["queued", "proposed", "accepted", "accepted", "matched"]
            assert ann[-1].match == ben[-1].match
            assert ann[-1].match is not None
            match = await client.match(ann[-1].match["id"])
            assert sorted(match.names) == [[name] for name in names]
            assert (await client.ticket(ann[0].ticket)).status == "matched"
            result = await client.report(match.id, ranks=[1, 2])
            assert await client.report(match.id, ranks=[1, 2]) == result == await client.result(match.id)
            with pytest.raises(Refused) as refused:
                await client.report(match.id, ranks=[2, 1])
            assert (refused.value.reason, refused.value.status) == ("result_known", 409)
            winner = match.names[0][0]
            assert winner in [leader["player"] for leader in await client.leaderboard("duel", limit=50)]
            (rating,) = await client.ratings(winner)
            assert rating["rating"] > 1500
            assert len(await client.history(winner, limit=5)) == 1
            told = await client.forecast("duel", rating=1500, party=1, region="eu")
            assert (told["queue"], told["basis"]["same_region"]) == ("duel", False)
            with pytest.raises(Refused) as unheard:
                await client.forecast("duel", party=9)
            assert unheard.value.reason == "party_too_large"

    asyncio.run(run())


def test_the_plain_client_does_the_same(server: Server) -> None:
    with SyncClient(server.url) as client:
        assert {found["name"] for found in client.queues()} == {"duel", "idle", "cold"}
        assert client.queue("idle")["waiting"] == 0
        assert client.forecast("idle", rating=1500.5)["p50_s"] is None
        pair = client.join("idle", "p-ann", {"id": "p-ben", "rating": 1700}, attributes={"mood": "good"}, avoid=["eve"])
        assert pair.names == ["p-ann", "p-ben"]
        changed = client.update(pair.id, {"id": "p-ann", "ping_ms": 21}, attributes={"mood": "better"})
        assert (changed.players[0]["ping_ms"], changed.attributes) == (21, {"mood": "better"})
        assert client.block("p-ann", "eve", "mallory")["blocks"] == ["eve", "mallory"]
        assert client.player("p-ann")["tickets"] == [pair.id]
        client.heartbeat(pair.id)
        good, bad = client.batch("idle", [{"players": [{"id": "p-cat"}]}, {"players": [{"id": "p-ann"}]}])
        assert not isinstance(good, Refused)
        assert isinstance(bad, Refused)
        assert bad.reason == "already_waiting"
        for ticket in (pair.id, good.id):
            client.leave(ticket)
        for way in WAYS:
            assert [event.type for event in client.watch(pair.id, way=way)] == ["queued", "updated", "cancelled"]
        first = next(iter(client.watch(pair.id)))
        assert [event.type for event in client.watch(pair.id, after=first.sequence)] == ["updated", "cancelled"]


def test_a_refusal_carries_its_reason_and_how_long_it_lasts(server: Server) -> None:
    with SyncClient(server.url) as client:
        with pytest.raises(Refused, match="no queue is called 'nope'") as unknown:
            client.join("nope", "ann")
        assert (unknown.value.reason, unknown.value.status, unknown.value.retry_after) == ("unknown_queue", 404, 0)
        ticket = client.join("cold", "c-ann")
        client.join("cold", "c-ben")
        proposed = next(event for event in client.watch(ticket.id) if event.type == "proposed")
        assert proposed.proposal is not None
        client.decline(proposed.proposal["id"], "c-ann")
        with pytest.raises(Refused) as cold:  # a matter of more than a minute: raised, not waited for
            client.join("cold", "c-ann")
        assert cold.value.reason == "cooling_down"
        assert 0 < cold.value.retry_after <= 77
        for way in WAYS:
            with pytest.raises(Refused) as gone:
                list(client.watch("t-999999999999", way=way))
            assert (gone.value.reason, gone.value.status) == ("unknown_ticket", 404)
        with pytest.raises(TypeError, match="of which player"):
            client.join("idle", "one", "two", rating=1500)
        with pytest.raises(TypeError, match="ranks"):
            client.report("m-000000000001")
        with pytest.raises(Refused) as odd:  # what varies stays in its place of the path
            client.ticket("../queues")
        assert odd.value.status == 404


def test_no_server_is_an_error_that_says_where(server: Server) -> None:
    with SyncClient("http://127.0.0.1:1", patience_s=0.2) as client:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
            client.queues()
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
            list(client.watch("t-000000000001"))
    for url in ("nonsense", "ftp://x", "http://", ""):
        with pytest.raises(Unreachable, match="is not where a server could be"):
            SyncClient(url)
    with pytest.raises(Refused, match="cannot be one"):
        SyncClient(server.url, "schlüssel")


def test_an_answer_that_is_lost_is_asked_for_again_without_doing_it_twice(relay: Relay) -> None:
    with SyncClient(relay.url) as client:
        relay.swallow = 2
        ticket = client.join("idle", "lost-ann")
        assert relay.swallow == 0
        assert client.player("lost-ann")["tickets"] == [ticket.id]
    with SyncClient(relay.url) as client:
        relay.swallow = 1
        client.leave(ticket.id)  # its second try is told that the ticket is gone: that is what was asked for
        assert relay.swallow == 0
        with pytest.raises(Refused, match="ticket_gone"):
            client.leave(ticket.id)


def test_where_no_websocket_can_be_opened_events_come_by_http(relay: Relay) -> None:
    relay.without_sockets = True
    with SyncClient(relay.url) as client:
        ticket = client.join("idle", "proxy-ann")
        story = client.watch(ticket.id)
        assert next(story).type == "queued"
        client.leave(ticket.id)
        assert [event.type for event in story] == ["cancelled"]
    assert relay.upgrades == 1
    with SyncClient(relay.url, patience_s=0.3) as client, pytest.raises(Unreachable):
        list(client.watch(ticket.id, way="websocket"))


@pytest.mark.parametrize("way", WAYS)
def test_a_watch_goes_on_over_broken_connections_and_a_killed_server(make_server: MakeServer, way: Way) -> None:
    server = make_server(queue("duel"))
    relay = Relay(server)

    async def run() -> None:
        async with Client(relay.url, patience_s=PATIENCE_S) as client:
            ticket = await client.join("duel", "ann")
            story = client.watch(ticket.id, way=way)
            heard = [await anext(story)]
            relay.cut()
            await asyncio.to_thread(server.kill)
            restarting = threading.Thread(target=server.start)
            restarting.start()
            await client.join("duel", "ben")  # waits until the server is back
            heard.append(await anext(story))
            assert heard[-1].proposal is not None
            relay.cut()
            for player in ("ann", "ben"):
                await client.accept(heard[-1].proposal["id"], player)
            heard += [event async for event in story]
            assert [event.type for event in heard] == ["queued", "proposed", "accepted", "accepted", "matched"]
            assert len({event.sequence for event in heard}) == len(heard)
            restarting.join()

    try:
        asyncio.run(run())
    finally:
        relay.close()


# -- patience, without a server ----------------------------------------------------------------------------------------


def test_connections_that_are_of_no_use_any_more_are_made_anew(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """On uvloop, a pool with a connection that was dropped early fails like this for good."""

    async def fail(*_: object, **__: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'getpeername'")

    async def run() -> None:
        async with Client(server.url, patience_s=PATIENCE_S) as client:
            monkeypatch.setattr(client._http, "request", fail)
            assert [one["name"] for one in await client.queues()] == ["cold", "duel", "idle"]

    asyncio.run(run())


def test_waits_grow_and_are_spread() -> None:
    backoff = Backoff(1.0, 8.0)
    waits = [backoff.next_s() for _ in range(6)]
    for wait_s, most_s in zip(waits, (1, 2, 4, 8, 8, 8), strict=True):
        assert most_s / 2 <= wait_s <= most_s
    backoff.reset()
    assert backoff.next_s() <= 1
    assert len({Backoff().next_s() for _ in range(10)}) > 1


def test_patience_counts_from_the_loss_of_a_line_and_not_from_its_last_event() -> None:
    course = Course("http://x", "t-000000000001", 0, "websocket", patience_s=30.0, now_s=0.0)
    course.opened(1.0)
    course.heard(b'{"sequence":1,"type":"queued","ticket":"t-000000000001"}', 2.0)
    assert course.broken("gone", 1_000.0) <= 0.1  # it stood for a quarter of an hour, and nothing happened
    assert course.broken("gone", 1_029.0) <= 0.2
    with pytest.raises(Unreachable):
        course.broken("gone", 1_031.0)


def test_lines_that_break_as_soon_as_they_stand_use_patience_up() -> None:
    course = Course("http://x", "t-000000000001", 0, "websocket", patience_s=30.0, now_s=0.0)
    for now_s in range(24):
        course.opened(now_s + 0.0)
        course.broken("gone", now_s + 0.1)
    course.opened(31.0)
    with pytest.raises(Unreachable):
        course.broken("gone", 31.1)


def test_retry_after_is_kept_as_long_as_patience_lasts() -> None:
    busy = b'{"reason": "busy", "detail": "later"}'
    done, wait_s = Attempt(leave("t-000000000001", None), 30.0, 0.0).read(503, busy, "7", 0.0)
    assert (done, wait_s >= 7) == (False, True)
    with pytest.raises(Refused) as refused:
        Attempt(leave("t-000000000001", None), 5.0, 0.0).read(503, busy, "7", 0.0)
    assert (refused.value.reason, refused.value.retry_after) == ("busy", 7)
    limited = b'{"reason": "too_many_requests"}'
    assert Attempt(leave("t-000000000001", None), 30.0, 0.0).read(429, limited, "2", 0.0)[0] is False
    with pytest.raises(Refused, match="http_418"):
        Attempt(leave("t-000000000001", None), 30.0, 0.0).read(418, b"<html>", None, 0.0)
    certain = Attempt(leave("t-000000000001", None), 30.0, 0.0)
    with pytest.raises(Refused):  # nothing was lost before: so it was gone before we asked
        certain.read(410, b'{"reason": "ticket_gone"}', None, 0.0)
    certain.unanswered("here", OSError("cut"), 0.0)
    assert certain.read(410, b'{"reason": "ticket_gone"}', None, 0.0) == (True, None)
    with pytest.raises(Unreachable):
        certain.unanswered("here", OSError("cut"), 31.0)


def test_a_body_names_only_what_was_given() -> None:
    assert ticket_body(["ann"], None, (), {}) == {"players": [{"id": "ann"}]}
    assert ticket_body([{"id": "ann"}], None, (), {"rating": 3}) == {"players": [{"id": "ann", "rating": 3}]}
