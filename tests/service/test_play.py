"""Beyond joining: tickets that change, blocks, starts that are confirmed, cool-downs, and what operators do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from evenmatch.domain.queue import CooldownSpec, Format, MatchSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.service.keys import add
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living, until

FAST = WaveSpec(every_s=0.02)
RANKED = QueueSpec(
    "ranked", wave=FAST, ready_check=ReadyCheckSpec(timeout_s=20), cooldown=CooldownSpec(decline_s=40, lapse_s=60)
)
SERVED = QueueSpec("served", wave=FAST, match=MatchSpec(confirm_s=30, runs_s=60))
SIDES = QueueSpec("sides", Format(2, 2), wave=FAST, match=MatchSpec(team_names=("attack", "defence")))
SHARED = QueueSpec("shared", wave=FAST, require_equal=("mode",))
"""Nobody is matched unless they share a mode."""


class Live:
    """A server in this process, and an operator's key."""

    def __init__(self, client: httpx.AsyncClient, key: str) -> None:
        self.client = client
        self.operator = {"Authorization": f"Bearer {key}"}

    async def join(self, queue: str, *players: str, **more: Any) -> str:
        body = {"players": [{"id": player} for player in players], **more}
        answer = await self.client.post(f"/v1/queues/{queue}/tickets", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["ticket"]["id"])

    async def ticket(self, ticket: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(f"/v1/tickets/{ticket}")).json()["ticket"]
        return found

    async def when(self, ticket: str, status: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            found = await self.ticket(ticket)
            return found if found["status"] == status else None

        found: dict[str, Any] = await until(look, f"{ticket} is not {status}")
        return found

    async def starting(self, *players: str) -> tuple[list[str], str]:
        """Tickets in a match that waits for its game server."""
        tickets = [await self.join("served", player) for player in players]
        found = await self.when(tickets[0], "proposed")
        return tickets, found["proposal"]["id"].replace("p-", "m-")


async def live(tmp_path: Path) -> AsyncIterator[Live]:
    keys = tmp_path / "keys"
    key = add(keys, "night shift", "operator")
    settings = Settings(tick_ms=5, keys=keys)
    async with living(app_over(MemoryJournal(), RANKED, SERVED, SIDES, SHARED, settings=settings)) as client:
        yield Live(client, key)


def run(tmp_path: Path, story: Any) -> None:
    async def told() -> None:
        async for server in live(tmp_path):
            await story(server)

    asyncio.run(told())


def reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


def test_a_ticket_changes_while_it_waits(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        ticket = await server.join("shared", "ann", attributes={"mode": "ffa"})
        before = await server.ticket(ticket)
        change = {"players": [{"id": "ann", "rating": 1710, "ping_ms": 24}]}
        answer = await server.client.patch(f"/v1/tickets/{ticket}", json=change)
        assert answer.status_code == 200
        after = answer.json()["ticket"]
        assert after["players"] == [{"id": "ann", "rating": 1710.0, "ping_ms": 24.0}]
        assert (after["joined_ms"], after["attributes"]) == (before["joined_ms"], {"mode": "ffa"})
        other = await server.join("shared", "ben", attributes={"mode": "duel"})
        await server.client.patch(f"/v1/tickets/{ticket}", json={"attributes": {"mode": "duel"}})
        await server.when(other, "matched")
        assert (await server.ticket(ticket))["attributes"] == {"mode": "duel"}
        late = await server.client.patch(f"/v1/tickets/{ticket}", json=change)
        assert reason(late) == (409, "not_waiting")

    run(tmp_path, story)


def test_a_change_that_makes_no_sense_changes_nothing(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        ticket = await server.join("shared", "ann", attributes={"mode": "ffa"})
        path = f"/v1/tickets/{ticket}"
        for body, expected in (
            ({"players": [{"id": "ben", "rating": 1}]}, (422, "not_in_ticket")),
            ({"players": [{"id": "ann", "rating": 1e9}]}, (422, "bad_rating")),
            ({"players": [{"id": "ann", "ping_ms": -1}]}, (422, "bad_ping")),
            ({"attributes": {"mood": "good"}}, (422, "missing_attribute")),
            ({"attributes": {"mode": "x" * 300}}, (422, "bad_attributes")),
            ({"playerz": []}, (400, "malformed")),
        ):
            assert reason(await server.client.patch(path, json=body)) == expected
        assert (await server.ticket(ticket))["players"][0]["rating"] == 1500.0
        assert reason(await server.client.patch("/v1/tickets/t-000000000999", json={})) == (404, "unknown_ticket")

    run(tmp_path, story)


def test_blocked_players_do_not_meet(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        answer = await server.client.put("/v1/players/ann/blocks", json={"players": ["ben", "cat"]})
        assert answer.json()["player"]["blocks"] == ["ben", "cat"]
        first, second = await server.join("served", "ann"), await server.join("served", "ben")
        third = await server.join("served", "dan")
        await server.when(first, "proposed")
        assert (await server.ticket(third))["status"] == "proposed"
        assert (await server.ticket(second))["status"] == "waiting"
        assert reason(await server.client.get("/v1/players/nobody")) == (404, "unknown_player")
        assert reason(await server.client.put("/v1/players/ann/blocks", json={"players": [""]})) == (
            422,
            "bad_player_id",
        )
        await server.client.put("/v1/players/ann/blocks", json={"players": []})
        assert (await server.client.get("/v1/players/ann")).json()["player"]["blocks"] == []

    run(tmp_path, story)


def test_a_ticket_avoids_a_player_who_was_never_seen_before(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        first = await server.join("served", "ann", avoid=["ben"])
        second = await server.join("served", "ben")
        await asyncio.sleep(0.1)
        assert (await server.ticket(first))["reason"] == "kept_apart"
        await server.join("served", "cat")
        await server.when(first, "proposed")
        assert (await server.ticket(second))["status"] == "waiting"
        body = {"players": [{"id": "eve"}], "avoid": ["x"] * 101}
        assert reason(await server.client.post("/v1/queues/served/tickets", json=body)) == (400, "malformed")

    run(tmp_path, story)


def test_the_game_server_confirms_a_start(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        tickets, match = await server.starting("ann", "ben")
        assert (await server.client.get(f"/v1/matches/{match}")).json()["match"]["standing"] == "starting"
        assert (await server.client.post(f"/v1/matches/{match}/started")).status_code == 204
        assert [(await server.ticket(ticket))["status"] for ticket in tickets] == ["matched", "matched"]
        assert reason(await server.client.post(f"/v1/matches/{match}/started")) == (409, "match_not_starting")
        assert reason(await server.client.post("/v1/matches/m-000000000999/started")) == (404, "unknown_match")

    run(tmp_path, story)


def test_a_match_that_is_to_start_is_shown_and_can_neither_be_left_nor_ended(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        tickets, match = await server.starting("ann", "ben")
        for ticket in tickets:
            found = await server.ticket(ticket)
            assert (found["status"], found["proposal"]["pending"]) == ("proposed", 0)
            assert (found["match"]["id"], found["match"]["standing"]) == (match, "starting")
        left = await server.client.delete(f"/v1/tickets/{tickets[0]}")
        assert reason(left) == (409, "match_starting")
        assert f"{match}, which is to start" in left.json()["detail"]
        ended = await server.client.post(f"/v1/matches/{match}/end")
        assert reason(ended) == (409, "match_starting")
        assert (await server.ticket(tickets[0]))["match"]["standing"] == "starting"
        await server.client.post(f"/v1/matches/{match}/started")
        assert reason(await server.client.delete(f"/v1/tickets/{tickets[0]}")) == (409, "already_matched")
        assert (await server.client.post(f"/v1/matches/{match}/end")).status_code == 204
        assert reason(await server.client.post(f"/v1/matches/{match}/end")) == (409, "match_over")

    run(tmp_path, story)


def test_a_proposal_has_no_match_yet_and_cannot_be_ended(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        ticket, _ = await server.join("ranked", "ann"), await server.join("ranked", "ben")
        found = await server.when(ticket, "proposed")
        assert found["match"] is None
        match = found["proposal"]["id"].replace("p-", "m-")
        assert reason(await server.client.post(f"/v1/matches/{match}/end")) == (409, "match_not_made")
        assert (await server.client.delete(f"/v1/tickets/{ticket}")).status_code == 204

    run(tmp_path, story)


def test_a_start_that_fails_returns_everybody(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        tickets, match = await server.starting("ann", "ben")
        failed = await server.client.post(f"/v1/matches/{match}/failed", json={"why": "no server was free"})
        assert failed.status_code == 204
        again = await server.when(tickets[0], "proposed")
        assert again["proposal"]["id"] != match.replace("m-", "p-")
        assert reason(await server.client.post(f"/v1/matches/{match}/failed", content=b"[")) == (400, "malformed")

    run(tmp_path, story)


def test_a_decliner_cools_down_and_an_operator_lifts_it(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        first, _ = await server.join("ranked", "ann"), await server.join("ranked", "ben")
        proposal = (await server.when(first, "proposed"))["proposal"]["id"]
        await server.client.post(f"/v1/proposals/{proposal}/decline", json={"player": "ann"})
        answer = await server.client.post("/v1/queues/ranked/tickets", json={"players": [{"id": "ann"}]})
        assert reason(answer) == (403, "cooling_down")
        assert 0 < int(answer.headers["retry-after"]) <= 40
        assert answer.json()["retry_after_s"] == int(answer.headers["retry-after"])
        (cooldown,) = (await server.client.get("/v1/players/ann")).json()["player"]["cooldowns"]
        assert (cooldown["queue"], cooldown["offences"], cooldown["cause"]) == ("ranked", 1, "declined")
        path = "/v1/players/ann/cooldowns"
        assert reason(await server.client.delete(path)) == (401, "unauthenticated")
        unknown = await server.client.delete(path, params={"queue": "nowhere"}, headers=server.operator)
        assert reason(unknown) == (404, "unknown_queue")
        assert (await server.client.delete(path, headers=server.operator)).status_code == 204
        await server.join("ranked", "ann")

    run(tmp_path, story)


def test_operators_pause_drain_and_cancel_and_all_is_noted(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        client, operator = server.client, server.operator
        paused = await client.put("/v1/queues/served/mode", json={"mode": "paused", "why": "patch"}, headers=operator)
        assert paused.status_code == 204
        tickets = [await server.join("served", player) for player in ("ann", "ben")]
        await asyncio.sleep(0.1)
        assert (await server.ticket(tickets[0]))["status"] == "waiting"
        assert (await client.get("/v1/queues/served")).json()["queue"]["mode"] == "paused"
        await client.put("/v1/queues/served/mode", json={"mode": "draining"}, headers=operator)
        await server.when(tickets[0], "proposed")
        late = await client.post("/v1/queues/served/tickets", json={"players": [{"id": "eve"}]})
        assert reason(late) == (409, "queue_draining")
        wrong = await client.put("/v1/queues/served/mode", json={"mode": "sleepy"}, headers=operator)
        assert reason(wrong) == (400, "malformed")
        cancelled = await client.post(f"/v1/tickets/{tickets[0]}/cancel", json={"why": "cheats"}, headers=operator)
        assert cancelled.status_code == 204
        assert (await server.ticket(tickets[0]))["cause"] == "operator"
        assert (await server.when(tickets[1], "waiting"))["waited_ms"] >= 0
        again = await client.post(f"/v1/tickets/{tickets[0]}/cancel", headers=operator)
        assert reason(again) == (409, "not_waiting")
        entries = (await client.get("/v1/audit", headers=operator)).json()["entries"]
        assert [(entry["action"], entry["detail"]) for entry in entries] == [
            ("set_mode paused", "patch"),
            ("set_mode draining", ""),
            ("cancel_ticket", "cheats"),
        ]

    run(tmp_path, story)


def test_an_operator_calls_a_match_off(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        _, match = await server.starting("ann", "ben")
        await server.client.post(f"/v1/matches/{match}/started")
        path = f"/v1/matches/{match}/cancel"
        assert (await server.client.post(path, headers=server.operator)).status_code == 204
        assert (await server.client.get(f"/v1/matches/{match}")).json()["match"]["standing"] == "cancelled"
        assert reason(await server.client.post(path, headers=server.operator)) == (409, "match_over")
        await server.join("served", "ann")

    run(tmp_path, story)


def test_a_party_has_a_leader_and_its_team_a_name(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        ticket = await server.join("sides", "ann", "ben", leader="ben")
        assert [player["id"] for player in (await server.ticket(ticket))["players"]] == ["ben", "ann"]
        await server.join("sides", "cat", "dan")
        match = (await server.when(ticket, "matched"))["match"]
        assert [team["name"] for team in match["teams"]] == ["attack", "defence"]
        body = {"players": [{"id": "eve"}, {"id": "fay"}], "leader": "gil"}
        assert reason(await server.client.post("/v1/queues/sides/tickets", json=body)) == (400, "malformed")

    run(tmp_path, story)
