"""What matchers want kept beside the columns: traits of players, details of proposals, and who was active lately.

Part of `evolve`: these change the state and are called from there only. Traits are few and not numbers, so they live
in dictionaries. Details stay in the columns they came in, a table a wave, until the last proposal of the wave has left
the state. A sum of digests of both enters the state hash: a trait's is added when it comes, a table's when the hash is
asked for, and both are taken away when they go.
"""

import hashlib
from bisect import bisect_right
from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import milliseconds
from evenmatch.domain.table import Choice, Table

from .state import QueueState, Told


def value_digest(*parts: Any) -> int:
    """128 bits that stand for plain values."""
    return int.from_bytes(hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest())


def note_traits(queue: QueueState, name: str, rows: list[int], tickets: list[int], values: list[Any]) -> None:
    """Keep what players bring of a trait."""
    kept = queue.traits.setdefault(name, {})
    for row, ticket, value in zip(rows, tickets, values, strict=True):
        if value is not None:
            kept[row] = (ticket, value)
            queue.notes_sum += value_digest(name, ticket, value)


def note_details(queue: QueueState, first: int, details: Table) -> None:
    """Keep what a matcher says of the proposals that are numbered on from `first`."""
    if len(details):
        queue.details.append(Told(first, details, len(details)))


def table_of(queue: QueueState, proposal: int) -> Told | None:
    """The table in which something is said of a proposal."""
    place = bisect_right(queue.details, proposal, key=_first) - 1
    told = queue.details[place] if place >= 0 else None
    return None if told is None or proposal >= told.first + len(told.details) else told


def details_of(queue: QueueState, proposal: int) -> dict[str, Any]:
    """What the matcher said of a proposal; empty = nothing."""
    told = table_of(queue, proposal)
    return {} if told is None else told.details[proposal - told.first]


def _first(told: Told) -> int:
    return told.first


def settle_details(queue: QueueState) -> None:
    """Add the digests of tables that came since the hash was last asked for."""
    for told in reversed(queue.details):
        if told.digest is not None:
            break
        told.digest = _table_digest(told.first, told.details)
        queue.notes_sum += told.digest


def _table_digest(first: int, table: Table) -> int:
    digest = hashlib.blake2b(str(first).encode(), digest_size=16)
    _digest_columns(digest, table)
    return int.from_bytes(digest.digest())


def _digest_columns(digest: Any, table: Table) -> None:
    for name, column in table.columns.items():
        kind = type(column).__name__
        if isinstance(column, Table):
            digest.update(msgspec.json.encode([name, kind, len(column.columns)]))
            _digest_columns(digest, column)
            continue
        values = column.code if isinstance(column, Choice) else column
        words = column.words if isinstance(column, Choice) else ()
        digest.update(msgspec.json.encode([name, kind, values.dtype.name, values.shape, words]))
        digest.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)


def note_lost(queue: QueueState, tickets: Array) -> None:
    """The clients of these tickets closed their connections."""
    for ticket in tickets.tolist():
        if ticket not in queue.lost:
            queue.lost[ticket] = None
            queue.notes_sum += value_digest("lost", ticket)


def note_heard(queue: QueueState, tickets: Array) -> None:
    """They were heard of again, or are finished."""
    if queue.lost:
        for ticket in tickets.tolist():
            if ticket in queue.lost:
                del queue.lost[ticket]
                queue.notes_sum -= value_digest("lost", ticket)


def note_wills(queue: QueueState, first_ticket: int, at: Any, will: Array) -> None:
    """Keep which tickets of a join may be asked to join running matches, of those that say so."""
    column = queue.tickets.will
    column[at] = 0
    if len(will):
        slots = np.arange(len(column))[at].reshape(-1)
        for place, said in will.tolist():
            column[slots[place]] = said
            queue.notes_sum += value_digest("will", first_ticket + place, said)


def drop_wills(queue: QueueState, slots: Array) -> None:
    """These tickets are finished."""
    said = slots[queue.tickets.will[slots] != 0]
    for ticket, will in zip(queue.tickets.ticket[said].tolist(), queue.tickets.will[said].tolist(), strict=True):
        queue.notes_sum -= value_digest("will", ticket, will)
    queue.tickets.will[said] = 0


def drop_traits(queue: QueueState, rows: list[int]) -> None:
    """Let go of the traits of these players."""
    for name, kept in queue.traits.items():
        for row in rows:
            noted = kept.pop(row, None)
            if noted is not None:
                queue.notes_sum -= value_digest(name, *noted)


def drop_notes(queue: QueueState, rows: list[int], proposals: Array) -> None:
    """Let go of what was kept of players and proposals that leave the state."""
    drop_traits(queue, rows)
    if queue.details and len(proposals):
        _drop_details(queue, proposals)


def _drop_details(queue: QueueState, proposals: Array) -> None:
    first = np.array([told.first for told in queue.details])
    end = first + np.array([len(told.details) for told in queue.details])
    place = np.searchsorted(first, proposals, side="right") - 1
    gone = np.bincount(place[(place >= 0) & (proposals < end[place])], minlength=len(first))
    for number in np.flatnonzero(gone).tolist():
        told = queue.details[number]
        told.left -= int(gone[number])
        if not told.left and told.digest is not None:
            queue.notes_sum -= told.digest
    queue.details = [told for told in queue.details if told.left]


def see_active(queue: QueueState, players: Array, now_ms: int) -> None:
    """Note that players are there, and forget those who were not seen for the time that counts."""
    queue.active.see(players, now_ms, now_ms - milliseconds(queue.spec.door.activity_s))


def active_population(queue: QueueState, now_ms: int) -> int | None:
    """Players seen within the time that counts; None where nobody counts them."""
    if not queue.spec.door.activity_s:
        return None
    return queue.active.seen_after(now_ms - milliseconds(queue.spec.door.activity_s))
