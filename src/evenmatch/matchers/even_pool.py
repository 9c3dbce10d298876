"""What `even` reads of a snapshot: columns in canonical order, windows, who is due, and what a seat is worth.

A place is a ticket that could be seated, by canonical order; tickets that are larger than a team, or can play none of
the sides, have none. Everything here is columns, and the rules are those of `even_parameters`.

Latencies. A player brings `latencies.REGION` for some regions. One who brings none counts as near to everywhere, one
who brings some as too far from the others; without any such column `ping_ms` is the latency in the one region there is.
The cap on latency makes regions unreachable: what a ticket's worst player can't reach, it can't.

Roles. A player names roles, the best liked first: that one costs nothing, the others named half of `off_role`, and
those not named `off_role`. If that is "never" they can't be played, and the others named cost half of its default. Who
names none plays any, at no cost. Roles that the queue does not have are refused at the door; in columns that came
another way they do not count.

What a seat is worth, with `hold` (without it nobody asks). Let rho be newcomers for each rating point and second near a
ticket: those within half a `rating_scale` who have not missed a wave, over that range, and over the longest wait among
newcomers. Nobody of them has been taken yet, so they are all who came in that time. Who waits for the first newcomer
within g points waits 1 / (2 rho g) seconds on average, at `wait_value` each, and then pays half the cost of a gap of
g / 2: s * g / 4, with s the cost of a point. The best g makes the two equal, and their sum sqrt(s * wait_value / (2
rho)). To be seated now is worth as much, at most `seat_value`. What a ticket has waited is gone and changes nothing of
what it may expect; but people leave, so a quarter of `wait_value` is added for each second of it, and nobody is held
for ever.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import FACT_MAX, RATING_DEFAULT, SIGMA
from evenmatch.domain.venue import LATENCY
from evenmatch.errors import MatcherError
from evenmatch.matchers.even_parameters import DENSE_LEAST, NEIGHBOURS, NEVER, NO_ROLES, OFF_ROLE, Hold, WindowRule
from evenmatch.numerics.match_terms import Weights
from evenmatch.numerics.rating_windows import thinness, windows_of

__all__ = ["Pool", "due_levels", "latencies_of", "pool_of", "seat_worth"]

PAST_SHARE: Final = 0.25
"""Of what a second of waiting costs: so much more a seat is worth for each second already waited, with `hold`."""
LEVELS_MAX: Final = 64
"""So many due tickets are told apart by their places; of more, some next to each other are alike."""


class Pool(NamedTuple):
    """The tickets that could be seated, by place."""

    rows: Array
    """int64[n]: the row of each place."""
    size: Array
    start: Array
    """int64[n + 1]: where the players of each place begin."""
    mu: Array
    """float64[m]: ratings of players."""
    sigma: Array
    rating: Array
    """float64[n]: the mean of a ticket's players; with sides, of what it is rated on the sides it can play."""
    first: Array
    """float64[n]: rating on the first side, NaN = can't play it; without sides the rating."""
    second: Array
    thin: Array
    """float64[n]: how many times as thin as usual it is round the ticket."""
    window: Array
    latency: Array
    """float64[n, regions]: of the worst player, inf = not told."""
    reach: Array
    """int64[n]: regions as bits, those beyond the cap left out; empty = everybody reaches all."""
    apart: Array
    """int64[k, 2]: places that must not meet."""
    met: Array
    role_cost: Array
    """float64[m, roles]: what it costs that a player plays each role, inf = can't."""
    waited_ms: Array
    misses: Array
    level: Array
    """int64[n]: 0 = not due; the higher the sooner."""


def pool_of(
    snapshot: Snapshot,
    sides: tuple[str, ...],
    rule: WindowRule,
    *,
    overtaken_most: int,
    outlier_s: float,
    latency_cap_ms: float,
    roles: Mapping[str, int] = NO_ROLES,
    off_role: float | str = 1.0,
) -> tuple[Pool, Array]:
    """The pool of a snapshot of one group; and bool[n]: the rows that can play none of the sides."""
    rated = _sides(snapshot, sides)
    sideless: Array = np.zeros(len(snapshot), bool)
    if rated is not None:
        sideless = np.isnan(rated[0]) & np.isnan(rated[1])
    order = snapshot.canonical_order()
    rows = order[(snapshot.size[order] <= snapshot.format.size) & ~sideless[order]]
    part = snapshot.take(rows)
    if rated is None:
        mu = _fact(part, "rating", RATING_DEFAULT)
        rating = first = second = _means(mu, part)
    else:
        first, second = np.ascontiguousarray(rated[0][rows]), np.ascontiguousarray(rated[1][rows])
        mu = rating = np.where(np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2))
    thin = thinness(rating, nth=NEIGHBOURS, least=DENSE_LEAST, most=rule.window_density)
    grown = {"window": rule.window, "growth": rule.window_growth, "free_s": rule.window_free_s}
    latency = latencies_of(part)
    due = (part.misses > overtaken_most) | (part.waited_ms >= outlier_s * 1000.0)
    pool = Pool(
        rows=rows,
        size=part.size,
        start=part.player_start,
        mu=mu,
        sigma=np.abs(_fact(part, SIGMA, 0.0)),
        rating=rating,
        first=first,
        second=second,
        thin=thin,
        window=windows_of(part.waited_ms, thin, **grown),
        latency=latency,
        reach=_within_cap(part.reach, latency, latency_cap_ms),
        apart=part.forbidden,
        met=part.met,
        role_cost=role_prices(part, tuple(roles), np.inf if off_role == NEVER else float(off_role)),
        waited_ms=part.waited_ms,
        misses=part.misses,
        level=due_levels(due),
    )
    return pool, sideless


def role_prices(snapshot: Snapshot, roles: tuple[str, ...], off_role: float) -> Array:
    """float64[m, roles]: what it costs that each player plays each role; see the note above."""
    if not roles:
        return np.empty((len(snapshot.player), 0))
    named = snapshot.traits.get("roles") or (None,) * len(snapshot.player)
    codes = {wishes: code for code, wishes in enumerate(dict.fromkeys(named))}  # of many players, few wishes
    half = (OFF_ROLE if off_role == np.inf else off_role) / 2.0
    rows: list[list[float]] = []
    for wishes in codes:
        liked = [role for role in wishes or () if role in roles]
        prices = {role: 0.0 if role == liked[0] else half for role in liked}
        rows.append([prices.get(role, off_role) if liked else 0.0 for role in roles])
    found: Array = np.array(rows, np.float64).reshape(-1, len(roles))[
        np.array([*map(codes.__getitem__, named)], np.int64)
    ]
    return found


def due_levels(due: Array) -> Array:
    """int64[n]: 0 for who is not due, and a level for who is, higher for earlier places, at most `LEVELS_MAX`."""
    (places,) = np.nonzero(due)
    level = np.zeros(len(due), np.int64)
    count = len(places)
    if count:
        later = np.arange(count)[::-1]
        level[places] = 1 + later * min(count, LEVELS_MAX) // count
    return level


def seat_worth(pool: Pool, hold: Hold, weights: Weights, scale: float) -> Array:
    """float64[n]: what it is worth to be seated now; see the note above."""
    fresh = pool.misses == 0
    worth = np.full(len(pool.rows), float(hold.seat_value))
    if np.count_nonzero(fresh) > 1:
        near = np.sort(pool.rating[fresh])
        span_s = max(1.0, float(pool.waited_ms[fresh].max()) / 1000.0)
        reach = scale / 2.0
        low, high = np.searchsorted(near, pool.rating - reach), np.searchsorted(near, pool.rating + reach, "right")
        rho = (high - low - fresh) / (2.0 * reach * span_s)
        point = (weights.spread + 2.0 * weights.distribution) / scale
        some = rho > 0
        worth[some] = np.minimum(hold.seat_value, np.sqrt(point * hold.wait_value / (2.0 * rho[some])))
    worth += PAST_SHARE * hold.wait_value * pool.waited_ms / 1000.0
    return worth


def _sides(snapshot: Snapshot, sides: tuple[str, ...]) -> Array | None:
    """float64[2, n]: the rating of each row on each side, NaN = can't play it; None = there are no sides."""
    if not sides:
        return None
    names = [f"ratings.{side}" for side in sides]
    if len(snapshot) and not any(name in snapshot.facts for name in names):
        raise MatcherError(f"even: missing side ratings: the tickets have neither {names[0]} nor {names[1]}")
    firsts = snapshot.player_start[:-1]
    missing = np.full(len(snapshot), np.nan)
    rated = []
    for name in names:
        column = snapshot.facts.get(name)
        rated.append(missing if column is None else _usable(snapshot, name, column)[firsts])
    return np.array(rated, np.float64).reshape(2, len(snapshot))


def _fact(snapshot: Snapshot, name: str, missing: float) -> Array:
    column = snapshot.facts.get(name)
    if column is None:
        return np.full(len(snapshot.player), missing)
    usable = _usable(snapshot, name, column)
    return np.where(np.isnan(usable), missing, usable)


def _usable(snapshot: Snapshot, name: str, column: Array) -> Array:
    """The column; raises MatcherError that names the first ticket with an absurd number in it."""
    wrong = np.abs(column) > FACT_MAX
    if wrong.any():
        player = int(wrong.argmax())
        row = int(np.searchsorted(snapshot.player_start, player, "right")) - 1
        raise MatcherError(
            f"even: ticket {int(snapshot.ticket[row])}: {name} must be a number from {-FACT_MAX:g} to {FACT_MAX:g}, "
            f"not {column[player]}"
        )
    return column


def _means(mu: Array, snapshot: Snapshot) -> Array:
    if snapshot.solo or not len(snapshot):
        return mu
    means: Array = np.add.reduceat(mu, snapshot.player_start[:-1]) / snapshot.size
    return means


def latencies_of(snapshot: Snapshot) -> Array:
    """float64[n, regions]: the worst of each ticket's players; regions are in the order of the bits of `reach`."""
    names = [LATENCY + region for region in snapshot.regions]
    if not len(snapshot.reach) and not names:
        names = sorted(name for name in snapshot.facts if name.startswith(LATENCY))
        names = names or ["ping_ms"]
    missing = np.full(len(snapshot.player), np.nan)
    told = [snapshot.facts.get(name, missing) for name in names]
    if not len(snapshot) or all(np.isnan(column).all() for column in told):
        return np.empty((len(snapshot), 0))
    known: Array = np.column_stack(told)
    silent = np.isnan(known).all(axis=1)
    known = np.where(np.isnan(known), np.inf, known)
    known[silent] = 0.0
    worst: Array = np.maximum.reduceat(known, snapshot.player_start[:-1], axis=0)
    return worst


def _within_cap(reach: Array, latency: Array, cap_ms: float) -> Array:
    """int64[n]: the regions that each ticket can reach within the cap too; 0 = no cap."""
    if not cap_ms or not latency.shape[1]:
        return reach
    near: Array = ((latency <= cap_ms) << np.arange(latency.shape[1])).sum(axis=1)
    return near & reach if len(reach) else near
