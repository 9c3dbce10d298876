"""Simulated players who come, wait, accept or do not, play and come again; by `evenmatch.client`, as any game would.

Everybody has a skill that nobody sees; results follow it, so ratings find it. Who comes when, and what everybody does,
hangs on one seed; what the server makes of it hangs on the time of day, too.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Any, Final

import msgspec

from evenmatch.client import Client, Refused
from evenmatch.errors import EvenmatchError

NAMES: Final = ("ann", "ben", "cat", "dan", "eve", "fay", "gus", "hal", "ivy", "jan", "kim", "lea", "max", "ned", "oda")
REGULARS: Final = 240
"""Players of a queue."""
LOST_S: Final = 1.0
DECLINES: Final = 0.03
IGNORES: Final = 0.03
LINES_MOST: Final = 600
"""Tickets that are followed at once."""


class Game(msgspec.Struct, frozen=True):
    """A queue, and how players come to it."""

    queue: str
    a_minute: float
    """Parties that come."""
    parties: tuple[int, ...]
    """How many come together, one as likely as the other."""
    patience_s: float
    """The mean time after which somebody leaves."""
    brings: Callable[[random.Random, float], dict[str, Any]]
    """What a player of a skill brings besides a name."""
    rated: bool = False


def _rating(chance: random.Random, skill: float) -> dict[str, Any]:
    return {"rating": round(skill + chance.gauss(0, 40), 1)}


def _ping(chance: random.Random, skill: float) -> dict[str, Any]:
    return {"rating": round(skill, 1), "ping_ms": round(min(250.0, chance.lognormvariate(3.7, 0.5)))}


def _regions(chance: random.Random, skill: float) -> dict[str, Any]:
    near, far = chance.lognormvariate(3.4, 0.4), chance.lognormvariate(4.6, 0.3)
    home, away = ("east", "west") if chance.random() < 0.6 else ("west", "east")
    return _rating(chance, skill) | {"latencies": {home: round(min(near, 200.0)), away: round(min(far, 250.0))}}


def _sides(chance: random.Random, skill: float) -> dict[str, Any]:
    first, second = round(skill + chance.gauss(0, 60), 1), round(skill + chance.gauss(0, 60), 1)
    kind = chance.random()
    return {
        "ratings": {"dawn": first}
        if kind < 0.4
        else {"dusk": second}
        if kind < 0.8
        else {"dawn": first, "dusk": second}
    }


GAMES: Final = (
    Game("duel", 110, (1,), 90, _rating, rated=True),
    Game("sides", 70, (1,), 120, _sides),
    Game("lobby", 90, (1,), 150, _ping),
    Game("clans", 30, (3,), 90, _rating),
    Game("squads", 70, (1, 1, 2, 3), 90, _regions, rated=True),
    Game("sessions", 60, (1,), 150, _ping),
)


class Crowd:
    """All players of a demonstration."""

    def __init__(self, client: Client, seed: int = 7, pace: float = 1.0, games: tuple[Game, ...] = GAMES) -> None:
        """`pace`: so many times as many come."""
        self.client, self.pace, self.games = client, pace, games
        self._chance = random.Random(seed)
        self._skill: dict[str, float] = {}
        self._away: dict[str, list[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        for game in games:
            names = [f"{NAMES[n % len(NAMES)]}-{game.queue}-{n}" for n in range(REGULARS)]
            self._away[game.queue] = names
            self._skill |= {name: self._chance.gauss(1550, 330) for name in names}

    async def play(self) -> None:
        """Come and go until cancelled."""
        try:
            await asyncio.gather(*(self._arrivals(game) for game in self.games))
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _arrivals(self, game: Game) -> None:
        for _ in range(max(1, round(game.a_minute / 10))):  # somebody is there from the beginning
            self._come(game)
        while True:
            await asyncio.sleep(self._chance.expovariate(game.a_minute * self.pace / 60))
            self._come(game)

    def _come(self, game: Game) -> None:
        away, size = self._away[game.queue], self._chance.choice(game.parties)
        if len(away) < size or len(self._tasks) >= LINES_MOST:
            return
        first = away.pop(self._chance.randrange(len(away)))
        party = [first]
        for _ in range(size - 1):  # friends are about as good
            mate = min(
                self._chance.sample(away, min(len(away), 6)),
                key=lambda name: abs(self._skill[name] - self._skill[first]),
            )
            away.remove(mate)
            party.append(mate)
        task = asyncio.create_task(self._visit(game, party))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _visit(self, game: Game, party: list[str]) -> None:
        try:
            players = [{"id": name} | game.brings(self._chance, self._skill[name]) for name in party]
            ticket = await self.client.join(game.queue, *players)
            patience_s = self._chance.expovariate(1 / game.patience_s)
            try:
                async with asyncio.timeout(patience_s + 5):
                    await self._wait(game, ticket.id, party)
            except TimeoutError:
                with contextlib.suppress(Refused):
                    await self.client.leave(ticket.id)
            await asyncio.sleep(self._chance.uniform(1, 8))
        except Refused:
            await asyncio.sleep(5)
        except (EvenmatchError, OSError):
            await asyncio.sleep(LOST_S)
        finally:
            self._away[game.queue] += party

    async def _wait(self, game: Game, ticket: str, party: list[str]) -> None:
        async with contextlib.aclosing(self.client.watch(ticket)) as events:
            async for event in events:
                if event.type == "proposed" and event.proposal is not None:
                    await self._answer(event.proposal["id"], party)
                elif event.type == "matched" and event.match is not None:
                    await self._play(game, event.match, party)
                    return

    async def _play(self, game: Game, match: dict[str, Any], party: list[str]) -> None:
        """Of a rated match the first player tells the result."""
        if game.rated and match["teams"][0]["players"][0] in party:
            await asyncio.sleep(self._chance.uniform(2, 6))
            await self._report(match)

    async def _answer(self, proposal: str, party: list[str]) -> None:
        await asyncio.gather(*(self._one_answers(proposal, name) for name in party))

    async def _one_answers(self, proposal: str, name: str) -> None:
        await asyncio.sleep(self._chance.uniform(0.3, 3.0))
        mood = self._chance.random()
        with contextlib.suppress(Refused):
            if mood < DECLINES:
                await self.client.decline(proposal, name)
            elif mood > DECLINES + IGNORES:
                await self.client.accept(proposal, name)

    async def _report(self, match: dict[str, Any]) -> None:
        one, other = (sum(self._skill[name] for name in team["players"]) for team in match["teams"])
        wins = self._chance.random() < 1 / (1 + 10 ** ((other - one) / 400))
        with contextlib.suppress(Refused):
            await self.client.report(match["id"], ranks=[1, 2] if wins else [2, 1])
