"""A process full of players for `evenmatch bench live`: each joins, listens, accepts, plays, reports and joins again.

    python -m evenmatch.bench.live_clients '{"port": 8750, ...}'

It says `ready` when all its players are connected, hears `go` on standard input, from then on keeps the account, and
prints it as one line of JSON.
"""

import asyncio
import contextlib
import random
import sys
import time
from collections import Counter
from typing import Any, Final

import msgspec
import uvloop

from . import load
from .live_lines import Lost, Pool, Socket, open_socket


class Plan(msgspec.Struct, frozen=True):
    """What the players of one process do."""

    port: int
    first: int
    players: int
    seconds: float
    spread: float
    """Ratings lie between 0 and this."""
    pause_s: float
    connections: int
    echo: bool = False


class Account(msgspec.Struct):
    """What they saw, from `go` on."""

    joins: int = 0
    accepts: int = 0
    matches: int = 0
    results: int = 0
    join_ms: list[float] = []
    push_ms: list[float] = []
    refused: dict[str, int] = {}
    retried: int = 0
    connected_least: int = 0
    connected_most: int = 0
    cpu_s: float = 0.0


class _Event(msgspec.Struct):
    type: str
    at_ms: int
    proposal: dict[str, Any] | None = None
    match: dict[str, Any] | None = None


_ARRIVE: Final = 50
"""So many join for the first time at once: thousands would be a load of their own, which nobody counts."""
_SETTLE_S: Final = 3.0
_read = msgspec.json.Decoder(_Event).decode
_encode = msgspec.json.Encoder().encode


class Crowd:
    """All players of one process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.pool = Pool(plan.port, plan.connections)
        self.account = Account()
        self.refused: Counter[str] = Counter()
        self.counting = False
        self.over = False
        self.open = 0
        self.strangers = set(range(plan.players))
        """Those who have not been connected yet."""
        self.all_known = asyncio.Event()
        self.door = asyncio.Semaphore(_ARRIVE)
        self.chance = random.Random(plan.first)
        self._behind_s = time.time() - time.perf_counter()

    async def post(self, path: str, body: Any) -> tuple[int, bytes, float]:
        """Ask; a "no" is counted by its reason."""
        status, content, asked = await self.pool.ask(load.post(path, _encode(body)))
        if status >= 400 and self.counting:
            self.refused[msgspec.json.decode(content).get("reason", str(status))] += 1
        return status, content, asked

    def note_open(self, number: int, more: int) -> None:
        """A player's connection is open, or closed."""
        self.open += more
        self.strangers.discard(number)
        if not self.strangers:
            self.all_known.set()
        if self.counting:
            self.account.connected_least = min(self.account.connected_least, self.open)
            self.account.connected_most = max(self.account.connected_most, self.open)

    async def player(self, number: int) -> None:
        """One player, game after game."""
        while not self.over:
            try:
                await (self._echo(number) if self.plan.echo else self._game(number))
            except (Lost, OSError) as error:
                if not self.over:
                    self.refused[f"connection: {type(error).__name__}"] += 1
                await asyncio.sleep(0.2)

    async def _game(self, number: int) -> None:
        """Join, proposal, accept, match, result."""
        name = f"player-{self.plan.first + number}"
        rating = round(self.chance.uniform(0, self.plan.spread), 1)
        body = {"players": [{"id": name, "rating": rating}]}
        async with self.door if number in self.strangers else contextlib.nullcontext():
            status, content, asked = await self.post("/v1/queues/live/tickets", body)
            if status != 201:
                await asyncio.sleep(0.5)
                return
            if self.counting:
                self.account.joins += 1
                self.account.join_ms.append((time.perf_counter() - asked) * 1000)
            ticket = msgspec.json.decode(content)["ticket"]["id"]
            socket = await open_socket(self.plan.port, f"/v1/tickets/{ticket}/events")
            self.note_open(number, 1)
        try:
            match = await self._story(socket, name)
        finally:
            self.note_open(number, -1)
            socket.close()
        if match is not None and match["teams"][0]["players"][0] == name and not self.over:
            ranks = self.chance.sample([1, 2], 2)
            result = {"teams": [{"rank": rank} for rank in ranks]}
            status, _, _ = await self.post(f"/v1/matches/{match['id']}/result", result)
            if self.counting and status == 200:
                self.account.results += 1

    async def _story(self, socket: Socket, name: str) -> dict[str, Any] | None:
        while (heard := await socket.heard.get()) is not None:
            text, came = heard
            event = _read(text)
            if self.counting and event.type != "queued":  # that one is read back, not pushed
                self.account.push_ms.append(max(0.0, (came + self._behind_s) * 1000 - event.at_ms))
            if event.type == "proposed" and event.proposal is not None:
                status, _, _ = await self.post(f"/v1/proposals/{event.proposal['id']}/accept", {"player": name})
                if self.counting and status == 200:
                    self.account.accepts += 1
            elif event.type == "matched":
                if self.counting:
                    self.account.matches += 1
                return event.match
        if not self.over:
            self.refused[f"closed: {socket.code}"] += 1
        return None

    async def _echo(self, number: int) -> None:
        """The same traffic, decided by nobody: a request, and as many messages as a game has."""
        name = f"player-{self.plan.first + number}"
        socket = await open_socket(self.plan.port, "/echo")
        self.note_open(number, 1)
        try:
            while not self.over:
                body = {"players": [{"id": name, "rating": 1500.5}]}
                _, _, asked = await self.post("/echo", body)
                if self.counting:
                    self.account.joins += 1
                    self.account.join_ms.append((time.perf_counter() - asked) * 1000)
                for _ in range(4):
                    started = time.perf_counter()
                    socket.send(b'{"sequence":1,"type":"accepted","ticket":"t-000000000001","queue":"live"}')
                    heard = await socket.heard.get()
                    if heard is None:
                        raise Lost("closed")
                    if self.counting:
                        self.account.push_ms.append((heard[1] - started) * 1000)
                await asyncio.sleep(self.chance.expovariate(1 / self.plan.pause_s))  # at every moment the same rate
        finally:
            self.note_open(number, -1)
            socket.close()

    async def run(self) -> Account:
        """Connect everybody, wait for the word, count, stop."""
        players = []
        for number in range(self.plan.players):
            players.append(asyncio.create_task(self.player(number)))
            if number % 10 == 9:
                await asyncio.sleep(0.02)  # nobody starts five thousand games in one instant
        try:
            async with asyncio.timeout(300):
                await self.all_known.wait()
        except TimeoutError:
            print(f"{len(self.strangers)} of {self.plan.players} could not connect", file=sys.stderr, flush=True)
        await asyncio.sleep(_SETTLE_S)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        self.account.connected_least = self.account.connected_most = self.open
        cpu_s, self.counting = time.process_time(), True
        await asyncio.sleep(self.plan.seconds)
        self.counting, self.over = False, True
        self.account.cpu_s = time.process_time() - cpu_s
        self.account.refused = dict(self.refused)
        self.account.retried = self.pool.retried
        for task in players:
            task.cancel()
        await asyncio.gather(*players, return_exceptions=True)
        return self.account


async def _main(plan: Plan) -> None:
    account = await Crowd(plan).run()
    sys.stdout.write(msgspec.json.encode(account).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(_main(msgspec.json.decode(sys.argv[1], type=Plan)))
