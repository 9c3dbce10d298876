"""Many connected players going round, by our own client, while the server is killed again and again: they come back
where they left off, and an independent auditor finds every acknowledged join and result, and I1-I11 whole."""

import asyncio
import contextlib
import socket
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evenmatch.client import Client, Refused
from evenmatch.client.following import Way
from evenmatch.drill.auditor import Joined, Log, Seen, Told, audit, number, read_book

from .harness import PATIENCE_S, Server, queue

QUEUES = queue("duel", timeout_s=10.0, runs_s=30.0) + "[queues.duel.rating]\nplacement = 0\n"
WAYS: tuple[Way | None, ...] = ("websocket", "sse", None)
ENV = {"EVENMATCH_KEEP_S": "1", "EVENMATCH_CHECKPOINT_DEBT": "100"}


class Crowd:
    """All players, and what they know for certain."""

    def __init__(self, client: Client, players: int, seed: int) -> None:
        self.client, self.players = client, players
        self.log = Log()
        self.results: dict[str, dict[str, Any]] = {}
        self.live: dict[str, str] = {}
        self.over = False
        self.chance = Random(seed)

    async def play(self, place: int) -> None:
        """One player, game after game."""
        name, game = f"player{place}", 0
        while not self.over:
            game += 1
            key = f"{name}/{game}"
            self.log.attempted[f"{key}#0"] = (name,)
            rating = self.chance.randint(1000, 2000)
            ticket = await self.client.join("duel", name, rating=rating, key=key)
            mine = int(ticket.id[2:])
            self.log.joined.append(Joined(f"{key}#0", mine, "duel", (name,), ticket.joined_ms))
            self.live[name] = ticket.id
            way = self.chance.choice(WAYS)
            heard: list[Told] = []
            match = None
            async for event in self.client.watch(ticket.id, way=way):
                heard.append(Told(mine, event.sequence, event.type))
                self.log.told.append(heard[-1])
                if event.type == "proposed" and event.proposal:
                    await self.answer(event.proposal["id"], name)
                match = event.match or match
            self.log.stories[mine] = heard
            del self.live[name]
            if match is not None:
                won = int(match["id"][-1]) % 2  # both players tell the same
                self.results[match["id"]] = await self.client.report(match["id"], ranks=[1 + won, 2 - won])

    async def answer(self, proposal: str, name: str) -> None:
        """Mostly yes."""
        accepts = self.chance.random() < 0.95
        try:
            if accepts:
                await self.client.accept(proposal, name)
                self.log.accepted.append((int(proposal[2:]), name))
            else:
                await self.client.decline(proposal, name)
        except Refused as refused:
            if refused.status not in (409, 410):  # the proposal may be over by now
                raise
            if refused.reason == "already_accepted":
                self.log.accepted.append((int(proposal[2:]), name))

    async def progress(self, matches: int) -> None:
        """Wait until so many more matches have their result."""
        wanted = len(self.results) + matches
        async with asyncio.timeout(2 * PATIENCE_S):
            while len(self.results) < wanted:
                await asyncio.sleep(0.01)

    async def leave_all(self) -> None:
        """Let every story come to its end."""
        self.over = True
        while self.live:
            for ticket in list(self.live.values()):
                with contextlib.suppress(Refused):
                    await self.client.leave(ticket)
            await asyncio.sleep(0.05)


async def storm(server: Server, players: int, kills: int, seed: int) -> Crowd:
    """Kill the server so many times while everybody plays."""
    chance = Random(seed)
    async with Client(server.url, patience_s=PATIENCE_S) as client:
        crowd = Crowd(client, players, seed)
        playing = [asyncio.create_task(crowd.play(place)) for place in range(players)]
        for _ in range(kills):
            await crowd.progress(players // 4)
            await asyncio.sleep(chance.uniform(0, 0.5))  # the instant is what is being tried
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await crowd.progress(players // 4)
        async with asyncio.timeout(2 * PATIENCE_S):
            await crowd.leave_all()
            await asyncio.gather(*playing)
        for joined in crowd.log.joined:
            view = await client.ticket(f"t-{joined.ticket:012d}")
            assert tuple(view.names) == joined.players
            seen = Seen(joined.ticket, view.status, view.waited_ms, view.misses, number(view.proposal))
            crowd.log.seen.append(seen)
        for match, result in crowd.results.items():
            assert await client.result(match) == result
    return crowd


def at_one_address(server: Server) -> Server:
    """A server that comes back at the port it had."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        server.arguments[server.arguments.index("--port") + 1] = str(free.getsockname()[1])
    return server


def played_through(folder: Path, players: int, kills: int, seed: int) -> None:
    server = at_one_address(Server(folder, QUEUES, ENV))
    try:
        server.start()
        crowd = asyncio.run(storm(server, players, kills, seed))
        server.kill()
    finally:
        server.close()
    found = audit(read_book(server.db), crowd.log)
    assert not found.faults, "\n".join(found.faults[:20])
    assert found.counts().get("matched", 0) >= 2 * len(crowd.results)
    assert len(crowd.log.stories) == len(crowd.log.joined)
    told = [event["match"] for event in server.events() if event["type"] == "result_reported"]
    assert len(told) == len(set(told))
    assert {int(match[2:]) for match in crowd.results} <= set(told)
    assert len(crowd.results) >= (kills + 1) * (players // 4)
    assert len({row.fence for row in read_book(server.db).rows}) > kills // 2
    assert server.verify()["events"] == found.sequence  # I8


@pytest.mark.timeout(600)
def test_connected_players_lose_nothing_when_the_server_is_killed(tmp_path: Path) -> None:
    played_through(tmp_path, players=32, kills=4, seed=22)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(3))
def test_many_more_lose_nothing_either(tmp_path: Path, seed: int) -> None:
    played_through(tmp_path, players=200, kills=10, seed=seed)
