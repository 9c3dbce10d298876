"""What is said of bodies that are empty, misplaced or half a character, on every path that takes one."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch import config
from evenmatch.service import wire
from evenmatch.service.backfills import BackfillBody
from evenmatch.service.bodies import BatchBody, BlocksBody, ModeBody, PlayerAnswerBody, TicketBody, TicketChange
from evenmatch.service.result_bodies import CorrectionBody, ResultBody, SeasonBody
from evenmatch.service.rules_handlers import RollbackBody
from evenmatch.storage.memory import MemoryJournal

from .callers import SPECS, bearer, key_in, settings_in
from .inside import app_over, living

KINDS: tuple[Any, ...] = (
    *(TicketBody, BatchBody, PlayerAnswerBody, TicketChange, BlocksBody, ModeBody),
    *(ResultBody, CorrectionBody, SeasonBody, RollbackBody, BackfillBody, dict),
)
MATCH, TICKET, PROPOSAL = "/v1/matches/m-000000000001", "/v1/tickets/t-000000000001", "/v1/proposals/p-000000000001"
PATHS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/queues/duel/tickets", TicketBody),
    ("POST", "/v1/queues/duel/tickets:batch", BatchBody),
    ("POST", f"{PROPOSAL}/accept", PlayerAnswerBody),
    ("POST", f"{PROPOSAL}/decline", PlayerAnswerBody),
    ("PATCH", TICKET, TicketChange),
    ("PUT", "/v1/players/ann/blocks", BlocksBody),
    ("PUT", "/v1/queues/duel/mode", ModeBody),
    ("POST", f"{MATCH}/result", ResultBody),
    ("PUT", f"{MATCH}/result", CorrectionBody),
    ("POST", "/v1/queues/duel/season", SeasonBody),
    ("PUT", "/v1/queues/duel/spec", dict),
    ("POST", "/v1/queues/duel/rollback", RollbackBody),
    ("POST", f"{MATCH}/backfill", BackfillBody),
]


def answers(
    folder: Path, asked: list[tuple[str, str, bytes]], *, fast: bool = True, specs: Any = SPECS
) -> list[dict[str, Any]]:
    """What an operator is told, one by one."""

    async def told() -> list[dict[str, Any]]:
        operator = bearer(key_in(folder, "operator"))
        app = app_over(MemoryJournal(), *specs, fast=fast, settings=settings_in(folder))
        async with living(app) as client:
            return [
                (await client.request(method, path, content=body, headers=operator)).json()
                for method, path, body in asked
            ]

    return asyncio.run(told())


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("body", [b"", b" \n"])
def test_an_empty_body_is_called_empty_on_every_path(tmp_path: Path, body: bytes, fast: bool) -> None:
    found = answers(tmp_path, [(method, path, body) for method, path, _ in PATHS], fast=fast)
    for (method, path, kind), problem in zip(PATHS, found, strict=True):
        such_as = wire.SUCH_AS[kind.__name__]
        assert problem["reason"] == "malformed", (method, path)
        assert problem["detail"] == f"the body is empty: send a JSON object such as {such_as}", (method, path)


def test_every_body_that_is_suggested_can_be_read() -> None:
    assert {kind.__name__ for kind in KINDS} == set(wire.SUCH_AS)
    for kind in KINDS:
        msgspec.json.decode(wire.SUCH_AS[kind.__name__], type=kind)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rb"\ud800", r"\ud800 at byte 19 is half a character"),
        (rb"x\udc00", r"\udc00 at byte 20 is half a character"),
        (rb"\ud83d\ude00\uD83D", r"\uD83D at byte 31 is half a character"),
        (rb"\ud800\u0041", r"\ud800 at byte 19 is half a character"),
    ],
)
def test_half_a_character_is_called_so(text: bytes, said: str) -> None:
    found = wire.read_ticket(b'{"players":[{"id":"' + text + b'"}]}')
    assert isinstance(found, wire.Problem)
    assert said in found.detail


@pytest.mark.parametrize("text", [rb"\\ud800", rb"\ud83d\ude00"])
def test_what_only_looks_like_half_a_character_is_not_called_so(text: bytes) -> None:
    found = wire.read_ticket(b'{"players":[{"id":"' + text + b'"}]')
    assert isinstance(found, wire.Problem)
    assert "truncated" in found.detail
    assert not isinstance(wire.read_ticket(b'{"players":[{"id":"' + text + b'"}]}'), wire.Problem)


def test_a_field_of_another_call_is_not_suggested_for_itself(tmp_path: Path) -> None:
    asked = [
        ("POST", f"{MATCH}/result", b'{"void":true}'),
        ("PATCH", TICKET, b'{"leader":"ann"}'),
        ("PATCH", TICKET, b'{"avoid":[]}'),
        ("PATCH", TICKET, b'{"backfill":true}'),
        ("POST", "/v1/queues/duel/tickets", b'{"players":[],"rating":1500}'),
    ]
    for problem in answers(tmp_path, asked):
        assert "unknown field" in problem["detail"]
        assert "it belongs to another call, or to another place in the body" in problem["detail"]
        assert "did you mean" not in problem["detail"]


@pytest.mark.parametrize(
    ("facts", "reason", "said"),
    [
        (b'"latencies":{"eu":-1}', "bad_ping", "latencies.eu is -1"),
        (b'"latencies":{"eu":1e7}', "bad_ping", "latencies.eu is 1e+07"),
        (b'"ratings":{"bw":2e6}', "bad_fact", "ratings.bw is 2000000.0"),
        (b'"profile":{"mood":-2e6}', "bad_fact", "profile.mood is -2000000.0"),
    ],
)
def test_a_fact_that_the_queue_drops_is_judged_all_the_same(
    tmp_path: Path, facts: bytes, reason: str, said: str
) -> None:
    body = b'{"players":[{"id":"ann",' + facts + b"}]}"
    joins = "/v1/queues/pool/tickets"
    joined, batch, _, changed = answers(
        tmp_path,
        [
            ("POST", joins, body),
            ("POST", f"{joins}:batch", b'{"tickets":[' + body + b"]}"),
            ("POST", joins, b'{"players":[{"id":"ann"}]}'),
            ("PATCH", TICKET, body),
        ],
    )
    for problem in (joined, batch["outcomes"][0]["problem"], changed):
        assert problem["reason"] == reason
        assert said in problem["detail"]


@pytest.mark.parametrize("fast", [True, False])
def test_a_join_is_answered_with_what_the_queue_keeps_as_a_look_shows_it(tmp_path: Path, fast: bool) -> None:
    venue = """
        [queues.venue]
        format = { teams = 2, size = 9 }
        venue = { regions = ["eu", "us"], maps = { dust = 1 } }
        [queues.plain]
        format = { teams = 2, size = 9 }
    """
    player = b"""{"players":[{"id":"%s","rating":1600,"ping_ms":20,"ratings":{"bw":1},"profile":{"mood":"x"},
        "region":"eu",
        "vetoed_maps":["dust"],"roles":[],"latencies":{"eu":20,"mars":9}}]}"""
    asked = [
        ("POST", "/v1/queues/venue/tickets", player % b"ann"),
        ("GET", "/v1/tickets/t-000000000001", b""),
        ("POST", "/v1/queues/plain/tickets", player % b"ben"),
        ("GET", "/v1/tickets/t-000000000002", b""),
    ]
    found = answers(tmp_path, asked, fast=fast, specs=config.parse(venue, "queues.toml"))
    joined, seen, plain, plain_seen = (answer["ticket"]["players"] for answer in found)
    assert joined == seen
    assert plain == plain_seen == [{"id": "ben", "rating": 1600.0, "ping_ms": 20.0}]
    assert joined[0]["latencies"] == {"eu": 20.0}
