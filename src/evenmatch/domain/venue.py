"""Where matches of a queue are played, and who gives them a game server: rules as data.

A venue is a map, a region and a channel, as far as the queue's spec names any. Regions are chosen by the latencies that
players bring, `{region: ms}`; for players who say only where they are, a table says which region lies between two.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

MAPS_MAX: Final = 200
REGIONS_MAX: Final = 62
"""A set of regions is the bits of one number."""
MEMORY_MAX: Final = 20
CHANNELS_MAX: Final = 10_000
ATTEMPTS_MAX: Final = 20
NAME_MAX: Final = 64
LATENCY: Final = "latencies."
"""What the facts of latencies are called before the region."""

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,99}", re.ASCII)


class VenueSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where matches are played. What is left out is not chosen."""

    maps: dict[str, float] = {}
    """Map -> its weight: one of twice the weight is played twice as often."""
    map_memory: int = 0
    """So many matches of a player are remembered with their maps; 0 = none."""
    seen_factor: float = 0.1
    """The weight of a map is multiplied by this for every player who remembers it, and every time."""
    regions: tuple[str, ...] = ()
    latency_max_ms: float = 0.0
    """No player plays where it is farther away than this; 0 = that is no matter."""
    pairs: dict[str, dict[str, str]] = {}
    """Where one player is -> where the other is -> the region to play in, whichever way round."""
    channel_prefix: str = "channel"
    channels: int = 0
    """Matches go to so many channels in turn; 0 = there are none."""


class AllocateSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is asked for a game server when a match is made."""

    url: str = ""
    secret: str = ""
    """The name of the environment variable that holds what requests are signed with; never the secret itself."""
    timeout_s: float = 5.0
    """An answer that takes longer counts as none."""
    attempts: int = 5
    backoff_s: float = 1.0
    """Wait before the second attempt; it doubles with every further one."""


def venue_keeps(venue: VenueSpec | None) -> tuple[str, ...]:
    """The facts and traits of players that choosing a venue reads."""
    if venue is None:
        return ()
    places = (*(LATENCY + region for region in venue.regions), "region") if venue.regions else ()
    return (*places, "vetoed_maps") if venue.maps else places


def between(venue: VenueSpec, one: str, other: str) -> str | None:
    """The region that the table has for two places, whichever way round; the place itself, if it is a region."""
    found = venue.pairs.get(one, {}).get(other) or venue.pairs.get(other, {}).get(one)
    return found or (one if one == other and one in venue.regions else None)


def venue_rules_broken(venue: VenueSpec) -> Iterator[tuple[str, str]]:
    """Every rule that a venue breaks, as (key, what is wrong and what would be right)."""
    if not (venue.maps or venue.regions or venue.channels):
        yield "venue", "there is nothing to choose: add maps, regions or channels, or leave the table out"
    if len(venue.maps) > MAPS_MAX:
        yield "venue.maps", f"{len(venue.maps)} maps: use at most {MAPS_MAX}"
    for name, weight in venue.maps.items():
        if not 0 < len(name) <= NAME_MAX:
            yield "venue.maps", f"{name[:NAME_MAX]!r} cannot name a map: use 1 to {NAME_MAX} characters"
        if not 1e-6 <= weight <= 1e6:  # false for NaN too
            yield "venue.maps", f"{weight} is not the weight of {name!r}: use 0.000001 to 1000000"
    if not 0 <= venue.map_memory <= MEMORY_MAX:
        yield "venue.map_memory", f"{venue.map_memory} is not a number of matches: use 0 to {MEMORY_MAX}"
    if not 0.001 <= venue.seen_factor <= 1:
        yield "venue.seen_factor", f"{venue.seen_factor} is no factor: use 0.001 to 1"
    if not 0 <= venue.latency_max_ms <= 1e6:
        yield "venue.latency_max_ms", f"{venue.latency_max_ms} is not a latency: use 0 to 1000000 milliseconds"
    if not 0 <= venue.channels <= CHANNELS_MAX:
        yield "venue.channels", f"{venue.channels} is not a number of channels: use 0 to {CHANNELS_MAX}"
    if len(venue.channel_prefix) > NAME_MAX:
        yield "venue.channel_prefix", f"it has {len(venue.channel_prefix)} characters: use at most {NAME_MAX}"
    yield from _regions_broken(venue)


def _regions_broken(venue: VenueSpec) -> Iterator[tuple[str, str]]:
    if len(venue.regions) > REGIONS_MAX:
        yield "venue.regions", f"{len(venue.regions)} regions: use at most {REGIONS_MAX}"
    for place, region in enumerate(venue.regions):
        if not 0 < len(region) <= NAME_MAX or "." in region:
            yield (
                "venue.regions",
                f"{region[:NAME_MAX]!r} cannot name a region: use 1 to {NAME_MAX} characters, no dot",
            )
        if region in venue.regions[:place]:
            yield "venue.regions", f"{region!r} is listed twice"
    if venue.latency_max_ms > 0 and not venue.regions:
        yield "venue.latency_max_ms", "there are no regions to be far from: add regions, or leave it out"
    if venue.pairs and not venue.regions:
        yield "venue.pairs", "there are no regions to lie between: add regions, or leave it out"
    for one, row in venue.pairs.items() if venue.regions else ():
        for other, region in row.items():
            if region not in venue.regions:
                yield "venue.pairs", f"{region!r}, between {one!r} and {other!r}, is not one of regions"
            back = venue.pairs.get(other, {}).get(one, region)
            if back != region and one < other:  # the other way round it is the same mistake
                yield "venue.pairs", f"there are two regions between {one!r} and {other!r}: {region!r} and {back!r}"


def allocate_rules_broken(spec: AllocateSpec) -> Iterator[tuple[str, str]]:
    """The same for what is said of game servers."""
    try:
        url = urlsplit(spec.url)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if "@" in spec.url.partition("//")[2].partition("/")[0]:
        yield "allocate.url", "it holds a user or password: leave them out, requests are signed with the secret"
    elif not usable or not spec.url.isascii() or not spec.url.isprintable() or " " in spec.url or len(spec.url) > 2_000:
        yield "allocate.url", f"{spec.url[:200]!r} is not a URL: use one such as https://game.example/allocate"
    if not _VARIABLE.fullmatch(spec.secret):
        yield (
            "allocate.secret",
            ("name the environment variable that holds the secret, in capitals, such as GAME_SERVERS_SECRET"),
        )
    if not 0.05 <= spec.timeout_s <= 120:
        yield "allocate.timeout_s", f"{spec.timeout_s} is not a usable number of seconds: use 0.05 to 120"
    if not 1 <= spec.attempts <= ATTEMPTS_MAX:
        yield "allocate.attempts", f"{spec.attempts} is not a number of attempts: use 1 to {ATTEMPTS_MAX}"
    if not 0.01 <= spec.backoff_s <= 600:
        yield "allocate.backoff_s", f"{spec.backoff_s} is not a usable number of seconds: use 0.01 to 600"
