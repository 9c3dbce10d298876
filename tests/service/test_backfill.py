"""Backfill over the API: a match asks, somebody comes, everybody hears of it; and every "no" on the way."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from evenmatch.client import Client, Event, SyncClient
from evenmatch.domain.backfill import BackfillSpec
from evenmatch.domain.queue import Format, MatchSpec, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.domain.rating import RatingSpec
from evenmatch.drill.auditor import Log, audit, read_book
from evenmatch.service.app import App
from evenmatch.service.keys import add
from evenmatch.settings import Settings
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Journal
from evenmatch.storage.sqlite import SqliteJournal

from .harness import Server
from .inside import app_over, living, memory_and_journal, until

FAST = WaveSpec(every_s=0.02)
TEAMS = QueueSpec(
    "teams", Format(2, 2), wave=FAST, match=MatchSpec(runs_s=600), backfill=BackfillSpec(ready_check=False)
)
CHECKED = QueueSpec(
    "checked",
    Format(2, 1),
    wave=FAST,
    ready_check=ReadyCheckSpec(600),
    match=MatchSpec(runs_s=600, team_names=("red", "blue")),
)
LOBBY = QueueSpec("lobby", Format(1, 3), wave=FAST, match=MatchSpec(runs_s=600))
OFF = QueueSpec("off", wave=FAST, match=MatchSpec(runs_s=600), backfill=BackfillSpec(enabled=False))
SHORT = QueueSpec("short", wave=FAST)
RATED = msgspec.structs.replace(TEAMS, name="rated", rating=RatingSpec())


class Live:
    """A server in this process."""

    def __init__(self, app: App, client: httpx.AsyncClient, key: str) -> None:
        self.app, self.client = app, client
        self.operator = {"Authorization": f"Bearer {key}"}

    async def join(self, queue: str, *players: str, **more: Any) -> str:
        body = {"players": [{"id": player} for player in players], **more}
        answer = await self.client.post(f"/v1/queues/{queue}/tickets", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["ticket"]["id"])

    async def when(self, ticket: str, status: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            found: dict[str, Any] = (await self.client.get(f"/v1/tickets/{ticket}")).json()["ticket"]
            return found if found["status"] == status else None

        found: dict[str, Any] = await until(look, f"{ticket} is not {status}")
        return found

    async def match(self, queue: str, *players: str) -> dict[str, Any]:
        """A match that these play; a ready check is answered."""
        tickets = [await self.join(queue, player) for player in players]
        if queue == "checked":
            proposal = (await self.when(tickets[0], "proposed"))["proposal"]["id"]
            for player in players:
                await self.accept(proposal, player)
        found: dict[str, Any] = (await self.when(tickets[0], "matched"))["match"]
        return found

    async def accept(self, proposal: str, player: str) -> None:
        answer = await self.client.post(f"/v1/proposals/{proposal}/accept", json={"player": player})
        assert answer.status_code == 200, answer.text

    async def ask(self, match: str, *places: dict[str, Any], **headers: str) -> httpx.Response:
        return await self.client.post(f"/v1/matches/{match}/backfill", json={"places": places}, headers=headers)

    async def shown(self, match: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(f"/v1/matches/{match}/backfill")).json()["backfill"]
        return found

    async def listen(self, ticket: str, after: int = 0, until_type: str = "") -> list[dict[str, Any]]:
        """What a ticket's line says, until it is closed or a type has come."""
        incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        incoming.put_nowait({"type": "websocket.connect"})
        scope = {
            "type": "websocket",
            "path": f"/v1/tickets/{ticket}/events",
            "query_string": f"after={after}".encode(),
            "headers": [],
        }
        serving = asyncio.create_task(self.app(scope, incoming.get, outgoing.put))  # type: ignore[arg-type]
        heard: list[dict[str, Any]] = []
        async with asyncio.timeout(60):
            assert (await outgoing.get())["type"] == "websocket.accept"
            while (said := await outgoing.get())["type"] != "websocket.close":
                heard.append(json.loads(said["text"]))
                if heard[-1]["type"] == until_type:
                    break
            incoming.put_nowait({"type": "websocket.disconnect"})
            await serving
        return heard


def run(
    tmp_path: Path,
    story: Callable[[Live], Awaitable[None]],
    journal: Journal | None = None,
    specs: tuple[QueueSpec, ...] = (TEAMS, CHECKED, LOBBY, OFF, SHORT, RATED),
) -> None:
    async def told() -> None:
        keys = tmp_path / "keys"
        key = add(keys, "night shift", "operator")
        app = app_over(journal or MemoryJournal(), *specs, settings=Settings(tick_ms=5, keys=keys))
        async with living(app) as client:
            await story(Live(app, client, key))
            memory, durable = await memory_and_journal(app)
            assert memory == durable

    asyncio.run(told())


def reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


@pytest.mark.parametrize("disk", [False, True])
def test_a_match_is_filled_and_everybody_hears_of_it(tmp_path: Path, disk: bool) -> None:
    async def story(server: Live) -> None:
        match = await server.match("checked", "ann", "ben")
        red = match["teams"][0]["players"][0]
        ticket_of_blue = match["teams"][1]["tickets"][0]["id"]
        answer = await server.ask(match["id"], {"team": "red", "instead_of": red})
        assert answer.status_code == 200, answer.text
        assert answer.json()["backfill"]["open"] == 1
        listening = asyncio.create_task(server.listen(ticket_of_blue))
        ticket = await server.join("checked", "cat")
        proposal = (await server.when(ticket, "proposed"))["proposal"]["id"]
        assert (await server.shown(match["id"]))["places"][0]["standing"] == "invited"
        await server.accept(proposal, "cat")
        now = (await server.when(ticket, "matched"))["match"]
        assert now["id"] == match["id"]
        assert now["teams"][0]["players"] == ["cat"]
        assert now["teams"][0]["left"] == [red]
        assert now["teams"][0]["tickets"][1]["late_ms"] > 0
        heard = [event["type"] for event in await listening]
        assert heard == ["queued", "proposed", "accepted", "accepted", "matched", "backfill", "filled"]
        told = await server.listen(ticket)
        assert [event["type"] for event in told] == ["queued", "proposed", "accepted", "matched"]
        assert told[1]["proposal"]["joins"] == match["id"]
        shown = await server.shown(match["id"])
        assert (shown["open"], shown["invited"], shown["filled"]) == (0, 0, 1)
        place = shown["places"][0]
        assert (place["team_name"], place["player"], place["instead_of"], place["ticket"]) == (
            "red",
            "cat",
            red,
            ticket,
        )
        assert [gone["player"] for gone in shown["left"]] == [red]
        again = await server.join("checked", red)
        assert (await server.client.get(f"/v1/tickets/{again}")).json()["ticket"]["suspended"] is False

    run(tmp_path, story, SqliteJournal(tmp_path / "journal.db") if disk else None)


def test_whoever_stays_hears_that_nobody_comes_any_more(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("checked", "ann", "ben")
        red, blue = (team["tickets"][0]["id"] for team in match["teams"])
        gone = match["teams"][0]["players"][0]
        await server.ask(match["id"], {"instead_of": gone})
        listening = asyncio.create_task(server.listen(blue))
        invited = await server.join("checked", "cat")
        await server.when(invited, "proposed")
        answer = await server.client.delete(f"/v1/matches/{match['id']}/backfill", headers=server.operator)
        assert answer.status_code == 204
        assert (await server.when(invited, "waiting"))["proposal"] is None
        last = (await listening)[-1]
        assert (last["type"], last["cause"]) == ("unfilled", "withdrawn")
        assert [event["type"] for event in await server.listen(red)][-1] == "backfill"
        audit = (await server.client.get("/v1/audit", headers=server.operator)).json()["entries"]
        assert [entry["action"] for entry in audit] == ["withdraw_backfill"]

    run(tmp_path, story)


def test_the_same_key_asks_once(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("teams", "ann", "ben", "cat", "dan")
        gone, other = match["teams"][0]["players"]
        key = {"Idempotency-Key": "once"}
        first = await server.ask(match["id"], {"team": 0, "instead_of": gone}, **key)
        again = await server.ask(match["id"], {"team": 0, "instead_of": gone}, **key)
        assert (first.status_code, first.json()) == (200, again.json())
        reused = await server.ask(match["id"], {"team": 0, "instead_of": other}, **key)
        assert reason(reused) == (409, "key_reused")
        assert reason(await server.ask(match["id"], {"team": 0}, **{"Idempotency-Key": ""})) == (400, "bad_key")

    run(tmp_path, story)


def test_what_cannot_be_asked_is_refused_with_its_reason(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("teams", "ann", "ben", "cat", "dan")
        one, other = (team["players"][0] for team in match["teams"])
        for places, expected in (
            ([{"team": 5}], (422, "unknown_team")),
            ([{"team": "red"}], (422, "unknown_team")),
            ([{}], (422, "unknown_team")),
            ([{"team": 0, "instead_of": "nobody"}], (422, "not_in_team")),
            ([{"team": 0, "instead_of": other}], (422, "not_in_team")),
            ([{"team": 0}], (409, "no_free_place")),
            ([], (409, "no_free_place")),
            ([{"team": 0, "instead_of": one}, {"team": 0}], (409, "no_free_place")),
            ([{"team": 0, "instead": one}], (400, "malformed")),
            ([{"team": 1.5}], (400, "malformed")),
        ):
            assert reason(await server.ask(match["id"], *places)) == expected, places
        assert (await server.shown(match["id"]))["left"] == []
        assert (await server.ask(match["id"], {"team": 0, "instead_of": one})).status_code == 200
        assert reason(await server.ask(match["id"], {"team": 0, "instead_of": one})) == (409, "already_left")
        for name in ("m-000000000099", "x"):
            assert reason(await server.ask(name, {"team": 0})) == (404, "unknown_match")
            assert reason(await server.client.get(f"/v1/matches/{name}/backfill")) == (404, "unknown_match")
            assert reason(await server.client.delete(f"/v1/matches/{name}/backfill")) == (404, "unknown_match")
        off = await server.match("off", "fay", "gil")
        assert reason(await server.ask(off["id"], {"team": 0, "instead_of": "fay"})) == (409, "backfill_off")
        short = await server.match("short", "hal", "ida")
        assert reason(await server.ask(short["id"], {"team": 0})) == (409, "match_not_running")
        await server.client.post(f"/v1/matches/{match['id']}/end")
        assert reason(await server.ask(match["id"], {"team": 1, "instead_of": other})) == (409, "match_not_running")

    run(tmp_path, story)


def test_a_lobby_has_one_team_and_needs_no_name_for_it(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("lobby", "ann", "ben", "cat")
        assert (await server.ask(match["id"], {"instead_of": "ben"})).status_code == 200
        no = await server.join("lobby", "dan", backfill=False)
        assert (await server.when(no, "waiting"))["backfill"] is False
        yes = await server.join("lobby", "eve")
        assert (await server.when(yes, "matched"))["match"]["teams"][0]["players"] == ["ann", "cat", "eve"]
        assert (await server.when(no, "waiting"))["match"] is None
        assert (await server.client.delete(f"/v1/matches/{match['id']}/backfill")).status_code == 204

    run(tmp_path, story)


def test_a_player_in_the_match_may_look_and_nothing_else(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        unreadable = await server.client.post("/v1/matches/m-000000000001/backfill", content=b"{")
        assert reason(unreadable) == (400, "malformed")

    run(tmp_path, story)


async def _played(server: Live, loses: str) -> tuple[dict[str, Any], str, str]:
    """A match of the rated queue in which eve came for somebody of the first team; which of both teams lost."""
    match = await server.match("rated", "ann", "ben", "cat", "dan")
    gone, stays = match["teams"][0]["players"]
    assert (await server.ask(match["id"], {"team": 0, "instead_of": gone})).status_code == 200
    await server.when(await server.join("rated", "eve"), "matched")
    ranks = [{"rank": 2}, {"rank": 1}] if loses == "first" else [{"rank": 1}, {"rank": 2}]
    body = {"teams": ranks}
    answer = await server.client.post(f"/v1/matches/{match['id']}/result", json=body)
    assert answer.status_code == 200, answer.text
    again = await server.client.post(f"/v1/matches/{match['id']}/result", json=body)
    assert again.json() == answer.json()
    return answer.json()["result"], gone, stays


@pytest.mark.parametrize("rated", ["full", "wins", "none"])
@pytest.mark.parametrize("loses", ["first", "second"])
def test_late_comers_are_rated_as_the_rules_say_and_who_left_is_a_leaver(
    tmp_path: Path, rated: str, loses: str
) -> None:
    async def story(server: Live) -> None:
        result, gone, stays = await _played(server, loses)
        told = {player["id"]: player for team in result["teams"] for player in team["players"]}
        assert len(told) == 5
        assert {name for name, player in told.items() if player["left"]} == {gone}
        assert {name for name, player in told.items() if player["late"]} == {"eve"}
        assert told[gone]["after"] < told[gone]["before"], "who leaves loses, however the match ends"
        won = loses == "second"
        assert (told[stays]["after"] > told[stays]["before"]) is won
        change = told["eve"]["after"] - told["eve"]["before"]
        if rated == "none" or (rated == "wins" and not won):
            assert change == 0
        else:
            assert (change > 0) is won
        games = (await server.client.get("/v1/players/eve/ratings")).json()["ratings"][0]["games"]
        assert games == (0 if change == 0 else 1)
        odds = [team["odds"] for team in result["teams"]]
        assert odds == pytest.approx([0.5, 0.5]), "said of the teams as they were made"

    spec = msgspec.structs.replace(RATED, backfill=BackfillSpec(ready_check=False, rated=rated))
    run(tmp_path, story, specs=(spec,))


def test_a_corrected_result_of_a_filled_match_is_rated_by_the_same_rules(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        first, _, _ = await _played(server, "first")
        corrected = await server.client.put(
            f"/v1/matches/{first['match']}/result",
            json={"teams": [{"rank": 1}, {"rank": 2}]},
            headers=server.operator,
        )
        assert corrected.status_code == 200, corrected.text
        told = {p["id"]: p for team in corrected.json()["result"]["teams"] for p in team["players"]}
        assert told["eve"]["after"] > told["eve"]["before"]
        back = await server.client.put(
            f"/v1/matches/{first['match']}/result",
            json={"teams": [{"rank": 2}, {"rank": 1}]},
            headers=server.operator,
        )
        assert back.json()["result"]["teams"] == first["teams"]

    run(tmp_path, story)


def test_a_result_after_the_match_has_left_memory_knows_who_came_and_went(tmp_path: Path) -> None:
    async def told() -> None:
        journal = SqliteJournal(tmp_path / "journal.db")
        app = app_over(journal, RATED, settings=Settings(tick_ms=5, keep_s=0.0, keys=tmp_path / "keys"))
        async with living(app) as client:
            server = Live(app, client, "")
            match = await server.match("rated", "ann", "ben", "cat", "dan")
            gone = match["teams"][0]["players"][0]
            await server.ask(match["id"], {"team": 0, "instead_of": gone})
            await server.when(await server.join("rated", "eve"), "matched")
            await client.post(f"/v1/matches/{match['id']}/end")
            await until(lambda: not app.runner.engine.state.proposals_at, "the match is still in memory")
            shown = (await client.get(f"/v1/matches/{match['id']}")).json()["match"]
            assert shown["teams"][0]["left"] == [gone]
            assert "eve" in shown["teams"][0]["players"]
            assert [one["player"] for one in (await server.shown(match["id"]))["left"]] == [gone]
            answer = await client.post(f"/v1/matches/{match['id']}/result", json={"teams": [{"rank": 1}, {"rank": 2}]})
            players = {p["id"]: p for team in answer.json()["result"]["teams"] for p in team["players"]}
            assert (players[gone]["left"], players["eve"]["late"]) == (True, True)

    asyncio.run(told())


def test_a_ticket_is_told_how_it_stands_to_open_places(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("teams", "ann", "ben", "cat", "dan")

        async def places(ticket: str) -> Any:
            return (await server.client.get(f"/v1/tickets/{ticket}/why")).json()["why"]["places"]

        shy = await server.join("teams", "eve", backfill=False)
        assert await places(shy) is None
        await server.ask(match["id"], {"team": 0, "instead_of": match["teams"][0]["players"][0]})
        assert await places(shy) == {"teams": 1, "fits": 1, "willing": False, "reach_s": None}
        body = {"players": [{"id": "fay", "rating": 99_000}]}
        far = (await server.client.post("/v1/queues/teams/tickets", json=body)).json()["ticket"]["id"]
        told = await places(far)
        assert (told["teams"], told["fits"], told["willing"]) == (1, 0, True)
        assert 1_000 < told["reach_s"] < 10_000

    run(tmp_path, story)


def test_metrics_count_places(tmp_path: Path) -> None:
    async def story(server: Live) -> None:
        match = await server.match("teams", "ann", "ben", "cat", "dan")
        one, other = (team["players"][0] for team in match["teams"])
        await server.ask(match["id"], {"team": 0, "instead_of": one}, {"team": 1, "instead_of": other})
        await server.when(await server.join("teams", "eve"), "matched")
        text = (await server.client.get("/metrics")).text
        for line in (
            'evenmatch_places_total{outcome="asked",queue="teams"} 2.0',
            'evenmatch_places_total{outcome="filled",queue="teams"} 1.0',
            'evenmatch_places_open{queue="teams"} 1.0',
            'evenmatch_fill_seconds_count{queue="teams"} 1.0',
        ):
            assert line in text, text
        assert (await server.client.get("/v1/queues/teams")).json()["queue"]["places_open"] == 1
        await server.client.post(f"/v1/matches/{match['id']}/end")
        text = (await server.client.get("/metrics")).text
        assert 'evenmatch_places_total{outcome="ended",queue="teams"} 1.0' in text

    run(tmp_path, story)


def test_the_client_asks_for_players_and_those_who_stay_follow(tmp_path: Path) -> None:
    rules = "[queues.duel]\nformat = { teams = 2, size = 1 }\nwave = { every_s = 0.02 }\nmatch = { runs_s = 600 }\n"
    made = Server(tmp_path, rules + "ready_check = { timeout_s = 60 }\n")
    try:
        server = made.start()
        with SyncClient(server.url) as client:
            tickets = [client.join("duel", player) for player in ("ann", "ben")]
            seen: dict[str, Event] = {}
            for player, ticket in zip(("ann", "ben"), tickets, strict=True):
                event = next(event for event in client.watch(ticket.id) if event.type == "proposed")
                assert event.proposal is not None
                client.accept(event.proposal["id"], player)
            for ticket in tickets:
                *_, seen[ticket.id] = client.watch(ticket.id)
            match = seen[tickets[0].id].match
            assert match is not None
            asked = client.backfill(match["id"], {"instead_of": "ann"})
            assert (asked["open"] + asked["invited"], asked["left"][0]["player"]) == (1, "ann")

            async def fill() -> list[str]:
                async with Client(server.url) as other:
                    late = await other.join("duel", "cat", backfill=True)
                    async for event in other.watch(late.id):
                        if event.type == "proposed":
                            assert event.proposal is not None
                            await other.accept(event.proposal["id"], "cat")
                    assert (await other.backfill_of(match["id"]))["filled"] == 1
                    await other.withdraw_backfill(match["id"])
                    return [e.type async for e in other.watch(tickets[1].id, after=seen[tickets[1].id].sequence)]

            assert asyncio.run(fill()) == ["backfill", "filled"]
            assert sorted(name for team in client.match(match["id"]).names for name in team) == ["ben", "cat"]
    finally:
        made.close()


def test_kill_between_invitation_and_answer_loses_nothing(tmp_path: Path) -> None:
    """kill -9 after the match asked, after somebody was invited, and after they joined; the auditor finds all whole."""
    rules = "[queues.duel]\nwave = { every_s = 0.02 }\nmatch = { runs_s = 600 }\nready_check = { timeout_s = 60 }\n"
    server = Server(tmp_path, rules).start()
    log = Log()
    try:

        def join(player: str) -> str:
            key = f"{player} {len(log.attempted)}"
            log.attempted[key] = (player,)
            return str(server.join("duel", player, key=key)["id"])

        def crash() -> None:
            server.kill()
            server.start()

        first = [join("ann"), join("ben")]
        proposal = server.when(first[0], "proposed")["proposal"]["id"]
        for player in ("ann", "ben"):
            server.respond(proposal, player)
        match = server.when(first[0], "matched")["match"]["id"]
        body, key = {"places": [{"instead_of": "ann"}]}, {"Idempotency-Key": "ann left"}
        asked = server.http.post(f"/v1/matches/{match}/backfill", json=body, headers=key)
        assert asked.status_code == 200, asked.text
        crash()
        repeat = server.http.post(f"/v1/matches/{match}/backfill", json=body, headers=key).json()["backfill"]
        assert (repeat["open"], repeat["left"]) == (1, asked.json()["backfill"]["left"])
        late = join("cat")
        invitation = server.when(late, "proposed")["proposal"]["id"]
        crash()
        assert server.ticket(late)["proposal"]["id"] == invitation
        assert server.respond(invitation, "cat").status_code == 200
        crash()
        assert server.ticket(late)["match"]["id"] == match
        again = join("ann")
        assert server.ticket(again)["suspended"] is False
        assert server.http.post(f"/v1/matches/{match}/end").status_code == 204
        server.stop()
        found = audit(read_book(server.db), log)
        assert found.faults == []
        assert found.counts() == {"matched": 3, "waiting": 1}
    finally:
        server.close()


@pytest.mark.parametrize("isolate", [False, True])
def test_it_works_with_any_matcher_also_in_a_worker_process(tmp_path: Path, isolate: bool) -> None:
    """The matcher of sides: who fills a place must be able to play the side that was left."""
    rules = f"""
[queues.sides]
matcher = {{ name = "ladder", sides = ["bw", "sc2"] }}
wave = {{ every_s = 0.05, isolate = {str(isolate).lower()} }}
match = {{ runs_s = 600 }}
"""
    server = Server(tmp_path, rules).start()
    try:

        def join(player: str, **ratings: float) -> str:
            body = {"players": [{"id": player, "ratings": ratings}]}
            answer = server.http.post("/v1/queues/sides/tickets", json=body)
            assert answer.status_code == 201, answer.text
            return str(answer.json()["ticket"]["id"])

        one = join("ann", bw=1500)
        join("ben", sc2=1500)
        match = server.when(one, "matched")["match"]["id"]
        wrong = server.http.post(f"/v1/matches/{match}/backfill", json={"places": [{"team": "zerg"}]})
        assert reason(wrong) == (422, "unknown_team")
        asked = server.http.post(
            f"/v1/matches/{match}/backfill", json={"places": [{"team": "bw", "instead_of": "ann"}]}
        )
        assert asked.status_code == 200, asked.text
        other = join("cat", sc2=1500)
        fits = join("dan", bw=1520)
        assert server.when(fits, "matched")["match"]["id"] == match
        assert server.ticket(other)["match"] is None
    finally:
        server.close()
