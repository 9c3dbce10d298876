"""Who is invited to running matches that ask for players: a stage of every wave, beside the matcher.

Problem. A match needs somebody now, for places of one team, among perhaps a million who wait. The queue's matcher can't
be asked: it puts whole matches together.

Idea. Teams that have open places come in the order of their oldest place, then of match and team. Each takes tickets
one at a time, parties whole, until its places are taken or nobody is left who fits:

1. hard rules: waiting and willing, of the match's group, no more players than open places, within reach of the match's
   region, able to play the team's side; and nobody of the ticket blocks or avoids anybody who is in the match or
   invited to it, or is blocked by them. Who left the match does not come back to it. Rematches do not matter.
2. the window: gap <= window + grows * (seconds the place has been open + seconds the ticket has waited), where gap is
   how far the party's mean rating (as the queue counts parties) is from the mean of the team as it is now, or of the
   whole match where nobody is left in the team.
3. among those that fit, the least gap - grows * (seconds waited): a second of waiting is worth as many points as it
   widens the window. Ties go by canonical order.

Why it is right: the choice takes the state as it is at one moment, and what it leads to is recorded as events, so
replay never chooses again (I8). Chosen tickets are proposed before the snapshot is frozen (priority first), or after
the wave's matches are recorded (last): either way no matcher needs to know.

Complexity. One pass over the waiting tickets; then one over the `POOL` longest waiting of the willing, for every team
with open places. The engine thread does it, so a stage is bounded: `LOOKS` tickets over all teams and `MOST`
invitations; the next stage goes on with the team after the last. With a million that wait, a stage for one team takes
about 30 milliseconds, and one that goes to its bounds about 100.
tests/reference/backfill.py is the plain twin.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.venue import LATENCY

from .crew import Crew, crew_of
from .notes import details_of
from .parties import counted
from .places import Filling
from .state import NEVER, RUNNING, WAITING, QueueState, State
from .tables import lowest

POOL = 100_000
"""Of more that wait, the longest waiting are looked at."""
LOOKS = 2_000_000
"""Tickets that one stage looks at, over all teams."""
MOST = 128
"""Tickets that one stage invites."""
_AHEAD = 64
"""So many of the best are put in order at once; mostly the first of them will do."""
_NO = 2


class Chosen(NamedTuple):
    """A ticket for a team of a match."""

    match: int
    team: int
    slot: int


class Choice(NamedTuple):
    """What a stage came to."""

    chosen: list[Chosen]
    next_ms: int
    """When time alone will let another ticket fit."""
    after: tuple[int, int, int]
    """The last team that was looked at, where there was not time for all; else nothing, (-1, -1, -1)."""


class Wanted(NamedTuple):
    """A team with open places."""

    asked_ms: int
    """When the oldest of them was asked for."""
    match: int
    team: int
    places: int


def wanted(queue: QueueState) -> list[Wanted]:
    """The teams that have open places, in their order."""
    found: dict[tuple[int, int], list[int]] = {}
    for match, filling in queue.fillings.by_match.items():
        for place in filling.places:
            if place.open:
                found.setdefault((match, place.team), []).append(place.asked_ms)
    return sorted(Wanted(min(times), *which, len(times)) for which, times in found.items())


def willing(queue: QueueState) -> Array:
    """int64: the slots of tickets that can be asked now."""
    t = queue.tickets
    will = t.will[: t.used]
    said = will == 1 if queue.spec.backfill.asks else will != _NO
    return np.flatnonzero((t.status[: t.used] == WAITING) & (t.suspended[: t.used] == 0) & said)


def longest_waiting(queue: QueueState, slots: Array, most: int) -> Array:
    """int64: so many of these slots at most, those of the longest waiting; of equals the first to come."""
    if len(slots) <= most:
        return slots
    t = queue.tickets
    since_ms = t.since_ms[slots]
    last_ms = np.partition(since_ms, most - 1)[most - 1]
    before, at = slots[since_ms < last_ms], slots[since_ms == last_ms]
    return np.concatenate((before, lowest(at, t.ticket[at], most - len(before))))


class Pool:
    """The tickets that can be asked, as columns."""

    def __init__(self, queue: QueueState, slots: Array, now_ms: int) -> None:
        t, self.slots = queue.tickets, slots
        self.queue = queue
        self.waited_ms = now_ms - t.since_ms[self.slots]
        self.waited_s = self.waited_ms / 1000.0
        self.size = t.size[self.slots].astype(np.int64)
        self.group = t.group[self.slots]
        self.free = np.ones(len(self.slots), bool)
        self._start = np.concatenate(([0], np.cumsum(self.size)))
        self._rows = queue.player_rows(self.slots)
        self._ratings: dict[str, Array] = {}
        self._near: dict[tuple[str, float], Array] = {}

    def __len__(self) -> int:
        return len(self.slots)

    def rating(self, fact: str) -> Array:
        """float64[n]: the mean of each party, as the queue counts parties; NaN = it brings none."""
        if fact not in self._ratings:
            values = {fact: _column(self.queue, fact, self._rows)}
            party = counted(values, self._start, self.queue.spec.party)[fact]
            self._ratings[fact] = np.add.reduceat(party, self._start[:-1]) / self.size
        return self._ratings[fact]

    def near(self, region: str, most_ms: float) -> Array:
        """bool[n]: is everybody of each ticket within reach of a region? Who brings no latencies at all is."""
        if (region, most_ms) not in self._near:
            venue = self.queue.spec.venue
            regions = () if venue is None else venue.regions
            silent = np.ones(len(self._rows), bool)
            for name in regions:
                silent &= np.isnan(_column(self.queue, LATENCY + name, self._rows))
            near = silent | (_column(self.queue, LATENCY + region, self._rows) <= most_ms)
            self._near[region, most_ms] = np.logical_and.reduceat(near, self._start[:-1])
        return self._near[region, most_ms]

    def best_first(self, worth: Array, fits: Array) -> Iterator[int]:
        """The rows that fit, by least worth and then in canonical order; only so many are put in order."""
        t = self.queue.tickets
        (rows,) = fits.nonzero()
        while len(rows):
            here = worth[rows]
            ahead = rows
            if len(rows) > _AHEAD:
                ahead = rows[here <= np.partition(here, _AHEAD)[_AHEAD]]
            slots = self.slots[ahead]
            ahead = ahead[np.lexsort((t.ticket[slots], t.returned[slots] == 0, -self.waited_ms[ahead], worth[ahead]))]
            yield from ahead.tolist()
            rows = rows[here > worth[ahead[-1]]]


def _column(queue: QueueState, fact: str, rows: Array) -> Array:
    column = getattr(queue.players, fact, None)
    return np.full(len(rows), np.nan) if column is None else column[rows].astype(np.float64)


class Match:
    """A match that asks, as newcomers are held against it."""

    def __init__(self, state: State, queue: QueueState, slot: int) -> None:
        self.crew = crew_of(state, queue, slot)
        self.number = int(queue.proposals.proposal[slot])
        self.filling: Filling = queue.fillings.by_match[self.number]
        self.group = int(queue.tickets.group[int(state.slots_of(self.crew.ticket[:1])[0])])
        self.details: dict[str, Any] = details_of(queue, self.number)
        self.left = {player for player, _, _ in self.filling.left}
        self.inside = set(self.crew.player[self.crew.here].tolist())
        for place in self.filling.places:
            if place.invited:
                self.take(queue, int(state.slots_of(np.array([place.ticket]))[0]))

    def take(self, queue: QueueState, slot: int) -> None:
        """Somebody is invited: others must get on with them too."""
        self.inside.update(queue.players.player[queue.player_rows(np.array([slot]))].tolist())

    def side(self, team: int) -> str:
        """The side that a team plays, where the matcher says one; else nothing."""
        sides = self.details.get("sides")
        if not isinstance(sides, dict):
            return ""
        tickets = self.crew.ticket[self.crew.team == team].tolist()
        return next((side for side, ticket in sides.items() if ticket in tickets), "")

    def region(self) -> str:
        """Where it is played; nothing where that was not chosen."""
        venue = self.details.get("venue")
        return str(venue.get("region") or "") if isinstance(venue, dict) else ""

    def mean(self, queue: QueueState, team: int, fact: str) -> float:
        """The mean rating of a team as it is now, of the match where the team is empty; NaN = nobody brings one."""
        ratings = crew_ratings(queue, self.crew, fact)
        for those in (self.crew.here & (self.crew.team == team), self.crew.here):
            known = ratings[those & ~np.isnan(ratings)]
            if len(known):
                return float(known.sum() / len(known))
        return math.nan

    def suits(self, state: State, queue: QueueState, slot: int) -> bool:
        """May this ticket meet everybody in the match?"""
        players = queue.players.player[queue.player_rows(np.array([slot]))].tolist()
        avoided = queue.avoids.get(int(queue.tickets.ticket[slot]), ()) if queue.avoids else ()
        if not self.inside.isdisjoint(avoided) or not self.left.isdisjoint(players):
            return False
        if not state.blocks:
            return True
        theirs = (other for player in players for other in state.blocks.get(player, ()))
        return self.inside.isdisjoint(theirs) and not any(
            player in state.blocks.get(member, ()) for member in self.inside for player in players
        )


def crew_ratings(queue: QueueState, crew: Crew, fact: str) -> Array:
    """float64[n]: the ratings of a match's players, as the queue counts parties."""
    change = np.flatnonzero(crew.ticket[1:] != crew.ticket[:-1]) + 1
    start = np.concatenate(([0], change, [len(crew.ticket)]))
    return counted({fact: _column(queue, fact, crew.row)}, start, queue.spec.party)[fact]


def choose(
    state: State, queue: QueueState, now_ms: int, after: tuple[int, int, int] = (-1, -1, -1), looks: int = LOOKS
) -> Choice:
    """The tickets to invite now; with `after`, beginning with the team that comes after it."""
    teams = wanted(queue)
    turned = next((n for n, team in enumerate(teams) if team[:3] > after), 0)
    pool = Pool(queue, longest_waiting(queue, willing(queue), POOL), now_ms)
    chosen: list[Chosen] = []
    next_ms = NEVER
    matches: dict[int, Match] = {}
    last = after
    if not len(pool):
        return Choice(chosen, NEVER, (-1, -1, -1))
    for team in (*teams[turned:], *teams[:turned]):
        if looks <= 0 or len(chosen) >= MOST:
            return Choice(chosen, now_ms, last)
        looks -= len(pool)
        last = team[:3]
        found = state.find_proposal(team.match)
        if found is None or found[0].proposals.standing[found[1]] != RUNNING:
            continue
        match = matches.get(team.match)
        if match is None:
            match = matches[team.match] = Match(state, queue, found[1])
        taken, later_ms = _for_team(state, pool, match, team, now_ms)
        chosen += [Chosen(team.match, team.team, slot) for slot in taken]
        next_ms = min(next_ms, later_ms)
    return Choice(chosen, next_ms, (-1, -1, -1))


def _for_team(state: State, pool: Pool, match: Match, team: Wanted, now_ms: int) -> tuple[list[int], int]:
    """The slots of tickets for one team, and when the window will let in another."""
    queue, spec = pool.queue, pool.queue.spec.backfill
    side = match.side(team.team)
    fact = f"ratings.{side}" if side else "rating"
    rating, mean = pool.rating(fact), match.mean(queue, team.team, fact)
    fits = pool.free & (pool.group == match.group) & (pool.size <= team.places)
    if side:
        fits &= ~np.isnan(rating)
    venue, region = queue.spec.venue, match.region()
    most_ms = spec.latency_max_ms or (0.0 if venue is None else venue.latency_max_ms)
    if region and most_ms:
        fits &= pool.near(region, most_ms)
    gap = np.zeros(len(pool)) if math.isnan(mean) else np.abs(rating - mean)
    gap[np.isnan(gap)] = 0.0
    later_ms = NEVER
    if spec.window:
        open_s = (now_ms - team.asked_ms) / 1000.0
        beyond = gap - (spec.window + spec.grows * (open_s + pool.waited_s))
        too_far = fits & (beyond > 0)
        if spec.grows and too_far.any():
            later_ms = now_ms + max(1, math.ceil(float(beyond[too_far].min()) / (2 * spec.grows) * 1000))
        fits &= ~too_far
    taken: list[int] = []
    left = team.places
    for row in pool.best_first(gap - spec.grows * pool.waited_s, fits):
        slot = int(pool.slots[row])
        if pool.size[row] <= left and match.suits(state, queue, slot):
            pool.free[row] = False
            match.take(queue, slot)
            taken.append(slot)
            left -= int(pool.size[row])
            if not left:
                break
    return taken, later_ms


class Chances(NamedTuple):
    """How a waiting ticket stands to the matches that ask for players."""

    teams: int
    """Teams with open places; no more than `ASKED_MOST` are looked at."""
    fits: int
    """Those of them that would take it now, if nobody were better."""
    next_ms: int
    """When time alone will let it fit another."""
    willing: bool


ASKED_MOST = 200


def chances(state: State, queue: QueueState, slot: int, now_ms: int) -> Chances:
    """For a ticket that waits in this slot."""
    teams = wanted(queue)[:ASKED_MOST]
    fits, next_ms = 0, NEVER
    for team in teams:
        found = state.find_proposal(team.match)
        if found is not None and found[0].proposals.standing[found[1]] == RUNNING:
            alone = Pool(queue, np.array([slot]), now_ms)
            taken, later_ms = _for_team(state, alone, Match(state, queue, found[1]), team, now_ms)
            fits += len(taken)
            next_ms = min(next_ms, later_ms)
    return Chances(len(teams), fits, next_ms, bool(np.isin(slot, willing(queue))))
