"""One process of a cluster: what it does by its role, and what it says of itself.

    role     serves clients (followers, forwarding)     owns lanes (candidacy)
    api      yes                                        no
    worker   health and metrics only                    yes
    all      yes                                        yes

A thread listens for NOTIFY and wakes whoever it concerns; once in two seconds the node says that it is there, and looks
which lanes there are, whether somebody owns them, and which queues are split.
"""

import asyncio
import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Callable
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry

from evenmatch.errors import JournalDamaged, JournalError
from evenmatch.settings import Settings
from evenmatch.storage.postgres_inbox import ASKED, MOVED, Desk, Ear, sweep
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.postgres_nodes import LaneRow, announce, lanes, leave
from evenmatch.storage.postgres_shards import declared

from .app import App
from .candidacy import Candidacy
from .follower import Follower
from .forwarding import Forwarder
from .lanes import Lanes
from .node_metrics import NodeMetrics
from .tenure import Tenure

log = structlog.get_logger("evenmatch.node")

_SAID_EVERY_S: Final = 2.0
_HEARD_S: Final = 0.5
_SWEPT_EVERY: Final = 30
"""Every so many times that it says it is there, a node sweeps old answers away."""


class Node:
    """One process of a cluster."""

    def __init__(
        self,
        role: str,
        settings: Settings,
        place: tuple[str, str],
        *,
        follow: Callable[[LaneRow], Follower],
        serve: Callable[[Follower, Forwarder], App],
        take: Callable[[LaneRow, Callable[[str], None]], Tenure],
        version: str,
    ) -> None:
        """`place`: the database's URL and what it is called. The three functions make what serves, and what owns."""
        self.role, self.settings, self.version = role, settings, version
        self.id = uuid.uuid4().hex
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.address = ""
        self.metrics = NodeMetrics(role, self.name, version)
        self._names: dict[int, str] = {}
        """Lane -> its name."""
        self._follow, self._serve = follow, serve
        self._line = Line(*place)
        asked, moved = ([ASKED] if role != "api" else []), ([MOVED] if role != "worker" else [])
        self._ear = Ear(*place, [*asked, *moved])
        self.lanes: Lanes | None = None
        """What clients see, unless it serves none."""
        self.followers: dict[int, Follower] = {}
        self.forwarder = Forwarder(Desk(*place, self.id), settings) if role != "worker" else None
        self.candidacy = Candidacy(self.id, Line(*place), take) if role != "api" else None
        self._ending = threading.Event()
        self._listening = threading.Thread(target=self._listen, name="ear", daemon=True)
        self._saying: asyncio.Task[None] | None = None
        self.unowned: list[str] = []
        """Lanes that nobody owns, as of the last look."""
        self.trouble: str | None = "it has just begun"
        """Why the database could not be asked, the last time."""
        if role != "worker":
            self.lanes = Lanes({row.journal: self._app(row) for row in lanes(self._line)}, declared(self._line))
            self.lanes.first.served.beside = self.counted
        if self.forwarder is not None:
            self.forwarder.noted = self.metrics.forwarded

    def _app(self, row: LaneRow) -> App:
        assert self.forwarder is not None
        follower = self._follow(row)
        forwarder = self.forwarder
        follower.errand = lambda errand: forwarder.send(row.journal, errand)
        follower.silent = lambda: row.journal in forwarder.silent
        self.followers[row.journal] = follower
        return self._serve(follower, forwarder)

    @property
    def apps(self) -> dict[int, App]:
        """What serves each lane."""
        return {} if self.lanes is None else self.lanes.apps

    async def begin(self) -> None:
        """Go to work; on the event loop."""
        if self.forwarder is not None:
            self.forwarder.start()
        for app in self.apps.values():
            app.begin()
        self._listening.start()
        await asyncio.to_thread(self._say)  # so that others count this worker before it looks for its share
        if self.candidacy is not None:
            self.candidacy.start()
        self._saying = asyncio.create_task(self._say_on())

    def close_lines(self) -> None:
        """Tell everyone who listens that it stops."""
        for app in self.apps.values():
            app.hub.close()

    async def end(self) -> None:
        """Answer what is under way, give lanes back, and leave."""
        self.close_lines()
        if self.forwarder is not None:
            await self.forwarder.close()
        if self.candidacy is not None:
            await self.candidacy.close()
        for app in self.apps.values():
            await app.end()
        if self._saying is not None:
            self._saying.cancel()
        self._ending.set()
        await asyncio.to_thread(self._listening.join)
        with contextlib.suppress(JournalError):
            await asyncio.to_thread(leave, self._line, self.id)
        self._line.close()

    @property
    def ready(self) -> bool:
        """Can it do what its role asks for?"""
        if self.trouble is not None:
            return False
        if self.role == "worker":
            return self.candidacy is not None and all(t.owner.ready for t in self.candidacy.tenures.values())
        return all(follower.ready and not follower.full() for follower in self.followers.values())

    def _listen(self) -> None:
        while not self._ending.is_set():
            for channel, lane in self._ear.listen(_HEARD_S):
                if channel == ASKED:
                    tenure = None if self.candidacy is None else self.candidacy.tenures.get(lane)
                    if tenure is not None:
                        tenure.inbox.bell.ring()
                elif self.forwarder is not None:
                    follower = self.followers.get(lane)
                    if follower is None or follower.awaited:
                        self.forwarder.bell.ring()
                    if follower is not None:
                        follower.bell.ring()
            self._say_whether_heard()
        self._ear.close()

    def _say_whether_heard(self) -> None:
        """Who will be rung for may look less often by itself."""
        tenures = {} if self.candidacy is None else dict(self.candidacy.tenures)
        bells = [tenure.inbox.bell for tenure in tenures.values()]
        bells += [follower.bell for follower in list(self.followers.values())]
        bells += [] if self.forwarder is None else [self.forwarder.bell]
        for bell in bells:
            bell.heard = self._ear.hears

    async def _say_on(self) -> None:
        times = 0
        while True:
            await asyncio.sleep(_SAID_EVERY_S)
            times += 1
            if self.forwarder is not None:
                self.forwarder.ask_silent()
            for row in await asyncio.to_thread(self._say, swept=times % _SWEPT_EVERY == 0):
                await self._follow_too(row)

    async def _follow_too(self, row: LaneRow) -> None:
        """A lane that was made while this node runs."""
        assert self.lanes is not None
        try:
            app = await asyncio.to_thread(self._app, row)
        except JournalError as error:
            log.error("a lane cannot be followed yet", lane=row.name, error=str(error))
            return
        app.begin()
        self.lanes.add(row.journal, app)

    def _say(self, swept: bool = False) -> list[LaneRow]:
        """Say that it is there, and look round; lanes that are new to it."""
        try:
            announce(self._line, self.id, self.name, self.role, self.about())
            rows = lanes(self._line)
            self._names = {row.journal: row.name for row in rows}
            self.unowned = [row.name for row in rows if row.free]
            for row in rows:
                if row.journal in self.followers:
                    self.followers[row.journal].owned = not row.free
            if self.lanes is not None:
                self._look_at_splits(self.lanes)
            if swept:
                sweep(self._line)
            self.trouble = None
        except JournalError as error:
            self.trouble = str(error)
            return []
        return [row for row in rows if row.journal not in self.followers] if self.role != "worker" else []

    def _look_at_splits(self, lanes: Lanes) -> None:
        try:
            found = declared(self._line)
        except JournalDamaged as error:  # what was read before it was spoilt is still good
            log.error("the split of a queue cannot be read", error=str(error))
            return
        if found != lanes.splits:
            log.info("queues are split", splits=[str(split) for split in found.values()])
            lanes.splits = found

    def counted(self) -> CollectorRegistry:
        """Its own numbers, as of now."""
        tenures = {} if self.candidacy is None else dict(self.candidacy.tenures)
        self.metrics.refresh(
            {self._called(lane): follower.lag_s for lane, follower in self.followers.items()},
            {self._called(lane): tenure.inbox.depth for lane, tenure in tenures.items()},
            0 if self.candidacy is None else self.candidacy.commit_failures,
        )
        return self.metrics.registry

    def _called(self, lane: int) -> str:
        return self._names.get(lane, str(lane))

    def about(self) -> dict[str, Any]:
        """What it says of itself."""
        tenures = {} if self.candidacy is None else dict(self.candidacy.tenures)
        return {
            "version": self.version,
            "address": self.address,
            "owns": sorted(tenures),
            "follows": {str(lane): follower.engine.state.sequence for lane, follower in self.followers.items()},
            "behind_s": {str(lane): round(follower.lag_s, 3) for lane, follower in self.followers.items()},
            "sockets": sum(app.hub.open for app in self.apps.values()),
            "ready": self.ready,
            "trouble": "" if self.ready else self._why_not(),
        }

    def _why_not(self) -> str:
        """What keeps it from being ready, as far as it is known."""
        runners = [tenure.owner for tenure in ({} if self.candidacy is None else dict(self.candidacy.tenures)).values()]
        known = [self.trouble, *(owner.trouble for owner in runners), *(one.trouble for one in self.followers.values())]
        return next((why for why in known if why), "")
