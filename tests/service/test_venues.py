"""Venues under a matcher that has words of its own on where to play: the ladder, over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from evenmatch import config
from evenmatch.service.app import App
from evenmatch.storage.memory import MemoryJournal

from .callers import messages
from .inside import app_over, living, until

QUEUES = """
[queues.bare]
wave = { every_s = 0.02 }
ready_check = { timeout_s = 600 }
matcher = { name = "ladder", maps = ["Radiance"] }

[queues.plain]
wave = { every_s = 0.02 }
ready_check = { timeout_s = 600 }

[queues.asked]
wave = { every_s = 0.02 }
ready_check = { timeout_s = 600 }
match = { runs_s = 600 }

[queues.asked.venue]
maps = { Radiance = 1 }
channels = 3

[queues.ladder]
wave = { every_s = 0.02 }
matcher = { name = "ladder" }

[queues.ladder.venue]
maps = { Radiance = 1, Polypoid = 1 }
regions = ["EU", "US"]
latency_max_ms = 80
channels = 3
"""
NEAR, FAR = 20, 150


async def _join(client: httpx.AsyncClient, player: str, side: str, rating: float, region: str) -> str:
    latencies = {name: NEAR if name == region else FAR for name in ("EU", "US")}
    brings = {"id": player, "ratings": {side: rating}, "latencies": latencies, "vetoed_maps": ["Polypoid"]}
    answer = await client.post("/v1/queues/ladder/tickets", json={"players": [brings]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"]["id"])


def test_the_ladder_pairs_those_who_share_a_region_and_the_venue_says_where() -> None:
    async def story() -> None:
        async with living(app_over(MemoryJournal(), *config.parse(QUEUES, "queues.toml"))) as client:
            # The nearest in rating are an ocean apart: ann and ben, cat and dan.
            ann = await _join(client, "ann", "bw", 1500, "EU")
            await _join(client, "ben", "sc2", 1500, "US")
            cat = await _join(client, "cat", "bw", 1520, "US")
            await _join(client, "dan", "sc2", 1520, "EU")

            async def match_of(ticket: str) -> Any:
                return (await client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["match"]

            for ticket, other, region in ((ann, "dan", "EU"), (cat, "ben", "US")):
                match = await until(lambda ticket=ticket: match_of(ticket), "a match")  # type: ignore[misc]
                assert other in [player for team in match["teams"] for player in team["players"]]
                venue = match["details"]["venue"]
                assert (venue["region"], venue["map"]) == (region, "Radiance")
                assert venue["why"] == {"map": "drawn", "vetoes": 0, "region": "latency", "worst_ms": float(NEAR)}
                assert venue["channel"]
                # The ladder has words of its own for these; there is one answer to where a match is played.
                assert not {"map", "server", "channel"} & set(match["details"])

    asyncio.run(story())


class Table:
    """A server in this process, with players who join one queue."""

    def __init__(self, client: httpx.AsyncClient, app: App, queue: str) -> None:
        self.client, self.app, self.queue = client, app, queue

    async def join(self, player: str, **brings: Any) -> str:
        body = {"players": [{"id": player} | brings]}
        answer = await self.client.post(f"/v1/queues/{self.queue}/tickets", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["ticket"]["id"])

    async def proposal(self, ticket: str) -> Any:
        async def look() -> Any:
            return (await self.client.get(f"/v1/tickets/{ticket}")).json()["ticket"]["proposal"]

        return await until(look, "a proposal")

    async def said(self, ticket: str) -> Any:
        """The proposal of the last `proposed` that the ticket heard."""
        story = await messages(self.app, ticket, "proposed")
        return story[-1]["proposal"]


def tell(queue: str, story: Callable[[Table], Awaitable[None]]) -> None:
    async def run() -> None:
        app = app_over(MemoryJournal(), *config.parse(QUEUES, "queues.toml"))
        async with living(app) as client:
            await story(Table(client, app, queue))

    asyncio.run(run())


def test_players_know_the_venue_before_they_accept_and_the_match_is_played_there() -> None:
    async def story(table: Table) -> None:
        ann, _ = await table.join("ann"), await table.join("ben")
        proposal = await table.proposal(ann)
        assert proposal["venue"] == {"map": "Radiance", "channel": "channel01", "why": {"map": "drawn", "vetoes": 0}}
        assert (await table.said(ann))["venue"] == proposal["venue"]
        for player in ("ann", "ben"):
            await table.client.post(f"/v1/proposals/{proposal['id']}/accept", json={"player": player})
        match = (await table.client.get(f"/v1/tickets/{ann}")).json()["ticket"]["match"]
        assert match["details"]["venue"] == proposal["venue"]
        # Who is invited to it while it runs knows where it is, too.
        place = {"places": [{"team": 1, "instead_of": "ben"}]}
        asked = await table.client.post(f"/v1/matches/{match['id']}/backfill", json=place)
        assert asked.status_code < 300, asked.text
        cat = await table.join("cat")
        assert (await table.proposal(cat))["venue"] == proposal["venue"]
        said = await table.said(cat)
        assert (said["joins"], said["venue"]) == (match["id"], proposal["venue"])

    tell("asked", story)


def test_without_a_venue_the_matchers_words_are_told() -> None:
    async def story(table: Table) -> None:
        ann = await table.join("ann", ratings={"bw": 1500})
        await table.join("ben", ratings={"sc2": 1500})
        venue = (await table.proposal(ann))["venue"]
        assert venue["map"] == "Radiance"
        assert set(venue) <= {"map", "server", "channel"}
        assert (await table.said(ann))["venue"] == venue

    tell("bare", story)


def test_where_nobody_says_where_there_is_no_venue() -> None:
    async def story(table: Table) -> None:
        ann, _ = await table.join("ann"), await table.join("ben")
        assert "venue" not in await table.proposal(ann)
        assert "venue" not in await table.said(ann)

    tell("plain", story)
