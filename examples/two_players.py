"""Two players join a running server, accept what is proposed to them, and print their match.

make serve                                    (in another terminal)
.venv/bin/python examples/two_players.py      [http://127.0.0.1:8750]
"""

import asyncio
import sys
import uuid
from typing import Any

from evenmatch.client import Client, ClientError

QUEUE = "duel"


async def play(client: Client, player: str, rating: float) -> dict[str, Any]:
    """Join, follow the ticket, accept every proposal, and return the match."""
    ticket = await client.join(QUEUE, player, rating=rating)
    print(f"{player} joined {QUEUE} as {ticket.id}")
    async for event in client.watch(ticket.id):
        if event.type == "proposed" and event.proposal:
            print(f"{player} accepts {event.proposal['id']}")
            await client.accept(event.proposal["id"], player)
        elif event.type == "matched" and event.match:
            return event.match
        elif event.is_last:
            raise SystemExit(f"{player}: the ticket is {event.type} ({event.cause})")
    raise SystemExit(f"{player}: the story ended without a match")


async def main(server: str) -> None:
    """Let two players meet."""
    guests = uuid.uuid4().hex[:6]  # new names every time, so that the example can be run twice at once
    async with Client(server, patience_s=5) as client:
        ann, ben = await asyncio.gather(play(client, f"ann-{guests}", 1520), play(client, f"ben-{guests}", 1480))
    for match in {match["id"]: match for match in (ann, ben)}.values():
        teams = " vs ".join(", ".join(team["players"]) for team in match["teams"])
        print(f"{match['id']}: {teams}, quality {match['quality']:.3f}")


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8750"
    try:
        asyncio.run(main(where))
    except ClientError as error:
        sys.exit(f"{error}: is a server there? start one with `make serve`")
