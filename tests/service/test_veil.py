"""What must not be seen: where game servers are asked for, what they answer, secrets and keys."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch.domain.queue import QueueSpec, WaveSpec
from evenmatch.domain.venue import AllocateSpec, allocate_rules_broken
from evenmatch.service.keys import Role
from evenmatch.storage.memory import MemoryJournal

from .callers import bearer, key_in, settings_in, token
from .game_servers import GOOD, Allocator
from .harness import Server
from .inside import app_over, living, until

VARIABLE = "TEST_VEIL_SECRET"
SECRET = "what requests are signed with, and nobody reads"
ROLES: tuple[Role, ...] = ("operator", "backend", "reader")


def spec(url: str) -> QueueSpec:
    return QueueSpec("duel", wave=WaveSpec(every_s=0.02), allocate=AllocateSpec(url=url, secret=VARIABLE))


def test_only_operators_see_where_servers_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    keys: dict[str, str] = {role: key_in(tmp_path, role) for role in ROLES} | {"player": token("ann")}
    url = "http://10.0.0.7:81/inside"

    async def story() -> None:
        async with living(app_over(MemoryJournal(), spec(url), settings=settings_in(tmp_path))) as client:
            body = {"allocate": {"url": "http://10.0.0.8/inside", "secret": VARIABLE}}
            changed = await client.put("/v1/queues/duel/spec", json=body, headers=bearer(keys["operator"]))
            assert changed.status_code == 200, changed.text
            for role, key in keys.items():
                told: list[Any] = []
                for path in ("/v1/queues", "/v1/queues/duel", "/v1/queues/duel/versions"):
                    answer = await client.get(path, headers=bearer(key))
                    assert answer.status_code == 200 or (role == "player" and path.endswith("versions"))
                    assert ("10.0.0." in answer.text) is (role == "operator" and answer.status_code == 200)
                    assert (VARIABLE in answer.text) is (role == "operator" and answer.status_code == 200)
                    told.append(answer.json())
                asked = told[1]["queue"]["spec"]["allocate"]
                assert asked is not None, "that servers are asked for is no secret"
                assert asked["url"] == ("http://10.0.0.8/inside" if role == "operator" else "")
                if role == "reader":
                    (change,) = [one for one in told[2]["versions"][1]["changes"] if one["key"] == "allocate.url"]
                    assert change == {"key": "allocate.url", "before": "", "after": ""}

    asyncio.run(story())


def test_an_export_holds_no_token_of_a_game_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    operator, backend = (bearer(key_in(tmp_path, role)) for role in ("operator", "backend"))

    async def story() -> None:
        with Allocator() as allocator:
            app = app_over(MemoryJournal(), spec(allocator.url), settings=settings_in(tmp_path))
            async with living(app) as client:
                for player in ("ann", "ben"):
                    body = {"players": [{"id": player}]}
                    await client.post("/v1/queues/duel/tickets", json=body, headers=backend)

                async def served() -> bool:
                    return "server" in (await client.get("/v1/matches/m-000000000001", headers=backend)).text

                await until(served, "a server")
                export = await client.get("/v1/players/ann/export", headers=operator)
                assert export.json()["export"]["matches"]
                assert str(GOOD["token"]) not in export.text

    asyncio.run(story())


def test_neither_keys_nor_tokens_nor_secrets_are_logged(tmp_path: Path) -> None:
    keys = {role: key_in(tmp_path, role) for role in ("operator", "backend")}
    server = Server(tmp_path, None, env={"EVENMATCH_PLAYER_SECRET": SECRET, "EVENMATCH_LOG_LEVEL": "debug"})
    server.start()
    try:
        for credential in (*keys.values(), token("ann", SECRET), "em_00000000_guessed", "eyJ.not.a-token"):
            for path in ("/v1/queues", f"/v1/tickets/t-000000000001/events?token={credential}"):
                answer = server.http.get(path, headers=bearer(credential))
                assert credential not in answer.text
        told = server.http.get("/metrics", headers=bearer(keys["operator"])).text
        server.stop()
    finally:
        server.close()
    written = server.log.read_text() + told
    for hidden in (*keys.values(), SECRET, "em_00000000_guessed", "eyJ.not.a-token"):
        assert hidden.split("_", 2)[-1] not in written


def test_a_password_in_a_url_is_not_repeated() -> None:
    for url in ("http://ann:hush@game.example:99999/", "ftp://ann:hush@game.example/", "http://hush@game.example/ x"):
        found = next(allocate_rules_broken(AllocateSpec(url=url, secret=VARIABLE)), None)
        assert found is not None
        assert "hush" not in json.dumps(found)
