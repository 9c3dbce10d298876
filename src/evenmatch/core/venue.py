"""Where a match is played: its map, its region and its channel, chosen when it is proposed.

    region   the one whose worst player has the least latency, among those where nobody has more than the cap; where
             nobody brings latencies, by the table of pairs; where that says nothing, by chance
    map      by chance and weight, among those that the fewest of its players veto: none, if there are such; a map that
             players remember weighs less
    channel  numbered names in turn, by the number of the match

A player who brings no latencies counts as near to everywhere; one who brings some, as too far from the others.

Chance hangs on the wave's seed and the proposal's number alone (I8), and the choice goes into the event: replay never
chooses again. Nothing loops over tickets but the traits of those who bring any; the rest is columns.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.table import Choice, Column, Table
from evenmatch.domain.venue import LATENCY, VenueSpec, between
from evenmatch.numerics.seeds import uniforms

from .map_memory import MapMemory
from .meetings import note_met
from .notes import table_of
from .state import QueueState, State

_MAP_SALT, _REGION_SALT = 1, 2
_BY_LATENCY, _BY_PAIRS, _BY_CHANCE = range(3)
_REGION_WHYS: Final = ("latency", "pairs", "chance")
_MAP_WHYS: Final = ("drawn", "least_vetoed")


def reach_of(venue: VenueSpec | None, facts: dict[str, Array], start: Array) -> Array:
    """int64[n]: the regions that each ticket may play in, as bits; none at all where there is no rule to keep.

    `facts`, float64[m] each, are columns of players; those of a ticket begin at `start`, int64[n].
    """
    if venue is None or not venue.latency_max_ms or not len(start):
        return NONE
    columns = [facts.get(LATENCY + region) for region in venue.regions]
    if all(column is None for column in columns):
        return NONE
    players = len(next(column for column in columns if column is not None))
    silent = np.ones(players, bool)
    for column in columns:
        if column is not None:
            silent &= np.isnan(column)
    bits = np.zeros(players, np.int64)
    for place, column in enumerate(columns):
        near = silent if column is None else silent | (column <= venue.latency_max_ms)
        bits |= near.astype(np.int64) << place
    reach: Array = np.bitwise_and.reduceat(bits, start)
    return NONE if (reach == (1 << len(venue.regions)) - 1).all() else reach


class _Seats:
    """The players of some proposals, match by match."""

    def __init__(self, queue: QueueState, slots: Array) -> None:
        """`slots`, int64[k, width]: those of the tickets, -1 = empty."""
        filled = slots >= 0
        there = slots[filled]
        size = queue.tickets.size[there].astype(np.int64)
        self.rows = queue.player_rows(there)
        self.match_of = np.repeat(np.nonzero(filled)[0], size)
        self.first = np.searchsorted(self.match_of, np.arange(len(slots)))

    def worst_ms(self, queue: QueueState, venue: VenueSpec) -> Array:
        """float64[k, regions]: the largest latency of any player; inf = one does not say, -inf = none says any."""
        missing = np.full(len(self.rows), np.nan)
        columns = [getattr(queue.players, LATENCY + region, None) for region in venue.regions]
        known = np.column_stack([missing if column is None else column[self.rows] for column in columns])
        silent = np.isnan(known).all(axis=1)
        known[np.isnan(known)] = np.inf
        known[silent] = -np.inf
        worst: Array = np.maximum.reduceat(known, self.first, axis=0)
        return worst


def playable(queue: QueueState, slots: Array) -> Array:
    """bool[k]: is there a region for each of these proposals, as its players are now?"""
    venue = queue.spec.venue
    if venue is None or not venue.latency_max_ms or not len(slots):
        return np.ones(len(slots), bool)
    worst = _Seats(queue, slots).worst_ms(queue, venue)
    near: Array = np.any(worst <= venue.latency_max_ms, axis=1)
    return near


def with_venues(queue: QueueState, slots: Array, details: Table, first: int, seed: int) -> Table:
    """The details of proposals, numbered on from `first`, with their venues; all of them are playable."""
    venue = queue.spec.venue
    if venue is None or not len(slots):
        return details
    numbers = first + np.arange(len(slots))
    seats = _Seats(queue, slots)
    chosen: dict[str, Column] = {}
    whys: dict[str, Column] = {}
    theirs: list[str] = []
    if venue.maps:
        theirs.append("map")
        place, vetoes = _maps(queue, venue, seats, numbers, seed)
        chosen["map"] = Choice(place, tuple(venue.maps))
        whys["map"] = Choice((vetoes > 0).astype(np.int32), _MAP_WHYS)
        whys["vetoes"] = vetoes
    if venue.regions:
        theirs.append("server")
        place, why, worst_ms = _regions(queue, venue, seats, numbers, seed)
        chosen["region"] = Choice(place, venue.regions)
        whys["region"] = Choice(why, _REGION_WHYS)
        whys["worst_ms"] = worst_ms
    if venue.channels:
        theirs.append("channel")
        chosen["channel"] = Choice(numbers % venue.channels, _channels(venue.channel_prefix, venue.channels))
    if whys:
        chosen["why"] = Table(whys)
    told = {name: column for name, column in details.columns.items() if name not in theirs}
    return Table(told | {"venue": Table(chosen)})


@lru_cache(maxsize=100)
def _channels(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number or count:02d}" for number in range(count))


def _regions(
    queue: QueueState, venue: VenueSpec, seats: _Seats, numbers: Array, seed: int
) -> tuple[Array, Array, Array]:
    """The place of each match's region, why it is that one, and its worst player's latency (NaN = unknown)."""
    worst = seats.worst_ms(queue, venue)
    allowed = worst <= venue.latency_max_ms if venue.latency_max_ms else np.ones(worst.shape, bool)
    least = np.where(allowed, worst, np.inf).min(axis=1)
    said = np.isfinite(least)
    open_to = np.where(said[:, None], worst == least[:, None], allowed)
    why = np.where(said, _BY_LATENCY, _BY_CHANCE)
    _by_pairs(queue, venue, seats, open_to, why)
    count = np.count_nonzero(open_to, axis=1)
    nth = (uniforms(seed, numbers, _REGION_SALT) * count).astype(np.int64)
    place = (open_to & (np.cumsum(open_to, axis=1) == nth[:, None] + 1)).argmax(axis=1)
    worst_ms = worst[np.arange(len(worst)), place]
    return place, why, np.where(np.isfinite(worst_ms), worst_ms, np.nan)


def _by_pairs(queue: QueueState, venue: VenueSpec, seats: _Seats, open_to: Array, why: Array) -> None:
    """Narrow what is still open down to what the table has for most pairs of players, where it has anything."""
    homes = queue.traits.get("region")
    undecided = np.flatnonzero(np.count_nonzero(open_to, axis=1) > 1)
    if not homes or not len(undecided):
        return
    ends = np.append(seats.first[1:], len(seats.rows))
    known: dict[tuple[str, ...], Array] = {}
    for match in undecided.tolist():
        rows = seats.rows[seats.first[match] : ends[match]].tolist()
        places = tuple(sorted(homes[row][1] for row in rows if row in homes))
        votes = known.get(places)
        if votes is None:
            votes = known[places] = _votes(venue, places)
        here = np.where(open_to[match], votes, 0)
        if here.any():
            open_to[match] = here == here.max()
            if why[match] == _BY_CHANCE:
                why[match] = _BY_PAIRS


def _votes(venue: VenueSpec, places: tuple[str, ...]) -> Array:
    """int64[regions]: for how many pairs of players the table has each."""
    votes = np.zeros(len(venue.regions), np.int64)
    count = Counter(places)
    pairs = [(one, one, many * (many - 1) // 2) for one, many in count.items()]
    pairs += [(one, other, count[one] * count[other]) for one, other in combinations(count, 2)]
    for one, other, many in pairs:
        region = between(venue, one, other)
        if region is not None:
            votes[venue.regions.index(region)] += many
    return votes


def _maps(queue: QueueState, venue: VenueSpec, seats: _Seats, numbers: Array, seed: int) -> tuple[Array, Array]:
    """The place of each match's map, and how many of its players vetoed it."""
    names = {name: place for place, name in enumerate(venue.maps)}
    vetoes = _vetoes(queue.traits.get("vetoed_maps", {}), seats, names, len(numbers))
    fewest = vetoes.min(axis=1)
    allowed = vetoes == fewest[:, None]
    seen = _seen(queue.map_memory, venue, queue.players.player[seats.rows], seats.match_of, names, len(numbers))
    seen -= np.where(allowed, seen, seen.max()).min(axis=1)[:, None]  # what is least remembered has its full weight
    weight = np.where(allowed, np.array(list(venue.maps.values())) * venue.seen_factor ** np.maximum(seen, 0), 0.0)
    up_to = np.cumsum(weight, axis=1)
    drawn = uniforms(seed, numbers, _MAP_SALT) * up_to[:, -1]
    place = (up_to > drawn[:, None]).argmax(axis=1)
    return place, fewest


def _vetoes(kept: dict[int, Any], seats: _Seats, names: dict[str, int], matches: int) -> Array:
    """int64[k, maps]: how many players of each match do not want each map."""
    vetoes = np.zeros((matches, len(names)), np.int64)
    if kept:
        for match, row in zip(seats.match_of.tolist(), seats.rows.tolist(), strict=True):
            if row in kept:
                for name in dict.fromkeys(kept[row][1]):
                    if name in names:
                        vetoes[match, names[name]] += 1
    return vetoes


def _seen(
    memory: MapMemory, venue: VenueSpec, players: Array, match_of: Array, names: dict[str, int], matches: int
) -> Array:
    """int64[k, maps]: how often players of each match remember each map."""
    seen = np.zeros((matches, len(names)), np.int64)
    if venue.map_memory and memory.names:
        found = memory.find(players)[:, : venue.map_memory]
        place_of = np.array([names.get(name, -1) for name in memory.names] + [-1])  # -1, of nothing, leads to the last
        places = place_of[found]
        known = places >= 0
        np.add.at(seen, (np.broadcast_to(match_of[:, None], places.shape)[known], places[known]), 1)
    return seen


# Part of evolve.


def note_played(state: State, queue: QueueState, proposals: Array) -> None:
    """These proposals, numbered one after the other, are matches: who met whom, and on which maps, is remembered."""
    note_met(state, queue, proposals)
    venue = queue.spec.venue
    if venue is None or not venue.map_memory or not len(proposals):
        return
    told = table_of(queue, int(proposals[0]))
    chosen = None if told is None else told.details.columns.get("venue")
    maps = chosen.columns.get("map") if isinstance(chosen, Table) else None
    if told is None or not isinstance(maps, Choice):
        return
    roster = queue.proposals.roster[state.rows_of(proposals)]
    filled = roster >= 0
    slots = state.slots_of(roster[filled])
    size = queue.tickets.size[slots].astype(np.int64)
    code = maps.code[proposals - told.first]
    players = queue.players.player[queue.player_rows(slots)]
    map_of = np.repeat(np.repeat(code, np.count_nonzero(filled, axis=1)), size)
    used, map_of = np.unique(map_of, return_inverse=True)  # names are numbered as they come: those played on only
    queue.map_memory.note(players, [maps.words[one] for one in used], map_of, venue.map_memory, state.sequence)
