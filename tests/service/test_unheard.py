"""What became durable while nobody could be told is told afterwards: to open lines, to game servers, and once (I7)."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from evenmatch.domain.events import Accepted, Event, WaveFinished
from evenmatch.errors import JournalUnavailable
from evenmatch.service.app import App
from evenmatch.service.messages import Told
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit

from .game_servers import Allocator
from .inside import FailingMemory, app_over, living, until
from .test_allocation import SECRET, VARIABLE, live, spec
from .test_inbox import DUEL, in_a_loop, join, pair


class Heard:
    """A line whose client writes everything down."""

    idle_s: float | None = None

    def __init__(self, app: App, ticket: str) -> None:
        self.ticket = ticket
        self.told: list[Told] = []
        self.closes: list[tuple[int, str]] = []
        self.following = asyncio.create_task(app.hub.follow(ticket, None, self))

    @property
    def kinds(self) -> list[str]:
        return [message.kind for message in self.told]

    async def tell(self, message: Told) -> None:
        self.told.append(message)

    async def still_here(self) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        self.closes.append((code, reason))

    async def until_gone(self) -> bool:
        await asyncio.Event().wait()
        return True


class Doubtful(FailingMemory):
    """A journal that fails with the next commit that holds an event of a kind."""

    fails_at: tuple[type[Event], str] | None = None
    """The kind, and "before" or "after" the commit has really happened."""

    def append(self, commit: Commit) -> None:
        if self.fails_at is not None and any(isinstance(event, self.fails_at[0]) for event in commit.events):
            self.failures = [self.fails_at[1]]
            self.fails_at = None
        super().append(commit)


async def two_lines(app: App, client: httpx.AsyncClient) -> tuple[Heard, Heard]:
    """Two players who are proposed a match, each with a line."""
    tickets = [(await join(client, name, "duel")).json()["ticket"]["id"] for name in ("ann", "ben")]
    lines = Heard(app, tickets[0]), Heard(app, tickets[1])
    await until(lambda: all("proposed" in line.kinds for line in lines), "a proposal")
    return lines


async def accept(client: httpx.AsyncClient, line: Heard, player: str) -> int:
    proposal = (await client.get(f"/v1/tickets/{line.ticket}")).json()["ticket"]["proposal"]["id"]
    return (await client.post(f"/v1/proposals/{proposal}/accept", json={"player": player})).status_code


def in_order(line: Heard) -> bool:
    sequences = [message.sequence for message in line.told]
    return sequences == sorted(set(sequences))


@in_a_loop
async def test_an_open_line_is_told_of_a_commit_that_came_through_though_nobody_heard_so() -> None:
    journal = Doubtful()
    app = app_over(journal, DUEL)
    async with living(app) as client:
        lines = await two_lines(app, client)
        journal.fails_at = Accepted, "after"
        assert await accept(client, lines[0], "ann") == 503
        await until(lambda: all(line.kinds == ["queued", "proposed", "accepted"] for line in lines), "the accept")
        assert await accept(client, lines[1], "ben") == 200
        for line in lines:
            await asyncio.wait_for(line.following, 10)
            assert line.kinds == ["queued", "proposed", "accepted", "accepted", "matched"]
            assert in_order(line)


@in_a_loop
async def test_the_end_of_a_story_is_told_though_nothing_follows_it() -> None:
    journal = Doubtful()
    app = app_over(journal, DUEL)
    async with living(app) as client:
        lines = await two_lines(app, client)
        assert await accept(client, lines[0], "ann") == 200
        journal.fails_at = Accepted, "after"
        assert await accept(client, lines[1], "ben") == 503
        for line in lines:
            await asyncio.wait_for(line.following, 10)
            assert (line.kinds[-1], line.closes) == ("matched", [(1000, "the story is over")])
            assert in_order(line)


class Nameless(FailingMemory):
    """A journal that cannot be asked for names for a while, though it takes commits."""

    silent = False

    def names_of(self, players: list[int]) -> dict[int, str]:
        if self.silent:
            raise JournalUnavailable("no answer for 8 s")
        return super().names_of(players)


@in_a_loop
async def test_what_was_committed_is_told_though_names_could_not_be_looked_up_when_it_was() -> None:
    journal = Nameless()
    app = app_over(journal, DUEL)
    async with living(app) as client:
        lines = await two_lines(app, client)
        app.runner.directory._names = ({}, {})  # as after a reload
        journal.silent = True
        answer = await client.post(f"/v1/proposals/{proposal_of(lines[0])}/accept", json={"player": "ann"})
        assert (answer.status_code, "it is not known if this was carried out" in answer.text) == (503, True)
        journal.silent = False
        await until(lambda: all(line.kinds == ["queued", "proposed", "accepted"] for line in lines), "the accept")
        assert await accept(client, lines[1], "ben") == 200
        for line in lines:
            await asyncio.wait_for(line.following, 10)
            assert line.kinds == ["queued", "proposed", "accepted", "accepted", "matched"]
            assert in_order(line)


def proposal_of(line: Heard) -> str:
    """The proposal that a line was told of."""
    (proposed,) = (message for message in line.told if message.kind == "proposed")
    return str(msgspec.json.decode(proposed.text)["proposal"]["id"])


@in_a_loop
async def test_a_commit_that_did_not_come_through_is_told_to_nobody() -> None:
    journal = Doubtful()
    app = app_over(journal, DUEL)
    async with living(app) as client:
        lines = await two_lines(app, client)
        journal.fails_at = Accepted, "before"
        assert await accept(client, lines[0], "ann") == 503
        assert await accept(client, lines[0], "ann") == 200
        await until(lambda: all("accepted" in line.kinds for line in lines), "the accept")
        assert {tuple(line.kinds) for line in lines} == {("queued", "proposed", "accepted")}


def test_a_game_server_is_asked_for_though_the_commit_was_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)

    async def story(allocator: Allocator) -> None:
        journal = Doubtful()
        async with live(tmp_path, spec(allocator.url), journal=journal) as server:
            journal.fails_at = WaveFinished, "after"
            for player in ("ann", "ben"):
                body = {"players": [{"id": player}]}
                assert (await server.ask("POST", "/v1/queues/duel/tickets", json=body)).status_code == 201
            await until(lambda: allocator.heard, "a request")
            assert journal.fails_at is None

    with Allocator() as allocator:
        asyncio.run(story(allocator))


class Blind(MemoryJournal):
    """A journal whose new commits cannot be seen for a while; what is there can be read from the beginning."""

    blind = False
    kept = True

    def follow(self, after: int) -> Any:
        if self.blind:
            raise JournalUnavailable("it cannot be looked at")
        return super().follow(after)

    def event(self, sequence: int) -> Any:
        return super().event(sequence) if self.kept else None


async def gone_while_blind(journal: Blind, *, kept: bool) -> Heard:
    """The line of somebody whose ticket was cancelled while its node could not look."""
    async with pair(journal) as (here, there, _, serving):
        ticket = (await join(here, "ann")).json()["ticket"]["id"]
        line = Heard(serving, ticket)
        await until(lambda: line.kinds == ["queued"], "a story's beginning")
        journal.blind, journal.kept = True, kept
        assert (await there.delete(f"/v1/tickets/{ticket}")).status_code == 204
        await asyncio.sleep(0.1)
        journal.blind = False
        await asyncio.wait_for(line.following, 10)
        return line


@in_a_loop
async def test_a_node_that_could_not_look_tells_what_it_missed() -> None:
    line = await gone_while_blind(Blind(), kept=True)
    assert (line.kinds, line.closes) == (["queued", "cancelled"], [(1000, "the story is over")])


@in_a_loop
async def test_a_line_that_cannot_be_told_what_it_missed_is_cut() -> None:
    line = await gone_while_blind(Blind(), kept=False)
    assert (line.kinds, line.closes) == (["queued"], [(1013, "something was missed; come back with after=")])
