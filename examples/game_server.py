"""A game server: it is asked for a place to play over a signed webhook, plays the match, and reports how it ended.

export GAME_SERVERS_SECRET=a-secret-of-16-bytes-or-more          (in both terminals)
make serve ARGS="--config examples/game_server.toml"             (in another terminal)
.venv/bin/python examples/game_server.py                         [http://127.0.0.1:8750 [8790]]

The second number is the port that it listens on, as in game_server.toml. `Host` is the game's side; `follow` is what a
player's side does. The first request finds no room: evenmatch asks again a little later, and nobody notices.
"""

import asyncio
import hashlib
import hmac
import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evenmatch.client import Client, ClientError, SyncClient

QUEUE = "arena"


class Host:
    """One machine that plays games; evenmatch asks it for a server for each match."""

    def __init__(self, client: SyncClient, secret: bytes, port: int, room: int) -> None:
        self.client, self.secret, self.room = client, secret, room
        self.places: dict[str, dict[str, Any]] = {}
        self.games: list[threading.Thread] = []
        self.results: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = host.asked(dict(self.headers), body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.listening = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.listening.serve_forever, daemon=True).start()

    def is_ours(self, headers: dict[str, str], body: bytes) -> bool:
        """Did evenmatch send it, and just now?"""
        timestamp = headers.get("Evenmatch-Timestamp", "0")
        if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
            return False
        signed = hmac.new(self.secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(f"v1={signed}", headers.get("Evenmatch-Signature", ""))

    def asked(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        """The answer to a request; the same `Evenmatch-Id` gets the same server, however often it asks."""
        if not self.is_ours(headers, body):
            return 403, {"why": "not signed with our secret"}
        order = json.loads(body)
        with self._lock:
            if order["id"] in self.places:
                return 200, self.places[order["id"]]
            if self.room == 0:
                print(f"{order['match']}: no room yet", flush=True)
                self.room += 1  # a game is over by the time it is asked again
                return 503, {"why": "no room"}
            self.room -= 1
            place = {"address": "127.0.0.1", "port": 7777 + len(self.places), "token": uuid.uuid4().hex}
            self.places[order["id"]] = place
            game = threading.Thread(target=self.play, args=(order,))
            self.games.append(game)
            game.start()
            return 200, place

    def play(self, order: dict[str, Any]) -> None:
        """Say that it has started, play it, and report it."""
        match = order["match"]
        time.sleep(0.5)  # our answer is on its way, and so are the players
        self.client.started(match)
        print(f"{match}: started", flush=True)
        scores = [sum(map(len, team)) for team in order["teams"]]  # a game of longer names
        self.results[match] = self.client.report(match, scores=scores)
        print(f"{match}: over, {' : '.join(map(str, scores))}", flush=True)
        with self._lock:
            self.room += 1


async def follow(client: Client, player: str) -> str:
    """A player's part: join, and hear where to play; returns the match."""
    ticket = await client.join(QUEUE, player)
    match = ""
    async for event in client.watch(ticket.id):
        if event.server:
            print(f"{player} plays at {event.server['address']}:{event.server['port']}", flush=True)
        if event.match:
            match = event.match["id"]
        elif event.is_last:
            raise SystemExit(f"{player}: {event.type} ({event.cause})")
    return match


async def players(server: str) -> set[str]:
    """Two players who meet."""
    guests = uuid.uuid4().hex[:6]
    async with Client(server, patience_s=5) as client:
        return set(await asyncio.gather(follow(client, f"ann-{guests}"), follow(client, f"benjamin-{guests}")))


def main(server: str, port: int) -> None:
    """Host a match of two players."""
    secret = os.environ.get("GAME_SERVERS_SECRET", "")
    if not secret:
        sys.exit("GAME_SERVERS_SECRET is not set: give the server and this program the same one, 16 bytes or more")
    with SyncClient(server, patience_s=5) as client:
        host = Host(client, secret.encode(), port, room=0)
        matches = asyncio.run(players(server))
        for game in host.games:
            game.join()
        host.listening.shutdown()
        for match in sorted(matches):
            for team in host.results[match]["teams"]:
                for player in team["players"]:
                    print(f"{player['id']}: {player['before']:.0f} -> {player['after']:.0f}")


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8750"
    try:
        main(where, int(sys.argv[2]) if len(sys.argv) > 2 else 8790)
    except ClientError as error:
        sys.exit(f'{error}: start a server with `make serve ARGS="--config examples/game_server.toml"`')
