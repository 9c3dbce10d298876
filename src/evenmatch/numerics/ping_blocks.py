"""The free players of a tier by ping: groups of one ping, in blocks of neighbours; what `greedy_clique` looks through.

Four arrays hold everything, a row for each of the names below, so that kernels pass on few of them. Blocks are about as
many as the groups in each. The last block is filled up with groups of nobody.

Invariants.
  1. The head of a group is the earliest free player of its ping; the top of a block is the earliest of its heads.
  2. Where nobody is left, PLACE or TOP is the number of places, WAIT is 0, and SHUT makes every score -inf.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel
from evenmatch.numerics.free_players import all_lesser_waits, take

WIDTH_LEAST: Final = 16

PING, WAIT, SHUT, APART, LESSER = range(5)
"""heads, float64[5, blocks, width]: ping and wait of each head, what is added to its score (0, or -inf if nobody of the
ping is left), its sums of ping differences and of lesser waits to the lobby."""
BEGIN, END, PLACE, DEGREE = range(4)
"""lines, int64[4, blocks, width]: where in `queue` the players of a ping begin and end, the head's place (the number of
places if nobody is left), its sum of lesser waits to all who are free (-1 = not known)."""
LOW, HIGH, BOUND = 5, 6, 7
"""tops, float64[8, blocks]: WAIT, SHUT and LESSER of each top, the least of APART that anybody in the block can have,
the lowest and the highest ping, a score that nobody exceeds."""
TOP, PLAYERS, PINGS, BEFORE, BELOW, COUNTED, KNOWN = 2, 0, 1, 4, 5, 6, 7
"""books, int64[8, blocks]: free players and the sum of their pings, the top's place and DEGREE, the same two sums over
all blocks before, how much of the log APART and LESSER, and DEGREE know of."""


@kernel()
def grouped(ping: Array, wait: Array, queue: Array) -> tuple[Array, Array]:
    """`heads` and `lines` of a tier with everybody in it; slots without a ping are groups of nobody."""
    count = 0
    for at in range(len(queue)):
        if at == 0 or ping[queue[at]] != ping[queue[at - 1]]:
            count += 1
    width = WIDTH_LEAST
    while 4 * width * width < count:
        width *= 2
    blocks = (count + width - 1) // width
    heads, lines = np.zeros((5, blocks, width)), np.zeros((4, blocks, width), np.int64)
    lesser = all_lesser_waits(wait)
    group = -1
    for at in range(len(queue)):
        place = queue[at]
        if at == 0 or ping[place] != ping[queue[at - 1]]:
            group += 1
            block, slot = group // width, group % width
            heads[PING, block, slot] = ping[place]
            heads[WAIT, block, slot] = wait[place]
            lines[BEGIN, block, slot] = at
            lines[PLACE, block, slot] = place
            lines[DEGREE, block, slot] = lesser[place]
        lines[END, block, slot] = at + 1
    for group in range(count, blocks * width):
        block, slot = group // width, group % width
        heads[PING, block, slot] = heads[PING, block, slot - 1]
        heads[SHUT, block, slot] = -np.inf
        lines[PLACE, block, slot] = len(wait)
    return heads, lines


@kernel()
def blocked(heads: Array, lines: Array, places: int) -> tuple[Array, Array]:
    """`tops` and `books` of the blocks."""
    blocks, width = heads.shape[1], heads.shape[2]
    tops, books = np.zeros((8, blocks)), np.zeros((8, blocks), np.int64)
    for block in range(blocks):
        tops[LOW, block], tops[HIGH, block] = heads[PING, block, 0], heads[PING, block, width - 1]
        for slot in range(width):
            players = lines[END, block, slot] - lines[BEGIN, block, slot]
            books[PLAYERS, block] += players
            books[PINGS, block] += players * int(heads[PING, block, slot])
        crown(heads, lines, tops, books, block, places)
        for slot in range(width):
            if lines[PLACE, block, slot] == books[TOP, block]:
                books[DEGREE, block] = lines[DEGREE, block, slot]
    return tops, books


@kernel()
def crown(heads: Array, lines: Array, tops: Array, books: Array, block: int, places: int) -> None:
    """Find the top of a block."""
    top, wait = places, 0.0
    for slot in range(heads.shape[2]):
        top = min(top, lines[PLACE, block, slot])
    for slot in range(heads.shape[2]):
        wait = max(wait, heads[WAIT, block, slot])
    books[TOP, block], books[DEGREE, block] = top, -1
    tops[WAIT, block] = wait
    tops[SHUT, block] = 0.0 if top < places else -np.inf


@kernel()
def bring_forward(queue: Array, ping: Array, place: int) -> None:
    """Let a place be the first of its ping."""
    at = 0
    while queue[at] != place:
        at += 1
    while at > 0 and ping[queue[at - 1]] == ping[place]:
        queue[at] = queue[at - 1]
        at -= 1
    queue[at] = place


@kernel()
def where_is(lines: Array, place: int) -> tuple[int, int]:
    """Block and slot of a head."""
    for block in range(lines.shape[1]):
        for slot in range(lines.shape[2]):
            if lines[PLACE, block, slot] == place:
                return block, slot
    return -1, -1


@kernel()
def join(
    heads: Array, lines: Array, tops: Array, books: Array, queue: Array, log: Array, begin: int, seated: int,
    block: int, slot: int, free_wait: Array, tree: Array, totals: Array,
) -> int:  # fmt: skip
    """Seat the head of a group, as log[seated]: its place. The next of the group is its head, or the group is shut."""
    place: int = lines[PLACE, block, slot]
    ping, wait = heads[PING, block, slot], heads[WAIT, block, slot]
    log[0, seated], log[1, seated] = ping, wait
    take(free_wait, tree, totals, place, int(ping))
    books[PLAYERS, block] -= 1
    books[PINGS, block] -= int(ping)
    for other in range(tops.shape[1]):
        tops[APART, other] += max(max(tops[LOW, other] - ping, ping - tops[HIGH, other]), 0.0)
        tops[LESSER, other] += min(tops[WAIT, other], wait)
    at = lines[BEGIN, block, slot] + 1
    lines[BEGIN, block, slot] = at
    lines[DEGREE, block, slot] = -1
    if at < lines[END, block, slot]:
        lines[PLACE, block, slot] = queue[at]
        heads[WAIT, block, slot] = free_wait[queue[at]]
        lesser = 0.0
        for member in range(begin, books[COUNTED, block]):
            lesser += min(log[1, member], heads[WAIT, block, slot])
        heads[LESSER, block, slot] = lesser
    else:
        lines[PLACE, block, slot] = len(queue)
        heads[WAIT, block, slot] = 0.0
        heads[SHUT, block, slot] = -np.inf
    if books[TOP, block] == place or books[TOP, block] > lines[PLACE, block, slot]:
        crown(heads, lines, tops, books, block, len(queue))
        lesser = 0.0
        for member in range(begin, seated + 1):
            lesser += min(log[1, member], tops[WAIT, block])
        tops[LESSER, block] = lesser
    return place
