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
import time
import uuid
from collections.abc import Callable, Collection
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
from .group import in_words
from .lanes import Lanes
from .mailbox import Unavailable
from .node_metrics import NodeMetrics
from .served import Why, in_one_line, why_not
from .spells import Spells
from .tenure import Tenure

log = structlog.get_logger("evenmatch.node")

_SAID_EVERY_S: Final = 2.0
_AGAIN_S: Final = 0.5
"""It looks round as often while the database fails, or lanes are being opened: then readiness hangs on it."""
_READ_S: Final = 1.0
"""Who names a queue that is not known waits so long until all is read that was written."""
_HEARD_S: Final = 0.5
_STARTING: Final = "starting"
_NOT_OPEN: Final = "nothing was changed: this may be in a lane that cannot be seen from here yet, ask again ({})"
_NOT_ASKED: Final = Unavailable("journal_unavailable", "nothing was changed: the journal's database cannot be used now")
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
        named: Collection[str],
        version: str,
    ) -> None:
        """`place`: the database's URL and what it is called. The three functions make what serves, and what owns.

        `named`: the lanes that its queues.toml has queues for.
        """
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
        self.candidacy = Candidacy(self.id, Line(*place), take, named) if role != "api" else None
        self._ending = threading.Event()
        self._listening = threading.Thread(target=self._listen, name="ear", daemon=True)
        self._saying: asyncio.Task[None] | None = None
        self.trouble: str | None = _STARTING
        """Why the database could not be asked, the last time."""
        self._rows: list[LaneRow] = []
        """The lanes, as of the last look."""
        self._looked_s = 0.0
        """When the last look began."""
        self._turn = asyncio.Lock()
        self._begun = False
        """It has said what it is since it had its share of the lanes."""
        self._complete = False
        """Once all lanes that there were could be asked; one that comes later stops nobody."""
        self._unfollowed = Spells(log, "a lane cannot be followed yet", "a lane is followed at last")
        if role != "worker":
            self._rows = lanes(self._line)
            self.lanes = Lanes({row.journal: self._app(row) for row in self._rows}, declared(self._line))
            self.lanes.missing = self.missing
            self.lanes.first.served.beside = self.counted
            self.lanes.first.served.held_up = self._held_up
        if self.forwarder is not None:
            self.forwarder.noted = self.metrics.forwarded

    def _app(self, row: LaneRow) -> App:
        assert self.forwarder is not None
        follower = self._follow(row)
        forwarder = self.forwarder
        follower.errand = lambda errand: forwarder.send(row.journal, errand)
        follower.silent = lambda: row.journal in forwarder.silent
        follower.owned, follower.late = not row.free, self._complete
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
        return not self.hindrances()

    def hindrances(self) -> list[Why]:
        """Why it cannot, lane by lane."""
        return self._held_up() if self.lanes is None else self.lanes.first.served.hindrances()

    def _held_up(self) -> list[Why]:
        """What keeps it from being ready beside the lanes that it follows."""
        if self.trouble is not None or not self._has_looked:
            return [("", self.trouble or _STARTING)]
        found = [] if self.candidacy is None else list(self.candidacy.untaken.now.items())
        found += [(self._called(lane), why_not(tenure.owner)) for lane, tenure in self._tenures().items()]
        if self.lanes is not None:
            followed = {self._called(lane) for lane in self.apps}
            unseen = sorted(self._unready() - followed)
            found += [(lane, self._unfollowed.now.get(lane, "not followed yet")) for lane in unseen]
        return [why for why in found if why[1]]

    @property
    def _has_looked(self) -> bool:
        return self.candidacy is None or self.candidacy.looked

    def _tenures(self) -> dict[int, Tenure]:
        return {} if self.candidacy is None else dict(self.candidacy.tenures)

    def _unready(self) -> set[str]:
        """Lanes that clients may ask for and that are not served here: not followed, or their queues not open yet."""
        apps = self.apps
        late = {row.name for row in self._rows if row.journal not in apps or not self.followers[row.journal].opened}
        self._complete = self._complete or not late
        return set(self._unfollowed.now) if self._complete else late

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
        tenures = self._tenures()
        bells = [tenure.inbox.bell for tenure in tenures.values()]
        bells += [follower.bell for follower in list(self.followers.values())]
        bells += [] if self.forwarder is None else [self.forwarder.bell]
        for bell in bells:
            bell.heard = self._ear.hears

    async def _say_on(self) -> None:
        said_s = time.monotonic()
        times = 0
        while True:
            await asyncio.sleep(_AGAIN_S)
            waits = self.trouble is not None or not self._begun or (self.role != "worker" and bool(self._unready()))
            if time.monotonic() < said_s + (0 if waits else _SAID_EVERY_S):
                continue
            said_s, self._begun = time.monotonic(), self._has_looked
            times += 1
            if self.forwarder is not None:
                self.forwarder.ask_silent()
            try:
                async with self._turn:
                    await self._follow_new(await asyncio.to_thread(self._say, swept=times % _SWEPT_EVERY == 0))
            except Exception:  # who says nothing more counts as gone
                log.exception("a look round failed; tried again")

    async def missing(self) -> Unavailable | None:
        """Look for lanes and queues that came since; why there may be some that cannot be seen from here yet."""
        asked_s = time.monotonic()
        async with self._turn:  # whoever asks meanwhile has the same look
            if self._looked_s < asked_s:
                await self._follow_new(await asyncio.to_thread(self._say, said=False))
        if self.trouble is not None:
            return _NOT_ASKED
        await asyncio.gather(*(self._read_up(row) for row in self._rows if row.journal in self.apps))
        late = [row.name for row in self._rows if not self._is_read(row)]
        return Unavailable("no_owner", _NOT_OPEN.format(", ".join(late))) if late else None

    async def _read_up(self, row: LaneRow) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READ_S):
                await self.followers[row.journal].reach(row.last)

    def _is_read(self, row: LaneRow) -> bool:
        """Is all known here that a lane had at the last look, its queues first of all?"""
        if row.journal not in self.apps:
            return False
        return max(1, row.last) <= self.followers[row.journal].engine.state.sequence

    async def _follow_new(self, rows: list[LaneRow]) -> None:
        for row in rows:
            await self._follow_too(row)

    async def _follow_too(self, row: LaneRow) -> None:
        """A lane that was made while this node runs."""
        assert self.lanes is not None
        try:
            app = await asyncio.to_thread(self._app, row)
        except JournalError as error:
            self._unfollowed.note(error, row.name)
            return
        self._unfollowed.end(row.name)
        app.begin()
        self.lanes.add(row.journal, app)

    def _say(self, *, said: bool = True, swept: bool = False) -> list[LaneRow]:
        """Look round, and say that it is there; lanes that are new to it."""
        begun_s = time.monotonic()
        try:
            rows = self._look()
            self.trouble = None
            if said:
                announce(self._line, self.id, self.name, self.role, self.about())
            if swept:
                sweep(self._line)
        except JournalError as error:
            self.trouble = in_words(error)
            return []
        finally:
            self._looked_s = begun_s
        return [row for row in rows if row.journal not in self.followers] if self.role != "worker" else []

    def _look(self) -> list[LaneRow]:
        """Which lanes there are, who owns them, and which queues are split."""
        rows = lanes(self._line)
        self._rows = rows  # before anybody hears of an owner: whoever owns one lane has made them all
        self._names = {row.journal: row.name for row in rows}
        for row in rows:
            if row.journal in self.followers:
                self.followers[row.journal].owned = not row.free
        if self.lanes is not None:
            self._look_at_splits(self.lanes)
        return rows

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
        tenures = self._tenures()
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
        tenures, hindrances = self._tenures(), self.hindrances()
        return {
            "version": self.version,
            "address": self.address,
            "owns": sorted(tenures),
            "follows": {str(lane): follower.engine.state.sequence for lane, follower in self.followers.items()},
            "behind_s": {str(lane): round(follower.behind_s, 3) for lane, follower in self.followers.items()},
            "sockets": sum(app.hub.open for app in self.apps.values()),
            "ready": not hindrances,
            "trouble": in_one_line(hindrances),
        }
