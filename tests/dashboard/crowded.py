"""A server with the demonstration's crowd, and the names of things to look at."""

import asyncio
import threading
from pathlib import Path
from typing import Any, Final

from evenmatch.client import Client
from evenmatch.demo.crowd import Crowd

from ..service.harness import Server, eventually, queue

QUEUES: Final = (Path(__file__).parents[2] / "src/evenmatch/demo/queues.toml").read_text()
QUIET: Final = queue("quiet", size=100, timeout_s=None)
"""A queue beside the crowd's, in which nobody is matched."""
WAVES: Final = {
    "clans": "sanction score",
    "duel": "buckets apart",
    "lobby": "iteration",
    "sessions": "leader",
    "sides": "8. clean up",
    "squads": "players seated at most",
}
"""Queue -> words that only a wave of its matcher has."""


class Crowded:
    """The server and its crowd."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.waiting = server.join("quiet", "ann")["id"]
        self.cancelled = server.join("quiet", "ben")["id"]
        assert server.http.delete(f"/v1/tickets/{self.cancelled}").status_code in (200, 204)
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._crowd()), daemon=True)
        self.thread.start()
        assert self.ready.wait(60)

    async def _crowd(self) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        async with Client(self.server.url) as client:
            playing = asyncio.create_task(Crowd(client, pace=1.5).play())
            await self.stop.wait()
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)

    def close(self) -> None:
        """Let everybody go home."""
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(60)

    def ask(self, path: str) -> Any:
        """What the server answers; None = nothing yet."""
        answer = self.server.http.get(path)
        return answer.json() if answer.status_code == 200 else None

    def waves(self, name: str) -> list[dict[str, Any]]:
        """Past waves, newest first."""
        answer = self.ask(f"/v1/queues/{name}/waves")
        return [] if answer is None else list(answer["waves"])

    def leaders(self, name: str) -> list[dict[str, Any]]:
        """A leaderboard."""
        answer = self.ask(f"/v1/queues/{name}/leaderboard")
        return [] if answer is None else list(answer["leaders"])

    def rated(self, name: str) -> tuple[str, Any]:
        """A player who has a rating, and the match that gave it."""
        player = str(eventually(lambda: self.leaders(name), f"ratings of {name}")[0]["player"])
        (result, *_) = self.ask(f"/v1/players/{player}/history")["history"]
        return player, self.ask(f"/v1/matches/{result['match']}")["match"]

    def views(self) -> dict[str, tuple[str, str]]:
        """Name -> address of each view, and words that it shows."""
        past = {name: eventually(lambda name=name: self.waves(name), f"a wave of {name}") for name in WAVES}  # type: ignore[misc]
        rated, match = self.rated("duel")
        _, placed = self.rated("squads")
        return {
            "overview": ("", "tickets wait"),
            **{f"queue-{name}": (f"queue/{name}", "Wait of the matched") for name in WAVES},
            "queue-quiet": ("queue/quiet", "Nothing yet in this time."),
            "waves": ("queue/duel/waves", "A wave is recorded if it matched somebody"),
            **{
                f"wave-{name}": (f"queue/{name}/wave/{past[name][0]['number']}", words) for name, words in WAVES.items()
            },
            "ticket-waiting": (f"ticket/{self.waiting}", "Why it waits"),
            "ticket-cancelled": (f"ticket/{self.cancelled}", "it left the queue."),
            "ticket-matched": (f"ticket/{match['teams'][0]['tickets'][0]['id']}", "It joined duel"),
            "player": (f"player/{rated}", "What each result did"),
            "match": (f"match/{placed['id']}", "for that player"),
            "match-duel": (f"match/{match['id']}", "rank 1"),
            "operate-without-key": ("queue/duel/operate", "An operator's key is needed"),
            "nowhere": ("nowhere", "There is no such view."),
        }
