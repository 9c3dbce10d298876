"""A network that loses, delays and doubles, a machine that crashes, and somebody who watches.

    people ─> lost: they ask again later; delayed: it comes later; doubled: it comes twice
           ─> Engine.step ─> journal ─> the auditor hears every event, before people do
                 └─ crash: before a commit, after it, or in the middle of a wave ─> recovered from the journal alone

The auditor shares no rule with the engine, nor with those who make the traffic. After every step it has found nothing
wrong, or the run ends there and says what. Beside its I1 to I6 and I11:

    I7   people hear of events after they are in the journal, and of none that is not
    I8   after every crash the journal gives the state that was, up to what was not durable
    I9   an owner that was replaced cannot write
    I10  every ticket that a plan leaves has a reason
"""

from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.engine import Engine, Step
from evenmatch.core.hashing import state_hash
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array
from evenmatch.drill.auditor import Audit
from evenmatch.errors import JournalStale, LabError
from evenmatch.numerics.seeds import generator
from evenmatch.recovery import checkpoint_of, recover
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit

from .agenda import Agenda, Kind
from .wire import Crashed

__all__ = ["Broken", "FaultyWire", "Rates"]

_CARRIED: Final = (Kind.ENDS, Kind.ACCEPTS, Kind.DECLINES, Kind.LOSES, Kind.GIVES_UP, Kind.JOINS)
_ONCE: Final = (cmd.Tick, cmd.OpenQueue, cmd.Resume)
"""What the server says to itself is not doubled by any network."""
_AGAIN_MS: Final = 2_000
_LATE_MS: Final = 5_000
_CHECKPOINT: Final = 500
"""Events after which a checkpoint is saved."""


class Broken(Exception):
    """An invariant does not hold."""


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """How often what goes wrong: shares of all that people send, and of all steps."""

    lose: float = 0.03
    delay: float = 0.05
    double: float = 0.05
    crash: float = 0.001
    """Of all steps: before the commit, or after it."""
    crash_in_wave: float = 0.02
    """Of all waves: while the matcher is at work."""

    def __post_init__(self) -> None:
        for name, share in msgspec.structs.asdict(self).items():
            if not 0 <= share < 1:
                raise LabError(f"{name} = {share:g} is no share: use 0 up to 1")


class FaultyWire:
    """All that, from a seed."""

    def __init__(self, rates: Rates, seed: int) -> None:
        self.rates = rates
        self.counts = dict.fromkeys(("lost", "delayed", "doubled", "crashes", "crashes_in_waves", "events"), 0)
        self._chance = generator(seed, 50)
        self._journal = MemoryJournal()
        self._audit = Audit()
        self._since_checkpoint = 0
        self.engine = Engine()

    def carried(self, agenda: Agenda, kind: Kind, what: Array, now_ms: int) -> Array:
        """What neither is lost nor late; who is not answered asks again."""
        if kind not in _CARRIED:
            return what
        drawn = self._chance.random(len(what))
        lost = drawn < self.rates.lose
        late = ~lost & (drawn < self.rates.lose + self.rates.delay)
        self.counts["lost"] += int(lost.sum())
        self.counts["delayed"] += int(late.sum())
        agenda.add(kind, np.full(int(lost.sum()), now_ms + _AGAIN_MS), what[lost])
        agenda.add(kind, now_ms + self._chance.integers(1, _LATE_MS, int(late.sum())), what[late])
        arrives: Array = what[~lost & ~late]
        return arrives

    def key(self, wish: int) -> int:
        """Every join has one: it may come twice."""
        return wish + 1

    def step(self, command: cmd.Command, now_ms: int) -> Step:
        """One command, durable before anybody hears of it; perhaps twice, perhaps not at all."""
        step = self.engine.step(command, now_ms)
        if not isinstance(command, _ONCE) and self._chance.random() < self.rates.crash:
            self._crash(now_ms)  # before the commit: nothing happened
            raise Crashed
        self._commit(step.events, now_ms)
        if isinstance(command, cmd.FinishWave) and command.plan is not None:
            self._reasons(command)
        if not isinstance(command, _ONCE) and step.rest is None and self._chance.random() < self.rates.double:
            self._double(command, step, now_ms)
        if step.effects and self._chance.random() < self.rates.crash_in_wave:
            self.counts["crashes_in_waves"] += 1
            self._crash(now_ms)  # the matcher's answer will find nobody
            return msgspec.structs.replace(step, effects=())
        return step

    def _commit(self, events: tuple[ev.Event, ...], now_ms: int) -> None:
        if not events:
            return
        self._journal.append(Commit(self._journal.last + 1, now_ms, list(events)))
        for event in events:
            self._audit.hear(event)
        self.counts["events"] += len(events)
        self._since_checkpoint += len(events)
        self._complain()
        if self._since_checkpoint >= _CHECKPOINT:
            self._since_checkpoint = 0
            self._journal.save_checkpoint(checkpoint_of(self.engine.state))

    def _complain(self) -> None:
        if self._audit.faults:
            raise Broken("; ".join(self._audit.faults[:5]))

    def _double(self, command: cmd.Command, first: Step, now_ms: int) -> None:
        """The same again: it must change nothing, and be answered alike."""
        self.counts["doubled"] += 1
        again = self.engine.step(command, now_ms)
        if again.events:
            kinds = ", ".join(type(event).__name__ for event in again.events)
            raise Broken(f"{type(command).__name__} came twice and led to {kinds} the second time")
        if isinstance(command, cmd.JoinMany) and _tickets(again) != _tickets(first):
            raise Broken("a join that came twice was answered with another ticket")

    def _crash(self, now_ms: int) -> None:
        """The engine is gone; another is made from the journal, and owns it."""
        self.counts["crashes"] += 1
        old, lost = self._journal, self.engine.state.sequence - self._journal.last
        known = state_hash(self.engine.state) if not lost else ""
        self._journal = MemoryJournal(old.store)
        self.engine = Engine(recover(self._journal))
        if known and state_hash(self.engine.state) != known:
            raise Broken("I8: the journal gives another state than the one that crashed")
        try:
            old.append(Commit(old.last + 1, now_ms, [ev.Resumed(now_ms, 0)]))
        except JournalStale:
            pass
        else:
            raise Broken("I9: an owner that was replaced has written")
        self._commit(self.engine.step(cmd.Resume(), now_ms).events, now_ms)

    def _reasons(self, command: cmd.FinishWave) -> None:
        assert command.plan is not None
        seated = np.zeros(len(command.plan.reasons), bool)
        seated[command.plan.rosters[command.plan.rosters >= 0]] = True
        if (command.plan.reasons[~seated] == 0).any():
            raise Broken("I10: a plan leaves a ticket without a reason")

    def finished(self) -> str:
        """The state hash; the journal must give the same."""
        found = state_hash(self.engine.state)
        if state_hash(recover(MemoryJournal(self._journal.store))) != found:
            raise Broken("I8: the journal gives another state than the one at the end")
        return found


def _tickets(step: Step) -> list[Any]:
    return [outcome if isinstance(outcome, int) else None for outcome in step.outcomes]
