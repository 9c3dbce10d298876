"""A ladder for a chat, in the shape of a Discord bot: /join, /leave, /report won|lost|draw, /top.

make serve ARGS="--config examples/ladder.toml"      (in another terminal)
.venv/bin/python examples/ladder_bot.py              [http://127.0.0.1:8750]

`Ladder` knows no chat. A chat calls `said(who, text)` for every message and gives it a way to speak; with discord.py
that is `on_message` and `channel.send`. Here the chat is a script of lines, so that nothing else is needed to run it.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from evenmatch.client import Client, ClientError, Refused

QUEUE = "ladder"
Say = Callable[[str], Awaitable[None]]


class Ladder:
    """The bot: one ticket a player, one task that follows it."""

    def __init__(self, client: Client, say: Say) -> None:
        self.client, self.say = client, say
        self.tickets: dict[str, str] = {}
        self.playing: dict[str, tuple[str, int]] = {}
        """Player -> match, and which of its teams."""
        self.tasks: set[asyncio.Task[None]] = set()

    async def said(self, who: str, text: str) -> None:
        """Answer one message."""
        command, _, rest = text.strip().partition(" ")
        try:
            match command:
                case "/join":
                    await self.join(who)
                case "/leave":
                    await self.leave(who)
                case "/report":
                    await self.report(who, rest.strip())
                case "/top":
                    await self.top()
                case _ if command.startswith("/"):
                    await self.say(f"{who}: I know /join, /leave, /report won|lost|draw and /top")
        except Refused as refused:
            later = f"; try again in {refused.retry_after:.0f} s" if refused.retry_after else ""
            await self.say(f"{who}: {refused.detail}{later}")

    async def join(self, who: str) -> None:
        """Put a player into the queue and follow the ticket from now on."""
        if who in self.playing:
            await self.say(f"{who}: /report your match first")
            return
        ticket = await self.client.join(QUEUE, who)
        self.tickets[who] = ticket.id
        await self.say(f"{who} is looking for a game")
        task = asyncio.create_task(self.follow(who, ticket.id))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def follow(self, who: str, ticket: str) -> None:
        """Tell a player what becomes of the ticket."""
        async for event in self.client.watch(ticket):
            if event.type == "matched" and event.match:
                teams = [team["players"] for team in event.match["teams"]]
                mine = next(place for place, team in enumerate(teams) if who in team)
                self.playing[who] = (event.match["id"], mine)
                others = ", ".join(name for place, team in enumerate(teams) for name in team if place != mine)
                await self.say(f"{who}: you play {others} ({event.match['id']})")
            elif event.is_last and event.cause != "left":
                await self.say(f"{who}: you are out of the queue ({event.cause})")
        self.tickets.pop(who, None)

    async def leave(self, who: str) -> None:
        """Take a player out of the queue."""
        ticket = self.tickets.get(who)
        if ticket is None:
            await self.say(f"{who}: you are not in the queue")
            return
        await self.client.leave(ticket)
        await self.say(f"{who} has left the queue")

    async def report(self, who: str, outcome: str) -> None:
        """Note how a match of two ended; it counts once, whoever of the two says it first."""
        if who not in self.playing:
            await self.say(f"{who}: you have no match to report")
            return
        match, mine = self.playing[who]
        ranks = {"won": (1, 2), "lost": (2, 1), "draw": (1, 1)}.get(outcome)
        if ranks is None:
            await self.say(f"{who}: say /report won, /report lost or /report draw")
            return
        del self.playing[who]  # whatever comes of it, this player is free
        result = await self.client.report(match, ranks=ranks if mine == 0 else ranks[::-1])
        for team in result["teams"]:
            for player in team["players"]:
                self.playing.pop(player["id"], None)
        await self.say(f"{match}: {who} {outcome}")

    async def top(self) -> None:
        """Show the leaderboard."""
        leaders = await self.client.leaderboard(QUEUE, limit=10)
        await self.say(
            "\n".join(f"{one['place']}. {one['player']} {one['rating']:.0f}" for one in leaders) or "nobody yet"
        )

    async def close(self) -> None:
        """Follow nobody any more."""
        for task in list(self.tasks):
            task.cancel()


SCRIPT = """
ann: /join
ann: /join
ben: /join
*: play
ann: /report won
ben: /report lost
ann: /top
cat: /join
cat: /leave
cat: /report won
cat: /dance
"""


async def main(server: str) -> None:
    """Run the bot in a chat that is a script."""

    async def speak(text: str) -> None:
        print(text)

    async with Client(server, patience_s=5) as client:
        bot = Ladder(client, speak)
        for line in SCRIPT.strip().splitlines():
            who, _, text = line.partition(": ")
            if who == "*":  # the game: wait until everybody has a match
                while len(bot.playing) < len(bot.tickets) or bot.tickets:
                    await asyncio.sleep(0.05)
                continue
            print(f"<{who}> {text}")
            await bot.said(who, text)
        await bot.close()


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8750"
    try:
        asyncio.run(main(where))
    except ClientError as error:
        sys.exit(f'{error}: start a server with `make serve ARGS="--config examples/ladder.toml"`')
