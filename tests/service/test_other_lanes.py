"""Two lanes of one database, each with an engine of its own: nobody is in matches of both (I11)."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from evenmatch.domain import commands as cmd
from evenmatch.domain import lane_events as lane
from evenmatch.domain.ids import first_number, number_of
from evenmatch.domain.queue import Format, MatcherSpec, Mode, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.drill.auditor import Audit, Book, Row
from evenmatch.recovery import recover, verify
from evenmatch.service.app import App
from evenmatch.service.mailbox import CommandOrder
from evenmatch.storage.postgres import PostgresJournal
from evenmatch.storage.postgres_lanes import make_lane
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.protocol import Commit
from tests import postgres
from tests.postgres import bare

from .inside import app_over, living, until

PATIENT = ReadyCheckSpec(600.0)
DUEL = QueueSpec("duel", Format(2, 1), MatcherSpec("first_come"), wave=WaveSpec(every_s=0.02), ready_check=PATIENT)
PAIR = QueueSpec("pair", Format(2, 1), MatcherSpec("first_come"), wave=WaveSpec(every_s=0.02), ready_check=PATIENT)


class Blind(PostgresJournal):
    """A journal whose owner is told too late whom others have: only the commit finds out."""

    blind = False
    conflicts = 0

    def claimed_elsewhere(self, players: Any) -> Any:
        return super().claimed_elsewhere(players)[: 0 if self.blind else None]

    def append(self, commit: Commit) -> None:
        try:
            super().append(commit)
        except Exception:
            self.conflicts += 1
            self.blind = False
            raise


class Node:
    """The owner of a lane."""

    def __init__(self, app: App, client: httpx.AsyncClient, queue: str, journal: Blind) -> None:
        self.app, self.client, self.queue, self.journal = app, client, queue, journal

    async def join(self, player: str) -> str:
        answer = await self.client.post(f"/v1/queues/{self.queue}/tickets", json={"players": [{"id": player}]})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["ticket"]["id"])

    async def ticket(self, ticket: str) -> dict[str, Any]:
        told: dict[str, Any] = (await self.client.get(f"/v1/tickets/{ticket}")).json()["ticket"]
        return told

    async def comes_to(self, ticket: str, looks: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        async def look() -> Any:
            told = await self.ticket(ticket)
            return told if looks(told) else None

        found: dict[str, Any] = await until(look, f"{ticket} as it should be")
        return found

    async def decline(self, ticket: str, player: str) -> None:
        proposal = (await self.ticket(ticket))["proposal"]["id"]
        answer = await self.client.post(f"/v1/proposals/{proposal}/decline", json={"player": player})
        assert answer.status_code == 200, answer.text

    async def pause(self, on: bool) -> None:
        mode, reply = Mode.PAUSED if on else Mode.OPEN, self.app.runner.reply()
        self.app.runner.put(CommandOrder(lambda _: cmd.SetMode(self.queue, mode), None, reply))
        assert await reply is None


def proposed(told: dict[str, Any]) -> bool:
    return bool(told["status"] == "proposed")


@contextlib.asynccontextmanager
async def two_lanes() -> AsyncIterator[tuple[Node, Node]]:
    """The owners of the lanes main and eu."""
    url = postgres.cleared()
    PostgresJournal(url, "the database").close()
    line = Line(url, "the database")
    make_lane(line, "eu")
    line.close()
    main, eu = Blind(url, "the database"), Blind(url, "the database", journal=2)
    try:
        one, other = app_over(main, DUEL), app_over(eu, PAIR)
        async with living(one) as here, living(other) as there:
            yield Node(one, here, "duel", main), Node(other, there, "pair", eu)
        for journal in (main, eu):
            found = verify(journal)
            assert found.events == journal.last
            rows = [Row(first, first + len(events) - 1, 1, events) for first, events in journal._commits(0)]
            names = journal.names_of(list(range(1, journal.last_player() + 1)))
            audit = Audit()
            audit.read(Book(rows, names))
            assert audit.faults == []
            assert set(recover(journal).claims) == {player for player, lane in claims().items() if lane == journal.lane}
    finally:
        main.close()
        eu.close()


def run(story: Callable[[Node, Node], Any]) -> None:
    async def live() -> None:
        async with two_lanes() as (main, eu):
            await story(main, eu)

    asyncio.run(live())


def claims() -> dict[int, int]:
    return dict(bare(postgres.kept(), "SELECT player, journal FROM evenmatch.claims"))


def test_who_is_in_a_proposal_of_one_lane_is_suspended_in_the_other_and_resumes_with_the_wait_kept() -> None:
    async def story(main: Node, eu: Node) -> None:
        await eu.pause(True)
        ann_there = await eu.join("ann")
        assert number_of("t-", ann_there) == first_number(2)
        ann, ben = await main.join("ann"), await main.join("ben")
        await main.comes_to(ann, proposed)
        assert sorted(claims().values()) == [1, 1]
        cid = await eu.join("cid")
        await eu.pause(False)
        stopped = await eu.comes_to(ann_there, lambda told: told["suspended"])
        assert (stopped["status"], (await eu.ticket(cid))["status"]) == ("waiting", "waiting")
        await asyncio.sleep(0.1)
        assert (await eu.ticket(ann_there))["waited_ms"] == stopped["waited_ms"]
        await main.decline(ben, "ben")
        resumed = await eu.comes_to(ann_there, lambda told: proposed(told))
        assert resumed["waited_ms"] - stopped["waited_ms"] < 500  # what came after it resumed
        await eu.comes_to(cid, proposed)
        assert sorted(claims().values()) == [2, 2]
        assert (await main.ticket(ann))["status"] == "waiting"
        told = [type(event) for _, event in eu.journal.read(0)]
        assert told.count(lane.ClaimedElsewhere) == told.count(lane.ReleasedElsewhere) == 1
        assert told[0] is lane.NumbersBegin

    run(story)


def test_of_two_lanes_that_propose_a_player_at_the_same_time_one_goes_on_without_the_wave() -> None:
    async def story(main: Node, eu: Node) -> None:
        await eu.pause(True)
        ann_there, cid = await eu.join("ann"), await eu.join("cid")
        ann, _ = await main.join("ann"), await main.join("ben")
        await main.comes_to(ann, proposed)
        eu.journal.blind = True
        await eu.pause(False)
        joins = [asyncio.create_task(eu.join(f"player {n}")) for n in range(20)]
        await until(lambda: eu.journal.conflicts, "a conflict")
        joins += [asyncio.create_task(eu.join(f"other {n}")) for n in range(20)]
        tickets = await asyncio.gather(*joins)  # nobody was told 503
        assert len(set(tickets)) == 40
        await eu.comes_to(ann_there, lambda told: told["suspended"])
        await eu.comes_to(cid, proposed)
        for ticket in tickets[:30]:
            await eu.comes_to(ticket, lambda told: told["status"] in ("waiting", "proposed"))
        assert eu.journal.conflicts == 1
        assert await until(lambda: eu.app.runner.ready, "ready")

    run(story)


@pytest.mark.parametrize("blind", [False, True])
def test_nobody_is_ever_in_open_proposals_of_two_lanes(blind: bool) -> None:
    players = [f"player {n}" for n in range(12)]

    async def story(main: Node, eu: Node) -> None:
        tickets: dict[tuple[Node, str], str] = {}
        for node, player in itertools.product((main, eu), players):
            tickets[node, player] = await node.join(player)
        for _ in range(25):
            main.journal.blind = eu.journal.blind = blind
            busy: dict[str, Node] = {}
            here = {player: await main.ticket(tickets[main, player]) for player in players}
            there = {player: await eu.ticket(tickets[eu, player]) for player in players}
            again = {player: await main.ticket(tickets[main, player]) for player in players}
            for player in players:
                stayed = proposed(here[player]) and here[player]["proposal"] == again[player]["proposal"]
                assert not (stayed and proposed(there[player])), player
                busy |= {player: main} if proposed(again[player]) else {player: eu} if proposed(there[player]) else {}
            for player, node in list(busy.items())[:3]:
                told = await node.ticket(tickets[node, player])
                if proposed(told):
                    await node.decline(tickets[node, player], player)
                    tickets[node, player] = await node.join(player)
            await asyncio.sleep(0.02)
        own = [await node.app.runner.ask(lambda views, _: set(views.engine.state.claims)) for node in (main, eu)]
        assert own[0] | own[1]
        assert main.journal.conflicts + eu.journal.conflicts > 0 or not blind

    run(story)
