"""A process full of players for `evenmatch drill crash`, each by our own client, game after game.

    python -m evenmatch.drill.players '{"url": "http://127.0.0.1:8750", ...}'

It says how far it is, a line of JSON several times a second; once it hears `stop` on standard input, all leave the
queue, look back at what they were told, and write their log.
"""

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import uvloop

from evenmatch.client import Client, Refused
from evenmatch.client.following import Way

from .auditor import number
from .log import Joined, Log, Seen, Told

_WAYS: Final[tuple[Way | None, ...]] = ("websocket", "websocket", "websocket", None, "sse")
_DECLINES: Final = 0.03
_LOOKS: Final = 0.1
"""How often a player who is proposed a match looks at its ticket besides."""
_SAMPLE: Final = 200
"""Tickets and results that are asked for again at the end."""
_ASKED: Final = 50
"""Players who ask why they wait."""
_AT_ONCE: Final = 20
_TELL_S: Final = 0.2
_REASON_LOOKS: Final = 30
"""A ticket that has no reason for so many seconds, with a wave every tenth of one, has none."""
_OVER: Final = (404, 409, 410)
"""How an answer to a proposal that is over by now is refused."""


class Plan(msgspec.Struct, frozen=True):
    """What the players of one process do."""

    url: str
    first: int
    players: int
    spread: float
    """Ratings lie between 0 and this."""
    seed: int
    log: str
    """The file to write the log to."""
    patience_s: float = 300.0


class Progress(msgspec.Struct, frozen=True):
    """How far the players of one process are."""

    joins: int = 0
    results: int = 0
    watching: int = 0
    """Players who follow a ticket now."""


class Crowd:
    """All players of one process, and what they know for certain."""

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client, self.plan = client, plan
        self.log = Log()
        self.results: dict[str, dict[str, object]] = {}
        self.live: dict[str, str] = {}
        """player -> ticket"""
        self.over = False
        self.chance = Random(plan.seed)

    async def play(self, place: int) -> None:
        """One player, game after game."""
        await asyncio.sleep(place / 500)  # nobody starts thousands of games in one instant
        name, game = f"player{self.plan.first + place}", 0
        while not self.over:
            game += 1
            try:
                await self._game(name, f"{name}/{game}")
            except Exception as error:  # whatever it is, the audit is to tell of it
                self.log.wrong.append(f"{name} met what it did not ask for: {type(error).__name__}: {error}")
                traceback.print_exc()
                return
            finally:
                self.live.pop(name, None)

    async def _game(self, name: str, key: str) -> None:
        self.log.attempted[f"{key}#0"] = (name,)
        rating = round(self.chance.uniform(0, self.plan.spread), 1)
        ticket = await self.client.join("live", name, rating=rating, key=key)
        mine = int(ticket.id[2:])
        self.log.joined.append(Joined(f"{key}#0", mine, "live", (name,), ticket.joined_ms))
        self.live[name] = ticket.id
        heard: list[Told] = []
        match = None
        async for event in self.client.watch(ticket.id, way=self.chance.choice(_WAYS)):
            heard.append(Told(mine, event.sequence, event.type))
            if event.type == "proposed" and event.proposal:
                await self._answer(event.proposal["id"], name)
                if self.chance.random() < _LOOKS:
                    await self._look(ticket.id)
            match = event.match or match
        self.log.told += heard
        self.log.stories[mine] = heard
        if match is not None:
            await self._report(match["id"])

    async def _answer(self, proposal: str, name: str) -> None:
        """Mostly yes."""
        accepts = self.chance.random() >= _DECLINES
        try:
            await (self.client.accept if accepts else self.client.decline)(proposal, name)
        except Refused as refused:
            if refused.status not in _OVER:
                raise
            accepts &= refused.reason == "already_accepted"
        if accepts:
            self.log.accepted.append((int(proposal[2:]), name))

    async def _report(self, match: str) -> None:
        """Both players tell the same, and it counts once."""
        won = int(match[-1]) % 2
        ranks = [1 + won, 2 - won]
        told = await self.client.report(match, ranks=ranks)
        self.log.results.append((int(match[2:]), ranks))
        if self.results.setdefault(match, told) != told:
            self.log.wrong.append(f"the result of {match} was told in two ways: {self.results[match]}, {told}")

    async def _look(self, ticket: str) -> None:
        view = await self.client.ticket(ticket)
        seen = Seen(int(ticket[2:]), view.status, view.waited_ms, view.misses, number(view.proposal))
        self.log.seen.append(seen)

    async def has_reason(self, ticket: str) -> None:
        """A ticket that waits is told why, once a wave has passed it over (I10)."""
        for _ in range(_REASON_LOOKS):
            view = await self.client.ticket(ticket)
            if view.reason is not None or view.suspended or view.status != "waiting":
                return
            await asyncio.sleep(1.0)
        self.log.unexplained.append(int(ticket[2:]))

    async def leave_all(self, playing: list[asyncio.Task[None]]) -> None:
        """Let every story come to its end, also of those whose join is not answered yet."""
        while not all(task.done() for task in playing):
            await _in_turn([self._leave(ticket) for ticket in self.live.values()])
            await asyncio.sleep(0.1)

    async def _leave(self, ticket: str) -> None:
        with contextlib.suppress(Refused):  # it may be over already
            await self.client.leave(ticket)

    async def look_back(self) -> None:
        """What was acknowledged is still there, as it was told."""
        joined = self.chance.sample(self.log.joined, min(_SAMPLE, len(self.log.joined)))
        results = self.chance.sample(sorted(self.results), min(_SAMPLE, len(self.results)))
        await _in_turn([self._look(f"t-{each.ticket:012d}") for each in joined])
        await _in_turn([self._compare(match) for match in results])

    async def _compare(self, match: str) -> None:
        found = await self.client.result(match)
        if found != self.results[match]:
            self.log.wrong.append(f"the result of {match} was {self.results[match]}, and is {found}")

    def progress(self) -> Progress:
        """How far everybody is."""
        return Progress(len(self.log.joined), len(self.results), len(self.live))


async def _in_turn(work: list[Coroutine[None, None, None]]) -> None:
    """Do all of it, so many at once."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(todo: Coroutine[None, None, None]) -> None:
        async with room:
            await todo

    await asyncio.gather(*(one(todo) for todo in work))


async def _tell(crowd: Crowd) -> None:
    while True:
        print(msgspec.json.encode(crowd.progress()).decode(), flush=True)
        await asyncio.sleep(_TELL_S)


async def run(plan: Plan) -> None:
    """Play until told to stop; then leave, look back, and write the log."""
    async with Client(plan.url, patience_s=plan.patience_s) as client:
        crowd = Crowd(client, plan)
        telling = asyncio.create_task(_tell(crowd))
        playing = [asyncio.create_task(crowd.play(place)) for place in range(plan.players)]
        await asyncio.to_thread(sys.stdin.readline)
        crowd.over = True
        waiting = crowd.chance.sample(sorted(crowd.live.values()), min(_ASKED, len(crowd.live)))
        await _in_turn([crowd.has_reason(ticket) for ticket in waiting])
        await crowd.leave_all(playing)
        await asyncio.gather(*playing)
        await crowd.look_back()
        telling.cancel()
    Path(plan.log).write_bytes(msgspec.msgpack.encode(crowd.log))


if __name__ == "__main__":
    uvloop.run(run(msgspec.json.decode(sys.argv[1], type=Plan)))
