"""The state hash: equal after replay, cheap to ask for, free of slot order.

Each ticket has a digest of 128 bits (two lanes of 64) over all that is known of it; the sum of the digests, lane by
lane modulo 2^64, stands for all tickets. A change marks its rows dirty; asking for the hash re-digests the dirty rows
in one vector step and corrects the sum, so the cost is that of what changed since the last time. Finished tickets that
leave are subtracted. Idempotency keys are summed likewise, as they come and go. The rest is small (proposals, rules,
counters) and is digested whole.

It is a checksum against our own mistakes and a damaged disk, not against an adversary.
"""

import hashlib
from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.numerics.digests import fold

from .notes import settle_details
from .state import FREE, QueueState, State

_MASK64 = 2**64 - 1
_MASK128 = 2**128 - 1
_LANES = (0x9E3779B97F4A7C15 - 2**64, 0xD1B54A32D192ED03 - 2**64)

_LISTED = 1_000
_HASHED = [
    "ticket",
    "status",
    "cause",
    "returned",
    "suspended",
    "size",
    "group",
    "misses",
    "since_ms",
    "waited_ms",
    "joined_ms",
    "seen_ms",
    "expires_ms",
    "finished_ms",
    "proposal",
    "sequence",
    "woke",
]
_PROPOSALS_HASHED = [
    "proposal",
    "standing",
    "pending",
    "wave",
    "made_ms",
    "deadline_ms",
    "ends_ms",
    "over_ms",
    "cost",
    "quality",
]


def _bits(column: Array) -> Array:
    if column.dtype == np.float64:
        column = column.view(np.int64)
    return np.ascontiguousarray(column, np.int64)


def _fold(columns: list[Array], lane: int) -> Array:
    """uint64[n]: one digest a row, sensitive to value and column."""
    digest = np.full(len(columns[0]), lane)
    for column in columns:
        fold(digest, _bits(column), lane)
    return digest.view(np.uint64)


def _ticket_digests(queue: QueueState, slots: Array) -> list[Array]:
    columns = [getattr(queue.tickets, name)[slots] for name in _HASHED]
    size = queue.tickets.size[slots].astype(np.int64)
    rows = queue.player_rows(slots)
    first = np.cumsum(size) - size
    place = np.arange(len(rows)) - np.repeat(first, size)
    facts = [_bits(getattr(queue.players, name)[rows]) for name in sorted(queue.players.names)]
    columns = [_bits(column) for column in columns]
    lanes = []
    for lane in _LANES:
        party = np.add.reduceat(_fold([place, *facts], lane), first)
        lanes.append(_fold([*columns, party.view(np.int64)], lane))
    return lanes


def settle(state: State, most: int) -> bool:
    """Digest so many changed tickets; True = none is left, and asking for the hash costs little."""
    for queue in state.by_index:
        if most > 0:
            most -= _refresh(state, queue, most)
    return most > 0


def _refresh(state: State, queue: QueueState, most: int | None = None) -> int:
    """Digest the tickets that changed, `most` of them at most; how many there were."""
    t = queue.tickets
    slots = np.flatnonzero(t.dirty[: t.used])[:most]
    if not len(slots):
        return 0
    high, low = _ticket_digests(queue, slots)
    state.tickets_sum_high += int((high - t.digest_high[slots]).sum())
    state.tickets_sum_low += int((low - t.digest_low[slots]).sum())
    t.digest_high[slots], t.digest_low[slots] = high, low
    t.dirty[slots] = False
    return len(slots)


def drop_digests(state: State, queue: QueueState, slots: Array) -> None:
    """Take tickets that leave the state out of the sum."""
    t = queue.tickets
    state.tickets_sum_high -= int(t.digest_high[slots].sum())
    state.tickets_sum_low -= int(t.digest_low[slots].sum())
    t.digest_high[slots] = t.digest_low[slots] = 0
    t.dirty[slots] = False


def key_digest(key: int, known: tuple[int, int, int]) -> int:
    """What an idempotency key adds to the sum of the keys, with its ticket, fingerprint and time."""
    digest = key
    for number in known:
        digest = (digest ^ number * 0x9E3779B97F4A7C15) * 0xD1B54A32D192ED03BF58476D1CE4E5B9 & _MASK128
        digest ^= digest >> 64
    return digest


def _proposals_sum(queue: QueueState) -> list[int]:
    p = queue.proposals
    slots = np.flatnonzero(p.standing)
    if not len(slots):
        return [0, 0]
    columns = [getattr(p, name)[slots] for name in _PROPOSALS_HASHED]
    filled = p.roster[slots] >= 0
    seats = [np.where(filled, p.roster[slots], -1), np.where(filled, p.team_of[slots], -1)]
    width = np.arange(filled.shape[1])
    total = []
    for lane in _LANES:
        places = np.broadcast_to(width, filled.shape).ravel()
        seated = _fold([places, *(seat.ravel() for seat in seats)], lane).reshape(filled.shape)
        rosters = np.where(filled, seated, np.uint64(0)).sum(axis=1, dtype=np.uint64)
        total.append(int(_fold([*columns, rosters.view(np.int64)], lane).sum(dtype=np.uint64)))
    return total


def _active(queue: QueueState) -> list[Any]:
    """Who was seen lately: in full where they are few, digested where they are many."""
    entries = queue.active.entries
    if len(entries) <= _LISTED:
        listed: list[Any] = entries.tolist()
        return listed
    columns = [np.arange(len(entries)), entries[:, 0], entries[:, 1]]
    return [int(_fold(columns, lane).sum(dtype=np.uint64)) for lane in _LANES]


def _met(queue: QueueState) -> list[int]:
    """Who met whom lately; nothing where nobody did."""
    met = queue.met
    if not len(met.made_ms):
        return []
    place = np.arange(met.player.size)
    columns: list[Array] = [place, np.repeat(met.made_ms, met.player.shape[1]), met.player.ravel(), met.team.ravel()]
    return [int(_fold(columns, lane).sum(dtype=np.uint64)) for lane in _LANES]


def _remembered(queue: QueueState) -> list[Any]:
    """Which maps players remember; nothing where nobody does."""
    memory = queue.map_memory
    if not len(memory):
        return []
    player, noted, seen = memory.columns
    columns: list[Array] = [player, noted, *seen.T]
    return [memory.names, *(int(_fold(columns, lane).sum(dtype=np.uint64)) for lane in _LANES)]


def _told(spec: QueueSpec) -> dict[str, Any]:
    """The rules that differ from the defaults: a rule that is added later does not change the hash of old journals."""
    defaults = QueueSpec(spec.name)
    return {name: value for name in spec.__struct_fields__ if (value := getattr(spec, name)) != getattr(defaults, name)}


def state_hash(state: State) -> str:
    """32 hexadecimal digits that stand for the whole state."""
    for queue in state.by_index:
        _refresh(state, queue)
        settle_details(queue)
    parts = [
        state.sequence,
        state.now_ms,
        state.next_ticket,
        state.next_proposal,
        state.tickets_sum_high & _MASK64,
        state.tickets_sum_low & _MASK64,
        str(state.keys_sum & _MASK128),
        [
            [
                *(_told(q.spec), q.version, q.wave, q.last_wave, q.waiting, sorted(q.groups.items())),
                *(*_proposals_sum(q), str(q.notes_sum & _MASK128), _active(q)),
                *([] if q.mode is Mode.OPEN else [q.mode]),
                *_met(q),
                *_remembered(q),
            ]
            for q in state.by_index
        ],
        len(state.live),
        len(state.several),
        len(state.claims),
        len(state.keys),
        *([str(state.blocks_sum & _MASK128)] if state.blocks else []),
        *([["elsewhere", str(state.elsewhere_sum & _MASK128)]] if state.elsewhere else []),
        *([["first", first]] if (first := [state.first_ticket, state.first_proposal]) != [1, 1] else []),
    ]
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()


def snapshot_digest(columns: list[Array]) -> int:
    """63 bits that stand for the columns a matcher saw."""
    if not len(columns[0]):
        return 0
    return int(_fold(columns, _LANES[0]).sum(dtype=np.uint64)) >> 1


def recomputed_sums(state: State) -> tuple[int, int]:
    """The two sums taken afresh over every ticket: the plain twin of the sums that are kept."""
    high = low = 0
    for queue in state.by_index:
        slots = np.flatnonzero(queue.tickets.status != FREE)
        if len(slots):
            lanes = _ticket_digests(queue, slots)
            high += int(lanes[0].sum(dtype=np.uint64))
            low += int(lanes[1].sum(dtype=np.uint64))
    return high & _MASK64, low & _MASK64
