"""Sanction scores of very many random pairings of two lobbies of five: every rating drawn, every score worked out.

Problem. 140,000,000 pairings are 1,400,000,000 ratings. A score is cheap; drawing, looking up and counting must be too.

Idea. A block of 256 pairings at a time, small enough for the processor's first cache, goes through five plain loops:

    draw     256 generators (xoshiro256++) side by side give 64 bits each, five times: ten ratings a pairing, of 32
             bits each. Bits b stand for the rating lcap + (b + 1/2) * (ucap - lcap) / 2^32.
    look up  the upper bits of b name a cell of a small table. No cell has more than one edge of a bucket in it, so the
             bucket is that of the cell's beginning, or the next one: (entry + b) >> 32 is both in one addition.
    score    lobby k meets lobby k + 256: a network of nine exchanges sorts five buckets, then differences are added.
             Buckets and scores are bytes, so one instruction serves 32 pairings.
    filter   (if asked for) the ratings are sorted, and mean, deviation, range and overlap worked out in float64.
    count    four counters for each score, so that equal scores in a row need not wait for each other.

Exactness. A threshold of the table is the least b whose rating is not below the edge, found by halving on the very
expression above; so the bucket is that of `skill_buckets.bucket_of` for every b. The filter uses the expressions of
`lobby_ranges` on sorted ratings; with them a pairing passes exactly if `lobby_ranges` says so. `sample` tells the
ratings, scores and overlaps of the first pairings of a part, so that both can be checked one by one.

Chance. A part of an experiment has generators of its own, their states drawn by `seeds` from seed, salt and the number
of the part. What a part gives depends on nothing else: not on the threads, and not on how many pairings are asked for
beyond its own.

Invariants.
  1. Every pairing uses ten ratings that no other pairing uses.
  2. At most one inner edge lies in a cell of the table; `scale_of` refuses buckets that are narrower than a cell.

Complexity. Some 25 machine cycles a pairing, 80 with the filter. Memory: 30 kB a thread.

Where it stops. Lobbies are of five, buckets at most 52 (a score is a byte), each at least 1/1024 of the range wide.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import skill_buckets
from evenmatch.numerics.compiled import BOOL, FLOAT, INT, INTS, OUT_FLOATS, OUT_INTS, OUT_INTS2, kernel
from evenmatch.numerics.lobby_ranges import range_of_sum, similarity
from evenmatch.numerics.seeds import generator

__all__ = ["LOBBY", "Scale", "sample", "scale_of", "start", "tally"]

LOBBY: Final = 5
PAIRS: Final = 256
"""Pairings in a block, and generators side by side."""
LOBBIES: Final = 2 * PAIRS
BITS: Final = 1 << 32
"""Different ratings."""
CELLS: Final = 1024
CELL_BITS: Final = 22
"""Lower bits of a rating that the table does not look at: 2^32 / 1024 = 2^22."""
BUCKETS_MAX: Final = 52


class Scale(NamedTuple):
    """Where ratings lie and which buckets they are in, made ready for drawing."""

    lcap: float
    step: float
    """From one rating to the next."""
    least_sigma: float
    table: Array
    """int64[CELLS]: bucket * 2^32 + (2^32 - threshold); the threshold is 2^32 where the cell has no edge."""
    scores: int
    """How many different scores there may be."""


def scale_of(lcap: float, ucap: float, n_bucket: int, w_min: float) -> Scale:
    """The scale of skill buckets; ValueError if there are too many, or some are too narrow."""
    edges = skill_buckets.edges(lcap, ucap, n_bucket, w_min)
    step = (ucap - lcap) / BITS
    thresholds = [_threshold(lcap, step, edge) for edge in edges[1:-1].tolist()]
    if n_bucket > BUCKETS_MAX or len({threshold >> CELL_BITS for threshold in thresholds}) < len(thresholds):
        raise ValueError(f"buckets must be at most {BUCKETS_MAX}, and each wider than 1/{CELLS} of the range")
    table = BITS * np.searchsorted(thresholds, np.arange(CELLS) << CELL_BITS, side="right")
    for threshold in thresholds:
        if threshold % (1 << CELL_BITS):
            table[threshold >> CELL_BITS] += BITS - threshold
    return Scale(lcap, step, (ucap - lcap) / n_bucket, table, LOBBY * (n_bucket - 1) + 1)


def _threshold(lcap: float, step: float, edge: float) -> int:
    """The least bits whose rating is not below an edge."""
    least, most = 0, BITS - 1
    while least < most:
        middle = (least + most) // 2
        if lcap + (middle + 0.5) * step < edge:
            least = middle + 1
        else:
            most = middle
    return least


def start(seed: int, salt: int, part: int) -> Array:
    """int64[4, PAIRS]: the generators of a part; `tally` and `sample` move them on."""
    return generator(seed, salt, part).integers(0, 1 << 64, (4, PAIRS), dtype=np.uint64).view(np.int64)


@kernel()
def _rotated(word: Any, by: int) -> Any:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@kernel()
def _draw(first: Array, second: Array, third: Array, fourth: Array, drawn: Array) -> None:
    """xoshiro256++ of Blackman and Vigna, many at once; `drawn` is uint64[LOBBY, PAIRS]."""
    for row in range(LOBBY):
        for lane in range(PAIRS):
            a, b, c, d = first[lane], second[lane], third[lane], fourth[lane]
            drawn[row, lane] = _rotated(a + d, 23) + a
            kept = b << np.uint64(17)
            c ^= a
            d ^= b
            b ^= c
            a ^= d
            first[lane], second[lane], third[lane], fourth[lane] = a, b, c ^ kept, _rotated(d, 45)


@kernel()
def _look_up(bits: Array, table: Array, buckets: Array) -> None:
    """uint32[n], uint64[CELLS] -> uint8[n]: the bucket of each rating."""
    for place in range(len(bits)):
        wide = np.uint64(bits[place])
        buckets[place] = np.uint8((table[wide >> np.uint64(CELL_BITS)] + wide) >> np.uint64(32))


@kernel()
def _ordered(one: Any, other: Any) -> tuple[Any, Any]:
    return min(one, other), max(one, other)


@kernel()
def _sorted(a: Any, b: Any, c: Any, d: Any, e: Any) -> tuple[Any, Any, Any, Any, Any]:
    """A network that sorts any five values."""
    a, b = _ordered(a, b)
    d, e = _ordered(d, e)
    c, e = _ordered(c, e)
    c, d = _ordered(c, d)
    a, d = _ordered(a, d)
    a, c = _ordered(a, c)
    b, e = _ordered(b, e)
    b, d = _ordered(b, d)
    b, c = _ordered(b, c)
    return a, b, c, d, e


@kernel()
def _apart(one: Any, other: Any) -> Any:
    return np.uint8(max(one, other) - min(one, other))


@kernel()
def _score(buckets: Array, scores: Array) -> None:
    """uint8[LOBBY, LOBBIES] -> uint8[PAIRS]: W1 of sorted buckets, lobby k against lobby k + PAIRS."""
    for k in range(PAIRS):
        a, b, c, d, e = _sorted(buckets[0, k], buckets[1, k], buckets[2, k], buckets[3, k], buckets[4, k])
        m = k + PAIRS
        p, q, r, s, t = _sorted(buckets[0, m], buckets[1, m], buckets[2, m], buckets[3, m], buckets[4, m])
        scores[k] = np.uint8(_apart(a, p) + _apart(b, q) + _apart(c, r) + _apart(d, s) + _apart(e, t))


@kernel()
def _find_ranges(bits: Array, lcap: float, step: float, least_sigma: float, low: Array, high: Array) -> None:
    """uint32[LOBBY, LOBBIES] -> float64[LOBBIES] each: where the non-outlier range of each lobby begins and ends."""
    for k in range(LOBBIES):
        a, b, c, d, e = _sorted(bits[0, k], bits[1, k], bits[2, k], bits[3, k], bits[4, k])
        f = lcap + (a + 0.5) * step
        g = lcap + (b + 0.5) * step
        h = lcap + (c + 0.5) * step
        i = lcap + (d + 0.5) * step
        j = lcap + (e + 0.5) * step
        mean = (f + g + h + i + j) / LOBBY
        f -= mean
        g -= mean
        h -= mean
        i -= mean
        j -= mean
        low[k], high[k] = range_of_sum(mean, f * f + g * g + h * h + i * i + j * j, LOBBY, least_sigma)


@kernel()
def _find_overlaps(low: Array, high: Array, overlaps: Array) -> None:
    for k in range(PAIRS):
        overlaps[k] = similarity(low[k], high[k], low[k + PAIRS], high[k + PAIRS])


@kernel(OUT_INTS2, INTS, FLOAT, FLOAT, FLOAT, BOOL, FLOAT, INT, OUT_INTS)
def _tally(
    state: Array,
    table: Array,
    lcap: float,
    step: float,
    least_sigma: float,
    filtered: bool,
    overlap_min: float,
    pairings: int,
    frequency: Array,
) -> None:
    words, entries = state.view(np.uint64), table.view(np.uint64)
    drawn = np.empty((LOBBY, PAIRS), np.uint64)
    bits = drawn.view(np.uint32)
    buckets = np.empty((LOBBY, LOBBIES), np.uint8)
    scores = np.empty(PAIRS, np.uint8)
    low, high, overlaps = np.empty(LOBBIES), np.empty(LOBBIES), np.empty(PAIRS)
    counters = np.zeros((4, 256), np.int64)
    for begin in range(0, pairings, PAIRS):
        _draw(words[0], words[1], words[2], words[3], drawn)
        _look_up(bits.reshape(LOBBY * LOBBIES), entries, buckets.reshape(LOBBY * LOBBIES))
        _score(buckets, scores)
        count = min(PAIRS, pairings - begin)
        if filtered:
            _find_ranges(bits, lcap, step, least_sigma, low, high)
            _find_overlaps(low, high, overlaps)
            for k in range(count):
                counters[k & 3, scores[k]] += overlaps[k] >= overlap_min
        else:
            for k in range(count):
                counters[k & 3, scores[k]] += 1
    for score in range(len(frequency)):
        frequency[score] += counters[:, score].sum()


@kernel(OUT_INTS2, INTS, FLOAT, FLOAT, FLOAT, OUT_INTS2, OUT_INTS, OUT_FLOATS)
def _sample(
    state: Array,
    table: Array,
    lcap: float,
    step: float,
    least_sigma: float,
    ratings: Array,
    found: Array,
    similar: Array,
) -> None:
    words, entries = state.view(np.uint64), table.view(np.uint64)
    drawn = np.empty((LOBBY, PAIRS), np.uint64)
    bits = drawn.view(np.uint32)
    buckets = np.empty((LOBBY, LOBBIES), np.uint8)
    scores = np.empty(PAIRS, np.uint8)
    low, high, overlaps = np.empty(LOBBIES), np.empty(LOBBIES), np.empty(PAIRS)
    for begin in range(0, len(found), PAIRS):
        _draw(words[0], words[1], words[2], words[3], drawn)
        _look_up(bits.reshape(LOBBY * LOBBIES), entries, buckets.reshape(LOBBY * LOBBIES))
        _score(buckets, scores)
        _find_ranges(bits, lcap, step, least_sigma, low, high)
        _find_overlaps(low, high, overlaps)
        for k in range(min(PAIRS, len(found) - begin)):
            found[begin + k], similar[begin + k] = scores[k], overlaps[k]
            for row in range(LOBBY):
                ratings[begin + k, row] = bits[row, k]
                ratings[begin + k, LOBBY + row] = bits[row, k + PAIRS]


def tally(state: Array, scale: Scale, pairings: int, overlap_min: float | None = None) -> Array:
    """int64[scores]: how often each score came up in so many fresh pairings.

    With `overlap_min` only pairings are counted whose ranges overlap by at least that.
    """
    frequency = np.zeros(scale.scores, np.int64)
    least = 0.0 if overlap_min is None else overlap_min
    _tally(
        state,
        scale.table,
        scale.lcap,
        scale.step,
        scale.least_sigma,
        overlap_min is not None,
        least,
        pairings,
        frequency,
    )
    return frequency


def sample(state: Array, scale: Scale, pairings: int) -> tuple[Array, Array, Array]:
    """float64[pairings, 10], int64[pairings], float64[pairings]: ratings, scores and overlaps of fresh pairings."""
    bits = np.empty((pairings, 2 * LOBBY), np.int64)
    scores, overlaps = np.empty(pairings, np.int64), np.empty(pairings)
    _sample(state, scale.table, scale.lcap, scale.step, scale.least_sigma, bits, scores, overlaps)
    return scale.lcap + (bits + 0.5) * scale.step, scores, overlaps
