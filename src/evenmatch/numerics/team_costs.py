"""What so many matches cost at the least, and what any plan can be worth at the most: bounds that hold for every plan.

Cost, for k matches. Each term is bounded by loosening the rules; terms that are bounded together stand on one line.

    spread         Without parties, windows and balance, groups of consecutive players are best for a sum of distances
                   to the median: a player passed over inside a group could take the place of one of its ends. And no
                   player is nearer to the match's median, all together, than a party's players are to their own; the
                   greater of both counts.
    and, in teams of one, imbalance and distribution
                   Both hang on the range of the match. Of two groups that overlap, the lower and the upper half of
                   their players have narrower ranges each. Of two groups one of which lies inside the other, these
                   halves have ranges that add up to less than the wider one's, so consecutive groups are best for
                   any convex function of the range as well. Imbalance is not convex, so the greatest convex function
                   below it takes its place, up to the widest range that windows allow.
    distribution   in larger teams: the distance between the ratings of two teams pairs their players off. Teams paired
                   off pair all players, and the worst of these pairs of teams is no nearer than they are on average.
                   So it is no less than the sum of distances in the best pairing of as many players on the line, which
                   again pairs neighbours.
    latency, role  every player at the least that it brings, the k * N least of them.

Which k groups is a small dynamic programme; a reward for each group, found by bisection, takes the place of counting
them (a Lagrangian bound: right for any reward, best for the one that makes k groups).

Worth. With one reward, least + reward * k bounds the cost of every k at once. The k * N most valuable players less that
cost is what k matches are worth at the most, and the greatest over all k bounds every plan.

Complexity. O(n log n), and some thirty passes for each reward.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array

from .compiled import FLOATS, INT, kernel
from .match_terms import LATENCY_MOST_MS, LATENCY_UNIT_MS, UNITS
from .team_bounds import TINY, spans
from .team_field import Field

__all__ = ["CostBounds", "convex_lean", "cost_bounds", "least_blocks", "least_spread"]

_PASSES: Final = 36
_BEND: Final = math.atanh(math.sqrt(1 / 3))
"""Where the square of tanh ceases to be convex."""
_TRIED: Final = (1.0, 0.7, 0.4, 0.1)
"""For these parts of all matches rewards are found; each bounds what any number of matches is worth."""


@kernel(FLOATS, INT, INT, INT)
def least_blocks(block: Array, length: int, groups: int, passes: int) -> tuple[float, float]:
    """What `groups` blocks on a line that do not overlap cost at the least, and the reward that shows it.

    `block`, float64[n - length + 1]: what the block from each place on costs, 0 or more. For the reward r that is
    returned, least(r) = best - r * groups, and least(r) + r * k bounds the cost of any k blocks.
    """
    count = len(block) + length - 1
    least, made = np.empty(count + 1), np.empty(count + 1, np.int64)
    floor, ceiling, best, kept = 0.0, block.max() * 2.0 + 1.0, 0.0, 0.0
    for _ in range(passes):
        reward = 0.5 * (floor + ceiling)
        least[:length], made[:length] = 0.0, 0
        for end in range(length, count + 1):
            least[end], made[end] = least[end - 1], made[end - 1]
            taken = least[end - length] + block[end - length] - reward
            if taken < least[end]:
                least[end], made[end] = taken, made[end - length] + 1
        if least[count] + reward * groups > best:
            best, kept = least[count] + reward * groups, reward
        if made[count] == groups:
            break
        if made[count] < groups:
            floor = reward
        else:
            ceiling = reward
    return best, kept


def _rank_sums(rating: Array, length: int) -> Array:
    """float64[n - length + 1]: how far the players of each block are from its median, added up; `rating` rises."""
    half = length // 2
    total = np.r_[0.0, np.cumsum(rating - rating[len(rating) // 2])]
    starts = np.arange(len(rating) - length + 1)
    upper = total[starts + length] - total[starts + length - half]
    far: Array = np.maximum(upper - (total[starts + half] - total[starts]), 0.0)
    return far


def least_spread(rating: Array, seats: int, groups: int) -> float:
    """At the least so far from their medians are the players of `groups` groups; `rating` rises."""
    if groups == 0 or len(rating) < seats * groups:
        return 0.0
    return float(least_blocks(_rank_sums(rating, seats), seats, groups, _PASSES)[0])


def convex_lean(lean: Array, widest: float) -> Array:
    """The greatest convex function that is nowhere above tanh squared from 0 to `widest`, at each of `lean`."""
    bent: Array = np.tanh(lean) ** 2
    if widest <= _BEND:
        return bent
    low, high = 0.0, _BEND
    end = math.tanh(widest) ** 2
    for _ in range(60):
        middle = 0.5 * (low + high)
        height = math.tanh(middle)
        slope = 2.0 * height * (1.0 - height * height)
        if height * height + slope * (widest - middle) < end:
            low = middle
        else:
            high = middle
    height = math.tanh(low)
    slope = 2.0 * height * (1.0 - height * height)
    line: Array = height * height + slope * (lean - low)
    return np.where(lean <= low, bent, line)


class _Line(NamedTuple):
    """Blocks of players on the line of ratings, and how many of them a match has."""

    block: Array
    length: int
    a_match: int

    def least(self, matches: int) -> tuple[float, float]:
        """What so many matches cost at the least; and what each match more costs, by the reward that shows it."""
        if not matches or not len(self.block) or not self.block.max():
            return 0.0, 0.0
        best, reward = least_blocks(self.block, self.length, matches * self.a_match, _PASSES)
        return float(best), float(reward) * self.a_match


class CostBounds(NamedTuple):
    """What bounds the costs of all plans of some tickets."""

    grouped: _Line
    paired: _Line
    inside: Array
    """float64[most + 1]: what parties' own ratings cost at the least, by matches."""
    brought: Array
    """float64[most + 1]: what players bring, by matches."""
    value: Array
    """float64[most + 1]: what so many matches seat at the most, in value."""
    most: int
    """Matches."""

    def cost(self, matches: int) -> float:
        """What any plan of so many matches costs at the least."""
        matches = min(matches, self.most)
        spread = max(self.grouped.least(matches)[0], float(self.inside[matches]))
        total = spread + self.paired.least(matches)[0] + float(self.brought[matches])
        return max(0.0, total * (1 - TINY) - matches / UNITS)

    def worth(self, matches: int) -> float:
        """What any plan of up to so many matches is worth at the most: value less cost."""
        matches = min(matches, self.most)
        every, bound = np.arange(matches + 1), float(self.value[matches])
        for about in sorted({math.ceil(part * matches) for part in _TRIED}):
            (spread, more), (apart, wider) = self.grouped.least(about), self.paired.least(about)
            cost = np.maximum(spread + more * (every - about), self.inside[: matches + 1])
            cost = cost + np.maximum(apart + wider * (every - about), 0.0) + self.brought[: matches + 1]
            cost = np.maximum(cost * (1 - TINY) - every / UNITS, 0.0)
            bound = min(bound, float((self.value[: matches + 1] - cost).max()))
        return bound


def cost_bounds(field: Field, usable: Array, most: int) -> CostBounds:
    """The bounds on plans of up to `most` matches of these tickets (bool[n])."""
    seats = field.teams * field.team_size
    playing = np.repeat(usable, field.size)
    rating = np.sort(field.mu[playing])
    most = min(most, len(rating) // seats)
    weigh = field.weights / field.scale
    grouped = paired = _Line(np.empty(0), 1, 1)
    if most:
        block = weigh[0] * _rank_sums(rating, seats)
        if field.team_size == 1 and field.teams > 1:
            block = block + _of_range(field, usable, rating, float(field.sigma[playing].max()))
        elif field.teams > 1:
            pairs = field.teams // 2 * field.team_size
            paired = _Line(weigh[2] * seats / pairs * np.diff(rating), 2, pairs)
        grouped = _Line(block, seats, 1)
    each = np.repeat(field.value / field.size, field.size)[playing]
    return CostBounds(
        grouped,
        paired,
        _least(weigh[0] * np.repeat(_inner_spread(field) / field.size, field.size)[playing], seats, most),
        _least(_brought(field)[playing], seats, most),
        -_least(-each, seats, most),
        most,
    )


def _least(each: Array, seats: int, most: int) -> Array:
    """float64[most + 1]: the sum of the `seats` * k least, for every k."""
    found: Array = np.r_[0.0, np.cumsum(np.sort(each)[: seats * most])][::seats]
    return found


def _of_range(field: Field, usable: Array, rating: Array, sigma: float) -> Array:
    """float64[blocks]: what imbalance and distribution of a match cost at the least, by the range of its ratings."""
    seats = field.teams
    range_ = rating[seats - 1 :] - rating[: len(rating) - seats + 1]
    widest = min(float(rating[-1] - rating[0]), float(spans(field, usable)[usable].max()))
    steep = math.log(10.0) / field.scale
    slope = 0.5 * steep / math.sqrt(1.0 + 6.0 * (steep * sigma / math.pi) ** 2)
    lean = convex_lean(slope * range_, slope * widest)
    cost: Array = seats * (field.weights[1] * lean + field.weights[2] * range_ / field.scale)
    return cost


def _inner_spread(field: Field) -> Array:
    """float64[n]: how far the players of each ticket are from their own median, added up."""
    if not len(field.size):
        return np.empty(0)
    ticket = np.repeat(np.arange(len(field.size)), field.size)
    ordered = field.mu[np.lexsort((field.mu, ticket))]
    low = ordered[field.start[:-1] + (field.size - 1) // 2]
    far: Array = np.add.reduceat(np.abs(ordered - np.repeat(low, field.size)), field.start[:-1])
    return far


def _brought(field: Field) -> Array:
    """float64[m]: the least latency and role that each player brings, weighted."""
    brought = np.zeros(len(field.mu))
    if field.latency.shape[1]:
        bits = np.arange(field.latency.shape[1])
        open_to = (field.reach[:, None] >> bits & 1).astype(bool)
        nearest = np.minimum(np.where(open_to, field.latency, np.inf).min(axis=1), LATENCY_MOST_MS)
        brought += np.repeat(field.weights[3] * nearest / LATENCY_UNIT_MS, field.size)
    if field.role_cost.shape[1]:
        least = field.role_cost.min(axis=1)
        brought += field.weights[5] * np.where(np.isfinite(least), least, 0.0)
    return brought
