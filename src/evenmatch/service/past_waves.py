"""Past waves: which there were, and one of them again as its matcher saw it.

    journal up to the wave's `snapshot_sequence` ─> state ─> snapshot ─> digest as recorded? ─> the plan again, traced

1. A list of waves is kept as they are committed, bounded; those from before the start are read from the journal when
   somebody asks, once, as far back as `READ_BACK` events.
2. A wave is rebuilt away from the engine, by a reader of its own, one at a time, from the nearest saved state on
   (`past_states`). Where there is none, or it is further than `REPLAY_MOST` events, the answer says so and has only
   what the wave's own event says.
3. The digest that the wave's event holds proves that the snapshot is the one. The same snapshot and seed give the same
   plan (I8), so the trace is the one that the matcher would have written then.
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import numpy as np

from evenmatch.core.freeze import digest, freeze
from evenmatch.core.meetings import forbidden
from evenmatch.core.waves import Unrecorded
from evenmatch.domain.events import Event, WaveFinished
from evenmatch.domain.ids import proposal_id, ticket_id
from evenmatch.domain.match import Plan, Reason, in_names
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.snapshot import Snapshot
from evenmatch.errors import EvenmatchError, MatcherError
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build, in_force
from evenmatch.storage.protocol import Journal

from .origins import Origins
from .past_states import REPLAY_MOST, PastStates
from .picture import Picture, picture_of
from .picture_columns import rating_of

KEPT: Final = 2_000
"""Waves a queue that are listed."""
READ_BACK: Final = 20_000
PLANNED_MOST: Final = 20_000
"""Tickets of a wave that is planned again."""
TRACED_MOST: Final = 1_000
SHOWN: Final = 200
"""Proposals, unmatched tickets and steps of a trace that are told."""
_ENTRIES: Final = 60


class WaveRow(msgspec.Struct, frozen=True):
    """A wave that is recorded."""

    number: int
    sequence: int
    """Of its first event; 0 = it is not recorded."""
    started_ms: int
    finished_ms: int
    waiting: int
    """Tickets it saw."""
    proposals: int
    seated: int
    dropped: int
    """Proposals that no longer held when the plan came back."""
    quality: float | None
    """The mean over its proposals."""
    saw: int = 0
    """The sequence of the last event that it knew of; 0 = it is not recorded."""


class ProposalRow(msgspec.Struct, frozen=True):
    """A proposal of a wave."""

    id: str
    cost: float
    quality: float | None
    teams: list[list[str]]
    details: dict[str, Any]
    match: str | None = None
    """The match that it became."""
    became: str = ""
    """Where that match stands (starting, running, over or cancelled); else who declined or did not answer, or how many
    answers are awaited, in words."""


class UnmatchedRow(msgspec.Struct, frozen=True):
    """A ticket that a wave left waiting."""

    ticket: str
    reason: str
    rating: float
    waited_s: float
    misses: int


class ReasonRow(msgspec.Struct, frozen=True):
    """Why tickets were left waiting, and how many."""

    reason: str
    words: str
    count: int


class PastWave(msgspec.Struct, frozen=True):
    """A wave, and as much as is known of it."""

    wave: WaveRow
    queue: str
    seed: str
    """63 bits, as text, for not every reader of JSON has whole numbers that large."""
    proposals: list[ProposalRow]
    """The first 200."""
    recorded: bool = True
    """False: it changed nothing, so the journal does not have it; the server kept what its matcher saw."""
    missing: str | None = None
    """Why there is no more than this."""
    proven: bool | None = None
    """The snapshot has the digest that was recorded; null = it could not be rebuilt."""
    same_plan: bool | None = None
    """Planned again, it gives the proposals that were recorded; null = not planned again, or some were dropped."""
    matcher: str | None = None
    parameters: dict[str, Any] = {}
    """All that were in force, with what was measured for them."""
    given: list[str] = []
    """Those of them that the queue's rules name; the others are the matcher's defaults."""
    snapshot: Picture | None = None
    cost: float | None = None
    """The total of its proposals; null = it has none."""
    details: dict[str, Any] = {}
    """What the matcher says of the plan as a whole, such as its bound."""
    trace: list[dict[str, Any]] = []
    """The matcher's own account of its steps; the first 200, long lists cut."""
    steps: int = 0
    """How many there are."""
    reasons: list[ReasonRow] = []
    unmatched: list[UnmatchedRow] = []
    """The first 200."""


class PastWaves:
    """The list of waves. The engine thread writes; `earlier` may be set by another."""

    def __init__(self) -> None:
        self._rows: dict[str, deque[WaveRow]] = {}
        self.first = 0
        """The sequence from which on waves were heard of as they happened; 0 = none was yet."""
        self._earlier: dict[str, list[WaveRow]] | None = None
        self.origins = Origins()
        self._origins_before = Origins()

    def committed(self, first: int, events: Iterable[Event]) -> None:
        """Take note of what has happened."""
        self.first = self.first or first
        for sequence, event in enumerate(events, first):
            self.origins.note(sequence, event)
            if isinstance(event, WaveFinished):
                _note(self._rows.setdefault(event.queue, deque(maxlen=KEPT)), row_of(sequence, event))

    def next_after(self, queue: str, after: int, limit: int, journal: Journal) -> list[WaveRow]:
        """The waves that follow one, newest first; reads the journal, so away from the engine."""
        rows = list(self._rows.get(queue, ()))
        if len(rows) < KEPT and (not rows or rows[0].number > after + 1):
            earlier = self._read_back(journal).get(queue, [])
            rows = [row for row in earlier if not rows or row.number < rows[0].number] + rows
        return [row for row in rows if row.number > after][:limit][::-1]

    def listed(self, queue: str, before: int | None, limit: int, journal: Journal) -> list[WaveRow]:
        """The newest waves before one, newest first; reads the journal, so away from the engine."""
        rows = list(self._rows.get(queue, ()))
        found = [row for row in reversed(rows) if before is None or row.number < before][:limit]
        if len(found) < limit and len(rows) < KEPT:
            earlier = self._read_back(journal).get(queue, [])
            known = rows[0].number if rows else None
            found += [
                row
                for row in reversed(earlier)
                if (before is None or row.number < before) and (known is None or row.number < known)
            ][: limit - len(found)]
        return found

    def missed(self, queue: str, since: int, until: int, wave: int | None = None) -> int | None:
        """The waves of a queue that saw one sequence and were recorded before another, and before one if it is named.

        None = not all are known. In the engine thread.
        """
        rows: deque[WaveRow] = self._rows.get(queue, deque())
        if since < self.first or (len(rows) == KEPT and rows[0].sequence > since):
            return None
        return sum(since <= row.saw and row.sequence < until and (wave is None or row.number < wave) for row in rows)

    def find(self, queue: str, number: int, journal: Journal) -> WaveRow | None:
        """One wave; None = it was not recorded, or too long ago."""
        row = next(iter(self.listed(queue, number + 1, 1, journal)), None)
        return row if row is not None and row.number == number else None

    def origins_before(self, journal: Journal) -> Origins:
        """Which events made and ended proposals before the start; reads the journal, so away from the engine."""
        self._read_back(journal)
        return self._origins_before

    def _read_back(self, journal: Journal) -> dict[str, list[WaveRow]]:
        if self._earlier is None:
            found: dict[str, deque[WaveRow]] = {}
            origins = Origins()
            with journal.reader() as reading:
                last = self.first or reading.last + 1
                for sequence, event in reading.read(max(0, last - READ_BACK - 1)):
                    if sequence >= last:
                        break
                    origins.note(sequence, event)
                    if isinstance(event, WaveFinished):
                        _note(found.setdefault(event.queue, deque(maxlen=KEPT)), row_of(sequence, event))
            self._origins_before = origins
            self._earlier = {queue: list(rows) for queue, rows in found.items()}
        return self._earlier


def _note(rows: deque[WaveRow], row: WaveRow) -> None:
    """A wave, or a later part of a large one."""
    if rows and rows[-1].number == row.number:
        old = rows.pop()
        total = old.proposals + row.proposals
        known = [(one.quality, one.proposals) for one in (old, row) if one.quality is not None]
        weight = sum(count for _, count in known)
        row = msgspec.structs.replace(
            old,
            finished_ms=row.finished_ms,
            proposals=total,
            seated=old.seated + row.seated,
            dropped=old.dropped + row.dropped,
            quality=sum(quality * count for quality, count in known) / weight if weight else None,
        )
    rows.append(row)


def row_of(sequence: int, event: WaveFinished) -> WaveRow:
    """A wave by its event."""
    known = event.quality[~np.isnan(event.quality)]
    return WaveRow(
        number=event.wave,
        sequence=sequence,
        started_ms=event.started_ms,
        finished_ms=event.at_ms,
        waiting=event.waiting,
        proposals=len(event.roster),
        seated=int(np.count_nonzero(event.roster >= 0)),
        dropped=event.dropped,
        quality=float(known.mean()) if len(known) else None,
        saw=event.snapshot_sequence,
    )


def rebuilt(journal: Journal, queue: str, row: WaveRow, states: PastStates) -> PastWave:
    """A wave again, as its matcher saw it; takes a while, so away from the engine."""
    with journal.reader() as reading:
        parts = _parts(reading, queue, row)
        if not parts:
            why = (
                f"the journal no longer keeps this wave: it begins at {reading.oldest}, and the wave is {row.sequence}"
            )
            return PastWave(row, queue, "", [], missing=why)
        told = PastWave(row, queue, str(parts[0].seed), _proposals(parts), cost=_total(parts))
        try:
            state = states.at(reading, parts[0].snapshot_sequence)
        except EvenmatchError as error:
            state = str(error)
    if isinstance(state, str):
        return msgspec.structs.replace(told, missing=state)
    here = state.queues[queue]
    started_ms = parts[0].started_ms
    apart = forbidden(state, here, started_ms)
    snapshot = freeze(here, started_ms, state.next_proposal, here.waiting + 1, apart.slots, apart.met).snapshot
    told = msgspec.structs.replace(told, proven=digest(snapshot) == parts[0].digest)
    return _planned_again(told, here.spec, snapshot, parts[0].seed, parts)


def unrecorded(queue: str, kept: Unrecorded) -> PastWave:
    """A wave that changed nothing, as its matcher saw it; takes a while, so away from the engine."""
    row = WaveRow(kept.wave, 0, kept.started_ms, kept.finished_ms, len(kept.snapshot), 0, 0, kept.dropped, None)
    told = PastWave(row, queue, str(kept.seed), [], recorded=False, proven=True)
    return _planned_again(told, kept.spec, kept.snapshot, kept.seed, [])


def _parts(journal: Journal, queue: str, row: WaveRow) -> list[WaveFinished]:
    """The events of a wave."""
    parts: list[WaveFinished] = []
    for sequence, event in journal.read(row.sequence - 1):
        if isinstance(event, WaveFinished) and event.queue == queue and event.wave == row.number:
            parts.append(event)
            if not event.more:
                break
        elif not parts or sequence > row.sequence + REPLAY_MOST:
            break
    return parts


def _planned_again(
    told: PastWave, spec: QueueSpec, snapshot: Snapshot, seed: int, parts: list[WaveFinished]
) -> PastWave:
    told = msgspec.structs.replace(
        told,
        matcher=spec.matcher.name,
        parameters=_short(in_force(spec.matcher.name, spec.matcher.parameters, snapshot)),
        given=sorted(spec.matcher.parameters),
        snapshot=picture_of(spec, snapshot, snapshot.now_ms, [], 0, seed),
    )
    if not told.proven:
        return msgspec.structs.replace(told, missing="the snapshot does not have the digest that was recorded")
    if len(snapshot) > PLANNED_MOST:
        why = f"{len(snapshot):,} tickets waited, and a wave of {PLANNED_MOST:,} is the largest that is planned again"
        return msgspec.structs.replace(told, missing=why)
    traced = len(snapshot) <= TRACED_MOST
    try:
        matcher = build(spec.matcher.name, spec.matcher.parameters)
        plan = plan_wave(matcher, snapshot, seed=seed, trace=traced)
    except MatcherError as error:
        return msgspec.structs.replace(told, missing=f"the matcher cannot plan it again: {error}")
    why = f"traces are told of waves of up to {TRACED_MOST:,} tickets"
    return msgspec.structs.replace(
        told,
        missing=None if traced else why,
        same_plan=None if told.wave.dropped else _same(plan, snapshot, parts),
        details=_short(in_names(plan.details, ticket_id)),
        trace=[_short(in_names(step, ticket_id)) for step in plan.trace[:SHOWN]],
        steps=len(plan.trace),
        reasons=_reasons(plan),
        unmatched=_unmatched(plan, snapshot),
    )


def _same(plan: Plan, snapshot: Snapshot, parts: list[WaveFinished]) -> bool:
    again = [sorted(snapshot.ticket[row[row >= 0]].tolist()) for row in plan.rosters]
    recorded = [sorted(row[row >= 0].tolist()) for part in parts for row in part.roster]
    return again == recorded


def _total(parts: list[WaveFinished]) -> float | None:
    return math.fsum(cost for part in parts for cost in part.cost.tolist()) if any(len(p.cost) for p in parts) else None


def _proposals(parts: list[WaveFinished]) -> list[ProposalRow]:
    rows: list[ProposalRow] = []
    for part in parts:
        for place in range(min(len(part.roster), SHOWN - len(rows))):
            roster, team_of = part.roster[place], part.team_of[place]
            teams = range(int(team_of.max(initial=0)) + 1)
            quality = float(part.quality[place])
            rows.append(
                ProposalRow(
                    proposal_id(part.first_proposal + place),
                    float(part.cost[place]),
                    None if quality != quality else quality,
                    [[ticket_id(t) for t in roster[(team_of == team) & (roster >= 0)].tolist()] for team in teams],
                    _short(in_names(part.details[place], ticket_id)) if len(part.details) else {},
                )
            )
    return rows


def _reasons(plan: Plan) -> list[ReasonRow]:
    counts = np.bincount(plan.reasons[plan.reasons != Reason.SEATED], minlength=1)
    found = [(Reason(code), int(count)) for code, count in enumerate(counts.tolist()) if count]
    found.sort(key=lambda pair: -pair[1])
    return [ReasonRow(reason.word, reason.text, count) for reason, count in found]


def _unmatched(plan: Plan, snapshot: Snapshot) -> list[UnmatchedRow]:
    rows = np.flatnonzero(plan.reasons != Reason.SEATED)[:SHOWN]
    rating = rating_of(snapshot)
    return [
        UnmatchedRow(
            ticket_id(int(snapshot.ticket[row])),
            Reason(int(plan.reasons[row])).word,
            round(float(rating[row]), 1),
            round(float(snapshot.waited_ms[row]) / 1000, 1),
            int(snapshot.misses[row]),
        )
        for row in rows.tolist()
    ]


def _short(value: Any) -> Any:
    """Plain values for JSON, long lists and tables cut."""
    if isinstance(value, dict):
        return {str(name): _short(inner) for name, inner in list(value.items())[:_ENTRIES]}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_short(inner) for inner in value[:_ENTRIES]]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
