"""What became of proposals: told in a past wave, and to whoever asks for a match that there is not."""

import re
from pathlib import Path
from typing import Any

import httpx

from evenmatch.domain.queue import Format, QueueSpec, ReadyCheckSpec, WaveSpec
from evenmatch.service.app import App
from evenmatch.service.handlers import get_match
from evenmatch.storage.sqlite import SqliteJournal

from .inside import until
from .test_stories import party, proposed
from .test_watch import ask, joined, matched

DUEL = QueueSpec("duel", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(600.0))
QUICK = QueueSpec("quick", Format(2, 1), wave=WaveSpec(every_s=0.02))
BRIEF = QueueSpec("brief", Format(2, 1), wave=WaveSpec(every_s=0.02), ready_check=ReadyCheckSpec(0.2))


async def pair(client: httpx.AsyncClient, queue: str, *players: str) -> str:
    """The proposal that two players are in."""
    tickets = [await joined(client, queue, name) for name in players]
    return await proposed(client, tickets[1])


async def answer(client: httpx.AsyncClient, proposal: str, player: str, what: str) -> None:
    told = await client.post(f"/v1/proposals/{proposal}/{what}", json={"player": player})
    assert told.status_code == 200, told.text


async def rows(client: httpx.AsyncClient, queue: str) -> dict[str, tuple[str | None, str]]:
    """Proposal -> its match, and what became of it, as the past waves tell."""
    found: dict[str, tuple[str | None, str]] = {}
    for row in (await client.get(f"/v1/queues/{queue}/waves?limit=200")).json()["waves"]:
        wave = (await client.get(f"/v1/queues/{queue}/waves/{row['number']}")).json()["wave"]
        found |= {one["id"]: (one["match"], one["became"]) for one in wave["proposals"]}
    return found


async def refused(client: httpx.AsyncClient, proposal: str) -> str:
    found = await client.get(f"/v1/matches/{proposal.replace('p-', 'm-')}")
    assert found.status_code == 404
    return str(found.json()["detail"])


def test_a_wave_says_what_became_of_each_proposal_and_goes_on_saying_what_is_so() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        declined = await pair(client, "duel", "ann", "ben")
        first = await rows(client, "duel")
        await answer(client, declined, "ann", "decline")
        return declined, first, await rows(client, "duel"), await refused(client, declined)

    declined, first, later, why = ask(look, None, DUEL)
    assert first[declined] == (None, "awaits 2 answers")
    assert later[declined] == (None, "ann declined")
    match = declined.replace("p-", "m-")
    assert re.fullmatch(rf"{match} is no match; {declined} of duel, wave \d: ann declined", why)


def test_a_proposal_that_became_a_match_leads_to_it_and_one_that_awaits_answers_says_so() -> None:
    async def look(client: httpx.AsyncClient, _: App) -> Any:
        tickets = [await joined(client, "quick", name) for name in ("eve", "fay")]
        await matched(client, *tickets)
        opened = await pair(client, "duel", "ann", "ben")
        await answer(client, opened, "ann", "accept")
        return (
            await rows(client, "quick"),
            opened,
            await refused(client, opened),
            await refused(client, "p-000000000999"),
        )

    quick, opened, why, nothing = ask(look, None, DUEL, QUICK)
    assert [(match == proposal.replace("p-", "m-"), became) for proposal, (match, became) in quick.items()] == [
        (True, "over")
    ]
    assert why.startswith(f"{opened.replace('p-', 'm-')} is no match yet; {opened} of duel, wave ")
    assert why.endswith(": awaits 1 answer")
    assert nothing == "no match is called m-000000000999"


def test_a_player_is_not_told_what_became_of_proposals() -> None:
    async def look(client: httpx.AsyncClient, app: App) -> Any:
        proposal = await pair(client, "duel", "ann", "ben")
        await answer(client, proposal, "ann", "decline")
        return (await get_match(app.runner, proposal.replace("p-", "m-"), lambda view: view, player=True)).body

    assert b"no match is called" in ask(look, None, DUEL)


def test_who_did_not_answer_is_told_after_a_restart_too(tmp_path: Path) -> None:
    async def play(client: httpx.AsyncClient, _: App) -> Any:
        ticket = await party(client, "brief", "ann")
        await joined(client, "brief", "ben")
        proposal = await proposed(client, ticket)
        await answer(client, proposal, "ben", "accept")

        async def over() -> Any:
            return (await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["status"] == "cancelled"

        await until(over, "the end of the ready check")
        return proposal

    proposal = ask(play, SqliteJournal(tmp_path / "em.db"), BRIEF)

    async def later(client: httpx.AsyncClient, _: App) -> Any:
        await joined(client, "brief", "cat")

        async def told() -> Any:
            found = await rows(client, "brief")
            return found.get(proposal)

        return await until(told, "the wave"), await refused(client, proposal)

    row, why = ask(later, SqliteJournal(tmp_path / "em.db"), BRIEF)
    assert row == (None, "ann did not answer in time")
    assert re.search(rf"{proposal} of brief, wave \d: ann did not answer in time$", why)
