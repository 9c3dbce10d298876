"""Everything between a server and its database goes wrong under load, at random instants; nothing may be lost.

    players ── front (a proxy) ──> server ── network (a proxy) ──> PostgreSQL
                  │ leads to whichever       │ cut, silent, losing
                  └ server serves now        └ killed, paused, replaced in its sleep

1. Which fault comes when is drawn from a seed; what is being done at that instant is not.
2. After each of them players must get on by themselves, before the next one comes.
3. The audit is that of `crash`: all that was acknowledged, I1 to I11, and the journal's hash.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from evenmatch.errors import ConfigError
from evenmatch.open_files import make_room
from evenmatch.storage.places import in_database, shown

from .book import refuse_used
from .crash import Crowds, DrillFailed, Server, audited
from .proxy import Proxy

_INSTANT_S: Final = 1.0
"""A fault comes within so long."""
_PAUSE_S: Final = 3.0
_SILENT_S: Final = 12.0
"""So long at most: longer than a server waits for an answer."""
_LOSING_S: Final = 0.3


class Stage:
    """The servers, the network on both sides of them, and what can go wrong."""

    def __init__(self, folder: Path, db: str, players: int, chance: Random) -> None:
        host, port = _address(db)
        self._folder, self._players, self._chance = folder, players, chance
        self.network = Proxy(host, port)
        self._db = _through(db, self.network.port)
        self._servers = 0
        self.server = self._new()
        self.front = Proxy(*_address(self.server.url))
        self.url = f"http://127.0.0.1:{self.front.port}"

    def _new(self) -> Server:
        self._servers += 1
        folder = self._folder / f"server-{self._servers}"
        folder.mkdir(parents=True)
        return Server(folder, self._players, self._db)

    def kill(self) -> None:
        """The server is killed, and started again."""
        self.server.kill()
        self.server.start()

    def cut(self) -> None:
        """All connections to the database are reset."""
        self.network.cut()

    def lose(self) -> None:
        """The database gets what it is sent, its answers get lost; then the connections are reset."""
        self.network.losing = True
        time.sleep(self._chance.uniform(0, _LOSING_S))
        self.network.cut()
        self.network.losing = False

    def silence(self) -> None:
        """Nothing goes to the database or comes from it, and no connection ends."""
        with self.network.hole():
            time.sleep(self._chance.uniform(0, _SILENT_S))

    def pause(self) -> None:
        """The server is stopped for a while, and goes on."""
        self.server.pause()
        time.sleep(self._chance.uniform(0, _PAUSE_S))
        self.server.wake()

    def replace(self) -> None:
        """The server is stopped until its lease has run out and another serves; then it wakes up, and must end."""
        asleep, self.server = self.server, self._new()
        asleep.pause()
        try:
            self.server.succeed()
            self.front.target = _address(self.server.url)
            self.front.cut()
        finally:
            asleep.wake()
            ended = asleep.ended()
            asleep.kill()
        if not ended:
            raise DrillFailed("a server that was replaced in its sleep goes on for ever")

    def close(self) -> None:
        """End everything."""
        self.server.kill()
        self.front.close()
        self.network.close()


KINDS: Final[dict[str, Callable[[Stage], None]]] = {
    "kill": Stage.kill,
    "cut": Stage.cut,
    "lose": Stage.lose,
    "silence": Stage.silence,
    "pause": Stage.pause,
    "replace": Stage.replace,
}


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 5432


def _through(db: str, port: int) -> str:
    parts = urlsplit(db)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))


def _check(db: str, players: int, faults: int, kinds: list[str], processes: int) -> None:
    if players < 2 or faults < 0 or not 1 <= processes <= players // 2:
        raise ConfigError(
            f"{players} players, {faults} faults, {processes} processes: "
            "give at least 2 players, 0 faults or more, and at least 2 players a process"
        )
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ConfigError(f"{', '.join(unknown) or 'nothing'} is not a kind of fault: use {', '.join(KINDS)}")
    if not in_database(db):
        raise ConfigError(f"{db} is not a database: these faults need postgresql://..., `drill crash` a file")
    netloc = urlsplit(db).netloc.rpartition("@")[2]
    if not netloc or "," in netloc or netloc.startswith(":"):
        raise ConfigError(f"{shown(db)} must name one host, such as postgresql://user@host:5432/database")


def faults(
    folder: Path,
    db: str,
    players: int = 60,
    faults: int = 6,
    seed: int = 0,
    processes: int = 1,
    kinds: Iterable[str] = tuple(KINDS),
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Carry the drill out on an empty database; returns what was seen, and under `faults` all that is wrong."""
    wanted = list(kinds)
    _check(db, players, faults, wanted, processes)
    make_room(players)
    refuse_used(db)
    chance = Random(seed)
    drawn = [wanted[place % len(wanted)] for place in range(faults)]
    chance.shuffle(drawn)
    started = time.monotonic()
    stage = Stage(folder, db, players, chance)
    crowds = None
    healed: list[dict[str, Any]] = []
    try:
        stage.server.start()
        crowds = Crowds(folder, stage.url, players, processes, seed)
        tell(f"{players:,} players join")
        crowds.until(lambda now: now.joins >= players, "a join of every player")
        for place, kind in enumerate(drawn):
            time.sleep(chance.uniform(0, _INSTANT_S))  # the instant is what is being tried
            tell(f"fault {place + 1} of {faults}: {kind}")
            begun, before = time.monotonic(), crowds.progress().results
            KINDS[kind](stage)
            over, since = time.monotonic(), crowds.progress().results
            more = max(2, players // 50)
            crowds.until(lambda now, wanted=since + more: now.results >= wanted, "more results")  # type: ignore[misc]
            healed.append(
                {
                    "kind": kind,
                    "lasted_s": round(over - begun, 2),
                    "results_meanwhile": since - before,
                    "next_results_s": round(time.monotonic() - over, 2),
                }
            )
        tell("everybody leaves")
        log = crowds.stop()
    finally:
        if crowds is not None:
            crowds.kill()
        stage.close()
    tell("audit")
    return {
        "players": players,
        "seed": seed,
        "processes": processes,
        "seconds": round(time.monotonic() - started, 1),
        "done": healed,
        **audited(db, log),
    }
