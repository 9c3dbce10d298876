"""Game servers asked for over HTTP: signed, repeated, durable, and harmless whoever answers."""

import asyncio
import hashlib
import hmac
import http.server
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from evenmatch.domain.queue import MatchSpec, QueueSpec, WaveSpec, rule_broken
from evenmatch.domain.venue import AllocateSpec, VenueSpec
from evenmatch.errors import ConfigError
from evenmatch.numerics.seeds import uniforms
from evenmatch.service.app import App
from evenmatch.service.deliveries import wait_s
from evenmatch.service.keys import add
from evenmatch.service.posting import BODY_MOST, NotAnswered, post
from evenmatch.service.signing import signature
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Journal
from evenmatch.wiring import refuse_without_secrets

from .game_servers import GOOD, Allocator, Reply, good
from .harness import PATIENCE_S, Server, eventually, queue
from .inside import FailingMemory, app_over, living, memory_and_journal, until

SECRET = "only the game and its matchmaker know"
VARIABLE = "TEST_GAME_SERVERS_SECRET"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def spec(url: str, name: str = "duel", *, confirm_s: float = 0.0, runs_s: float = 0.0, **more: Any) -> QueueSpec:
    asked: dict[str, Any] = {"timeout_s": 5.0, "attempts": 3, "backoff_s": 0.01} | more
    return QueueSpec(
        name,
        wave=WaveSpec(every_s=0.02),
        match=MatchSpec(confirm_s=confirm_s, runs_s=runs_s),
        venue=VenueSpec(maps={"Radiance": 1.0}, channels=3),
        allocate=AllocateSpec(url=url, secret=VARIABLE, **asked),
    )


class Live:
    """A server in this process, with keys of every role."""

    def __init__(self, app: App, client: httpx.AsyncClient, keys: dict[str, str]) -> None:
        self.app, self.client = app, client
        self.keys = {role: {"Authorization": f"Bearer {key}"} for role, key in keys.items()}

    async def ask(self, method: str, path: str, role: str = "backend", **more: Any) -> httpx.Response:
        return await self.client.request(method, path, headers=self.keys[role], **more)

    async def match(self, *players: str, queue: str = "duel") -> str:
        """Join, and the id of the match that comes of it, made or to start."""
        tickets = []
        for player in players:
            answer = await self.ask("POST", f"/v1/queues/{queue}/tickets", json={"players": [{"id": player}]})
            assert answer.status_code == 201, answer.text
            tickets.append(answer.json()["ticket"]["id"])

        async def look() -> Any:
            found = (await self.ask("GET", f"/v1/tickets/{tickets[0]}")).json()["ticket"]
            return found["match"] or found["proposal"]

        return str((await until(look, "a match"))["id"]).replace("p-", "m-")

    async def told(self, match: str, role: str = "backend") -> dict[str, Any]:
        answer = await self.ask("GET", f"/v1/matches/{match}", role)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["match"]
        return found

    async def served(self, match: str) -> dict[str, Any]:
        async def look() -> Any:
            answer = await self.ask("GET", f"/v1/matches/{match}")  # 503 with a commit that fails
            return answer.json().get("match", {}).get("server")

        found: dict[str, Any] = await until(look, "a server")
        return found

    async def dead(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.ask("GET", "/v1/deadletters", "operator")).json()["deadletters"]
        return found


@asynccontextmanager
async def live(folder: Path, *specs: QueueSpec, journal: Journal | None = None) -> AsyncIterator[Live]:
    file = folder / "keys"
    file.unlink(missing_ok=True)
    keys = {role: add(file, role, role) for role in ("operator", "backend", "reader")}
    app = app_over(journal or MemoryJournal(), *specs, settings=Settings(tick_ms=5, keys=file))
    async with living(app) as client:
        yield Live(app, client, keys)


def test_a_match_gets_the_server_that_is_answered_and_only_some_may_see_it(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url)) as server:
            match = await server.match("ann", "ben")
            assert await server.served(match) == GOOD
            assert "server" not in await server.told(match, "reader")
            assert await server.dead() == []
            (heard,) = allocator.heard
            assert heard.path == "/allocate?for=tests"
            assert heard.told["id"] == heard.headers["evenmatch-id"] == "a-000000000001"
            assert (heard.told["match"], heard.told["queue"]) == (match, "duel")
            assert heard.told["teams"] == [["ann"], ["ben"]]
            assert [(player["id"], player["team"]) for player in heard.told["players"]] == [("ann", 0), ("ben", 1)]
            assert (heard.told["venue"]["map"], heard.told["venue"]["channel"]) == ("Radiance", "channel01")
            memory, durable = await memory_and_journal(server.app)
            assert memory == durable

    with Allocator() as allocator:
        asyncio.run(story(allocator))


def test_the_signature_can_be_checked_with_the_secret_and_nothing_else(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url)) as server:
            await server.served(await server.match("ann", "ben"))
        (heard,) = allocator.heard
        signed = heard.headers["evenmatch-timestamp"].encode() + b"." + heard.body
        expected = "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert heard.headers["evenmatch-signature"] == expected
        assert signature("another secret", heard.headers["evenmatch-timestamp"], heard.body) != expected

    with Allocator() as allocator:
        asyncio.run(story(allocator))


def test_an_answer_that_is_none_is_asked_for_again_under_the_same_id(tmp_path: Path) -> None:
    def elsewhere(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", "/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    bad: list[Reply] = [
        (503, b""),
        elsewhere,
        (200, b"no JSON"),
        (200, b'{"address": "x"}'),
        good(port=0),
        good(address=""),
        good(),
    ]

    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url, attempts=10)) as server:
            assert await server.served(await server.match("ann", "ben")) == GOOD
            assert len(allocator.heard) == 7
            assert {heard.headers["evenmatch-id"] for heard in allocator.heard} == {"a-000000000001"}
            assert {heard.path for heard in allocator.heard} == {"/allocate?for=tests"}, "no redirect is followed"
            assert len({heard.body for heard in allocator.heard}) == 1

    with Allocator(*bad) as allocator:
        asyncio.run(story(allocator))


def test_after_so_many_attempts_it_is_a_dead_letter_that_an_operator_sends_again(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url)) as server:
            match = await server.match("ann", "ben")
            (letter,) = await until(server.dead, "a dead letter")
            assert len(allocator.heard) == 3
            assert (letter["id"], letter["match"], letter["attempts"]) == ("a-000000000001", match, 3)
            assert letter["why"] == "answered with status 500"
            assert "server" not in await server.told(match)
            path = f"/v1/deadletters/{letter['id']}/retry"
            assert (await server.ask("POST", path)).status_code == 403
            allocator.replies = [good()]
            assert (await server.ask("POST", path, "operator")).status_code == 204
            assert await server.served(match) == GOOD
            assert await server.dead() == []
            again = await server.ask("POST", path, "operator")
            assert (again.status_code, again.json()["reason"]) == (404, "unknown_deadletter")
            audit = (await server.ask("GET", "/v1/audit", "operator")).json()["entries"]
            assert [(entry["action"], entry["subject"]) for entry in audit] == [("retry_deadletter", letter["id"])]
            for nonsense in ("a-1", "m-000000000001", "a-000000000099"):
                answer = await server.ask("POST", f"/v1/deadletters/{nonsense}/retry", "operator")
                assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_deadletter")

    with Allocator((500, b"")) as allocator:
        asyncio.run(story(allocator))


def test_a_match_that_is_to_start_hears_of_its_server_first_and_fails_without_one(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url, confirm_s=60)) as server:
            match = await server.match("ann", "ben")
            assert await server.served(match) == GOOD
            assert (await server.told(match))["standing"] == "starting"
            assert (await server.ask("POST", f"/v1/matches/{match}/started")).status_code == 204
            assert (await server.told(match))["server"] == GOOD
            await asyncio.sleep(0.05)
            assert len(allocator.heard) == 1, "one that has started is not asked for again"
            allocator.replies = [(500, b"")]
            failing = await server.match("cat", "dan")

            async def waits_again() -> bool:
                tickets = (await server.ask("GET", "/v1/players/cat")).json()["player"]["tickets"]
                found = (await server.ask("GET", f"/v1/tickets/{tickets[0]}")).json()["ticket"]
                return bool(found["proposal"] and found["proposal"]["id"].replace("p-", "m-") != failing)

            await until(waits_again, "another match")
            assert (await server.ask("GET", f"/v1/matches/{failing}")).status_code == 404
            dead = {letter["match"]: letter["id"] for letter in await server.dead()}
            answer = await server.ask("POST", f"/v1/deadletters/{dead[failing]}/retry", "operator")
            assert (answer.status_code, answer.json()["reason"]) == (409, "match_over")

    with Allocator() as allocator:
        asyncio.run(story(allocator))


@pytest.mark.parametrize(("runs_s", "way"), [(0.0, "result"), (600.0, "result"), (600.0, "end"), (600.0, "cancel")])
def test_a_dead_letter_of_a_match_that_is_over_is_dropped_and_not_sent(tmp_path: Path, runs_s: float, way: str) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url, runs_s=runs_s)) as server:
            match = await server.match("ann", "ben")
            (letter,) = await until(server.dead, "a dead letter")
            body = {"teams": [{"rank": 1}, {"rank": 2}]} if way == "result" else None
            over = await server.ask("POST", f"/v1/matches/{match}/{way}", "operator", json=body)
            assert over.status_code < 300, over.text
            assert [found["id"] for found in await server.dead()] == [letter["id"]]
            path = f"/v1/deadletters/{letter['id']}/retry"
            allocator.replies = [good()]
            answer = await server.ask("POST", path, "operator")
            assert (answer.status_code, answer.json()["reason"]) == (409, "match_over")
            assert await server.dead() == []
            dropped = await server.app.runner.ask(lambda views, _: views.journal.letters("dropped"))
            assert [found.match for found in dropped] == [1]
            again = await server.ask("POST", path, "operator")
            assert (again.status_code, again.json()["reason"]) == (404, "unknown_deadletter")
            assert len(allocator.heard) == 3
            assert "server" not in await server.told(match)
            audit = (await server.ask("GET", "/v1/audit", "operator")).json()["entries"]
            assert (audit[-1]["action"], audit[-1]["subject"]) == ("drop_deadletter", letter["id"])

    with Allocator((500, b"")) as allocator:
        asyncio.run(story(allocator))


def test_a_match_that_runs_may_be_asked_for_once_more(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url, runs_s=600)) as server:
            match = await server.match("ann", "ben")
            (letter,) = await until(server.dead, "a dead letter")
            allocator.replies = [good()]
            answer = await server.ask("POST", f"/v1/deadletters/{letter['id']}/retry", "operator")
            assert answer.status_code == 204
            assert await server.served(match) == GOOD

    with Allocator((500, b"")) as allocator:
        asyncio.run(story(allocator))


def test_a_server_that_hangs_or_talks_without_end_holds_up_nobody(tmp_path: Path) -> None:
    def endless(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b"x" * 65_536)

    async def story(hanging: Allocator, hostile: Allocator, kind: Allocator) -> None:
        specs = (
            spec(hanging.url, "hanging", timeout_s=0.2, attempts=2),
            spec(hostile.url, "hostile", attempts=2),
            spec(kind.url, "kind"),
        )
        async with live(tmp_path, *specs) as server:
            for n in range(40):  # more than are asked for at once
                await server.match(f"a{n}", f"b{n}", queue="hanging")
            bad = await server.match("cat", "dan", queue="hostile")
            assert await server.served(await server.match("ann", "ben", queue="kind")) == GOOD

            async def given_up() -> Any:
                return {letter["match"]: letter["why"] for letter in await server.dead()}.get(bad)

            assert await until(given_up, "a dead letter") == f"the answer has more than {BODY_MOST} bytes"

            async def all_dead() -> bool:
                return len(await server.dead()) == 41

            await until(all_dead, "dead letters")
            assert {letter["why"] for letter in await server.dead()} >= {"no answer within 0.2 s"}

    with Allocator() as hanging, Allocator(endless) as hostile, Allocator() as kind:
        hanging.replies = [hanging.hang]
        asyncio.run(story(hanging, hostile, kind))


def test_what_is_not_durable_is_not_told_and_asked_for_again(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        journal = FailingMemory()
        async with live(tmp_path, spec(allocator.url), journal=journal) as server:
            match = await server.match("ann", "ben")
            await until(lambda: allocator.heard, "a request")
            journal.failures = ["before"]
            allocator.released.set()
            assert await server.served(match) == GOOD
            assert len(allocator.heard) == 2
            assert {heard.headers["evenmatch-id"] for heard in allocator.heard} == {"a-000000000001"}

    with Allocator() as allocator:

        def late(handler: http.server.BaseHTTPRequestHandler) -> None:
            allocator.released.wait(PATIENCE_S)
            body = json.dumps(GOOD).encode()
            handler.send_response(201)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        allocator.replies = [late]
        asyncio.run(story(allocator))


def test_an_operator_who_calls_the_match_off_ends_the_asking(tmp_path: Path) -> None:
    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url, confirm_s=60, backoff_s=0.3, attempts=20)) as server:
            match = await server.match("ann", "ben")
            await until(lambda: allocator.heard, "a request")
            await server.ask("PUT", "/v1/queues/duel/mode", "operator", json={"mode": "paused"})
            assert (await server.ask("POST", f"/v1/matches/{match}/cancel", "operator")).status_code == 204

            async def dropped() -> Any:
                return await server.app.runner.ask(lambda views, _: views.journal.letters("dropped"))

            (letter,) = await until(dropped, "a dropped letter")
            assert letter.match == 1
            assert await server.dead() == []

    with Allocator((500, b"")) as allocator:
        asyncio.run(story(allocator))


def test_the_secret_is_in_no_answer_and_not_in_the_journal(tmp_path: Path) -> None:
    config = queue("duel", timeout_s=None)
    with Allocator() as allocator:
        config += f'[queues.duel.allocate]\nurl = "{allocator.url}"\nsecret = "{VARIABLE}"\n'
        server = Server(tmp_path, config, {VARIABLE: SECRET}).start()
        try:
            ticket = server.join("duel", "ann")["id"]
            server.join("duel", "ben")
            with server.listen(ticket) as listener:
                assert listener.until("server")["server"] == GOOD
                assert listener.next() is None, "the story is over with it"
            assert server.story(ticket)[-1]["match"]["server"] == GOOD
            assert [message["type"] for message in server.story(ticket)] == ["queued", "matched", "server"]
            seen = [server.http.get(path).text for path in ("/v1/queues", "/v1/matches/m-000000000001", "/metrics")]
        finally:
            server.close()
    journal = b"".join(path.read_bytes() for path in tmp_path.glob("evenmatch.db*"))
    assert VARIABLE.encode() in journal
    assert SECRET.encode() not in journal + server.log.read_bytes() + "".join(seen).encode()


def test_a_crash_between_the_commit_and_the_answer_loses_no_server(tmp_path: Path) -> None:
    """kill -9 while the first request is under way; the next server asks again under the same id."""
    config = queue("duel", timeout_s=None)
    with Allocator() as allocator:
        allocator.replies = [allocator.hang]
        config += f'[queues.duel.allocate]\nurl = "{allocator.url}"\nsecret = "{VARIABLE}"\ntimeout_s = 60\n'
        server = Server(tmp_path, config, {VARIABLE: SECRET}).start()
        try:
            tickets = [server.join("duel", player)["id"] for player in ("ann", "ben")]
            server.when(tickets[0], "matched")
            eventually(lambda: allocator.heard, "a request")
            server.kill()
            allocator.replies = [good()]
            server.start()
            with server.listen(tickets[1]) as listener:
                assert listener.until("server")["server"] == GOOD
            assert [heard.headers["evenmatch-id"] for heard in allocator.heard] == ["a-000000000001"] * 2
            assert server.http.get("/v1/matches/m-000000000001").json()["match"]["server"] == GOOD
            server.stop()
            assert server.verify()["events"] > 0
        finally:
            server.close()


def test_a_queue_whose_secret_is_not_there_keeps_the_server_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = spec("https://game.example/allocate")
    refuse_without_secrets([asking, QueueSpec("duel")])
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(ConfigError, match=f"the variable {VARIABLE} is too short"):
        refuse_without_secrets([asking])
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError, match=r"queues\.duel\.allocate\.secret: the variable"):
        refuse_without_secrets([asking])


def test_a_secret_that_goes_missing_is_said_to_the_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    assert VARIABLE not in os.environ

    async def story(allocator: Allocator) -> None:
        async with live(tmp_path, spec(allocator.url)) as server:
            await server.match("ann", "ben")
            (letter,) = await until(server.dead, "a dead letter")
            assert letter["why"] == f"the variable {VARIABLE} is not set: give it 16 bytes or more"
            assert allocator.heard == []

    with Allocator() as allocator:
        asyncio.run(story(allocator))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "no answer that is HTTP: Server disconnected"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "no answer that is HTTP: peer closed connection"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no answer that is HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000, "no answer that is HTTP"),
    ],
)
def test_answers_that_are_none(answer: bytes, why: str) -> None:
    def cut(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(answer)

    with Allocator(cut) as allocator, pytest.raises(NotAnswered, match=why):
        asyncio.run(post(allocator.url, b"{}", {}, 5.0))


def test_a_body_may_come_in_chunks_or_end_with_the_connection() -> None:
    def chunks(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        )

    def unmeasured(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n{}")

    for reply in (chunks, unmeasured):
        with Allocator(reply) as allocator:
            answer = asyncio.run(post(allocator.url, b"{}", {}, 5.0))
            assert (answer.status, answer.body) == (200, b"{}")


def test_nobody_listens_and_no_such_name() -> None:
    with Allocator() as allocator:
        url = allocator.url
    for target in (url, "https://no-such-host.invalid/"):
        with pytest.raises(NotAnswered, match="no connection"):
            asyncio.run(post(target, b"{}", {}, 5.0))


def test_waits_double_with_a_jitter_that_is_always_the_same() -> None:
    asked = AllocateSpec(url="https://game.example/", secret=VARIABLE, backoff_s=2.0)
    waits = [wait_s(asked, 7, attempts) for attempts in range(1, 6)]
    assert waits == [wait_s(asked, 7, attempts) for attempts in range(1, 6)]
    assert all(2.0 ** (n - 1) <= waits[n - 1] <= 2.0**n for n in range(1, 6)), waits
    assert wait_s(asked, 8, 1) != waits[0]
    assert wait_s(asked, 7, 20) <= 600
    drawn = uniforms(1, np.arange(10_000), 1)
    assert 0.49 < drawn.mean() < 0.51
    assert 0 <= drawn.min() < drawn.max() < 1


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"url": ""}, "allocate.url"),
        ({"url": "ftp://game.example/"}, "allocate.url"),
        ({"url": "https://user:word@game.example/"}, "allocate.url"),
        ({"url": "https://game.example/a b"}, "allocate.url"),
        ({"url": "https://game.example:99999/"}, "allocate.url"),
        ({"url": "https://game.example/\r\nX: y"}, "allocate.url"),
        ({"secret": ""}, "allocate.secret"),
        ({"secret": "the secret itself"}, "allocate.secret"),
        ({"timeout_s": 0.0}, "allocate.timeout_s"),
        ({"attempts": 0}, "allocate.attempts"),
        ({"backoff_s": float("nan")}, "allocate.backoff_s"),
    ],
)
def test_rules_that_make_no_sense_are_refused(change: dict[str, Any], key: str) -> None:
    asked = msgspec.structs.replace(AllocateSpec(url="https://game.example/", secret="GAME"), **change)
    broken = rule_broken(QueueSpec("duel", allocate=asked))
    assert broken is not None
    assert broken[0] == key
