"""Stage 7 of the ladder's wave: where a match is played - its map, its server and its channel.

Map. Chance among those that neither player vetoed; where both together vetoed all, among those with the fewest vetoes,
so that a match never fails for want of a map. Server. The table of regions names it when both regions are known to it;
otherwise chance among all servers of the table. Channel. Numbered names in turn, by the number of the match.

Chance is one generator made from the wave's seed, and matches draw in their order: first the map, then the server if it
is left to chance. One seed, one result (I8). Without maps there is no map, and without a table no server.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from evenmatch.numerics.seeds import generator

__all__ = ["NO_SERVERS", "Venue", "available_maps", "channel", "create_matches", "server_between"]


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
    servers = sorted({server for row in region_servers.values() for server in row.values()})
    random = generator(seed)

    def drawn(options: Sequence[str]) -> str | None:
        return options[int(random.integers(len(options)))] if options else None

    venues = []
    for number, (vetoed, region) in enumerate(zip(vetoes, regions, strict=True), first_number):
        played_on = drawn(available_maps(maps, *vetoed))
        server = server_between(region_servers, *region) or drawn(servers)
        venues.append(Venue(played_on, server, channel(number, channel_prefix, channel_count)))
    return venues
