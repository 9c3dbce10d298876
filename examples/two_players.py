"""Two players join a running server, accept what is proposed to them, and print their match.

make serve                                    (in another terminal)
.venv/bin/python examples/two_players.py      [http://127.0.0.1:8750]
"""

import asyncio
import json
import sys
import urllib.request
import uuid
from typing import Any

from websockets.asyncio.client import connect

QUEUE = "duel"


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a JSON body; a refusal is raised as urllib.error.HTTPError."""
    headers = {"Content-Type": "application/json"}
    if url.endswith("/tickets"):
        headers["Idempotency-Key"] = uuid.uuid4().hex  # a join that is sent again must not join twice
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        content: dict[str, Any] = json.load(answer)
    return content


async def play(server: str, player: str, rating: float) -> dict[str, Any]:
    """Join, follow the ticket over its WebSocket, accept every proposal, and return the match."""
    joined = await asyncio.to_thread(
        post, f"{server}/v1/queues/{QUEUE}/tickets", {"players": [{"id": player, "rating": rating}]}
    )
    ticket = joined["ticket"]["id"]
    print(f"{player} joined {QUEUE} as {ticket}")
    async with connect(f"ws{server.removeprefix('http')}/v1/tickets/{ticket}/events") as socket:
        async for text in socket:
            event = json.loads(text)
            if event["type"] == "proposed":
                print(f"{player} accepts {event['proposal']['id']}")
                await asyncio.to_thread(
                    post, f"{server}/v1/proposals/{event['proposal']['id']}/accept", {"player": player}
                )
            elif event["type"] == "matched":
                match: dict[str, Any] = event["match"]
                return match
            elif event["type"] in ("cancelled", "expired"):
                raise SystemExit(f"{player}: the ticket is {event['type']} ({event['cause']})")
    raise SystemExit(f"{player}: the server closed the connection; read the ticket, or come back with ?after=")


async def main(server: str) -> None:
    """Let two players meet."""
    guests = uuid.uuid4().hex[:6]  # new names every time, so that the example can be run twice at once
    ann, ben = await asyncio.gather(play(server, f"ann-{guests}", 1520), play(server, f"ben-{guests}", 1480))
    for match in {match["id"]: match for match in (ann, ben)}.values():
        teams = " vs ".join(", ".join(team["players"]) for team in match["teams"])
        print(f"{match['id']}: {teams}, quality {match['quality']:.3f}")


if __name__ == "__main__":
    where = sys.argv[1].rstrip("/") if len(sys.argv) > 1 else "http://127.0.0.1:8750"
    try:
        asyncio.run(main(where))
    except OSError as error:  # urllib's errors are OSErrors too
        sys.exit(f"no evenmatch answers at {where} ({error}): start one with `make serve`")
