"""Venues under a matcher that has words of its own on where to play: the ladder, over HTTP."""

import asyncio
from typing import Any

import httpx

from evenmatch import config
from evenmatch.storage.memory import MemoryJournal

from .inside import app_over, living, until

QUEUES = """
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
