"""Which lanes this process owns: it takes free ones up to its share, and gives back what is more than that.

    share = lanes / workers that are there, rounded up

1. Who gets a free lane is settled by its lease alone; the share only says who tries. One whose owner did not give it
   back is tried for by everybody at once, for players wait; and so is one that stays free for `LEFT_ALONE_S`: who
   should have had it may be unable to.
2. A worker with more than its share, while another has less, gives one back: it finishes what was begun, saves a
   checkpoint, and the other takes it within a second. Nothing is lost, requests wait in the inbox meanwhile. Who has
   how many is told by the leases, not by what processes said of themselves a moment ago: by that one too many went.
3. A lane is given back for somebody else only if that one has spoken since it was seen to have so few: one that has
   just died has few lanes as well.
4. A lane that nobody has opened yet is for those whose queues.toml has queues for it: another would open it without.
5. A worker that ends gives all of them back. One that dies leaves leases that are free as soon as the database has
   noticed the end of its sessions, or after ten seconds.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

import structlog

from evenmatch.errors import JournalBusy, JournalError
from evenmatch.storage.postgres_line import Line
from evenmatch.storage.postgres_nodes import LaneRow, NodeRow, lanes, nodes

from .spells import Spells
from .tenure import Tenure

log = structlog.get_logger("evenmatch.candidacy")

WORKERS: Final = ("all", "worker")
_LOOK_S: Final = 0.5
LEFT_ALONE_S: Final = 5.0
_RESTS_S: Final = 5.0
"""A lane that was given back is not taken again for so long."""


def wanted(
    own: set[int],
    rows: list[LaneRow],
    workers: list[NodeRow],
    left_alone: set[int],
    barred: Collection[int] = (),
) -> list[int]:
    """The lanes to try for, in order; never those that are `barred`."""
    share = math.ceil(len(rows) / max(1, len(workers)))
    room = max(0, share - len(own))
    free = [row for row in rows if row.free and row.journal not in own and row.journal not in barred]
    beyond = [row for row in free[room:] if row.left or row.journal in left_alone]
    return [row.journal for row in free[:room] + beyond]


def closed(rows: list[LaneRow], named: Collection[str]) -> set[int]:
    """The lanes that nobody has opened yet and that this worker has no queues for; `named`: those that it has some for.

    Main is everybody's: it may well have none.
    """
    return {row.journal for row in rows if not row.last and row.journal > 1 and row.name not in named}


def surplus(own: set[int], rows: list[LaneRow], workers: list[NodeRow], node: str) -> int | None:
    """A lane to give back, or None."""
    share = math.ceil(len(rows) / max(1, len(workers)))
    held = Counter(row.owner for row in rows)
    others = [held[worker.called] for worker in workers if worker.node != node]
    if not own or not others or len(own) < max(others):  # of several the one that has most gives
        return None
    poorest = min(others) + held[""]  # what is free is on its way to whoever has least
    return max(own) if (len(own) > share or len(own) > poorest + 1) and poorest < share else None


class Count(NamedTuple):
    """How many lanes a worker has, and since when it was seen to have as many."""

    lanes: int
    since_s: float


def counts(before: Mapping[str, Count], rows: list[LaneRow], workers: list[NodeRow], now_s: float) -> dict[str, Count]:
    """Node -> its count, as of now; what has not changed is as old as it was `before`."""
    held = Counter(row.owner for row in rows)
    fresh = {one.node: Count(held[one.called], now_s) for one in workers}
    return {
        node: before[node] if node in before and before[node].lanes == count.lanes else count
        for node, count in fresh.items()
    }


class Candidacy:
    """The lanes that this process owns, and its tries for others."""

    def __init__(
        self,
        node: str,
        line: Line,
        take: Callable[[LaneRow, Callable[[str], None]], Tenure],
        named: Collection[str],
    ) -> None:
        """`take` gets a lane's lease and reads its journal, in any thread; JournalBusy where another was faster.

        `named`: the lanes that its queues.toml has queues for.
        """
        self._node, self._line, self._take, self._named = node, line, take, named
        self.tenures: dict[int, Tenure] = {}
        self.untaken = Spells(log, "a lane could not be taken", "a lane that could not be taken has an owner again")
        self._blind = Spells(log, "lanes cannot be looked at", "lanes are looked at again")
        self._stumbled = ""
        """Why the last look failed, where that is our mistake."""
        self.looked = False
        """Has it tried for the lanes that there were when it began?"""
        self._free_since_s: dict[int, float] = {}
        self._resting: dict[int, float] = {}
        self._counts: dict[str, Count] = {}
        self._failed_before = 0
        self._turn = asyncio.Lock()
        self._ending = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; on the event loop."""
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Give back all lanes."""
        self._ending = True
        async with self._turn:
            for lane in list(self.tenures):
                await self._give_back(lane)
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        while not self._ending:
            try:
                rows, there = await asyncio.to_thread(lambda: (lanes(self._line), nodes(self._line)))
                async with self._turn:
                    if not self._ending:
                        await self._look(rows, [row for row in there if row.alive and row.role in WORKERS])
                        self.looked = True
                self._blind.end()
                self._stumbled = ""
            except JournalError as error:
                self._blind.note(error)
            except Exception as error:
                if repr(error) != self._stumbled:
                    log.exception("a look at the lanes failed; tried again")
                self._stumbled = repr(error)
            await asyncio.sleep(_LOOK_S)

    async def _look(self, rows: list[LaneRow], workers: list[NodeRow]) -> None:
        now_s = time.monotonic()
        free = {row.journal for row in rows if row.free and row.journal not in self.tenures}
        self._free_since_s = {lane: self._free_since_s.get(lane, now_s) for lane in free}
        left_alone = {lane for lane, since_s in self._free_since_s.items() if now_s - since_s > LEFT_ALONE_S}
        self._resting = {lane: until_s for lane, until_s in self._resting.items() if until_s > now_s}
        for name in {row.name for row in rows if row.journal not in free} & self.untaken.now.keys():
            self.untaken.end(name)
        by_lane = {row.journal: row for row in rows}
        for lane in wanted(set(self.tenures), rows, workers, left_alone, closed(rows, self._named)):
            if lane not in self._resting or lane in left_alone:
                await self._try(by_lane[lane])
        self._counts = counts(self._counts, rows, workers, now_s)
        there = [
            one for one in workers if one.node == self._node or one.seen_s < now_s - self._counts[one.node].since_s
        ]
        given = surplus(set(self.tenures), rows, there, self._node)
        if given is not None:
            self._resting[given] = now_s + _RESTS_S
            await self._give_back(given)

    async def _try(self, row: LaneRow) -> None:
        loop = asyncio.get_running_loop()

        def lost(why: str) -> None:
            loop.call_soon_threadsafe(self._lost, row.journal, why)

        try:
            tenure = await asyncio.to_thread(self._take, row, lost)
        except JournalBusy:
            return  # another was faster
        except JournalError as error:
            self.untaken.note(error, row.name)
            return
        self.tenures[row.journal] = tenure
        self.untaken.end(row.name)
        tenure.begin()

    def _lost(self, lane: int, why: str) -> None:
        if lane in self.tenures:
            log.error("a lane has another owner", lane=lane, why=why)
            self._losing = asyncio.ensure_future(self._let_go(lane))

    async def _let_go(self, lane: int) -> None:
        async with self._turn:
            await self._give_back(lane)

    async def _give_back(self, lane: int) -> None:
        tenure = self.tenures.pop(lane, None)
        if tenure is not None:
            await tenure.end()
            self._failed_before += tenure.owner.metrics.commit_failures

    @property
    def commit_failures(self) -> int:
        """Commits of this process that failed, in all lanes it has owned so far."""
        return self._failed_before + sum(one.owner.metrics.commit_failures for one in self.tenures.values())
