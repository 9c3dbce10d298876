"""The thin ASGI front and Litestar's routes answer alike: the same requests, in the same order, to both."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.rating import RatingSpec
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living, until

SPECS = (
    QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0)),
    QueueSpec("pool", Format(2, 100)),
    QueueSpec("swift", Format(2, 1), wave=WaveSpec(every_s=0.02), rating=RatingSpec()),
)
SETTINGS = Settings(tick_ms=5, body_max_bytes=4_096, batch_body_max_bytes=65_536, batch_max=20)

POOL = "/v1/queues/pool/tickets"
ONE = {"players": [{"id": "one", "rating": 1500, "ping_ms": 3}], "attributes": {"a": "b", "n": 1, "t": True}}
DEEP = b"[" * 1_500 + b"]" * 1_500

Call = tuple[str, str, Any, dict[str, str]]


def call(method: str, path: str, body: Any = None, **headers: str) -> Call:
    return method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}


ANSWERS: list[Any] = [{"player": "stranger"}, {"player": ""}, {"player": 1}, {"player": "ann", "x": 1}]
ANSWERS += [{}, [], b"", b"{", b"\xff", b" " * 5_000]
CALLS: list[Call] = [
    call("POST", POOL, ONE),
    call("POST", POOL, ONE),  # already waiting
    call("POST", POOL, {"players": [{"id": "two"}]}, idempotency_key="k"),
    call("POST", POOL, {"players": [{"id": "two"}]}, idempotency_key="k"),
    call("POST", POOL, {"players": [{"id": "other"}]}, idempotency_key="k"),
    call("POST", POOL, {"players": [{"id": "x"}]}, idempotency_key=""),
    call("POST", POOL, {"players": [{"id": "x"}]}, idempotency_key="k" * 256),
    call("POST", POOL, {"players": [{"id": "x"}]}, idempotency_key="a\tb"),
    call("POST", POOL, {"players": []}),
    call("POST", POOL, {"players": [{"id": "x"}, {"id": "x"}]}),
    call("POST", POOL, {"players": [{"id": "x", "rating": 1e9}]}),
    call("POST", POOL, {"players": [{"id": "x", "rating": "1"}]}),
    call("POST", POOL, {"players": [{"id": "x", "ping_ms": -1}]}),
    call("POST", POOL, {"players": [{"id": ""}]}),
    call("POST", POOL, {"players": [{"id": 5}]}),
    call("POST", POOL, {"players": [{"id": "x", "raiting": 1}]}),
    call("POST", POOL, {"players": [{"id": "x"}], "attributes": {"": 1}}),
    call("POST", POOL, {"players": [{"id": "x"}], "attributes": {"a": []}}),
    call("POST", POOL, {"players": [{"id": "x"}], "attributes": {"n": 1.5}}),
    call("POST", POOL, {}),
    call("POST", POOL, []),
    call("POST", POOL, b""),
    call("POST", POOL, b"null"),
    call("POST", POOL, b"{"),
    call("POST", POOL, b"\xff\xfe"),
    call("POST", POOL, b'{"players":[{"id":"x","rating":NaN}]}'),
    call("POST", POOL, b'{"players":[{"id":"\\ud800"}]}'),
    call("POST", POOL, b'{"players":' + DEEP + b"}"),
    call("POST", POOL, b" " * 5_000),
    call("POST", POOL, {"players": [{"id": "curl"}]}, content_type="application/x-www-form-urlencoded"),
    call("POST", POOL, {"players": [{"id": "text"}]}, content_type="text/plain"),
    call("POST", POOL, {"players": [{"id": "multi"}]}, content_type="multipart/form-data; boundary=x"),
    call("POST", POOL, {"players": [{"id": "msgpack"}]}, content_type="application/vnd.msgpack"),
    call("POST", POOL, {"players": [{"id": "😀"}]}),
    call("POST", "/v1/queues/nope/tickets", ONE),
    call("POST", "/v1/queues/%00/tickets", ONE),
    call("POST", f"{POOL}:batch", {"tickets": [{"players": [{"id": f"b{n}"}]} for n in range(3)]}, idempotency_key="k"),
    call("POST", f"{POOL}:batch", {"tickets": [{"players": [{"id": f"b{n}"}]} for n in range(3)]}, idempotency_key="k"),
    call("POST", f"{POOL}:batch", {"tickets": []}),
    call("POST", f"{POOL}:batch", {"tickets": [ONE, {"players": []}, "x", {"players": [{"id": "c", "rating": "no"}]}]}),
    call("POST", f"{POOL}:batch", {"tickets": [{"players": [{"id": "d", "raiting": 1}]}, {"players": [{"id": "e"}]}]}),
    call("POST", f"{POOL}:batch", {"tickets": [{"players": [{"id": str(n)}]} for n in range(21)]}),
    call("POST", f"{POOL}:batch", {"tickets": {}}),
    call("POST", f"{POOL}:batch", {"tickets": [], "more": 1}),
    call("POST", f"{POOL}:batch", {}),
    call("POST", f"{POOL}:batch", b"nonsense"),
    call("POST", f"{POOL}:batch", b'{"tickets":' + DEEP + b"}"),
    call("POST", f"{POOL}:batch", b" " * 70_000),
    call("POST", f"{POOL}:batch", {"tickets": [ONE]}, idempotency_key=""),
    call("POST", "/v1/queues/nope/tickets:batch", {"tickets": [ONE]}),
    call("GET", "/v1/tickets/t-000000000003"),
    call("GET", "/v1/tickets/t-000000009999"),
    call("GET", "/v1/tickets/nonsense"),
    call("GET", "/v1/tickets/%00"),
    call("GET", "/v1/tickets/t-000000000003?x=1"),
    call("POST", "/v1/tickets/t-000000000003/heartbeat"),
    call("POST", "/v1/tickets/t-000000000003/heartbeat", b"whatever"),
    call("POST", "/v1/tickets/t-000000009999/heartbeat"),
    call("POST", "/v1/tickets/nonsense/heartbeat"),
    call("DELETE", "/v1/tickets/t-000000000003"),
    call("DELETE", "/v1/tickets/t-000000000003"),
    call("POST", "/v1/tickets/t-000000000003/heartbeat"),
    call("GET", "/v1/tickets/t-000000000003"),
    *(
        call("POST", f"/v1/proposals/{proposal}/{verb}", body)
        for verb in ("accept", "decline")
        for proposal in ("p-000000000001", "p-000000009999", "nonsense")
        for body in ANSWERS
    ),
    call("POST", "/v1/proposals/p-000000000001/accept", {"player": "ann"}),
    call("POST", "/v1/proposals/p-000000000001/accept", {"player": "ann"}),
    call("POST", "/v1/proposals/p-000000000001/decline", {"player": "ben"}),
    call("POST", "/v1/proposals/p-000000000001/accept", {"player": "ben"}),
    call("GET", POOL),
    call("PUT", POOL, ONE),
    call("GET", "/v1/proposals/p-000000000001/accept"),
    call("PATCH", "/v1/tickets/t-000000000001"),
    call("GET", "/nope"),
    call("GET", "/v1/tickets/"),
    call("GET", "/v1/queues/pool"),
    call("GET", "/v1/matches/m-000000000001"),
]
WON: Any = {"teams": [{"rank": 1}, {"rank": 2}]}
RESULTS: list[Any] = [{"teams": [{"rank": 1}]}, {"teams": []}, WON | {"x": 1}, WON | {"leavers": ["stranger"]}]
RESULTS += [{"teams": [{"rank": 1}, {"score": 2}]}, {"teams": 1}, {}, [], b"", b"{", b"\xff", DEEP, b" " * 5_000]
LATER: list[Call] = [
    *(
        call("POST", f"/v1/matches/{match}/result", body)
        for match in ("m-000000000001", "m-000000000002", "m-000000009999", "nonsense", "%00")
        for body in RESULTS
    ),
    call("POST", "/v1/matches/m-000000000001/result", WON),
    call("POST", "/v1/matches/m-000000000002/result", WON),
    call("POST", "/v1/matches/m-000000000002/result", WON),
    call("POST", "/v1/matches/m-000000000002/result", {"teams": [{"rank": 2}, {"rank": 1}]}),
    call("POST", "/v1/matches/m-000000000002/result/", WON),
    call("PUT", "/v1/matches/m-000000000002/result", WON),
    call("GET", "/v1/matches/m-000000000002/result"),
]
"""Once a match is made."""
ALL = CALLS + LATER


def shape(value: Any) -> Any:
    """The names and kinds in an answer, without what differs from one run to the next."""
    if isinstance(value, dict):
        if value.keys() == {"type", "title", "status", "detail", "reason"}:
            return value | {"detail": bool(value["detail"])}
        timed = (
            "joined_ms",
            "waited_ms",
            "made_ms",
            "deadline_ms",
            "at_ms",
            "oldest_wait_ms",
            "wave",
            "misses",
            "last_wave",
        )
        return {key: type(inner).__name__ if key in timed else shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else value


async def answer_of(client: httpx.AsyncClient, request: Call) -> tuple[Any, ...]:
    method, path, body, headers = request
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    answer = await client.request(method, path, content=content, headers=headers)
    kept = {name: answer.headers.get(name) for name in ("content-type", "location", "retry-after")}
    return answer.status_code, kept, shape(answer.json()) if answer.content else None


async def answers(fast: bool) -> list[tuple[Any, ...]]:
    app = app_over(MemoryJournal(), *SPECS, fast=fast, settings=SETTINGS)
    async with living(app) as client:
        # The proposal that the calls speak of.
        for player in ("ann", "ben"):
            await client.post("/v1/queues/duel/tickets", json={"players": [{"id": player}]})

        async def proposed() -> Any:
            return (await client.get("/v1/tickets/t-000000000001")).json()["ticket"]["proposal"]

        await until(proposed, "a proposal")
        found = [await answer_of(client, request) for request in CALLS]
        for player in ("cat", "dan"):
            await client.post("/v1/queues/swift/tickets", json={"players": [{"id": player}]})

        async def made() -> Any:
            return (await client.get("/v1/matches/m-000000000002")).status_code == 200

        await until(made, "a match")
        return found + [await answer_of(client, request) for request in LATER]


@pytest.fixture(scope="module")
def both() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    return asyncio.run(answers(fast=True)), asyncio.run(answers(fast=False))


@pytest.mark.parametrize(
    "place", range(len(ALL)), ids=[f"{n}-{c[0]}-{c[1]}-{str(c[2])[:40]}" for n, c in enumerate(ALL)]
)
def test_both_ways_answer_alike(both: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]], place: int) -> None:
    fast, plain = both[0][place], both[1][place]
    assert fast == plain
    assert fast[0] < 500


def test_the_calls_cover_what_they_should(both: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]) -> None:
    assert {answer[0] for answer in both[0]} >= {200, 201, 204, 400, 403, 404, 405, 409, 410, 413, 422}
