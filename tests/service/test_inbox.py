"""Requests of other nodes, carried out by an owner in this very process: answered like a client's own, and once."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx
import pytest

from evenmatch.core import engine as engine_module
from evenmatch.core.decide import decide
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.service import forwarding
from evenmatch.service.app import App
from evenmatch.service.errands import Errand
from evenmatch.service.follower import Follower
from evenmatch.service.forwarding import Forwarder
from evenmatch.service.inbox import Inbox
from evenmatch.service.owner import Owner
from evenmatch.storage.inbox import Request
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.memory_inbox import MemoryDesk

from .harness import PATIENCE_S
from .inside import SETTINGS, FailingMemory, app_over, living, until

POOL = QueueSpec("pool", Format(2, 100))
DUEL = QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(60.0))


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*given: Any, **more: Any) -> None:
        asyncio.run(test(*given, **more))

    return run


@contextlib.asynccontextmanager
async def pair(
    journal: MemoryJournal | None = None, *, owned: bool = True
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient, App, App]]:
    """An owner, and a node that follows it: a client for each, the owner's application, and the node's."""
    journal = MemoryJournal() if journal is None else journal
    store = journal.store
    owning = app_over(journal, POOL, DUEL)
    assert isinstance(owning.runner, Owner)
    follower = Follower(journal, 1, SETTINGS)
    forwarder = Forwarder(MemoryDesk(store), SETTINGS)
    serving = App(follower, None, owning.settings, "0", forward=forwarder.to(follower))
    follower.errand = lambda errand: forwarder.send(1, errand)
    inbox = Inbox(
        owning.runner, owning.apply, lambda known: [one for one in store.inbox.values() if one.id not in known]
    )

    def moved() -> None:
        follower.bell.ring()
        forwarder.bell.ring()

    owning.runner.moved = moved
    async with living(owning) as there, living(serving) as here:
        forwarder.start()
        if owned:
            inbox.start()
        yield here, there, owning, serving
        await forwarder.close()
        if owned:
            await inbox.close()


async def join(client: httpx.AsyncClient, player: str, queue: str = "pool", **headers: str) -> httpx.Response:
    return await client.post(f"/v1/queues/{queue}/tickets", json={"players": [{"id": player}]}, headers=headers)


def same(one: httpx.Response, other: httpx.Response) -> None:
    assert (one.status_code, one.headers.get("content-type")) == (other.status_code, other.headers.get("content-type"))
    assert one.headers.get("retry-after") == other.headers.get("retry-after")


@in_a_loop
async def test_a_ticket_that_joined_through_a_node_is_there_on_both() -> None:
    async with pair() as (here, there, _, _):
        answer = await join(here, "ann")
        assert answer.status_code == 201, answer.text
        ticket = answer.json()["ticket"]["id"]
        assert answer.headers["location"] == f"/v1/tickets/{ticket}"
        for client in (here, there):
            assert (await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["status"] == "waiting"


@in_a_loop
async def test_a_row_of_the_inbox_that_cannot_be_read_is_done_with_and_others_go_on() -> None:
    journal = MemoryJournal()
    async with pair(journal) as (here, _, _, _):
        MemoryDesk(journal.store).hand_in([(1, Request("ab" * 16, b"nonsense"))])
        assert (await join(here, "ann")).status_code == 201
        await until(lambda: not journal.store.inbox, "an empty inbox")


@in_a_loop
async def test_an_owner_that_lets_requests_lie_is_told_of_and_asked_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.service.forwarding.PATIENCE_S", 0.2)
    journal = MemoryJournal()
    store = journal.store
    forwarder = Forwarder(MemoryDesk(store), SETTINGS)
    owning = app_over(journal, POOL)
    assert isinstance(owning.runner, Owner)
    inbox = Inbox(owning.runner, owning.apply, lambda known: [o for o in store.inbox.values() if o.id not in known])
    async with living(owning):
        forwarder.start()
        forwarder.send(1, Errand(method="POST", path="/v1/queues/pool/tickets"))
        await until(lambda: forwarder.silent == {1}, "a silent owner")
        inbox.start()
        forwarder.ask_silent()
        await until(lambda: not forwarder.silent, "an owner that answers")
        await inbox.close()
        await forwarder.close()


@in_a_loop
async def test_who_ends_does_not_wait_for_an_owner_whom_it_only_told_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.service.forwarding.PATIENCE_S", 3_600.0)
    store = MemoryJournal().store
    forwarder = Forwarder(MemoryDesk(store), SETTINGS)
    forwarder.start()
    forwarder.send(1, Errand())
    await until(lambda: bool(store.inbox), "an errand that lies in the inbox")
    async with asyncio.timeout(PATIENCE_S):
        await forwarder.close()
    forwarder.silent.add(1)
    forwarder.ask_silent()
    assert len(store.inbox) == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/queues/pool/tickets", {"players": []}),
        ("POST", "/v1/queues/pool/tickets", "nonsense"),
        ("POST", "/v1/queues/nowhere/tickets", {"players": [{"id": "x"}]}),
        ("POST", "/v1/queues/pool/tickets:batch", {"tickets": [{"players": [{"id": "a"}]}, {"players": []}]}),
        ("DELETE", "/v1/tickets/t-000000000099", None),
        ("POST", "/v1/tickets/t-000000000099/heartbeat", None),
        ("PATCH", "/v1/tickets/t-000000000099", {"attributes": {}}),
        ("POST", "/v1/proposals/p-000000000099/accept", {"player": "x"}),
        ("POST", "/v1/matches/m-000000000099/end", None),
        ("POST", "/v1/matches/m-000000000099/result", {"ranks": [1, 2]}),
        ("PUT", "/v1/players/ann/blocks", {"blocks": ["ben"]}),
        ("GET", "/v1/tickets/t-000000000099/why", None),
        ("GET", "/v1/queues/pool/waves", None),
        ("POST", "/v1/nowhere", {}),
        ("PUT", "/v1/queues/pool/tickets", {}),
    ],
)
@in_a_loop
async def test_what_an_owner_answers_a_node_answers_too(method: str, path: str, body: Any) -> None:
    async with pair() as (here, there, _, _):
        content: dict[str, Any] = {"content": body} if isinstance(body, str) else {} if body is None else {"json": body}
        one, other = await here.request(method, path, **content), await there.request(method, path, **content)
        same(one, other)
        if one.status_code >= 400:
            assert one.json() == other.json()


@in_a_loop
async def test_a_match_is_made_through_a_node_from_the_join_to_the_last_accept() -> None:
    async with pair() as (here, _, _app, _serving):
        tickets = [(await join(here, player, "duel")).json()["ticket"]["id"] for player in ("ann", "ben")]

        async def proposed() -> Any:
            found = (await here.get(f"/v1/tickets/{tickets[0]}")).json()["ticket"]
            return found["proposal"] if found["status"] == "proposed" else None

        proposal = (await until(proposed, "a proposal"))["id"]
        for player in ("ann", "ben"):
            answer = await here.post(f"/v1/proposals/{proposal}/accept", json={"player": player})
            assert answer.status_code == 200, answer.text
        for ticket in tickets:  # the node has seen what it was answered
            assert (await here.get(f"/v1/tickets/{ticket}")).json()["ticket"]["status"] == "matched"


@in_a_loop
async def test_a_key_counts_whichever_way_it_comes() -> None:
    async with pair() as (here, there, _, _):
        answers = [await join(client, "ann", **{"Idempotency-Key": "k"}) for client in (here, there, here)]
        assert {answer.json()["ticket"]["id"] for answer in answers} == {answers[0].json()["ticket"]["id"]}


@in_a_loop
async def test_many_at_once_are_all_answered_and_all_there() -> None:
    async with pair() as (here, _, app, _):
        answers = await asyncio.gather(*(join(here, f"player {number}") for number in range(300)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["ticket"]["id"] for answer in answers}) == 300
        assert app.runner.engine.state.queues["pool"].tickets.used >= 300


@in_a_loop
async def test_without_an_owner_a_request_is_taken_back_and_never_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_S", 0.2)
    async with pair(owned=False) as (here, there, app, _):
        answer = await join(here, "ann")
        assert answer.status_code == 503
        assert answer.json()["reason"] == "no_owner"
        assert "nothing was changed" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) >= 1
        assert app.runner.journal.store.inbox == {}  # type: ignore[attr-defined]
        assert (await there.get("/v1/queues/pool")).json()["queue"]["waiting"] == 0


@pytest.mark.parametrize("failure", ["before", "after"])
@in_a_loop
async def test_a_commit_that_fails_is_made_again_or_found_made_and_nobody_hears_of_it(failure: str) -> None:
    journal = FailingMemory()
    async with pair(journal) as (here, _, app, _):
        assert (await join(here, "ann")).status_code == 201
        journal.failures = [failure]
        answer = await join(here, "ben")
        assert answer.status_code == 201, answer.text
        assert app.runner.metrics.commit_failures == 1
        assert (await here.get("/v1/queues/pool")).json()["queue"]["waiting"] == 2


@in_a_loop
async def test_a_request_that_breaks_the_engine_is_answered_500_and_the_others_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def decide_or_fail(state: Any, command: Any, *given: Any, **more: Any) -> Any:
        if isinstance(command, cmd.JoinMany) and any(
            request.attributes == {"poison": "yes"} for request in command.requests
        ):
            raise RuntimeError("poison")
        return decide(state, command, *given, **more)

    monkeypatch.setattr(engine_module, "decide", decide_or_fail)
    async with pair() as (here, _, _app, _serving):
        poison = here.post(
            "/v1/queues/pool/tickets", json={"players": [{"id": "eve"}], "attributes": {"poison": "yes"}}
        )
        answers = await asyncio.gather(*(join(here, f"player {n}") for n in range(5)), poison)
        assert [answer.status_code for answer in answers] == [201] * 5 + [500]
        assert (await here.get("/v1/queues/pool")).json()["queue"]["waiting"] == 5
        assert (await join(here, "late")).status_code == 201


@in_a_loop
async def test_a_line_to_a_node_keeps_its_ticket_in_the_queue_and_hears_the_end() -> None:
    async with pair() as (here, _, _app, _serving):
        ticket = (await join(here, "ann")).json()["ticket"]["id"]
        async with asyncio.timeout(20):
            asked = asyncio.create_task(here.get(f"/v1/tickets/{ticket}/events"))
            await asyncio.sleep(0.1)
            assert (await here.delete(f"/v1/tickets/{ticket}")).status_code == 204
            heard = (await asked).text
        assert "event: queued" in heard
        assert "event: cancelled" in heard
