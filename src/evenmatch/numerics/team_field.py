"""The waiting tickets of a queue of teams as its search sees them: columns in order of rating, and the rules of a
match.

`TeamPool` and `TeamRules` are what `team_plan` is given, tickets in canonical order. A `Field` is the same in order of
rating (ties in canonical order), so that a match is a few neighbours; places are rows of it. What kernels ask again
and again is made once:

  - `elder` is a ticket's canonical place: the lower, the longer it waits;
  - `apart` and `met` are adjacency lists: those of place p are `apart[apart_start[p] : apart_start[p + 1]]`, rising;
  - `words` count roles. For some sets of roles, a byte each: how many of a ticket's players want to play (or, where
    others can't be played at all, can play) no role but these. A match has so many places for a set; by Hall's theorem
    its players can be given places only if no set of roles is asked for by more players than it has places. Bytes start
    at 127 - places (`bias`), so that after any number of additions of whole words one look at the highest bits says
    whether a set is over-asked. `off` says what it counts, in rating points, to seat a ticket beyond that.
"""

from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array

from .compiled import FLOAT, INT, OUT_FLOATS, OUT_FLOATS2, OUT_INTS, OUT_INTS2, bundle
from .match_terms import Weights

__all__ = ["BOTH", "FIELD", "MEAN", "OLDER", "Field", "TeamPool", "TeamRules", "field_of"]

MEAN, OLDER, BOTH = range(3)
"""Whose windows bound the range of a match: the mean of all, that of the eldest, or the least."""
_SETS_MAX: Final = 32
_BYTE: Final = 127
_LEAST_WEIGHT: Final = 0.01


class TeamPool(NamedTuple):
    """The waiting tickets, in canonical order; n tickets of m players."""

    size: Array
    """int64[n]: players."""
    start: Array
    """int64[n + 1]: where the players of each ticket begin."""
    mu: Array
    """float64[m]: ratings."""
    sigma: Array
    """float64[m]: their deviations."""
    window: Array
    """float64[n]: widest range of ratings that a ticket accepts, inf = any."""
    value: Array
    """float64[n]: what it is worth to seat the ticket, in units of cost."""
    reach: Array
    """int64[n]: regions as bits, -1 = any; empty = any for all."""
    latency: Array
    """float64[n, regions]: milliseconds of the ticket's worst player, inf = not told."""
    role_cost: Array
    """float64[m, roles]: what it costs that a player plays a role, inf = can't; no roles = nobody asks."""
    forbidden: Array = NO_PAIRS
    """int64[k, 2]: tickets that must not meet."""
    met: Array = NO_PAIRS
    """int64[k, 2]: tickets that met lately."""
    level: Array = NONE
    """int64[n]: 0 = not due; of two due tickets the higher goes first (`team_turns`); empty = nobody is due."""


class TeamRules(NamedTuple):
    """What a match is and what it costs."""

    teams: int
    size: int
    policy: int = MEAN
    weights: Weights = Weights()
    rating_scale: float = 400.0
    places: tuple[int, ...] = ()
    """Players of each role in a team; none = no roles."""
    work: int = 100_000
    """How much the search may do; a unit is a division judged or eight labels of a sweep, some 0.2 microseconds."""


class Field(NamedTuple):
    """Tickets in order of rating, with the rules; see the note above."""

    rate: Array
    size: Array
    window: Array
    value: Array
    elder: Array
    reach: Array
    start: Array
    mu: Array
    sigma: Array
    latency: Array
    role_cost: Array
    slots: Array
    """int64[size]: the role of each place of a team; empty = no roles."""
    words: Array
    """int64[n, words]."""
    bias: Array
    """int64[words]: the counts of nobody."""
    off: Array
    """float64[n]: inf = never."""
    apart_start: Array
    apart: Array
    met_start: Array
    met: Array
    weights: Array
    scale: float
    teams: int
    team_size: int
    policy: int


FIELD: Final = bundle(
    Field,
    *(OUT_FLOATS, OUT_INTS, OUT_FLOATS, OUT_FLOATS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_FLOATS, OUT_FLOATS, OUT_FLOATS2),
    *(OUT_FLOATS2, OUT_INTS, OUT_INTS2, OUT_INTS, OUT_FLOATS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_INTS, OUT_FLOATS),
    *(FLOAT, INT, INT, INT),
)


def field_of(pool: TeamPool, rules: TeamRules) -> Field:
    """The field of a pool; `elder` leads back from places to the pool's tickets."""
    count = len(pool.size)
    totals = np.add.reduceat(pool.mu, pool.start[:-1]) if count else np.empty(0)
    rate = totals / pool.size
    elder = np.argsort(rate, kind="stable")
    place = np.empty(count, np.int64)
    place[elder] = np.arange(count)
    size = pool.size[elder]
    start = np.zeros(count + 1, np.int64)
    np.cumsum(size, out=start[1:])
    player = np.arange(start[-1]) + np.repeat(pool.start[:-1][elder] - start[:-1], size)
    roles = pool.role_cost[player]
    words, bias, off = _hall(roles, start, rules)
    apart_start, apart = _lists(pool.forbidden, place)
    met_start, met = _lists(pool.met, place)
    return Field(
        *(_floats(rate[elder]), _ints(size), _floats(pool.window[elder]), _floats(pool.value[elder]), _ints(elder)),
        _ints(pool.reach[elder] if len(pool.reach) else np.full(count, -1)),
        start,
        *(_floats(pool.mu[player]), _floats(pool.sigma[player]), _floats(pool.latency[elder]), _floats(roles)),
        _ints(np.repeat(np.arange(len(rules.places)), rules.places)),
        *(words, bias, off, apart_start, apart, met_start, met, rules.weights.array),
        *(float(rules.rating_scale), rules.teams, rules.size, rules.policy),
    )


def _floats(column: Array) -> Array:
    return np.array(column, np.float64, order="C")


def _ints(column: Array) -> Array:
    return np.array(column, np.int64, order="C")


def _lists(pairs: Array, place: Array) -> tuple[Array, Array]:
    """Adjacency lists of pairs of tickets, by places."""
    starts = np.zeros(len(place) + 1, np.int64)
    if not len(pairs):
        return starts, np.empty(0, np.int64)
    one, other = place[pairs[:, 0]], place[pairs[:, 1]]
    both = np.unique(np.stack([np.r_[one, other], np.r_[other, one]], axis=1), axis=0)
    np.cumsum(np.bincount(both[:, 0], minlength=len(place)), out=starts[1:])
    return starts, _ints(both[:, 1])


def _hall(role_cost: Array, start: Array, rules: TeamRules) -> tuple[Array, Array, Array]:
    """The words of tickets, int64[n, words]; those of nobody; and what it counts to seat a ticket beyond them."""
    roles, count = role_cost.shape[1], len(start) - 1
    if roles < 2 or not count:
        return np.zeros((count, 0), np.int64), np.empty(0, np.int64), np.zeros(count)
    capacity = np.array(rules.places) * rules.teams
    chosen = [each for few in range(1, roles) for each in combinations(range(roles), few)]
    sets = [list(each) for each in chosen if capacity[list(each)].sum() <= _BYTE][:_SETS_MAX]
    bias = _words(np.array([[_BYTE - capacity[each].sum() for each in sets]]))[0]
    if not np.isfinite(role_cost).all():
        return _words(_asked(np.isfinite(role_cost), sets, start)), bias, np.full(count, np.inf)
    least = role_cost.min(axis=1, keepdims=True)
    keen = role_cost <= least
    other = np.where(keen, np.inf, role_cost).min(axis=1)
    dearer = np.where(np.isfinite(other), other - least[:, 0], 0.0)
    points = rules.rating_scale * rules.weights.role / max(rules.weights.spread, _LEAST_WEIGHT)
    return _words(_asked(keen, sets, start)), bias, _floats(np.add.reduceat(dearer, start[:-1]) * points)


def _asked(mask: Array, sets: list[list[int]], start: Array) -> Array:
    """int64[n, sets]: players of each ticket whose roles are all in a set."""
    inside = np.zeros((len(mask), len(sets)), np.int64)
    for at, each in enumerate(sets):
        others = [role for role in range(mask.shape[1]) if role not in each]
        inside[:, at] = ~mask[:, others].any(axis=1)
    return np.add.reduceat(inside, start[:-1], axis=0)


def _words(counts: Array) -> Array:
    """Bytes put together by eights, int64[n, words]."""
    words = -(-counts.shape[1] // 8)
    table = np.zeros((len(counts), words * 8), np.uint8)
    table[:, : counts.shape[1]] = counts
    return np.ascontiguousarray(table).view(np.int64).reshape(len(counts), words).copy()
