"""Greedy cliques of heavy weight among players who differ in ping and wait.

Problem. Players of one tier; the weight of a pair is -alpha * |ping_i - ping_j| + beta * min(wait_i, wait_j), with ping
in ms and wait in s. Take the player with the highest weighted degree (the sum of weights to all others), then again and
again the one with the highest sum of weights to those already taken, until the lobby is full; then the next lobby from
those who are left. Ties go to the earlier place. Places are in order of falling wait.

Scores. A sum of weights is `score(a, b)` of two exact integers, the sum of ping differences and the sum of lesser
waits, both in ms: one float expression compares them. Adding up float weights instead would let ties hang on the order
of adding.

Idea 1: heads. Among players of one ping the sum of ping differences is the same, and the sum of lesser waits does not
fall with the wait; so, with beta >= 0, the earliest of them scores highest and wins ties. Only the first of each ping,
its head, needs to be looked at. That holds for degrees too.

Idea 2: blocks. Neighbouring pings stand in blocks, about as many as there are pings in each. Nobody in a block scores
higher than somebody would with the ping of its nearer edge and the wait of its earliest head, its top. That bound comes
from the same expression, and rounding is monotone; so a block whose bound is below the best score so far, or equals it
while its top is later, is passed over, and nothing is lost. What a block knows of the lobby is brought up to date only
when somebody looks into it.

Idea 3: degrees. Sums of ping differences to all who are free follow from counts and sums of pings below and above. The
lesser waits of the player at place v are his own with everybody before him, and theirs with everybody after him:
`numerics/free_players` has those sums. Once known, the degree of a head only loses what the seated take with them.

    pings     20 21 22 23 | 24 25 27 28 | 31 ...      a group each: its players in order, the first is its head
    blocks         0      |      1      | 2           a top each: the earliest of its heads
    log       [ lobby 0 ][ lobby 1 ] ...              everybody seated so far, in order

Invariants.
  1. `wait` never rises along the places, so the first free place of a ping is its best candidate.
  2. `APART` and `LESSER` of a block's heads are their exact sums over the lobby's members in log[begin : counted].
  3. `DEGREE` of a head, where known, is its exact sum of lesser waits to all others but those in log[: known].
  4. Sums over a lobby, and over `LAG` seated players, are whole numbers below 2^53, which floats hold exactly: waits
     end at `WAIT_MS_MAX`. Sums over a tier are int64.

Complexity. V players with G different pings, lobbies of N: sorting counts digits, O(V). A pick compares O(sqrt G)
bounds and looks into few blocks, mostly one; at worst, where bounds say nothing, at all G heads. A member costs
O(log V) in the sums. Memory: about 70 bytes a player, columns and lobbies included.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.numerics import threads
from evenmatch.numerics.compiled import FLOAT, INT, INTS, OUT_FLOATS, OUT_INT32S, OUT_INTS2, kernel
from evenmatch.numerics.free_players import all_free, all_lesser_waits, lesser_waits
from evenmatch.numerics.ping_blocks import (
    APART,
    BEFORE,
    BEGIN,
    BELOW,
    BOUND,
    COUNTED,
    DEGREE,
    END,
    HIGH,
    KNOWN,
    LESSER,
    LOW,
    PING,
    PINGS,
    PLACE,
    PLAYERS,
    SHUT,
    TOP,
    WAIT,
    blocked,
    bring_forward,
    grouped,
    join,
    where_is,
)
from evenmatch.numerics.tier_places import stable_order

__all__ = ["drain", "find_lobby", "score", "scores", "weighted_degrees"]

LAG: Final = 256
"""Seated players whose loss is taken from known degrees one by one; with more of them, degrees are asked for again."""
PART_LEAST: Final = 20_000
"""Players that are worth a thread of their own."""


def score(ping_sum: Array, wait_sum: Array, alpha: float, beta: float) -> Array:
    """float64: a sum of weights, from the sums of ping differences and of lesser waits, both exact, in ms."""
    weights: Array = -float(alpha) * ping_sum + float(beta) * (wait_sum / 1000.0)
    return weights


@kernel()
def weigh(ping_sum: float, wait_sum: float, alpha: float, beta: float) -> float:
    """`score` of two numbers."""
    return -alpha * ping_sum + beta * (wait_sum / 1000.0)


# FIND LOBBY


@kernel()
def bound_degrees(
    tops: Array, books: Array, free_wait: Array, tree: Array, totals: Array, alpha: float, beta: float
) -> None:
    """For every block, a weighted degree that nobody in it exceeds."""
    players, pings = totals[0], totals[1]
    before, below = 0, 0
    for block in range(tops.shape[1]):
        books[BEFORE, block], books[BELOW, block] = before, below
        low, high = int(tops[LOW, block]), int(tops[HIGH, block])
        # Sums of ping differences are convex in the ping: within the block they stay above their slopes at its edges.
        slope = 2 * before - players
        least = pings - 2 * below + low * slope + min(slope, 0) * (high - low)
        before += books[PLAYERS, block]
        below += books[PINGS, block]
        slope = 2 * before - players
        least = max(least, pings - 2 * below + high * slope - max(slope, 0) * (high - low))
        if books[DEGREE, block] < 0 and tops[SHUT, block] == 0.0:
            books[DEGREE, block] = lesser_waits(free_wait, tree, totals, books[TOP, block])
        tops[BOUND, block] = weigh(least, books[DEGREE, block], alpha, beta) + tops[SHUT, block]


@kernel()
def best_degree(
    heads: Array,
    lines: Array,
    books: Array,
    free_wait: Array,
    tree: Array,
    totals: Array,
    block: int,
    best: float,
    earliest: int,
    alpha: float,
    beta: float,
) -> tuple[float, int, int]:
    """The highest degree so far and its place, and the slot if it is in this block; -1 = nobody here is better."""
    players, pings = totals[0], totals[1]
    before, below = books[BEFORE, block], books[BELOW, block]
    found = -1
    for slot in range(heads.shape[2]):
        ping, place = int(heads[PING, block, slot]), lines[PLACE, block, slot]
        apart = pings - 2 * below + ping * (2 * before - players)
        count = lines[END, block, slot] - lines[BEGIN, block, slot]
        before += count
        below += count * ping
        known = lines[DEGREE, block, slot]
        degree = weigh(apart, books[DEGREE, block] if known < 0 else known, alpha, beta)
        if count and (degree > best or (degree == best and place < earliest)):
            if known < 0:
                lines[DEGREE, block, slot] = lesser_waits(free_wait, tree, totals, place)
                degree = weigh(apart, lines[DEGREE, block, slot], alpha, beta)
            if degree > best or (degree == best and place < earliest):
                best, earliest, found = degree, place, slot
    return best, earliest, found


@kernel()
def lose_seated(heads: Array, lines: Array, books: Array, log: Array, seated: int, lost: Array, block: int) -> None:
    """Take the lesser waits with the newly seated from the degrees of a block; forget degrees that are far behind."""
    known = books[KNOWN, block]
    books[KNOWN, block] = seated
    if seated - known > LAG:
        for slot in range(heads.shape[2]):
            lines[DEGREE, block, slot] = -1
        return
    for slot in range(heads.shape[2]):
        lost[slot] = 0.0
    for member in range(known, seated):
        wait = log[1, member]
        for slot in range(heads.shape[2]):
            lost[slot] += min(heads[WAIT, block, slot], wait)
    for slot in range(heads.shape[2]):
        if lines[DEGREE, block, slot] >= 0:
            lines[DEGREE, block, slot] -= int(lost[slot])


@kernel()
def find_seed(
    heads: Array, lines: Array, tops: Array, books: Array, log: Array, seated: int, scored: Array, start: int,
    free_wait: Array, tree: Array, totals: Array, alpha: float, beta: float,
) -> tuple[int, int]:  # fmt: skip
    """Block and slot of the free player with the highest weighted degree; block `start` is looked into first."""
    bound_degrees(tops, books, free_wait, tree, totals, alpha, beta)
    best, earliest, chosen, found = -np.inf, len(free_wait), start, -1
    for turn in range(-1, tops.shape[1]):
        block = start if turn < 0 else turn
        bound = tops[BOUND, block]
        if turn != start and (bound > best or (bound == best and books[TOP, block] < earliest)):
            lose_seated(heads, lines, books, log, seated, scored, block)
            best, earliest, slot = best_degree(
                heads, lines, books, free_wait, tree, totals, block, best, earliest, alpha, beta
            )
            if slot >= 0:
                chosen, found = block, slot
    return chosen, found


@kernel()
def find_next(
    heads: Array, lines: Array, tops: Array, books: Array, log: Array, begin: int, seated: int, scored: Array,
    start: int, places: int, alpha: float, beta: float,
) -> tuple[int, int]:  # fmt: skip
    """Block and slot of the candidate with the highest sum of weights to log[begin : seated]; `start` as above."""
    width, last = heads.shape[2], seated - 1
    for block in range(tops.shape[1]):
        tops[BOUND, block] = weigh(tops[APART, block], tops[LESSER, block], alpha, beta) + tops[SHUT, block]
    best, earliest, chosen, found = -np.inf, places, start, -1
    for turn in range(-1, tops.shape[1]):
        block = start if turn < 0 else turn
        bound = tops[BOUND, block]
        if turn == start or bound < best or (bound == best and books[TOP, block] >= earliest):
            continue
        counted = books[COUNTED, block]
        books[COUNTED, block] = seated
        if counted <= begin:
            counted = begin
            for slot in range(width):
                heads[APART, block, slot] = 0.0
                heads[LESSER, block, slot] = 0.0
        for member in range(counted, last):
            ping, wait = log[0, member], log[1, member]
            for slot in range(width):
                heads[APART, block, slot] += abs(heads[PING, block, slot] - ping)
                heads[LESSER, block, slot] += min(heads[WAIT, block, slot], wait)
        ping, wait = log[0, last], log[1, last]
        for slot in range(width):
            apart = heads[APART, block, slot] + abs(heads[PING, block, slot] - ping)
            lesser = heads[LESSER, block, slot] + min(heads[WAIT, block, slot], wait)
            heads[APART, block, slot] = apart
            heads[LESSER, block, slot] = lesser
            scored[slot] = weigh(apart, lesser, alpha, beta) + heads[SHUT, block, slot]
        for slot in range(width):
            if scored[slot] > best or (scored[slot] == best and lines[PLACE, block, slot] < earliest):
                best, earliest, chosen, found = scored[slot], lines[PLACE, block, slot], block, slot
    return chosen, found


@kernel()
def drain_tier(ping: Array, wait: Array, first: int, alpha: float, beta: float, lobbies: Array, weights: Array) -> None:
    """Find the lobbies of a tier, one after the other, until `lobbies` and `weights` are full."""
    queue = stable_order(ping)
    if first >= 0:
        bring_forward(queue, ping, first)
    heads, lines = grouped(ping, wait, queue)
    tops, books = blocked(heads, lines, len(queue))
    free_wait, tree, totals = all_free(ping, wait)
    size = lobbies.shape[1]
    log, scored = np.empty((2, lobbies.size)), np.empty(heads.shape[2])
    block = 0
    for lobby in range(lobbies.shape[0]):
        begin = lobby * size
        for other in range(tops.shape[1]):
            tops[APART, other], tops[LESSER, other] = 0.0, 0.0
        apart, lesser = 0.0, 0.0
        for seated in range(begin, begin + size):
            if seated > begin:
                block, slot = find_next(
                    heads, lines, tops, books, log, begin, seated, scored, block, len(queue), alpha, beta
                )
                apart += heads[APART, block, slot]
                lesser += heads[LESSER, block, slot]
            elif first >= 0:
                block, slot = where_is(lines, first)
                first = -1
            else:
                block, slot = find_seed(
                    heads, lines, tops, books, log, seated, scored, block, free_wait, tree, totals, alpha, beta
                )
            lobbies[lobby, seated - begin] = join(
                heads, lines, tops, books, queue, log, begin, seated, block, slot, free_wait, tree, totals
            )
        weights[lobby] = weigh(apart, lesser, alpha, beta)
        for other in range(tops.shape[1]):
            if books[DEGREE, other] >= 0:
                books[DEGREE, other] -= int(tops[LESSER, other])


@kernel(INTS, INTS, INTS, INT, INT, INT, FLOAT, FLOAT, OUT_INTS2, OUT_FLOATS, OUT_INT32S)
def drain_tiers(
    ping: Array, wait: Array, edges: Array, first: int, from_place: int, to_place: int, alpha: float, beta: float,
    lobbies: Array, weights: Array, tiers: Array,
) -> None:  # fmt: skip
    """Drain the tiers that begin in places from_place <= place < to_place; the others have room in `lobbies` too."""
    done = 0
    for tier in range(len(edges) - 1):
        begin, end = edges[tier], edges[tier + 1]
        count = min((end - begin) // lobbies.shape[1], len(lobbies) - done)
        if count and from_place <= begin < to_place:
            rows = slice(done, done + count)
            drain_tier(ping[begin:end], wait[begin:end], first, alpha, beta, lobbies[rows], weights[rows])
            for lobby in range(done, done + count):
                tiers[lobby] = tier
                for seat in range(lobbies.shape[1]):
                    lobbies[lobby, seat] += begin
        done += count


def drain(
    ping_ms: Array, wait_ms: Array, edges: Array, size: int, alpha: float, beta: float
) -> tuple[Array, Array, Array]:
    """int64[k, size], float64[k], int32[k]: lobbies as places in order of selection; their weights and their tiers.

    Tier t holds the places from `edges[t]` up to `edges[t + 1]`; within it waits must not rise.
    """
    count = sum((end - begin) // size for begin, end in pairwise(edges.tolist()))
    lobbies, weights, tiers = np.empty((count, size), np.int64), np.empty(count), np.empty(count, np.int32)

    def work(begin: int, end: int) -> None:
        drain_tiers(ping_ms, wait_ms, edges, -1, begin, end, float(alpha), float(beta), lobbies, weights, tiers)

    threads.in_parts(len(ping_ms), work, least=PART_LEAST)
    return lobbies, weights, tiers


def find_lobby(ping_ms: Array, wait_ms: Array, size: int, first: int, alpha: float, beta: float) -> Array:
    """int64[size]: one lobby of one tier as places in order of selection; `first` >= 0: begin with that place.

    Exact while `size` times the longest wait stays below 2^53 ms: 9,000 players who have waited 30 years.
    """
    lobbies, weights, tiers = np.empty((1, size), np.int64), np.empty(1), np.empty(1, np.int32)
    count, edges = len(ping_ms), np.array([0, len(ping_ms)])
    drain_tiers(ping_ms, wait_ms, edges, first, 0, count, float(alpha), float(beta), lobbies, weights, tiers)
    found: Array = lobbies[0]
    return found


@kernel(INTS, INTS, INTS, FLOAT, FLOAT, OUT_FLOATS)
def weighted_degrees(ping: Array, wait: Array, rows: Array, alpha: float, beta: float, degrees: Array) -> None:
    """degrees[rows[v]] = the sum of the weights of place v to all others of its tier; waits must not rise."""
    queue = stable_order(ping)
    lesser = all_lesser_waits(wait)
    pings, below = 0, 0
    for place in range(len(ping)):
        pings += ping[place]
    for at in range(len(queue)):
        place = queue[at]
        apart = pings - 2 * below + ping[place] * (2 * at - len(queue))
        below += ping[place]
        degrees[rows[place]] = weigh(apart, lesser[place], alpha, beta)


def scores(ping_ms: Array, wait_ms: Array, places: Array, lobby: Array, alpha: float, beta: float) -> Array:
    """float64, shape of `places`: the sum of weights of each place to all of a lobby."""
    ping_sum = np.abs(ping_ms[places][:, None] - ping_ms[lobby]).sum(axis=1)
    wait_sum = np.minimum(wait_ms[places][:, None], wait_ms[lobby]).sum(axis=1)
    return score(ping_sum, wait_sum, alpha, beta)
