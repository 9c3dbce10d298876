"""When a queue is tried, and which of its waves is in flight.

A wave exists in memory only until its plan comes back: what is recorded is its result. A crash in between loses
nothing, for nobody was told; the next wave sees the same tickets. A large plan is recorded in several events; a crash
between them loses the proposals that were not recorded yet, of which nobody was told either.

So a wave that changes nothing writes nothing, and one whose snapshot would be what the last matcher saw is not run at
all, unless the matcher said that time alone would change its answer by now.
"""

import hashlib
from collections import deque
from functools import cached_property

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Mode, QueueSpec, milliseconds
from evenmatch.domain.snapshot import Snapshot
from evenmatch.numerics.quality import rating_totals

from .freeze import Frozen, digest, freeze
from .meetings import forbidden
from .state import NEVER, QueueState, State


class Flight(msgspec.Struct, eq=False):
    """A wave whose plan has not come back yet."""

    wave: int
    seed: int
    started_ms: int
    deadline_ms: int
    frozen: Frozen
    sequence: int
    """The journal's sequence when the snapshot was taken."""
    prepared: "Recording | None" = None
    """Of a plan that was looked at before it came back (`Engine.prepare`)."""

    @property
    def snapshot(self) -> Snapshot:
        """What the matcher sees."""
        return self.frozen.snapshot


class Recording:
    """A wave whose plan is being recorded, part by part: what every part needs, and what has come of it so far."""

    def __init__(self, frozen: Frozen, plan: Plan, wrong: str | None) -> None:
        self.snapshot, self.slots = frozen.make()
        self.plan = plan
        self.wrong = wrong
        """Why it is no plan, in words; None = it is one."""
        self.next = 0
        """The first match of the plan that has not been looked at."""
        self.seated = np.zeros(len(self.snapshot), bool)
        """Rows of the snapshot that are in a proposal."""
        self.dropped = 0
        """Proposals that no longer held."""
        self.told = 0
        """Those of them that an event has told of."""

    def work_ahead(self) -> None:
        """Ask for all that is kept below."""
        _ = self.digest, self.size, self.rating_total

    @cached_property
    def digest(self) -> int:
        """Of the snapshot."""
        return digest(self.snapshot)

    @cached_property
    def size(self) -> Array:
        """int64[n]: players in each ticket."""
        return self.snapshot.size

    @cached_property
    def rating_total(self) -> Array:
        """float64[n]: the sum of each ticket's ratings."""
        return rating_totals(self.snapshot)


class Unrecorded(msgspec.Struct, frozen=True, eq=False):
    """A wave that changed nothing, and so is in no journal: kept for who asks why nobody was matched."""

    wave: int
    seed: int
    started_ms: int
    finished_ms: int
    spec: QueueSpec
    snapshot: Snapshot
    dropped: int


UNRECORDED_TICKETS = 20_000
"""Tickets of all the unrecorded waves of a queue that are kept; and waves of more are not."""
UNRECORDED_WAVES = 32


class Timetable:
    """The waves of one queue: the one in flight, and when the next is due."""

    def __init__(self) -> None:
        self.flight: Flight | None = None
        self.recording: Recording | None = None
        """Of the wave in flight, once its plan is back."""
        self.wave = 0
        """The last wave that was run; every one has its own number, so that a plan can't be taken for another's."""
        self.next_wave_ms = 0
        self.tried = -1
        """The change that the last wave had seen."""
        self.next_change_ms = NEVER
        """When time alone will change the matcher's answer."""
        self.parted_until_ms = NEVER
        """When time alone will let two tickets meet that the last wave had to keep apart."""

        self.filled = (-1, -1)
        """What the last stage of backfill had seen: the queue's last change, and that of all blocks."""
        self.next_fill_ms = 0
        """When time alone will change whom it invites."""
        self.next_stage_ms = 0
        """Without a wave there is a stage once a beat at most."""
        self.fill_after = (-1, -1, -1)
        """Where the next stage goes on, if the last had not time for all."""
        self.unrecorded: deque[Unrecorded] = deque(maxlen=UNRECORDED_WAVES)
        """The last waves that changed nothing."""

    def keep(self, wave: Unrecorded) -> None:
        """Keep a wave that is not recorded, in place of older ones if there is no room."""
        if len(wave.snapshot) > UNRECORDED_TICKETS:
            return
        self.unrecorded.append(wave)
        while sum(len(one.snapshot) for one in self.unrecorded) > UNRECORDED_TICKETS:
            self.unrecorded.popleft()

    @property
    def held(self) -> bool:
        """The snapshot of the wave in flight is still to be copied."""
        return self.flight is not None and self.flight.frozen.held

    def read_ahead(self) -> None:
        """What the snapshot is made of is about to change: copy it now."""
        if self.flight is not None:
            self.flight.frozen.make()

    def new_rules(self, spec: QueueSpec, now_ms: int) -> None:
        """The queue gets other rules: the next wave need not wait for as long as the old ones said."""
        if self.held:
            self.read_ahead()
        self.next_wave_ms = min(self.next_wave_ms, now_ms + milliseconds(spec.wave.every_s))

    def due(self, queue: QueueState, now_ms: int) -> bool:
        """Is it time for a wave that could bring something new?"""
        if self.flight is not None or now_ms < self.next_wave_ms or not queue.waiting or queue.mode is Mode.PAUSED:
            return False
        return queue.changed != self.tried or now_ms >= min(self.next_change_ms, self.parted_until_ms)

    def next_due_ms(self, queue: QueueState) -> int:
        """When the next wave is due if nothing changes until then; NEVER = then none is."""
        changes_ms = 0 if queue.changed != self.tried else min(self.next_change_ms, self.parted_until_ms)
        return max(self.next_wave_ms, changes_ms)

    def stage_due(self, queue: QueueState, now_ms: int) -> bool:
        """Is it time for a stage of backfill: before a wave, if it goes first, or without one?"""
        if self.flight is not None or now_ms < self.next_wave_ms or not queue.fillings.open:
            return False
        if self.due(queue, now_ms):
            return queue.spec.backfill.priority == "first"
        return now_ms >= self.next_stage_ms

    def may_fill(self, state: State, queue: QueueState, now_ms: int) -> bool:
        """Are there open places, and could somebody be invited to one that the last stage did not find?"""
        if not queue.fillings.open or not queue.waiting or queue.mode is Mode.PAUSED or not queue.spec.backfill.enabled:
            return False
        return self.filled != (queue.changed, state.blocks_changed) or now_ms >= self.next_fill_ms

    def start(self, state: State, queue: QueueState, now_ms: int, large: int) -> RunMatcher | None:
        """Freeze the queue and send its snapshot to the matcher; None where nobody can be matched now.

        From `large` waiting tickets on, the snapshot is copied when the matcher asks for it.
        """
        spec = queue.spec
        every_ms = milliseconds(spec.wave.every_s)
        self.next_wave_ms += every_ms
        if self.next_wave_ms <= now_ms:  # the queue was idle: the beat starts anew
            self.next_wave_ms = now_ms + every_ms
        self.tried = queue.changed
        self.next_change_ms = NEVER
        apart = forbidden(state, queue, now_ms)
        self.parted_until_ms = apart.changes_ms
        frozen = freeze(queue, now_ms, state.next_proposal, large, apart.slots, apart.met)
        if frozen.empty:
            return None
        self.wave = wave = max(self.wave, queue.wave) + 1
        deadline_ms = now_ms + milliseconds(spec.wave.deadline_s)
        self.flight = Flight(wave, seed_of(spec.name, wave), now_ms, deadline_ms, frozen, state.sequence)
        return RunMatcher(spec, wave, self.flight.seed, lambda: frozen.snapshot, deadline_ms)


def seed_of(queue: str, wave: int) -> int:
    """The seed of a wave (63 bits): the same for the same queue and number, different for any other."""
    digest = hashlib.blake2b(f"{queue}:{wave}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
