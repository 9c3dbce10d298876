"""Stage 7 of the ladder's wave: where a match is played - its map, its server and its channel.

Map. Chance among those that neither player vetoed; where both together vetoed all, among those with the fewest vetoes,
so that a match never fails for want of a map. Server. The table of regions names it when both regions are known to it;
otherwise chance among all servers of the table. Channel. Numbered names in turn, by the number of the match.

Chance is one generator made from the wave's seed, and matches draw in their order: first the map, then the server if it
is left to chance. One seed, one result (I8). Without maps there is no map, and without a table no server.

How a wave of many matches is quick. Answers are columns of codes. What players veto and where they live is coded once a
player; how many maps each pair can choose from, and which server the table has, are looked up by codes. All draws are
one call: the generator gives an array of bounds the numbers that it would give one after the other.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.table import Choice
from evenmatch.numerics.seeds import generator
from evenmatch.numerics.vetoes import choices, chosen

__all__ = ["NO_SERVERS", "Venue", "Venues", "available_maps", "channel", "create_matches", "server_between", "venues"]


NO_SERVERS: Final[Mapping[str, Mapping[str, str]]] = {}
"""A table without regions: matches have no server."""


class Venue(NamedTuple):
    """Where a match is played; None where there was nothing to choose from."""

    map: str | None
    server: str | None
    channel: str


def available_maps(maps: Sequence[str], first_vetoes: Collection[str], second_vetoes: Collection[str]) -> list[str]:
    """The maps with the fewest vetoes of the two players, in the order given: those without any if there are such."""
    vetoes = [(name in first_vetoes) + (name in second_vetoes) for name in maps]
    fewest = min(vetoes, default=0)
    return [name for name, count in zip(maps, vetoes, strict=True) if count == fewest]


def server_between(
    region_servers: Mapping[str, Mapping[str, str]], first_region: str | None, second_region: str | None
) -> str | None:
    """The server that the table has for two regions, whichever way round, or None."""
    if first_region is None or second_region is None:
        return None
    there = region_servers.get(first_region, {}).get(second_region)
    return there if there is not None else region_servers.get(second_region, {}).get(first_region)


def channel(number: int, prefix: str = "scevo", count: int = 10) -> str:
    """The channel of the match with this number: `channel(20)` is scevo10, `channel(21)` scevo01."""
    return f"{prefix}{(number % count) or count:02d}"


def create_matches(
    vetoes: Sequence[tuple[Collection[str], Collection[str]]],
    regions: Sequence[tuple[str | None, str | None]],
    *,
    maps: Sequence[str] = (),
    region_servers: Mapping[str, Mapping[str, str]] = NO_SERVERS,
    channel_prefix: str = "scevo",
    channel_count: int = 10,
    first_number: int = 1,
    seed: int = 0,
) -> list[Venue]:
    """Stage 7: the venue of each match, from its two players' vetoes and regions; matches count from `first_number`."""
    players = np.arange(2 * len(vetoes)).reshape(-1, 2)
    columns = venues(
        [tuple(vetoed) for vetoed in chain.from_iterable(vetoes)],
        list(chain.from_iterable(regions)),
        players[:, 0],
        players[:, 1],
        maps=maps,
        region_servers=region_servers,
        channel_prefix=channel_prefix,
        channel_count=channel_count,
        first_number=first_number,
        seed=seed,
    )
    return [Venue(*venue) for venue in zip(*(column.tolist() for column in columns), strict=True)]


class Venues(NamedTuple):
    """The venues of a wave, a row a match."""

    map: Choice
    server: Choice
    channel: Choice


def venues(
    vetoes: Sequence[tuple[str, ...] | None] | None,
    regions: Sequence[str | None] | None,
    first: Array,
    second: Array,
    *,
    maps: Sequence[str],
    region_servers: Mapping[str, Mapping[str, str]],
    channel_prefix: str,
    channel_count: int,
    first_number: int,
    seed: int,
) -> Venues:
    """Stage 7: `vetoes` and `regions` are columns of players, None = not given; `first` and `second`, their rows."""
    numbers = np.arange(first_number, first_number + len(first))
    channels = Choice(numbers % channel_count, _channels(channel_prefix, channel_count))
    if not len(first) or not (maps or region_servers):
        nowhere = Choice(np.zeros(len(first), np.int32), (None,))
        return Venues(nowhere, nowhere, channels)
    kinds = _kinds(vetoes if maps else None, first, second)
    vetoed = np.array([[name in value for name in maps] for value in kinds.values], bool)
    servers = _servers(region_servers)
    server = _servers_between(region_servers, servers, regions, first, second)
    bounds = np.column_stack([choices(vetoed, kinds.one, kinds.other), np.where(server < 0, len(servers), 0)])
    drawn = np.zeros(bounds.shape, np.int64)
    if (chance := bounds > 0).any():
        drawn[chance] = generator(seed).integers(bounds[chance])
    if maps:
        played_on = Choice(chosen(vetoed, kinds.one, kinds.other, drawn[:, 0].copy()), maps)
    else:
        played_on = Choice(np.zeros(len(first), np.int32), (None,))
    return Venues(played_on, Choice(np.where(server < 0, drawn[:, 1], server), servers or (None,)), channels)


@lru_cache(maxsize=100)
def _channels(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(channel(number, prefix, count) for number in range(count))


class Kinds(NamedTuple):
    """Players of pairs, as codes of what they have."""

    values: list[Collection[str]]
    one: Array
    """int64[pairs]: places in `values`."""
    other: Array


def _kinds(vetoes: Sequence[tuple[str, ...] | None] | None, first: Array, second: Array) -> Kinds:
    if vetoes is None:
        nothing = np.zeros(len(first), np.int64)
        return Kinds([()], nothing, nothing)
    code = {value: place for place, value in enumerate(dict.fromkeys(vetoes))}
    codes = np.array([code[value] for value in vetoes], np.int64)
    return Kinds([value or () for value in code], codes[first], codes[second])


def _servers(region_servers: Mapping[str, Mapping[str, str]]) -> list[str]:
    return sorted({server for row in region_servers.values() for server in row.values()})


def _servers_between(
    region_servers: Mapping[str, Mapping[str, str]],
    servers: Sequence[str],
    regions: Sequence[str | None] | None,
    first: Array,
    second: Array,
) -> Array:
    """int64[pairs]: the place in `servers` of the one that the table has for two players' regions, -1 = none."""
    if regions is None or not servers:
        return np.full(len(first), -1)
    known = list(dict.fromkeys(chain(region_servers, *region_servers.values())))
    code: dict[str | None, int] = {region: place for place, region in enumerate(known)}
    table = np.full((len(known) + 1, len(known) + 1), -1)
    for one in known:
        for other in known:
            if server := server_between(region_servers, one, other):
                table[code[one], code[other]] = servers.index(server)
    codes = np.array([code.get(region, len(known)) for region in regions], np.int64)
    return table[codes[first], codes[second]]
