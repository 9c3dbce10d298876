"""The line of buckets that hold anyone, laid out so that a search along it is quick.

Places 0, 1, ... are in order of waiting. Sorted by bucket, then place, they become slots.

Parts. Where two neighbouring buckets are farther apart than anybody reaches, nothing on one side bears on the other.
There the line may be cut: parts are swept one after the other, or by several threads, each in its own order of places,
and the pairs put in order at the end. Places hop about on the line, so a part that stays in the cache is swept several
times faster than a long line. Whoever stands alone between two such gaps is left out at once.

Layout. What is read together stands together: a record of four numbers a slot, one of eight a bucket, so that a seeker
anywhere on a long line costs a few cache misses and its neighbours hardly any.

Invariants. The slots of a bucket are consecutive and in order of place; so are the buckets of the line by number, and
the parts by slot. A slot that is TAKEN from the start belongs to no bucket.

Complexity. Sorting is linear where buckets span not much more than there are places, and one sort of packed keys
otherwise; the rest is linear. Memory: 36 bytes a place and 64 a bucket.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import INT, INT32S, INTS, OUT_INT32S, OUT_INT32S2, OUT_INTS, OUT_INTS2, kernel

__all__ = [
    "BUCKET",
    "END",
    "FAR",
    "FREE",
    "GROWN",
    "HEAD",
    "HIGHER",
    "INDEX",
    "LIMIT",
    "LOWER",
    "NOBODY",
    "PLACE",
    "START",
    "TAKEN",
    "laid_out",
    "slots_of",
]

NOBODY: Final = -1
FAR: Final = 2**62
TAKEN: Final = -1
"""In place of the place, in the record of a slot that is free no more."""

PLACE, GROWN, LIMIT, INDEX = range(4)
"""The record of a slot: its place, its range so far and the widest ever, the index of its bucket."""
BUCKET, START, END, HEAD, FREE, LOWER, HIGHER = range(7)
"""The record of a bucket: its number, its slots, the first that may be free, how many are, its neighbours' indices."""

PART_LEAST: Final = 8192
"""Slots of a part at least: few enough for all about them to stay in the processor's cache."""
SPAN_LEAST: Final = 4096
SPAN_MOST: Final = 4
"""Buckets are counted, not sorted, if they span no more than SPAN_LEAST, or SPAN_MOST for each place."""


def laid_out(bucket: Array, grown: Array, limit: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The records of slots, int32[n, 4], and of buckets, int64[n, 8], as many as there are; then the parts.

    Part k has the slots begin[k] up to begin[k + 1], int64[parts + 1]; they come in order of place, those out of all
    reach left out, in the third column, int32[n], from begin[k] up to end[k], int64[parts].
    """
    count = len(bucket)
    slots, line = np.empty((count, 4), np.int32), np.empty((count, 8), np.int64)
    in_turn = np.empty(count, np.int32)
    begin, end = np.empty(count // PART_LEAST + 2, np.int64), np.empty(count // PART_LEAST + 2, np.int64)
    parts = _lay_out(bucket, grown, limit, slots_of(bucket), slots, line, begin, end, in_turn)
    return slots, line, in_turn, begin[: parts + 1], end[:parts]


def slots_of(bucket: Array) -> Array:
    """int32[n]: where each place comes when they are sorted by bucket, then place; from int64[n]."""
    slot_of = np.empty(len(bucket), np.int32)
    if not len(bucket):
        return slot_of
    least, highest = int(bucket.min()), int(bucket.max())
    if highest - least < max(SPAN_LEAST, SPAN_MOST * len(bucket)):
        _count_out(bucket, least, highest - least + 1, slot_of)
        return slot_of
    place_bits = (len(bucket) - 1).bit_length()
    if (highest - least).bit_length() + place_bits <= 63:
        keys = bucket - least
        keys <<= place_bits
        keys |= np.arange(len(keys))
        keys.sort()
        keys &= (1 << place_bits) - 1
    else:
        keys = np.argsort(bucket, kind="stable")
    slot_of[keys] = np.arange(len(keys), dtype=np.int32)
    return slot_of


@kernel(INTS, INT, INT, OUT_INT32S)
def _count_out(bucket: Array, least: int, span: int, slot_of: Array) -> None:
    """Sort by counting: where each bucket begins, then the next slot of its bucket for every place."""
    begin = np.zeros(span + 1, np.int32)
    for place in range(len(bucket)):
        begin[bucket[place] - least + 1] += 1
    for step in range(1, span):
        begin[step] += begin[step - 1]
    for place in range(len(bucket)):
        step = bucket[place] - least
        slot_of[place] = begin[step]
        begin[step] += 1


@kernel()
def _link(bucket_at: Array, farthest: int, slots: Array, line: Array, slot_of: Array, begin: Array) -> int:
    """Write the records of the buckets and where each part begins; how many parts there are.

    Slots out of all reach belong to no bucket, are taken, and their places have no slot.
    """
    buckets = parts = 0
    before, here = -FAR, bucket_at[0] if len(slots) else FAR
    for slot in range(len(slots)):
        after = bucket_at[slot + 1] if slot + 1 < len(slots) else FAR
        if here - before > farthest and (parts == 0 or slot - begin[parts - 1] >= PART_LEAST):
            begin[parts] = slot
            parts += 1
        if here - before > farthest and after - here > farthest:
            slot_of[slots[slot, PLACE]] = NOBODY
            slots[slot, PLACE] = TAKEN
        else:
            if here != before:
                line[buckets, BUCKET], line[buckets, START], line[buckets, HEAD] = here, slot, slot
                line[buckets, LOWER], line[buckets, HIGHER], line[buckets, FREE] = buckets - 1, buckets + 1, 0
                buckets += 1
            slots[slot, INDEX] = buckets - 1
            line[buckets - 1, END] = slot + 1
            line[buckets - 1, FREE] += 1
        before, here = here, after
    if buckets:
        line[buckets - 1, HIGHER] = NOBODY
    begin[parts] = len(slots)
    return parts


@kernel()
def _line_up(slot_of: Array, parts: int, begin: Array, end: Array, in_turn: Array) -> None:
    """Write the slots of each part in order of place, from its first slot on; `end` says how far."""
    part_at = np.empty(len(in_turn) // PART_LEAST + 1, np.int64)
    part = 0
    for block in range(len(part_at)):
        while part + 1 < parts and begin[part + 1] <= block * PART_LEAST:
            part += 1
        part_at[block] = part
    end[:parts] = begin[:parts]
    for slot in slot_of:
        if slot != NOBODY:
            part = part_at[slot // PART_LEAST]
            while slot >= begin[part + 1]:
                part += 1
            in_turn[end[part]] = slot
            end[part] += 1


@kernel(INTS, INT32S, INT32S, OUT_INT32S, OUT_INT32S2, OUT_INTS2, OUT_INTS, OUT_INTS, OUT_INT32S)
def _lay_out(
    bucket: Array,
    grown: Array,
    limit: Array,
    slot_of: Array,
    slots: Array,
    line: Array,
    begin: Array,
    end: Array,
    in_turn: Array,
) -> int:
    """Write all records, and the slots of each part in order of place; how many parts there are."""
    bucket_at = np.empty(len(bucket), np.int64)
    farthest = 0
    for place in range(len(bucket)):
        slot = slot_of[place]
        bucket_at[slot] = bucket[place]
        slots[slot, PLACE], slots[slot, GROWN], slots[slot, LIMIT] = place, grown[place], limit[place]
        farthest = max(farthest, min(grown[place], limit[place]))
    parts = _link(bucket_at, farthest, slots, line, slot_of, begin)
    _line_up(slot_of, parts, begin, end, in_turn)
    return parts
