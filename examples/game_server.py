"""A game server: it confirms that matches start, plays them, and reports how they ended.

make serve ARGS="--config examples/ladder.toml"      (in another terminal)
.venv/bin/python examples/game_server.py             [http://127.0.0.1:8750]

`Host` hears of a match by `allocate`, tries to start it, and tells evenmatch either way. Who calls `allocate` is left
open: here it is the backend, which follows the tickets of its own players; it can as well be whatever receives an order
for a server over HTTP.
"""

import asyncio
import sys
import uuid
from typing import Any

from evenmatch.client import Client, ClientError

QUEUE = "arena"


class Host:
    """One machine with room for so many games at a time."""

    def __init__(self, client: Client, room: int) -> None:
        self.client, self.room = client, room
        self.known: dict[str, asyncio.Task[None]] = {}
        self.results: dict[str, dict[str, Any]] = {}

    def allocate(self, match: dict[str, Any]) -> None:
        """Take a match on; the same one twice is one game."""
        if match["id"] not in self.known:
            self.known[match["id"]] = asyncio.create_task(self.run(match))

    async def run(self, match: dict[str, Any]) -> None:
        """Start a match, play it and report it; or say that there is no room, and everybody waits again."""
        if self.room == 0:
            print(f"{match['id']}: no room")
            self.room += 1  # a game is over by the time they come back
            await self.client.failed(match["id"], "no room")
            return
        self.room -= 1
        await self.client.started(match["id"])
        print(f"{match['id']}: started")
        scores = [sum(map(len, team["players"])) for team in match["teams"]]  # a game of longer names
        self.results[match["id"]] = await self.client.report(match["id"], scores=scores)
        print(f"{match['id']}: over, {' : '.join(map(str, scores))}")
        self.room += 1


async def follow(client: Client, host: Host, player: str) -> str:
    """The backend's part: join for a player and hand every match to the host; returns how it ended."""
    ticket = await client.join(QUEUE, player)
    async for event in client.watch(ticket.id):
        if event.type == "starting" and event.match:
            host.allocate(event.match)
        elif event.type == "requeued":
            print(f"{player} waits again: {event.cause}")
        elif event.type == "matched" and event.match:
            return str(event.match["id"])
        elif event.is_last:
            raise SystemExit(f"{player}: {event.type} ({event.cause})")
    raise SystemExit(f"{player}: the story ended without a match")


async def main(server: str) -> None:
    """Host two players, the first time without room for them."""
    guests = uuid.uuid4().hex[:6]
    async with Client(server, patience_s=5) as client:
        host = Host(client, room=0)
        matches = await asyncio.gather(
            follow(client, host, f"ann-{guests}"), follow(client, host, f"benjamin-{guests}")
        )
        await asyncio.gather(*host.known.values())
        for match in sorted(set(matches)):
            for team in host.results[match]["teams"]:
                for player in team["players"]:
                    print(f"{player['id']}: {player['before']:.0f} -> {player['after']:.0f}")


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8750"
    try:
        asyncio.run(main(where))
    except ClientError as error:
        sys.exit(f'{error}: start a server with `make serve ARGS="--config examples/ladder.toml"`')
