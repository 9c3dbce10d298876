"""Who may do what: every caller on every path, by both ways in; the open server; rates, headers and the audit."""

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenmatch import config
from evenmatch.service.access import RIGHTS, Caller, Gate, Least, Players, Right, right_of
from evenmatch.service.app import App
from evenmatch.service.keys import KeyRing, Role, keys_path, revoke
from evenmatch.service.loopback import is_loopback
from evenmatch.service.owner import Owner
from evenmatch.service.rates import Buckets
from evenmatch.service.routes import litestar_app
from evenmatch.service.runner import Runner
from evenmatch.service.sockets import Hub
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Journal
from evenmatch.storage.sqlite import SqliteJournal

from .callers import SPECS, bearer, key_in, messages, settings_in, stream, token, watch
from .inside import FailingMemory, app_over, living, memory_and_journal, until

ROLES: tuple[Role, ...] = ("reader", "backend", "operator")
ONCE = (
    "already_accepted",
    "already_waiting",
    "match_not_running",
    "match_not_starting",
    "match_over",
    "no_free_place",
    "not_waiting",
    "unknown_result",
    "not_rated",
    "unknown_deadletter",
    "no_backup",
    "unknown_wave",
)
"""What those who may are told when there is nothing left to do."""
BOTH_WAYS = pytest.mark.parametrize("fast", [True, False], ids=["hot", "litestar"])

# What is asked, who the insider is, and who may: r(eader), b(ackend), o(perator), i(nsider), s(tranger), n(obody).
# The stranger is a player too, who is in nothing that is named; {me} is the player who asks.
Case = tuple[str, str, Any, str, str]
CASES: list[Case] = [
    ("GET", "/", None, "ann", "rboisn"),
    ("GET", "/dashboard/{file}", None, "ann", "rboisn"),
    ("GET", "/docs", None, "ann", "rboisn"),
    ("GET", "/openapi.json", None, "ann", "rboisn"),
    ("GET", "/healthz", None, "ann", "rboisn"),
    ("GET", "/readyz", None, "ann", "rboisn"),
    ("GET", "/metrics", None, "ann", "rbo"),
    ("GET", "/v1/queues", None, "ann", "rbois"),
    ("GET", "/v1/queues/{queue}", None, "ann", "rbois"),
    ("POST", "/v1/queues/{queue}/tickets", {"players": [{"id": "{me}"}]}, "new", "bois"),
    ("POST", "/v1/queues/{queue}/tickets", {"players": [{"id": "kim"}]}, "kim", "boi"),
    ("POST", "/v1/queues/{queue}/tickets", {"players": [{"id": "kim"}, {"id": "lea"}]}, "kim", "bo"),
    ("POST", "/v1/queues/{queue}/tickets:batch", {"tickets": [{"players": [{"id": "{me}"}]}]}, "ann", "bo"),
    ("GET", "/v1/tickets/{ticket}", None, "fay", "rboi"),
    ("POST", "/v1/tickets/{ticket}/heartbeat", None, "fay", "boi"),
    ("WS", "/v1/tickets/{ticket}/events", None, "fay", "boi"),
    ("GET", "/v1/tickets/{ticket}/events", None, "fay", "boi"),
    ("PATCH", "/v1/tickets/{ticket}", {"attributes": {}}, "fay", "boi"),
    ("DELETE", "/v1/tickets/{ticket}", None, "fay", "boi"),
    ("POST", "/v1/proposals/{proposal}/accept", {"player": "cat"}, "cat", "boi"),
    ("POST", "/v1/proposals/{proposal}/decline", {"player": "cat"}, "cat", "boi"),
    ("GET", "/v1/matches/{match}", None, "ann", "rboi"),
    ("POST", "/v1/matches/{match}/backfill", {"places": [{"team": 0}]}, "ann", "bo"),
    ("GET", "/v1/matches/{match}/backfill", None, "ann", "rboi"),
    ("DELETE", "/v1/matches/{match}/backfill", None, "ann", "bo"),
    ("POST", "/v1/matches/{match}/end", None, "ann", "bo"),
    ("GET", "/v1/audit", None, "ann", "o"),
    ("GET", "/v1/tickets/{ticket}/why", None, "fay", "rboi"),
    ("GET", "/v1/queues/{queue}/forecast", None, "ann", "rbois"),
    ("GET", "/v1/watch", None, "ann", "rbo"),
    ("GET", "/v1/queues/{queue}/history", None, "ann", "rbo"),
    ("GET", "/v1/queues/{queue}/waiting", None, "ann", "rbo"),
    ("GET", "/v1/queues/{queue}/waves", None, "ann", "rbo"),
    ("GET", "/v1/queues/{queue}/waves/{wave}", None, "ann", "rbo"),
    ("GET", "/v1/tickets/{ticket}/story", None, "fay", "rbo"),
    ("GET", "/v1/deadletters", None, "ann", "o"),
    ("POST", "/v1/backup", None, "ann", "o"),
    ("POST", "/v1/deadletters/{letter}/retry", None, "ann", "o"),
    ("POST", "/v1/matches/{match}/result", {"teams": [{"rank": 1}, {"rank": 2}]}, "ann", "bo"),
    ("GET", "/v1/matches/{match}/result", None, "ann", "rboi"),
    ("PUT", "/v1/matches/{match}/result", {"teams": [{"rank": 2}, {"rank": 1}]}, "ann", "o"),
    ("GET", "/v1/players/{player}/ratings", None, "ann", "rboi"),
    ("GET", "/v1/players/{player}/history", None, "ann", "rboi"),
    ("GET", "/v1/players/{player}/tickets", None, "ann", "rboi"),
    ("GET", "/v1/queues/{queue}/leaderboard", None, "ann", "rbois"),
    ("GET", "/v1/queues/{queue}/calibration", None, "ann", "rbois"),
    ("POST", "/v1/queues/{queue}/season", {"season": 2}, "ann", "o"),
    ("GET", "/v1/players/{player}", None, "ann", "rboi"),
    ("PUT", "/v1/players/{player}/blocks", {"players": ["ben"]}, "ann", "boi"),
    ("DELETE", "/v1/players/{player}/cooldowns", None, "ann", "o"),
    ("PUT", "/v1/queues/{queue}/mode", {"mode": "open"}, "ann", "o"),
    ("POST", "/v1/tickets/{ticket}/cancel", None, "fay", "o"),
    ("POST", "/v1/matches/{match}/started", None, "ann", "bo"),
    ("POST", "/v1/matches/{match}/failed", None, "ann", "bo"),
    ("POST", "/v1/matches/{match}/cancel", None, "ann", "o"),
    ("PUT", "/v1/queues/{queue}/spec", {"format": {"teams": 2, "size": 90}}, "ann", "o"),
    ("GET", "/v1/queues/{queue}/versions", None, "ann", "rbo"),
    ("POST", "/v1/queues/{queue}/rollback", {"version": 1}, "ann", "o"),
    ("GET", "/v1/players/{player}/export", None, "ann", "o"),
    ("DELETE", "/v1/players/{player}", None, "ann", "o"),
]


async def played(client: httpx.AsyncClient, key: str) -> dict[str, str]:
    """Play until there is a match of ann and ben, a proposal of cat and dan, and a waiting ticket of fay."""
    tickets = {}
    joins = "duel ann, duel ben, checked cat, checked dan, pool fay"
    for queue, player in (join.split() for join in joins.split(", ")):
        body = {"players": [{"id": player, "rating": 1600}]}
        joined = await client.post(f"/v1/queues/{queue}/tickets", json=body, headers=bearer(key))
        assert joined.status_code == 201, joined.text
        tickets[player] = joined.json()["ticket"]["id"]

    async def found(player: str, part: str) -> Any:
        answer = await client.get(f"/v1/tickets/{tickets[player]}", headers=bearer(key))
        return answer.json()["ticket"][part]

    match = await until(lambda: found("ann", "match"), "a match")
    proposal = await until(lambda: found("cat", "proposal"), "a proposal")
    names = {"queue": "pool", "ticket": tickets["fay"], "player": "ann", "letter": "a-000000000001"}
    names |= {"file": "index.html", "wave": "1"}
    return names | {"proposal": proposal["id"], "match": match["id"]}


async def outcomes(folder: Path, fast: bool, caller: str, key: str, backend: str) -> list[tuple[int, str]]:
    """What a caller is answered in every case: status and reason."""
    app = app_over(MemoryJournal(), *SPECS, fast=fast, settings=settings_in(folder))
    found: list[tuple[int, str]] = []
    async with living(app) as client:
        names = await played(client, backend)
        for method, pattern, body, insider, _ in CASES:
            me = {"i": insider, "s": "stranger"}.get(caller, "somebody")
            headers = {} if caller == "n" else bearer(key or token(me))
            if method == "WS":
                code, said = await watch(app, names["ticket"], headers=headers)
                found.append((code or 101, str(said).split(":")[0]))
                continue
            if pattern.endswith(("/events", "/watch")):
                status, said = await stream(app, names["ticket"], headers=headers, path=pattern.format(**names))
                found.append((status, json.loads(said)["reason"] if status >= 400 else ""))
                continue
            content = None if body is None else json.dumps(body).replace("{me}", me).encode()
            answer = await client.request(method, pattern.format(**names), content=content, headers=headers)
            is_problem = answer.headers.get("content-type", "").startswith("application/problem+json")
            found.append((answer.status_code, answer.json()["reason"] if is_problem else ""))
    return found


@BOTH_WAYS
@pytest.mark.parametrize("caller", "rboisn")
def test_every_caller_on_every_path(tmp_path: Path, fast: bool, caller: str) -> None:
    keys: dict[str, str] = {role[0]: key_in(tmp_path, role) for role in ROLES}
    answers = asyncio.run(outcomes(tmp_path, fast, caller, keys.get(caller, ""), keys["b"]))
    for case, (status, reason) in zip(CASES, answers, strict=True):
        where = (*case[:2], caller, status, reason)
        if caller in case[4]:
            assert status < 300 or reason in ONCE, where
        elif caller == "n":
            assert (status, reason) in ((401, "unauthenticated"), (4401, "unauthenticated")), where
        elif caller in "is":
            assert status in (403, 4403), where
            assert reason in ("forbidden", "not_yours"), where
        else:
            assert (status, reason) in ((403, "forbidden"), (4403, "forbidden")), where


# -- the table ---------------------------------------------------------------------------------------------------------


def routes_served() -> set[tuple[str, str]]:
    runner = Owner(MemoryJournal(), config.builtin(), Settings(), lambda *_: None)
    served = litestar_app(runner, Hub(runner), Settings(), "0")
    return {
        (method, route.path_format)
        for route in served.routes
        if not route.path.startswith("/litestar-openapi")  # never granted to anybody
        for method in getattr(route, "methods", ())
        if method != "OPTIONS"
    }


def test_every_route_is_in_the_table_and_nothing_else() -> None:
    assert routes_served() | {("WS", "/v1/tickets/{ticket}/events")} == set(RIGHTS)


def test_every_right_is_tried_above() -> None:
    assert {case[:2] for case in CASES} == set(RIGHTS)


def test_every_pattern_leads_to_its_own_right() -> None:
    for (method, pattern), right in RIGHTS.items():
        path = pattern.replace("{", "x").replace("}", "y")
        found = right_of(method, path)
        assert found is not None
        assert found[0] is right
        assert found[1] == next((part for part in path.split("/") if part.startswith("x")), "")
        assert right_of("BREW", path) is None


@pytest.mark.parametrize(
    "path",
    ["/v2", "/v1", "/v1/tickets", "/v1/tickets/x/y", "/v1/queues/a/b/c", "/litestar-openapi", "//", "/v1//queues"],
)
def test_what_is_not_in_the_table_has_no_right(path: str) -> None:
    if path != "//":
        assert right_of("GET", path) is None


@BOTH_WAYS
def test_what_is_not_in_the_table_is_not_there(tmp_path: Path, fast: bool) -> None:
    async def asked() -> dict[str, int]:
        key = key_in(tmp_path, "operator")
        app = app_over(MemoryJournal(), *SPECS, fast=fast, settings=settings_in(tmp_path))
        paths = ("/v1", "/nope", "/litestar-openapi", "/litestar-openapi/openapi.json", "/v1//queues", "//v1/queues")
        async with living(app) as client:
            found = {path: (await client.get(path)).status_code for path in paths}
            found["operator"] = (await client.get("/litestar-openapi", headers=bearer(key))).status_code
            found["PUT"] = (await client.put("/v1/queues/pool/tickets")).status_code
            found["slash"] = (await client.get("/v1/queues/")).status_code
            found["HEAD"] = (await client.head("/v1/queues")).status_code
            return found

    found = asyncio.run(asked())
    assert {found.pop("PUT"), found.pop("slash"), found.pop("HEAD")} == {405, 401}
    assert set(found.values()) == {404}


# -- credentials -------------------------------------------------------------------------------------------------------


def ask(
    folder: Path, look: Callable[[httpx.AsyncClient, App], Any], journal: Journal | None = None, **more: Any
) -> Any:
    """What a server in this folder answers."""
    gate_of = more.pop("gate_of", None)

    async def asking() -> Any:
        settings = settings_in(folder, **more)
        app = app_over(MemoryJournal() if journal is None else journal, *SPECS, settings=settings)
        if gate_of is not None:
            app.gate = gate_of(app.runner, settings)
        async with living(app) as client:
            return await look(client, app)

    return asyncio.run(asking())


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "bearer em_",
        "Bearer em_0_0",
        "Bearer em_00000000_",
        "Bearer x.y.z",
        "em_1_2",
    ],
)
@pytest.mark.parametrize("secret", [True, False], ids=["guarded", "open"])
def test_a_bad_credential_is_refused_even_by_an_open_server(tmp_path: Path, header: str, secret: bool) -> None:
    more = {} if secret else {"player_secret": None}

    async def look(client: httpx.AsyncClient, _: App) -> httpx.Response:
        return await client.get("/v1/queues", headers={"authorization": header})

    answer = ask(tmp_path, look, **more)
    assert answer.status_code == 401
    assert answer.json()["reason"] == "unauthenticated"
    assert answer.headers["www-authenticate"] == 'Bearer realm="evenmatch", error="invalid_token"'


def test_two_credentials_are_one_too_many(tmp_path: Path) -> None:
    headers = [("authorization", f"Bearer {key_in(tmp_path, 'backend')}")]

    async def look(client: httpx.AsyncClient, _: App) -> list[int]:
        return [(await client.get("/v1/queues", headers=headers * times)).status_code for times in (1, 2)]

    assert ask(tmp_path, look) == [200, 401]


def test_another_secret_under_a_known_id_is_refused(tmp_path: Path) -> None:
    ours, theirs = key_in(tmp_path, "backend"), key_in(tmp_path, "operator")
    mixed = "_".join([*theirs.split("_")[:2], ours.split("_")[2]])

    async def look(client: httpx.AsyncClient, _: App) -> list[int]:
        return [(await client.get("/v1/queues", headers=bearer(key))).status_code for key in (ours, theirs, mixed)]

    assert ask(tmp_path, look) == [200, 200, 401]


@pytest.mark.parametrize("path", ["/v1/tickets//events", "/v1/queues/duel/events", "/v1/tickets/x/events/", "/nope"])
def test_a_socket_elsewhere_comes_to_nothing(tmp_path: Path, path: str) -> None:
    async def look(_: httpx.AsyncClient, app: App) -> Any:
        incoming: asyncio.Queue[Any] = asyncio.Queue()
        said: list[Any] = []

        async def hear(message: Any) -> None:
            said.append(message)

        incoming.put_nowait({"type": "websocket.connect"})
        headers = [(b"authorization", f"Bearer {token('ann')}".encode())]
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers}
        await app(scope, incoming.get, hear)
        return said[-1]["code"]

    assert ask(tmp_path, look) == 4404


def test_a_browser_may_send_its_token_in_the_query_of_a_socket_only(tmp_path: Path) -> None:
    key = key_in(tmp_path, "backend")

    async def look(client: httpx.AsyncClient, app: App) -> list[Any]:
        names = await played(client, key)
        found: list[Any] = []
        for query in (
            f"token={token('fay')}",
            f"after=0&token={key}",
            "token=",
            "token=x",
            f"token={token('ann')}",
            "",
        ):
            found.append((await watch(app, names["ticket"], query))[0])
        found.append((await client.get(f"/v1/queues?token={key}")).status_code)
        counted = app.runner.metrics.refusals
        assert counted == {"unauthenticated": 4, "not_yours": 1}, "sockets count as requests do"
        return found

    assert ask(tmp_path, look) == [None, None, 4401, 4401, 4403, 4401, 401]


# -- players -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "player",
    [{"rating": 1500}, {"rating": 9000.5}, {"ratings": {}}, {"ratings": {"bw": 2000}}, {"rating": 1, "ratings": {}}],
)
@BOTH_WAYS
def test_a_player_does_not_say_its_own_rating(tmp_path: Path, player: dict[str, Any], fast: bool) -> None:
    async def asked() -> list[tuple[int, str]]:
        app = app_over(MemoryJournal(), *SPECS, fast=fast, settings=settings_in(tmp_path))
        found = []
        async with living(app) as client:
            for body in ({"players": [{"id": "ann"} | player]}, {"players": [{"id": "ann", "ping_ms": 20}]}):
                answer = await client.post("/v1/queues/pool/tickets", json=body, headers=bearer(token("ann")))
                found.append((answer.status_code, answer.json().get("reason", "")))
        return found

    assert asyncio.run(asked()) == [(403, "rating_not_yours"), (201, "")]


def test_what_a_player_is_refused_names_what_would_be_right(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient, _: App) -> list[str]:
        parties: tuple[tuple[str, ...], ...] = (("ann", "ben"), (), ("ben",))
        bodies = [{"players": [{"id": player} for player in party]} for party in parties]
        answers = [
            await client.post("/v1/queues/pool/tickets", json=body, headers=bearer(token("ann"))) for body in bodies
        ]
        assert [answer.json()["reason"] for answer in answers] == ["not_yours"] * 3
        return [answer.json()["detail"] for answer in answers]

    for detail in ask(tmp_path, look):
        assert "backend" in detail
        assert "ann" in detail


def test_a_players_idempotency_keys_are_its_own(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient, _: App) -> list[Any]:
        found: list[Any] = []
        for player in ("ann", "ben", "ann"):
            headers = bearer(token(player)) | {"idempotency-key": "1"}
            answer = await client.post("/v1/queues/pool/tickets", json={"players": [{"id": player}]}, headers=headers)
            found.append((answer.status_code, answer.json()["ticket"]["id"]))
        return found

    first, second, again = ask(tmp_path, look)
    assert first[0] == second[0] == 201
    assert again == first
    assert second != first


def test_a_member_of_a_party_may_look_and_leave_and_a_finished_ticket_stays_its_players(tmp_path: Path) -> None:
    key = key_in(tmp_path, "backend")

    async def look(client: httpx.AsyncClient, app: App) -> list[int]:
        body = {"players": [{"id": "ann"}, {"id": "ben"}]}
        joined = await client.post("/v1/queues/pool/tickets", json=body, headers=bearer(key))
        path = f"/v1/tickets/{joined.json()['ticket']['id']}"
        found = [
            (await client.get(path, headers=bearer(token(player)))).status_code for player in ("ann", "ben", "cat")
        ]
        found.append((await client.delete(path, headers=bearer(token("ben")))).status_code)
        await until(
            lambda: app.runner.ask(lambda views, _: not views.engine.state.tickets_at), "the ticket is forgotten"
        )
        found += [(await client.get(path, headers=bearer(token(player)))).status_code for player in ("ann", "dan")]
        return found

    assert ask(tmp_path, look, keep_s=0.0) == [200, 200, 403, 204, 200, 403]


def test_what_nobody_knows_is_unknown_to_a_player_too(tmp_path: Path) -> None:
    paths = ("/v1/tickets/t-000000000099", "/v1/tickets/x", "/v1/matches/m-000000000099", "/v1/matches/x")

    async def look(client: httpx.AsyncClient, _: App) -> list[int]:
        return [(await client.get(path, headers=bearer(token("ann")))).status_code for path in paths]

    assert ask(tmp_path, look) == [404] * 4


def test_a_path_that_names_a_player_is_that_players(tmp_path: Path) -> None:
    right = Right(Least.READER, Players.AS_NAMED)

    async def look(_: httpx.AsyncClient, app: App) -> list[int | None]:
        answers = [await app.gate._refused(Caller("player", "ann", "ann"), right, name) for name in ("ann", "ben", "")]
        return [None if answer is None else answer.status for answer in answers]

    assert ask(tmp_path, look) == [None, 403, 403]


# -- the open server ---------------------------------------------------------------------------------------------------


def open_server(folder: Path, look: Callable[[httpx.AsyncClient, App], Any], **more: Any) -> Any:
    return ask(folder, look, **({"player_secret": None} | more))


def test_an_open_server_takes_a_caller_without_a_key_for_the_backend_but_never_for_an_operator(tmp_path: Path) -> None:
    operator = key_in(tmp_path, "operator")

    async def look(client: httpx.AsyncClient, app: App) -> list[Any]:
        assert app.gate.is_open
        body = {"players": [{"id": "ann", "rating": 1600}, {"id": "ben"}]}
        joined = await client.post("/v1/queues/pool/tickets", json=body)
        refused = await client.get("/v1/audit")
        assert "--role operator" in refused.json()["detail"]
        allowed = await client.get("/v1/audit", headers=bearer(operator))
        code, _ = await watch(app, joined.json()["ticket"]["id"])
        return [joined.status_code, refused.status_code, allowed.status_code, code]

    assert open_server(tmp_path, look) == [201, 401, 200, None]


def test_a_server_closes_when_a_backend_gets_a_key_and_opens_when_it_is_revoked(tmp_path: Path) -> None:
    now_s = itertools.count(0, 10)

    def gate(runner: Runner, settings: Settings) -> Gate:
        return Gate(runner, settings, keys=KeyRing(keys_path(settings), lambda: next(now_s)))

    async def look(client: httpx.AsyncClient, _: App) -> list[int]:
        found = [(await client.get("/v1/queues")).status_code]
        key = key_in(tmp_path, "backend")
        found.append((await client.get("/v1/queues")).status_code)
        found.append((await client.get("/v1/queues", headers=bearer(key))).status_code)
        revoke(tmp_path / "evenmatch.keys", key.split("_")[1])
        found.append((await client.get("/v1/queues", headers=bearer(key))).status_code)
        found.append((await client.get("/v1/queues")).status_code)
        return found

    assert open_server(tmp_path, look, gate_of=gate) == [200, 401, 200, 401, 200]


def test_a_server_that_others_can_reach_is_never_open(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient, app: App) -> int:
        assert not app.gate.is_open
        return (await client.get("/v1/queues")).status_code

    assert open_server(tmp_path, look, host="0.0.0.0") == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("192.168.1.5", False),
        ("no.such.host.invalid", False),
    ],
)
def test_what_counts_as_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_an_open_server_does_not_answer_a_strangers_page(tmp_path: Path) -> None:
    origins = ("https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:8750", "https://ours.example")

    async def look(client: httpx.AsyncClient, app: App) -> list[Any]:
        found: list[Any] = [
            (await client.get("/v1/queues", headers={"origin": origin})).status_code for origin in origins
        ]
        joined = await client.post("/v1/queues/pool/tickets", json={"players": [{"id": "ann"}]})
        found.append((await watch(app, joined.json()["ticket"]["id"], headers={"origin": origins[0]}))[0])
        return found

    assert open_server(tmp_path, look, cors_origins=("https://ours.example",)) == [403, 403, 200, 200, 200, 4403]


def test_an_open_server_answers_to_its_machines_own_names_only(tmp_path: Path) -> None:
    own = ("localhost", "LOCALHOST:8750", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8750")
    foreign = ("evil.example", "evil.example:8750", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.5")
    odd = ("", "[::1", "localhost@evil.example", "evil.example#@localhost", "evil.example@localhost")
    backend = key_in(tmp_path, "operator")

    async def look(client: httpx.AsyncClient, app: App) -> None:
        async def status(host: str, **more: str) -> int:
            return (await client.get("/v1/queues", headers={"host": host, **more})).status_code

        assert [await status(host) for host in own] == [200] * len(own)
        assert [await status(host) for host in (*foreign, *odd)] == [403] * len((*foreign, *odd))
        refused = (await client.get("/v1/queues", headers={"host": "evil.example"})).json()
        assert (refused["reason"], "'evil.example'" in refused["detail"]) == ("forbidden", True)
        assert await status("evil.example", **bearer(backend)) == 200, "whoever shows a key is no stranger's page"
        joined = await client.post("/v1/queues/pool/tickets", json={"players": [{"id": "ann"}]})
        ticket = joined.json()["ticket"]["id"]
        assert [(await watch(app, ticket, headers={"host": host}))[0] for host in ("evil.example", "localhost")] == [
            4403,
            None,
        ]

    open_server(tmp_path, look)


# -- rates -------------------------------------------------------------------------------------------------------------


def test_a_player_and_a_key_have_rates_of_their_own(tmp_path: Path) -> None:
    clock = [100.0]
    slow, quick = key_in(tmp_path, "backend", rate=2), key_in(tmp_path, "backend")

    def gate(runner: Runner, settings: Settings) -> Gate:
        return Gate(runner, settings, buckets=Buckets(lambda: clock[0]))

    async def look(client: httpx.AsyncClient, app: App) -> None:
        async def granted(credential: str, times: int) -> int:
            answers = [await client.get("/v1/queues", headers=bearer(credential)) for _ in range(times)]
            for answer in answers:
                if answer.status_code != 200:
                    assert (answer.status_code, answer.json()["reason"]) == (429, "too_many_requests")
                    assert int(answer.headers["retry-after"]) >= 1
            return [answer.status_code for answer in answers].count(200)

        assert await granted(slow, 10) == 4
        assert await granted(quick, 50) == 50
        ann, ben = token("ann"), token("ben")
        assert await granted(ann, 10) == 6
        assert await granted(token("ann", jti="another"), 1) == 0, "a rate is the player's, not the token's"
        assert await granted(ben, 1) == 1
        before = app.runner.metrics.refusals["too_many_requests"]
        assert (await watch(app, "t-000000000001", headers=bearer(ann)))[0] == 1013
        assert app.runner.metrics.refusals["too_many_requests"] == before + 1
        clock[0] += 1.0
        assert await granted(slow, 10) == 2
        assert await granted(ann, 10) == 3
        clock[0] += 1_000.0
        assert await granted(slow, 10) == 4

    ask(tmp_path, look, player_rate=3.0, gate_of=gate)


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    clock = [0.0]
    buckets = Buckets(lambda: clock[0])
    assert [buckets.wait_s("a", 20) for _ in range(40)] == [0.0] * 40
    assert buckets.wait_s("a", 20) == pytest.approx(0.05)
    assert buckets.wait_s("b", 20) == 0.0
    clock[0] = 0.05
    assert [buckets.wait_s("a", 20) == 0.0 for _ in range(2)] == [True, False]
    assert all(buckets.wait_s("c", 0) == 0.0 for _ in range(1_000)), "0 is no limit"


def test_a_rate_below_one_gives_one_and_then_makes_wait() -> None:
    clock = [0.0]
    buckets = Buckets(lambda: clock[0])
    assert buckets.wait_s("a", 0.1) == 0.0
    assert buckets.wait_s("a", 0.1) == pytest.approx(10.0)
    clock[0] = 10.0
    assert buckets.wait_s("a", 0.1) == 0.0


def test_buckets_stay_few_and_those_in_use_are_kept() -> None:
    clock = [0.0]
    buckets = Buckets(lambda: clock[0], most=100)
    for number in range(1_000):
        clock[0] += 0.001
        buckets.wait_s(f"passing {number}", 1_000)
        assert len(buckets) <= 100
    for _ in range(10):
        buckets.wait_s("busy", 5)
    assert buckets.wait_s("busy", 5) > 0
    for number in range(99):
        buckets.wait_s(f"more {number}", 5)
    buckets.wait_s("one more", 5)
    assert buckets.wait_s("busy", 5) > 0, "the fullest debt is forgotten last"
    assert len(buckets) <= 100


# -- headers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/docs", "/healthz", "/v1/queues", "/v1/queues/pool", "/nope", "/metrics"])
def test_every_answer_wears_its_headers(tmp_path: Path, path: str) -> None:
    key = key_in(tmp_path, "backend")

    async def look(client: httpx.AsyncClient, _: App) -> list[httpx.Response]:
        return [await client.get(path, headers=headers) for headers in ({}, bearer(key), bearer("x"))]

    for answer in ask(tmp_path, look):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (answer.headers.get("cache-control") == "no-store") == path.startswith("/v1/")
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_page_of_the_documentation_works_under_its_policy(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient, _: App) -> httpx.Response:
        return await client.get("/docs")

    answer = ask(tmp_path, look)
    assert "style-src 'unsafe-inline'" in answer.headers["content-security-policy"]
    assert "<style>" in answer.text
    assert "<script" not in answer.text


def preflight(origin: str) -> dict[str, str]:
    return {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, idempotency-key",
    }


def test_a_preflight_is_answered_without_a_key_and_allows_the_origins_of_the_setting(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient, _: App) -> list[httpx.Response]:
        found = []
        for origin in ("https://ours.example", "https://evil.example"):
            found.append(await client.options("/v1/queues/pool/tickets", headers=preflight(origin)))
            found.append(await client.get("/v1/queues", headers={"origin": origin} | bearer(token("ann"))))
        return found

    asked, called, asked_by_evil, called_by_evil = ask(tmp_path, look, cors_origins=("https://ours.example",))
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-origin"] == "https://ours.example"
    assert "POST" in asked.headers["access-control-allow-methods"]
    allowed = asked.headers["access-control-allow-headers"].lower()
    assert {"authorization", "content-type", "idempotency-key"} <= set(allowed.split(", "))
    assert (called.status_code, called.headers["access-control-allow-origin"]) == (200, "https://ours.example")
    for answer in (asked_by_evil, called_by_evil):
        assert "access-control-allow-origin" not in answer.headers
    for answer in (asked, called, asked_by_evil, called_by_evil):
        assert answer.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(("origins", "expected"), [((), None), (("*",), "*")])
def test_no_page_may_call_unless_the_setting_says_so(tmp_path: Path, origins: tuple[str, ...], expected: Any) -> None:
    async def look(client: httpx.AsyncClient, _: App) -> list[Any]:
        answers = [
            await client.options("/v1/queues", headers=preflight("https://page.example")),
            await client.get("/v1/queues", headers={"origin": "https://page.example"} | bearer(token("ann"))),
        ]
        return [answer.headers.get("access-control-allow-origin") for answer in answers]

    assert ask(tmp_path, look, cors_origins=origins) == [expected, expected]


# -- what players see of each other ------------------------------------------------------------------------------------


@BOTH_WAYS
def test_players_do_not_see_where_others_are_and_the_backend_does(tmp_path: Path, fast: bool) -> None:
    key = key_in(tmp_path, "backend")
    rules = '[queues.near]\nwave = { every_s = 0.02 }\nmatch = { runs_s = 600 }\nvenue = { regions = ["eu", "us"] }\n'
    (spec,) = config.parse(rules, "queues.toml")
    facts = {"latencies": {"eu": 20.0, "us": 90.0}, "region": "eu", "ping_ms": 31.0}

    def seen(match: Any) -> dict[str, Any]:
        players = [one for team in match["teams"] for ticket in team["tickets"] for one in ticket["players"]]
        return {one["id"]: {name: one.get(name) for name in facts} for one in players}

    async def look() -> None:
        app = app_over(MemoryJournal(), spec, fast=fast, settings=settings_in(tmp_path))
        async with living(app) as client:
            for player in ("ann", "ben"):
                body = {"players": [{"id": player, "rating": 1500} | facts]}
                joined = await client.post("/v1/queues/near/tickets", json=body, headers=bearer(key))
            path = joined.headers["location"]
            ticket = path.rpartition("/")[2]

            async def match() -> Any:
                return (await client.get(path, headers=bearer(key))).json()["ticket"]["match"]

            number = (await until(match, "a match"))["id"]
            all_of_it = {"ann": facts, "ben": facts}
            nothing = dict.fromkeys(facts)
            for headers, expected in (
                (bearer(key), all_of_it),
                (bearer(token("ben")), {"ann": nothing, "ben": facts}),
            ):
                found = (await client.get(path, headers=headers)).json()["ticket"]
                assert seen(found["match"]) == expected
                assert found["players"][0]["latencies"] == facts["latencies"]
                answer = await client.get(f"/v1/matches/{number}", headers=headers)
                assert seen(answer.json()["match"]) == expected
                story = await messages(app, ticket, "matched", headers=headers)
                assert seen(story[-1]["match"]) == expected
                _, told = await stream(app, ticket, f"after={story[0]['sequence']}", headers)
                (line,) = [line for line in told.splitlines() if line.startswith("data: ")]
                assert seen(json.loads(line.removeprefix("data: "))["match"]) == expected

    asyncio.run(look())


@BOTH_WAYS
def test_the_backend_sees_what_a_proposal_costs_and_players_do_not(tmp_path: Path, fast: bool) -> None:
    key = key_in(tmp_path, "backend")
    (spec,) = config.parse("[queues.duel]\nwave = { every_s = 0.02 }\nready_check = { timeout_s = 600 }", "queues.toml")

    async def look() -> None:
        app = app_over(MemoryJournal(), spec, fast=fast, settings=settings_in(tmp_path))
        async with living(app) as client:
            for player, rating in (("ann", 1500), ("ben", 1540)):
                body = {"players": [{"id": player, "rating": rating}]}
                joined = await client.post("/v1/queues/duel/tickets", json=body, headers=bearer(key))
            path = joined.headers["location"]

            async def proposal() -> Any:
                return (await client.get(path, headers=bearer(key))).json()["ticket"]["proposal"]

            told = await until(proposal, "a proposal")
            assert told["terms"]["spread"] == 0.1
            assert told["cost"] > 0.1
            shown = (await client.get(path, headers=bearer(token("ben")))).json()["ticket"]["proposal"]
            assert shown["id"] == told["id"]
            assert not {"cost", "terms"} & set(shown)

    asyncio.run(look())


# -- the audit ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["memory", "sqlite"])
def test_what_an_operator_does_is_in_the_audit_and_in_the_journal_of_the_same_commit(
    tmp_path: Path, stored: str
) -> None:
    backend, operator = key_in(tmp_path, "backend"), key_in(tmp_path, "operator", "night shift")

    async def look(client: httpx.AsyncClient, app: App) -> None:
        match = (await played(client, backend))["match"]
        unknown = await client.post("/v1/matches/m-000000000099/end", headers=bearer(operator))
        assert (unknown.status_code, unknown.json()["reason"]) == (404, "unknown_match")
        assert (await client.get("/v1/audit", headers=bearer(operator))).json() == {"entries": [], "after": 0}
        assert (await client.post(f"/v1/matches/{match}/end", headers=bearer(operator))).status_code == 204
        again = await client.post(f"/v1/matches/{match}/end", headers=bearer(operator))
        assert (again.status_code, again.json()["reason"]) == (409, "match_over")
        audit = (await client.get("/v1/audit", headers=bearer(operator))).json()
        (entry,) = audit["entries"]
        assert entry["who"] == f"night shift ({operator.split('_')[1]})"
        assert (entry["action"], entry["subject"], entry["detail"]) == ("end_match", match, "")
        assert audit["after"] == entry["sequence"]
        later = await client.get(f"/v1/audit?after={entry['sequence']}", headers=bearer(operator))
        assert later.json() == {"entries": [], "after": entry["sequence"]}
        at = entry["sequence"]
        kinds = await app.runner.ask(lambda views, _: [type(views.journal.event(n)).__name__ for n in (at - 1, at)])
        assert kinds == ["MatchesEnded", "OperatorActed"]
        one, other = await memory_and_journal(app)
        assert one == other

    journal: Journal = MemoryJournal() if stored == "memory" else SqliteJournal(tmp_path / "evenmatch.db")
    ask(tmp_path, look, journal)


@pytest.mark.parametrize("failure", ["before", "after"])
def test_an_action_and_its_note_are_durable_together_or_not_at_all(tmp_path: Path, failure: str) -> None:
    backend, operator = key_in(tmp_path, "backend"), key_in(tmp_path, "operator")
    journal = FailingMemory()

    async def look(client: httpx.AsyncClient, _: App) -> tuple[int, int, int]:
        match = (await played(client, backend))["match"]
        journal.failures = [failure]  # nothing else is due: the next commit is the action's
        refused = (await client.post(f"/v1/matches/{match}/end", headers=bearer(operator))).status_code
        await until(lambda: client_is_ready(client), "readiness")
        noted = (await client.get("/v1/audit", headers=bearer(operator))).json()["entries"]
        again = await client.post(f"/v1/matches/{match}/end", headers=bearer(operator))
        return refused, len(noted), again.status_code

    refused, noted, again = ask(tmp_path, look, journal)
    assert refused == 503
    assert (noted, again) == ((0, 204) if failure == "before" else (1, 409))


async def client_is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


def test_what_a_backend_does_is_not_in_the_audit(tmp_path: Path) -> None:
    backend, operator = key_in(tmp_path, "backend"), key_in(tmp_path, "operator")

    async def look(client: httpx.AsyncClient, _: App) -> Any:
        match = (await played(client, backend))["match"]
        assert (await client.post(f"/v1/matches/{match}/end", headers=bearer(backend))).status_code == 204
        return (await client.get("/v1/audit", headers=bearer(operator))).json()["entries"]

    assert ask(tmp_path, look) == []


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=", "limit=0", "limit=1001", "limit=1e3", "after=" + "9" * 20]
)
def test_a_malformed_stretch_of_the_audit_is_refused(tmp_path: Path, query: str) -> None:
    operator = key_in(tmp_path, "operator")

    async def look(client: httpx.AsyncClient, _: App) -> httpx.Response:
        return await client.get(f"/v1/audit?{query}", headers=bearer(operator))

    answer = ask(tmp_path, look)
    assert (answer.status_code, answer.json()["reason"]) == (400, "malformed")
    assert query.split("=")[0] in answer.json()["detail"]
