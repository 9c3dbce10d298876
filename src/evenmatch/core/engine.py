"""The engine: one door for the live server, the simulator and replay.

    step(command, now_ms) = decide, then evolve -> events to make durable, effects to carry out afterwards

The caller drives time with `Tick` and never lets it run backwards. The engine keeps two things apart: `state`, which is
what the journal says and nothing else, and the timetables of its waves, which are forgotten in a crash at no loss.
"""

from collections.abc import Callable

import msgspec
import numpy as np

from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import NO_PAIRS, NONE, Array, numbers
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import milliseconds
from evenmatch.domain.refusals import Reasons, Refusal

from .backfill import filled, offered
from .backfill_choice import choose
from .batches import Many, alone, together
from .decide import decide
from .decision import Outcome
from .evolve import evolve
from .freeze import LARGE
from .joining import unknown_queue
from .meetings import forbidden
from .records import Departures, departures
from .state import NEVER, QueueState, State
from .vetting import Vetted, looked_at, refused, vet, waiting_in_part
from .waves import Flight, Recording, Timetable, Unrecorded

PART = 16_384
"""Recording proposals with so many seats takes about as long as a join may have to wait."""


class Step(msgspec.Struct, frozen=True, eq=False):
    """What one command led to."""

    events: tuple[ev.Event, ...] = ()
    effects: tuple[RunMatcher, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    """For many in one: what became of each join (its ticket), or of each other command (0 = granted)."""
    refusal: Refusal | None = None
    departures: tuple[Departures, ...] = ()
    """What left the state for the read tables."""
    rest: cmd.FinishWave | None = None
    """A large wave is recorded in parts: step this too, after whatever else waits by then."""


class Engine:
    """The state, its waves, and the one way to move them on."""

    def __init__(
        self,
        state: State | None = None,
        *,
        keep_ms: int = 60_000,
        part: int = PART,
        large: int = LARGE,
        records: bool = True,
    ) -> None:
        self.state = State() if state is None else state
        self.records = records
        """Is there anybody to read the records of what leaves the state?"""
        self.part = part
        """Seats that the proposals of one event have at most."""
        self.large = large
        """From so many waiting tickets on, a snapshot is copied when the matcher asks for it."""
        self.keep_ms = keep_ms
        """How long finished tickets stay in the state."""
        self.ask_others: Callable[[Array], Array] | None = None
        """Which of these players other lanes have; None = there are no others. What it says is recorded, so replay
        never asks."""
        self.timetables: dict[str, Timetable] = {}
        self._reasons: dict[str, tuple[int, Array, Array]] = {}
        """Queue -> its last wave that came back, the tickets it left waiting, and a reason for each (I10)."""

    def step(self, command: cmd.Command, now_ms: int) -> Step:
        """Decide a command at a moment and apply what it leads to."""
        assert now_ms >= self.state.now_ms, "time runs backwards"
        if isinstance(command, cmd.FinishWave):
            return self._finish_wave(command, now_ms)
        if isinstance(command, Many):
            return self._many(command, now_ms)
        held = self._held() if isinstance(command, cmd.Tick) else ()
        decision = decide(self.state, command, now_ms, keep_ms=self.keep_ms, held=held)
        if isinstance(decision, Refusal):
            return Step(refusal=decision)
        left = []
        for event in decision.events:
            if isinstance(event, ev.Forgotten):
                left += [departures(self.state, event)] if self.records else []
            elif isinstance(event, ev.TicketUpdated) and self.timetable(event.queue).held:
                self.timetable(event.queue).read_ahead()
            elif isinstance(event, ev.QueueOpened):
                self.timetable(event.spec.name).new_rules(event.spec, now_ms)
            evolve(self.state, event)
        if isinstance(command, cmd.Tick):
            return self._waves(decision.events, tuple(left), now_ms)
        return Step(decision.events, outcomes=decision.outcomes)

    def _many(self, command: Many, now_ms: int) -> Step:
        """Tell together of what can be told together, then take the others one by one."""
        events, rest, of = together(self.state, command, now_ms)
        for event in events:
            evolve(self.state, event)
        outcomes: list[Outcome] = [0] * of
        for place in rest.tolist():
            step = self.step(alone(command, place), now_ms)
            events += step.events
            if step.refusal is not None:
                outcomes[place] = step.refusal
        return Step(events, outcomes=tuple(outcomes))

    def prepare(self, command: cmd.FinishWave) -> None:
        """Look at a plan ahead of the step that brings it. It takes no state, so any thread may, while others step."""
        timetable = self.timetables.get(command.queue)
        flight = None if timetable is None else timetable.flight
        if flight is not None and flight.wave == command.wave and command.plan is not None:
            flight.prepared = looked_at(flight, command.plan)

    def timetable(self, queue: str) -> Timetable:
        """The waves of a queue."""
        return self.timetables.setdefault(queue, Timetable())

    def _held(self) -> list[str]:
        """The queues whose snapshots are still to be copied."""
        return [name for name, waves in self.timetables.items() if waves.flight is not None and waves.held]

    def _waves(self, events: tuple[ev.Event, ...], left: tuple[Departures, ...], now_ms: int) -> Step:
        effects: list[RunMatcher] = []
        for name, queue in self.state.queues.items():
            timetable = self.timetable(name)
            flight = timetable.flight
            if flight is not None and timetable.recording is None and now_ms >= flight.deadline_ms:
                waited_ms = now_ms - flight.started_ms
                events += (self._abandon(queue, flight, f"no plan came back within {waited_ms} ms", now_ms),)
            if timetable.stage_due(queue, now_ms):
                events += self._fill(queue, timetable, now_ms)
            if timetable.due(queue, now_ms):
                effect = timetable.start(self.state, queue, now_ms, self.large)
                if effect is not None:
                    effects.append(effect)
        return Step(events, tuple(effects), departures=left)

    def _fill(self, queue: QueueState, timetable: Timetable, now_ms: int) -> tuple[ev.Event, ...]:
        """Invite tickets to running matches that ask for players."""
        state = self.state
        if not timetable.may_fill(state, queue, now_ms):
            return ()
        events: list[ev.Event] = []
        while True:
            chosen, next_ms, after = choose(state, queue, now_ms, timetable.fill_after)
            had = self._had_elsewhere(queue, numbers([one.slot for one in chosen]), now_ms)
            if not had:
                break
            events += had
        timetable.next_fill_ms, timetable.fill_after = next_ms, after
        check = queue.spec.ready_check if queue.spec.backfill.ready_check else None
        if check is not None and chosen:
            events.append(offered(state, queue, chosen, milliseconds(check.timeout_s), now_ms))
            evolve(state, events[-1])
        elif check is None:
            for one in chosen:
                events.append(filled(state, queue, one, now_ms))
                evolve(state, events[-1])
        timetable.filled = (queue.changed, state.blocks_changed)
        timetable.next_stage_ms = now_ms + milliseconds(queue.spec.wave.every_s)
        return tuple(events)

    def _had_elsewhere(self, queue: QueueState, slots: Array, now_ms: int) -> tuple[ev.Event, ...]:
        """Ask the other lanes for the players of tickets; whoever is there is suspended here, from now on."""
        if self.ask_others is None or not len(slots):
            return ()
        players = self.ask_others(queue.players.player[queue.player_rows(slots)])
        if not len(players):
            return ()
        return self.step(cmd.ClaimedElsewhere(players), now_ms).events

    def _abandon(self, queue: QueueState, flight: Flight, why: str, now_ms: int) -> ev.WaveAbandoned:
        event = ev.WaveAbandoned(now_ms, queue.spec.name, flight.wave, why)
        evolve(self.state, event)
        timetable = self.timetable(queue.spec.name)
        timetable.flight = None
        timetable.tried = -1
        return event

    def _finish_wave(self, command: cmd.FinishWave, now_ms: int) -> Step:
        queue = self.state.queues.get(command.queue)
        if queue is None:
            return Step(refusal=unknown_queue(self.state, command.queue))
        timetable = self.timetable(command.queue)
        flight = timetable.flight
        if flight is None or flight.wave != command.wave:
            return Step(refusal=Refusal(Reasons.WAVE_CLOSED, f"wave {command.wave} of {command.queue} is closed"))
        recording = timetable.recording
        if recording is not None and (command.plan is not recording.plan or command.first != recording.next):
            return Step(refusal=Refusal(Reasons.WAVE_CLOSED, f"wave {command.wave} of {command.queue} has its plan"))
        if command.plan is None:
            return Step((self._abandon(queue, flight, command.failure or "the matcher failed", now_ms),))
        if recording is None:
            recording = flight.prepared
            if recording is None or recording.plan is not command.plan:
                recording = looked_at(flight, command.plan)
            refusal = refused(queue, flight, recording)
            if refusal is not None:
                return Step((self._abandon(queue, flight, refusal.detail, now_ms),), refusal=refusal)
            timetable.recording = recording
        count = max(1, self.part // max(1, command.plan.rosters.shape[1]))
        apart = forbidden(self.state, queue, now_ms).slots if self.state.blocks_changed > flight.sequence else NO_PAIRS
        had: tuple[ev.Event, ...] = ()
        if self.ask_others is not None:
            had = self._had_elsewhere(queue, waiting_in_part(queue, recording, count), now_ms)
        vetted = vet(queue, recording, count, apart, self.state.next_proposal, flight.seed)
        recording.next += count
        more = recording.next < len(command.plan.rosters)
        recording.seated[vetted.rows] = True
        recording.dropped += vetted.dropped
        events: tuple[ev.Event, ...] = ()
        if len(vetted.roster) or (not more and (recording.seated.any() or command.reads_misses)):
            events = (_wave_finished(self.state, queue, flight, recording, vetted, more, now_ms),)
            evolve(self.state, events[0])
            recording.told = recording.dropped
        events = had + events
        if more:
            return Step(events, rest=msgspec.structs.replace(command, first=recording.next))
        timetable.flight = timetable.recording = None
        timetable.next_change_ms = NEVER if command.next_change_ms is None else command.next_change_ms
        if recording.dropped:
            timetable.tried = -1
        self._keep_reasons(queue, command.plan, flight, recording)
        if self.records and not events[len(had) :] and not recording.seated.any():
            kept = (flight.wave, flight.seed, flight.started_ms, now_ms, queue.spec, recording.snapshot)
            timetable.keep(Unrecorded(*kept, recording.dropped))
        if queue.spec.backfill.priority == "last":
            events += self._fill(queue, timetable, now_ms)
        return Step(events)

    def _keep_reasons(self, queue: QueueState, plan: Plan, flight: Flight, recording: Recording) -> None:
        reasons: Array = plan.reasons.copy()
        reasons[(reasons == Reason.SEATED) & ~recording.seated] = Reason.PLAN_OVERTAKEN
        waits = reasons != Reason.SEATED
        self._reasons[queue.spec.name] = (flight.wave, flight.snapshot.ticket[waits], reasons[waits])

    def heard(self, queue: str, wave: int, tickets: Array, reasons: Array) -> None:
        """Take over what another process's engine knows of a queue's last wave."""
        self._reasons[queue] = (wave, tickets, reasons)

    def known_reasons(self) -> dict[str, tuple[int, Array, Array]]:
        """Queue -> its last wave that came back, the tickets it left waiting, and a reason for each; any thread may."""
        return dict(self._reasons)

    def reasons(self, queue: str) -> tuple[int, dict[int, Reason]]:
        """The last wave of a queue that came back, and why it left each of its waiting tickets waiting."""
        wave, tickets, reasons = self._reasons.get(queue, (0, NONE, NONE))
        return wave, dict(zip(tickets.tolist(), map(Reason, reasons.tolist()), strict=True))

    def reason(self, queue: str, ticket: int) -> Reason | None:
        """Why the last wave of a queue left a ticket waiting; None where it was not in that wave."""
        _, tickets, reasons = self._reasons.get(queue, (0, NONE, NONE))
        place = np.flatnonzero(tickets == ticket)
        return Reason(int(reasons[place[0]])) if len(place) else None


def _wave_finished(
    state: State, queue: QueueState, flight: Flight, recording: Recording, vetted: Vetted, more: bool, now_ms: int
) -> ev.WaveFinished:
    spec = queue.spec
    timeout_ms = 0 if spec.ready_check is None else milliseconds(spec.ready_check.timeout_s)
    runs_ms, confirm_ms = milliseconds(spec.match.runs_s), milliseconds(spec.match.confirm_s)
    return ev.WaveFinished(
        at_ms=now_ms,
        queue=spec.name,
        wave=flight.wave,
        seed=flight.seed,
        started_ms=flight.started_ms,
        digest=recording.digest,
        waiting=len(flight.snapshot),
        dropped=recording.dropped - recording.told,
        first_proposal=state.next_proposal,
        roster=vetted.roster,
        team_of=vetted.team_of,
        cost=vetted.cost,
        quality=vetted.quality,
        previous=np.where(vetted.roster >= 0, queue.tickets.sequence[vetted.slots], 0),
        snapshot_sequence=flight.sequence,
        deadline_ms=now_ms + timeout_ms if timeout_ms else 0,
        ends_ms=now_ms + runs_ms if runs_ms and not timeout_ms and not confirm_ms else 0,
        confirm_ms=now_ms + confirm_ms if confirm_ms and not timeout_ms else 0,
        details=vetted.details,
        more=more,
    )
