"""Who is still free, by place: how many there are before a place, and the sum of their waits.

A tree over chunks of places (Fenwick) has the sums over whole chunks; the places of one chunk are added up when asked.
"""

from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics.compiled import kernel

CHUNK: Final = 64


@kernel()
def all_free(ping: Array, wait: Array) -> tuple[Array, Array, Array]:
    """Everybody is free: waits (int64[n], -1 = seated), the tree (int64[chunks + 1, 2]), totals.

    `totals`, int64[3]: free players, the sum of their pings, the sum of their waits.
    """
    chunks = (len(wait) + CHUNK - 1) // CHUNK
    free_wait, tree, totals = np.empty(len(wait), np.int64), np.zeros((chunks + 1, 2), np.int64), np.zeros(3, np.int64)
    totals[0] = len(wait)
    for place in range(len(wait)):
        free_wait[place] = wait[place]
        totals[1] += ping[place]
        totals[2] += wait[place]
        tree[place // CHUNK + 1, 0] += 1
        tree[place // CHUNK + 1, 1] += wait[place]
    for node in range(1, chunks + 1):
        above = node + (node & -node)
        if above <= chunks:
            tree[above, 0] += tree[node, 0]
            tree[above, 1] += tree[node, 1]
    return free_wait, tree, totals


@kernel()
def all_lesser_waits(wait: Array) -> Array:
    """int64[n]: the sum of the lesser waits of each place with all others, while everybody is free."""
    lesser = np.empty(len(wait), np.int64)
    later = 0
    for place in range(len(wait) - 1, -1, -1):
        lesser[place] = place * wait[place] + later
        later += wait[place]
    return lesser


@kernel()
def take(free_wait: Array, tree: Array, totals: Array, place: int, ping: int) -> None:
    """Seat a player who was free."""
    wait = free_wait[place]
    free_wait[place] = -1
    totals[0] -= 1
    totals[1] -= ping
    totals[2] -= wait
    node = place // CHUNK + 1
    while node < len(tree):
        tree[node, 0] -= 1
        tree[node, 1] -= wait
        node += node & -node


@kernel()
def lesser_waits(free_wait: Array, tree: Array, totals: Array, place: int) -> int:
    """The sum of the lesser waits of a free player with all others who are free."""
    chunk = place // CHUNK
    earlier, waited = 0, 0
    for other in range(chunk * CHUNK, place):
        if free_wait[other] >= 0:
            earlier += 1
            waited += free_wait[other]
    node = chunk
    while node:
        earlier += tree[node, 0]
        waited += tree[node, 1]
        node &= node - 1
    wait = free_wait[place]
    lesser: int = wait * earlier + totals[2] - waited - wait
    return lesser
