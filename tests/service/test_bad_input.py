"""Every kind of bad input gets its own clear answer, and the state stays whole."""

import concurrent.futures
import contextlib
import json
import os
import random
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from evenmatch.domain.refusals import Reasons
from evenmatch.recovery import verify
from evenmatch.service.wire import WireReasons
from evenmatch.storage.sqlite import SqliteJournal

from .conftest import MakeServer
from .harness import PATIENCE_S, Server, evenmatch, eventually, queue

QUEUES = (
    queue("duel", size=100)
    + queue("team2", size=2, timeout_s=600)
    + queue("lapse", timeout_s=0.2)
    + queue("made", timeout_s=None)
    + queue("builds", size=100, require_equal=("build",))
    + queue("fuzz", size=100)
)


class Stage(NamedTuple):
    """A server on which everything that can be answered wrongly has been set up."""

    server: Server
    waiting: str
    """A ticket of "ann" in `duel`."""
    proposal: str
    """Open, in `team2`: "p1" has accepted, "p2" to "p4" have not."""
    proposed: str
    """The ticket of "p1"."""
    lapsed: str
    """A proposal that has lapsed."""
    matched: str
    """A ticket that has its match."""
    match: str
    left: str
    """A ticket that was cancelled."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    server = Server(tmp_path_factory.mktemp("bad_input"), QUEUES, {"EVENMATCH_KEEP_S": "36000"})
    try:
        server.start()
        lapsing = [server.join("lapse", player)["id"] for player in ("l1", "l2")]
        lapsed = server.story(lapsing[0])
        proposed = [server.join("team2", player)["id"] for player in ("p1", "p2", "p3", "p4")]
        proposal = server.when(proposed[0], "proposed")["proposal"]["id"]
        assert server.respond(proposal, "p1").status_code == 200
        matched = [server.join("made", player)["id"] for player in ("m1", "m2")]
        match = server.when(matched[0], "matched")["match"]["id"]
        waiting = server.join("duel", "ann", key="ann's")["id"]
        left = server.join("duel", "left")["id"]
        server.http.delete(f"/v1/tickets/{left}")
        over = next(message["proposal"]["id"] for message in lapsed if message["type"] == "proposed")
        yield Stage(server, waiting, proposal, proposed[0], over, matched[0], match, left)
    finally:
        server.close()


def digest(server: Server) -> str:
    """The state hash of all that is journalled."""
    with SqliteJournal(server.db, read_only=True) as journal:
        return verify(journal).hash


def standing(server: Server) -> list[dict[str, Any]]:
    """All queues, without what time alone changes."""
    found: list[dict[str, Any]] = server.http.get("/v1/queues").json()["queues"]
    return [view | {"oldest_wait_ms": 0, "wave": 0} for view in found]


@contextlib.contextmanager
def unchanged(server: Server) -> Iterator[None]:
    """Nothing that happens inside leaves a trace in the state."""
    before = digest(server), standing(server)
    yield
    assert (digest(server), standing(server)) == before


def check_problem(answer: httpx.Response, status: int, reason: str, names: str = "") -> None:
    """A problem+json with our reason, whose detail names the thing."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "reason"}
    assert (problem["status"], problem["reason"]) == (status, reason)
    assert problem["type"] == f"/docs#reason-{reason}"
    known = {r.code: r.value for r in (*Reasons, *WireReasons)}
    assert known[reason] == (status, problem["title"])
    assert names in problem["detail"], problem["detail"]
    assert ("retry-after" in answer.headers) == (status == 503)


JOIN = "/v1/queues/duel/tickets"
ONE = {"players": [{"id": "new"}]}

BAD_JOINS: list[tuple[str, str, Any, int, str, str]] = [
    ("unknown queue", "/v1/queues/nope/tickets", ONE, 404, "unknown_queue", "'nope'"),
    ("unknown queue names the known", "/v1/queues/nope/tickets", ONE, 404, "unknown_queue", "duel"),
    ("already waiting", JOIN, {"players": [{"id": "ann"}]}, 409, "already_waiting", "duel"),
    ("already proposed", "/v1/queues/team2/tickets", {"players": [{"id": "p2"}]}, 409, "already_waiting", "team2"),
    (
        *("party larger than a team", "/v1/queues/team2/tickets"),
        {"players": [{"id": name} for name in "abc"]},
        *(422, "party_too_large", "3 players"),
    ),
    ("no players", JOIN, {"players": []}, 422, "empty_party", "players"),
    (
        "a player twice",
        JOIN,
        {"players": [{"id": "x"}, {"id": "y"}, {"id": "x"}]},
        422,
        "player_twice",
        "more than once",
    ),
    ("rating a string", JOIN, {"players": [{"id": "x", "rating": "1500"}]}, 400, "malformed", "$.players[0].rating"),
    ("rating null", JOIN, {"players": [{"id": "x", "rating": None}]}, 400, "malformed", "$.players[0].rating"),
    ("rating true", JOIN, {"players": [{"id": "x", "rating": True}]}, 400, "malformed", "rating"),
    ("rating too high", JOIN, {"players": [{"id": "x", "rating": 1e7}]}, 422, "bad_rating", "10000000.0"),
    ("rating too low", JOIN, {"players": [{"id": "x", "rating": -1e7}]}, 422, "bad_rating", "-10000000.0"),
    ("ping negative", JOIN, {"players": [{"id": "x", "ping_ms": -1}]}, 422, "bad_ping", "-1.0"),
    ("ping a list", JOIN, {"players": [{"id": "x", "ping_ms": []}]}, 400, "malformed", "ping_ms"),
    ("id a number", JOIN, {"players": [{"id": 7}]}, 400, "malformed", "$.players[0].id"),
    ("id missing", JOIN, {"players": [{"rating": 7}]}, 400, "malformed", "`id`"),
    ("id empty", JOIN, {"players": [{"id": ""}]}, 422, "bad_player_id", "empty"),
    ("id too long", JOIN, {"players": [{"id": "x" * 129}]}, 422, "bad_player_id", "129"),
    ("id with NUL", JOIN, {"players": [{"id": "a\0b"}]}, 422, "bad_player_id", "control character"),
    ("id with a slash", JOIN, {"players": [{"id": "clan/ann"}]}, 422, "bad_player_id", "use no '/'"),
    ("id that is a path", JOIN, {"players": [{"id": ".."}]}, 422, "bad_player_id", "not '.' or '..'"),
    ("id of the erased", JOIN, {"players": [{"id": "#1"}]}, 422, "bad_player_id", "erased players"),
    ("id with a newline", JOIN, {"players": [{"id": "a\nb"}]}, 422, "bad_player_id", "control character"),
    ("id half a surrogate pair", JOIN, {"players": [{"id": "\ud83d"}]}, 400, "malformed", ""),
    ("players missing", JOIN, {}, 400, "malformed", "`players`"),
    ("players an object", JOIN, {"players": {"id": "x"}}, 400, "malformed", "$.players"),
    ("player a string", JOIN, {"players": ["ann"]}, 400, "malformed", "$.players[0]"),
    ("unknown field", JOIN, {**ONE, "team": 1}, 400, "malformed", "`team`"),
    ("unknown field of a player", JOIN, {"players": [{"id": "x", "raiting": 1}]}, 400, "malformed", "mean `rating`"),
    ("body a list", JOIN, [], 400, "malformed", "Expected `object`"),
    ("body null", JOIN, None, 400, "malformed", "Expected `object`"),
    ("attributes a list", JOIN, {**ONE, "attributes": []}, 400, "malformed", "$.attributes"),
    ("an attribute an object", JOIN, {**ONE, "attributes": {"a": {}}}, 400, "malformed", "$.attributes"),
    ("attribute null", JOIN, {**ONE, "attributes": {"a": None}}, 400, "malformed", "$.attributes"),
    ("attributes too many", JOIN, {**ONE, "attributes": {str(n): n for n in range(33)}}, 422, "bad_attributes", "33"),
    ("attribute too long", JOIN, {**ONE, "attributes": {"bio": "x" * 257}}, 422, "bad_attributes", "attributes.bio"),
    ("attribute name empty", JOIN, {**ONE, "attributes": {"": 1}}, 422, "bad_attributes", "name"),
    ("attribute name too long", JOIN, {**ONE, "attributes": {"x" * 65: 1}}, 422, "bad_attributes", "65"),
    ("attribute too large", JOIN, {**ONE, "attributes": {"n": 2**60}}, 422, "bad_attributes", "attributes.n"),
    ("required attribute missing", "/v1/queues/builds/tickets", ONE, 422, "missing_attribute", "attributes.build"),
    ("batch: unknown queue", "/v1/queues/nope/tickets:batch", {"tickets": [ONE]}, 404, "unknown_queue", "'nope'"),
    ("batch: not a list", f"{JOIN}:batch", {"tickets": 1}, 400, "malformed", "tickets"),
    ("batch: unknown field", f"{JOIN}:batch", {"tickets": [], "now": 1}, 400, "malformed", "`now`"),
    ("batch: too many", f"{JOIN}:batch", {"tickets": [ONE] * 1_001}, 413, "too_large", "1001"),
]


@pytest.mark.parametrize(
    ("path", "body", "status", "reason", "names"), [case[1:] for case in BAD_JOINS], ids=[case[0] for case in BAD_JOINS]
)
def test_a_bad_join_is_refused(stage: Stage, path: str, body: Any, status: int, reason: str, names: str) -> None:
    with unchanged(stage.server):
        check_problem(stage.server.http.post(path, content=json.dumps(body).encode()), status, reason, names)


RAW_BODIES: list[tuple[str, bytes, int, str, str]] = [
    ("NaN", b'{"players":[{"id":"x","rating":NaN}]}', 400, "malformed", "byte 31"),
    ("Infinity", b'{"players":[{"id":"x","rating":-Infinity}]}', 400, "malformed", "byte 3"),
    ("beyond a double", b'{"players":[{"id":"x","rating":1e999}]}', 400, "malformed", "$.players[0].rating"),
    ("nothing", b"", 400, "malformed", ""),
    ("not UTF-8", b'{"players":[{"id":"\xff\xfe"}]}', 400, "malformed", ""),
    ("cut short", b'{"players":[{"id":"x"}', 400, "malformed", "truncated"),
    ("more after the end", b'{"players":[{"id":"x"}]}{}', 400, "malformed", ""),
    ("a form", b"players=x&rating=1", 400, "malformed", ""),
    ("nested too deep", b'{"players":' + b"[" * 30_000 + b"]" * 30_000 + b"}", 400, "malformed", ""),
    ("deep attributes", b'{"players":[],"attributes":' + b'{"a":' * 9_000 + b"1" + b"}" * 9_001, 400, "malformed", ""),
    ("too large", b'{"players":[{"id":"' + b"x" * 70_000 + b'"}]}', 413, "too_large", "65536"),
    ("too large, of blanks", b" " * 70_000, 413, "too_large", "65536"),
]


@pytest.mark.parametrize(
    ("body", "status", "reason", "names"), [case[1:] for case in RAW_BODIES], ids=[case[0] for case in RAW_BODIES]
)
@pytest.mark.parametrize("path", [JOIN, "/v1/proposals/p-000000000001/accept", "/v1/proposals/p-000000000001/decline"])
def test_a_body_that_cannot_be_read_is_refused(
    stage: Stage, path: str, body: bytes, status: int, reason: str, names: str
) -> None:
    with unchanged(stage.server):
        answer = stage.server.http.post(path, content=body)
        check_problem(answer, status, reason, names if path == JOIN else "")


def test_a_batch_too_large_or_too_deep_is_refused_whole(stage: Stage) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with unchanged(stage.server):
        for body, status, reason in (
            (b'{"tickets":' + deep + b"}", 400, "malformed"),
            (b'{"tickets":[{"players":' + deep + b"}]}", 400, "malformed"),
            (b'{"tickets":[' + b" " * 4_200_000 + b"]}", 413, "too_large"),
        ):
            check_problem(stage.server.http.post(f"{JOIN}:batch", content=body), status, reason)


def test_a_body_without_a_length_is_measured_as_it_comes(stage: Stage) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"players":[{"id":"'
        for _ in range(80):
            yield b"x" * 1_000

    with unchanged(stage.server):
        check_problem(stage.server.http.post(JOIN, content=chunks()), 413, "too_large", "65536")


def test_every_bad_answer_to_a_proposal_is_refused(stage: Stage) -> None:
    server = stage.server
    with unchanged(server):
        for verb in ("accept", "decline"):
            for proposal, player, status, reason, names in (
                (stage.proposal, "ann", 403, "not_a_member", stage.proposal),
                (stage.proposal, "nobody ever seen", 403, "not_a_member", stage.proposal),
                (stage.proposal, "", 403, "not_a_member", stage.proposal),
                (stage.proposal, "p\0 2", 403, "not_a_member", stage.proposal),
                (stage.proposal, "x" * 10_000, 403, "not_a_member", stage.proposal),
                (stage.lapsed, "l1", 410, "proposal_over", stage.lapsed),
                ("p-000000009999", "p1", 404, "unknown_proposal", "p-000000009999"),
                ("p-999999999999999999", "p1", 404, "unknown_proposal", "p-999999999999999999"),
                ("nonsense", "p1", 404, "unknown_proposal", "'nonsense'"),
                (stage.waiting, "p1", 404, "unknown_proposal", stage.waiting),
            ):
                check_problem(server.respond(proposal, player, verb), status, reason, names)
            bodies_of_no_use: tuple[Any, ...] = (
                {},
                {"player": 7},
                {"player": None},
                {"player": "p1", "x": 1},
                {"players": "p1"},
                [],
            )
            for body in bodies_of_no_use:
                answer = server.http.post(f"/v1/proposals/{stage.proposal}/{verb}", json=body)
                check_problem(answer, 400, "malformed")
        check_problem(server.respond(stage.proposal, "p1"), 409, "already_accepted", stage.proposal)
        made = f"p-{stage.match.removeprefix('m-')}"
        check_problem(server.respond(made, "m1"), 409, "already_accepted", made)
        check_problem(server.respond(made, "m1", "decline"), 409, "already_matched", made)
        check_problem(server.respond(made, "ann"), 403, "not_a_member", made)


def test_every_bad_ticket_or_match_is_refused(stage: Stage) -> None:
    server = stage.server
    unknown: tuple[str, ...] = (
        "t-000000009999",
        "t-999999999999999999",
        "t-1",
        "t-0000000000001",
        "nonsense",
        "t-" + "9" * 3_000,
    )
    unknown += (stage.match, "t-00000000000١", "%00", "%ff", "t-000000000001%0a", "%F0%9F%98%80", "t-%20")
    with unchanged(server):
        for name in unknown:
            check_problem(server.http.get(f"/v1/tickets/{name}"), 404, "unknown_ticket")
            check_problem(server.http.delete(f"/v1/tickets/{name}"), 404, "unknown_ticket")
            check_problem(server.http.post(f"/v1/tickets/{name}/heartbeat"), 404, "unknown_ticket")
        for name in ("m-000000009999", "m-1", stage.waiting, f"m-{stage.proposal.removeprefix('p-')}", "%00"):
            check_problem(server.http.get(f"/v1/matches/{name}"), 404, "unknown_match")
        check_problem(server.http.get("/v1/queues/nope"), 404, "unknown_queue", "duel")
        check_problem(server.http.delete(f"/v1/tickets/{stage.left}"), 410, "ticket_gone", stage.left)
        check_problem(server.http.post(f"/v1/tickets/{stage.left}/heartbeat"), 410, "ticket_gone", stage.left)
        check_problem(server.http.delete(f"/v1/tickets/{stage.matched}"), 409, "already_matched", stage.match)
        check_problem(server.http.post(f"/v1/tickets/{stage.matched}/heartbeat"), 410, "ticket_gone", stage.matched)


def test_a_bad_idempotency_key_is_refused(stage: Stage) -> None:
    server = stage.server
    with unchanged(server):
        for key in (b"", b"x" * 256, "é".encode(), b"a\tb", b"\xff"):
            for path, body in ((JOIN, ONE), (f"{JOIN}:batch", {"tickets": [ONE]})):
                check_problem(server.http.post(path, json=body, headers={b"Idempotency-Key": key}), 400, "bad_key")
        again = server.try_join("duel", "somebody else", key="ann's")
        check_problem(again, 409, "key_reused", "Idempotency-Key")
        assert server.join("duel", "ann", key="ann's")["id"] == stage.waiting


WEIRD_PATHS: list[tuple[str, str, int, str]] = [
    ("GET", "/nope", 404, "not_found"),
    ("GET", "/v1", 404, "not_found"),
    ("GET", "/v1/tickets/", 404, "not_found"),
    ("GET", "/v1/tickets", 404, "not_found"),
    ("GET", "/v1/tickets/t-000000000001/events/more", 404, "not_found"),
    ("POST", "/v1/queues/du%2Fel/tickets", 404, "not_found"),
    ("POST", "/v1/queues/%2e%2e/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/DUEL/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/duel%00/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/%F0%9F%98%80/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/%ED%A0%80/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/" + "q" * 8_000 + "/tickets", 404, "unknown_queue"),
    ("POST", "/v1/queues/duel/tickets:bulk", 404, "not_found"),
    ("POST", "/v1/queues//tickets", 404, "unknown_queue"),
    ("PUT", "/v1/queues", 405, "method_not_allowed"),
    ("POST", "/v1/queues", 405, "method_not_allowed"),
    ("GET", "/v1/queues/duel/tickets", 405, "method_not_allowed"),
    ("PUT", "/v1/tickets/t-000000000001", 405, "method_not_allowed"),
    ("GET", "/v1/proposals/p-000000000001/accept", 405, "method_not_allowed"),
    ("DELETE", "/healthz", 405, "method_not_allowed"),
]


@pytest.mark.parametrize(("method", "path", "status", "reason"), WEIRD_PATHS)
def test_a_weird_path_or_method_has_a_clear_answer(
    stage: Stage, method: str, path: str, status: int, reason: str
) -> None:
    with unchanged(stage.server):
        answer = stage.server.http.request(method, path, json=ONE if method == "POST" else None)
        if reason == "unknown_queue" and answer.json().get("reason") == "not_found":
            reason = "not_found"  # an empty name is no queue at all
        check_problem(answer, status, reason)


def test_a_path_says_which_methods_it_knows(stage: Stage) -> None:
    asked = stage.server.http.options("/v1/tickets/t-000000000001")
    assert (asked.status_code, asked.content) == (204, b"")
    assert asked.headers["allow"] == "GET, HEAD, PATCH, DELETE, OPTIONS"
    refused = stage.server.http.request("TRACE", "/v1/queues")
    check_problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"
    assert "use GET, HEAD, OPTIONS" in refused.json()["detail"]
    check_problem(stage.server.http.options("/nope"), 404, "not_found")


def test_names_of_any_script_come_back_as_they_went(stage: Stage) -> None:
    server = stage.server
    for name in ("😀", "é", "e\u0301", "ابن", "日本", "a'b\"c\\d", "%00", "<b>", "x" * 128, " ", "null", "1", "\u2028"):
        ticket = server.join("fuzz", name, attributes={"about": name})
        found = server.ticket(ticket["id"])
        assert [player["id"] for player in found["players"]] == [name]
        assert found["attributes"] == {"about": name}
        assert server.http.delete(f"/v1/tickets/{ticket['id']}").status_code == 204


def test_a_websocket_to_no_path_at_all_is_turned_away(stage: Stage) -> None:
    address = stage.server.url.replace("http", "ws", 1)
    for path in ("/", "/v1/tickets/t-1", "/v1/tickets/a/b/events", "/v1/queues"):
        with pytest.raises(InvalidStatus), connect(address + path, open_timeout=PATIENCE_S):
            pass


# -- fuzz --------------------------------------------------------------------------------------------------------------

POSTS = (
    "/v1/queues/fuzz/tickets",
    "/v1/queues/fuzz/tickets:batch",
    "/v1/queues/nope/tickets",
    "/v1/proposals/{proposal}/accept",
    "/v1/proposals/{proposal}/decline",
    "/v1/proposals/p-000000000000/accept",
    "/v1/tickets/{waiting}/heartbeat",
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=12)
    | st.text(st.characters(categories=["Cs", "Cc", "So", "Ll"]), max_size=5)
)
names = st.sampled_from(["players", "id", "rating", "ping_ms", "attributes", "tickets", "player", "x", ""])
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
a_player = st.fixed_dictionaries(
    {"id": st.text(max_size=6) | scalars}, optional={"rating": scalars, "ping_ms": scalars}
)
a_ticket = st.fixed_dictionaries(
    {"players": st.lists(a_player | anything, max_size=3) | anything},
    optional={"attributes": st.dictionaries(st.text(max_size=5), scalars, max_size=3) | anything, "extra": anything},
)
bodies = (
    st.binary(max_size=200)
    | anything.map(lambda value: json.dumps(value).encode())
    | a_ticket.map(lambda value: json.dumps(value).encode())
    | st.lists(a_ticket | anything, max_size=4).map(lambda value: json.dumps({"tickets": value}).encode())
    | scalars.map(lambda value: json.dumps({"player": value}).encode())
)


@settings(max_examples=400)
@given(path=st.sampled_from(POSTS), body=bodies, key=st.none() | st.binary(max_size=8).map(lambda k: k.hex().encode()))
def test_no_body_whatever_makes_the_server_fail(stage: Stage, path: str, body: bytes, key: bytes | None) -> None:
    where = path.format(proposal=stage.proposal, waiting=stage.waiting)
    headers = {} if key is None else {b"Idempotency-Key": key}
    answer = stage.server.http.post(where, content=body, headers=headers)
    assert answer.status_code < 500, f"{body!r}: {answer.text}"
    if answer.status_code >= 400:
        check_problem(answer, answer.status_code, answer.json()["reason"])
    elif "batch" in path:
        for outcome in answer.json()["outcomes"]:
            assert list(outcome) in (["ticket"], ["problem"])
    elif answer.content:
        assert answer.json()


@settings(max_examples=150)
@given(name=st.text(max_size=20) | st.binary(max_size=12).map(lambda raw: raw.decode("latin-1")))
def test_no_name_in_a_path_whatever_makes_the_server_fail(stage: Stage, name: str) -> None:
    safe = "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))
    for method, path in (
        ("GET", "/v1/tickets/{}"),
        ("DELETE", "/v1/tickets/{}"),
        ("POST", "/v1/tickets/{}/heartbeat"),
        ("GET", "/v1/queues/{}"),
        ("GET", "/v1/matches/{}"),
        ("POST", "/v1/proposals/{}/accept"),
    ):
        answer = stage.server.http.request(
            method, path.format(safe), json={"player": "x"} if method == "POST" else None
        )
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            check_problem(answer, answer.status_code, answer.json()["reason"])


def test_after_all_of_this_the_journal_verifies_and_the_server_has_made_no_mistake(stage: Stage) -> None:
    found = stage.server.verify()
    assert found["hash"] == digest(stage.server)
    assert "Traceback" not in stage.server.log.read_text()


def test_rubbish_on_the_socket_does_not_disturb_the_others(stage: Stage) -> None:
    host, port = stage.server.url.removeprefix("http://").split(":")
    chance = random.Random(1)
    with unchanged(stage.server):
        for rubbish in (
            b"\0" * 100,
            b"GET\r\n\r\n",
            b"POST /v1/queues/duel/tickets HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            b"POST /v1/queues/duel/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
            b"POST /v1/queues/duel/tickets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b'POST /v1/queues/duel/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"players":[',
            chance.randbytes(500),
        ):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as raw:
                raw.sendall(rubbish)
        assert stage.server.http.get("/healthz").status_code == 200


def test_a_request_whose_sender_vanishes_half_way_is_not_carried_out(stage: Stage) -> None:
    """What came looks like a whole ticket, but more was announced: nobody can know what was meant."""
    host, port = stage.server.url.removeprefix("http://").split(":")
    body = b'{"players":[{"id":"half-sent"}]}'
    with unchanged(stage.server):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as raw:
            head = b"POST /v1/queues/duel/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"
            raw.sendall(head + body)
        for _ in range(20):  # by now the server has seen the connection end
            assert stage.server.http.get("/v1/queues/duel").status_code == 200


# -- 503 ---------------------------------------------------------------------------------------------------------------


def test_a_full_mailbox_answers_503_with_retry_after_and_drops_nothing(make_server: MakeServer) -> None:
    server = make_server(queue("duel", size=100), EVENMATCH_MAILBOX="2")
    assert server.join("duel", "first")
    blocker = sqlite3.connect(server.db, isolation_level=None, timeout=PATIENCE_S)
    with contextlib.closing(blocker), concurrent.futures.ThreadPoolExecutor(12) as pool:
        blocker.execute("BEGIN IMMEDIATE")  # the engine's commit waits for us now
        asked = [pool.submit(server.try_join, "duel", f"busy-{number}") for number in range(12)]
        eventually(lambda: sum(ask.done() for ask in asked) >= 12 - 1 - 2 - 2, "refusals")
        assert server.http.get("/readyz").status_code == 503
        assert server.http.get("/healthz").status_code == 200
        blocker.execute("ROLLBACK")
        answers = [ask.result() for ask in asked]
    busy = [answer for answer in answers if answer.status_code != 201]
    assert busy
    for answer in busy:
        check_problem(answer, 503, "busy", "try again")
        assert answer.headers["retry-after"] == "1"
    joined = len(answers) - len(busy)
    assert joined >= 1
    eventually(lambda: server.http.get("/readyz").status_code == 200)
    assert server.waiting("duel") == joined + 1
    numbers = server.http.get("/metrics").text
    assert f"evenmatch_busy_refusals_total {float(len(busy))}" in numbers


# -- the command line --------------------------------------------------------------------------------------------------


def check_refused(done: Any, *names: str, lines: int | None = 1) -> None:
    """A non-zero exit and one clear line on stderr."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    for name in names:
        assert name in done.stderr, done.stderr
    if lines is not None:
        assert len(done.stderr.strip().splitlines()) == lines, done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def journal_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a server that was killed; not to be written to."""
    folder = tmp_path_factory.mktemp("journal")
    server = Server(folder, queue("duel", size=9), {"EVENMATCH_CHECKPOINT_DEBT": "1000000"})
    try:
        server.start()
        for number in range(5):
            server.join("duel", f"player {number}")
    finally:
        server.close()
    path = folder / "journal.db"
    with contextlib.closing(sqlite3.connect(server.db)) as source, contextlib.closing(sqlite3.connect(path)) as target:
        source.backup(target)
    return path


def execute(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql)


def test_malformed_queues_are_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    for text, place, said in (
        ("[queues.duel\n", ":1:13:", "not TOML"),
        ("[queues.duel]\nformt = {}\n", ":2: queues.duel.formt:", "did you mean 'format'"),
        ('[queues.duel]\nmatcher = { name = "first_com" }\n', ":2: queues.duel.matcher", "did you mean 'first_come'"),
        ("[queues.duel]\nformat = { teams = 0 }\n", ":2: queues.duel.format.teams", "0"),
        ('[queues.duel]\nwave = { every_s = "1" }\n', ":2: queues.duel.wave.every_s", "not a number"),
        ("", "", "there are none"),
    ):
        path.write_text(text)
        checked = evenmatch("check", str(path))
        check_refused(checked, f"{path}{place}", said, lines=2)
        assert checked.stderr.endswith("1 mistake\n")
    served = evenmatch("serve", "--port", "0", "--config", str(path), "--db", str(tmp_path / "x.db"))
    check_refused(served, f"{path}: queues", "there are none")
    assert not (tmp_path / "x.db").exists()
    path.write_bytes(b"\xff\xfe")
    check_refused(evenmatch("check", str(path)), "UTF-8", lines=2)
    check_refused(evenmatch("check", str(tmp_path / "nope.toml")), "nope.toml: there is no such file", lines=2)
    check_refused(evenmatch("check", str(tmp_path)), "directory", lines=2)


def test_good_queues_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "queues.toml"
    path.write_text(queue("duel") + queue("team5", size=5, timeout_s=None))
    done = evenmatch("check", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 queues, no mistakes" in done.stdout
    for word in ("duel", "2x1", "team5", "2x5", "first_come", "none"):
        assert word in done.stdout


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = evenmatch("serve", "--port", port, "--db", str(tmp_path / "x.db"))
    check_refused(done, f"127.0.0.1:{port}", "in use")
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("port", ["65536", "-1", "99999999"])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: str) -> None:
    check_refused(evenmatch("serve", f"--port={port}", "--db", str(tmp_path / "x.db")), port)


def test_settings_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    done = evenmatch("serve", "--db", str(tmp_path / "x.db"), env={"EVENMATCH_MAILBOX": "many"})
    check_refused(done, "EVENMATCH_MAILBOX", "'many'")


def test_a_second_server_on_the_same_file_is_refused_and_the_first_goes_on(make_server: MakeServer) -> None:
    server = make_server(queue("duel", size=9))
    ticket = server.join("duel", "ann")["id"]
    done = evenmatch("serve", "--port", "0", "--db", str(server.db))
    check_refused(done, str(server.db), "another evenmatch is serving")
    assert server.ticket(ticket)["status"] == "waiting"
    assert server.join("duel", "ben")
    server.kill()
    server.start()  # a lock that a dead process left behind does not bind
    assert server.waiting("duel") == 2


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        folder = Path("/sys")  # not even root may make a file here
    else:
        folder = tmp_path / "closed"
        folder.mkdir(mode=0o500)
    check_refused(evenmatch("serve", "--port", "0", "--db", str(folder / "x.db")), str(folder / "x.db"), "denied")
    check_refused(evenmatch("serve", "--port", "0", "--db", str(tmp_path / "no" / "x.db")), "there is no folder")


@pytest.mark.parametrize("verb", ["serve", "show", "verify"])
def test_a_file_that_is_not_a_journal_is_refused_and_left_as_it_is(
    verb: str, tmp_path: Path, journal_file: Path
) -> None:
    text, foreign, newer = (tmp_path / name for name in ("notes.txt", "foreign.db", "newer.db"))
    text.write_text("milk\nbread\n")
    execute(foreign, "CREATE TABLE cakes (name)")
    shutil.copy(journal_file, newer)
    execute(newer, "PRAGMA user_version = 99")
    for path, said in (
        (text, "not an evenmatch journal"),
        (foreign, "not an evenmatch journal"),
        (newer, "newer evenmatch"),
        (tmp_path, "is a folder"),
    ):
        before = path.read_bytes() if path.is_file() else b""
        arguments = ("serve", "--port", "0", "--db", str(path)) if verb == "serve" else ("journal", verb, str(path))
        check_refused(evenmatch(*arguments), str(path), said)
        assert (path.read_bytes() if path.is_file() else b"") == before
    if verb != "serve":
        check_refused(evenmatch("journal", verb, str(tmp_path / "missing.db")), "missing.db", "there is no file")
        (tmp_path / "empty.db").touch()
        check_refused(evenmatch("journal", verb, str(tmp_path / "empty.db")), "empty.db", "empty")


def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path: Path, journal_file: Path) -> None:
    cut, torn, flipped, holed = (tmp_path / name for name in ("cut.db", "torn.db", "flipped.db", "holed.db"))
    content = journal_file.read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    torn.write_bytes(content[:4096] + b"\x55" * (len(content) - 4096))
    shutil.copy(journal_file, flipped)
    execute(flipped, "UPDATE commits SET body = zeroblob(length(body)) WHERE first_sequence = 3")
    shutil.copy(journal_file, holed)
    execute(holed, "DELETE FROM commits WHERE first_sequence = 3")
    for path, verified, served in (
        (cut, "damaged", "damaged"),
        (torn, "damaged", "damaged"),
        (flipped, "checksum", "not what was written"),
        (holed, "missing", "missing"),
    ):
        before = path.read_bytes()
        check_refused(evenmatch("journal", "verify", str(path)), path.name, verified)
        check_refused(evenmatch("serve", "--port", "0", "--db", str(path)), path.name, served)
        assert path.read_bytes() == before, path
    assert evenmatch("journal", "verify", str(journal_file)).returncode == 0


def test_unknown_verbs_and_flags_are_refused_with_the_nearest_known(tmp_path: Path) -> None:
    for arguments, said in (
        (("sevre",), "serve"),
        (("serve", "--prot", "1"), "--port"),
        (("serve", "--port", "many"), "--port"),
        (("journal", "shwo", "x.db"), "show"),
        (("journal", "verify"), "path"),
        (("journal", "show", str(tmp_path), "--limit", "few"), "--limit"),
        (("check",), "path"),
        (("watch",), "TICKETS"),
        (("watch", "t-000000000001", "--url", "http://127.0.0.1:1"), "http://127.0.0.1:1"),
        (("watch", "t-000000000001", "--url", "nonsense"), "nonsense"),
    ):
        check_refused(evenmatch(*arguments), said, lines=None)


def test_watching_an_unknown_ticket_is_refused(stage: Stage) -> None:
    done = evenmatch("watch", "t-000000009999", "--url", stage.server.url)
    check_refused(done, "t-000000009999", "4404")
    assert done.stderr.count("t-000000009999") == 1
