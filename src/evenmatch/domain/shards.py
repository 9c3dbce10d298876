"""A queue that is split: the table [shards.QUEUE] of queues.toml, and which shard takes a ticket.

    [shards.duel]                       [shards.duel]
    by = "region"                       by = "rating"
    eu = ["eu-west", "eu-east"]         low = [0, 1600]
    us = ["us"]                         high = [1500, 4000]
    rest = "eu"

1. A shard is a queue of its own, `duel-eu`, with the rules of `duel`; nobody in it meets anybody of another shard.
2. `shard_of` hangs on the split, on what the ticket brings and on its leader's id, and on nothing else: neither on who
   waits where nor on the moment. So a request that is sent again finds the shard, and there the idempotency key and the
   ticket, of the first time, whichever node it reaches. It costs a stale count of those who wait nothing, either.
3. A rating in several bands goes to one of them by a digest of the leader's id: as many to each. One beyond all bands
   goes to the nearest.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from .ids import QUEUE_NAME
from .queue import PartySpec, QueueSpec

REGION: Final = "region"
RATING: Final = "rating"
ATTRIBUTE: Final = "attributes."
_BY: Final = "by"
_REST: Final = "rest"
_HOW: Final = 'write by = "region", by = "rating" or one such as by = "attributes.mode"'
_NOT_RATED: Final = (
    "ratings that are kept change, and a player would change the ladder with the band: split it by region or an "
    "attribute, with a ladder for each shard, or leave [queues.{}.rating] out and send ratings with tickets"
)


class Split(msgspec.Struct, frozen=True):
    """How a queue is split."""

    queue: str
    by: str
    """region, rating, or attributes.NAME"""
    values: dict[str, tuple[str, ...]] = {}
    """Shard -> the regions, or the attribute's values, that it takes."""
    bands: dict[str, tuple[float, float]] = {}
    """Shard -> the lowest and the highest rating that it takes."""
    rest: str = ""
    """The shard that takes all other values; empty = they are refused."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it is split into, in the order of the file."""
        return tuple(shard_queue(self.queue, shard) for shard in self.bands or self.values)

    @property
    def attribute(self) -> str:
        """The attribute that it goes by; empty = it goes by none."""
        return self.by.removeprefix(ATTRIBUTE) if self.by.startswith(ATTRIBUTE) else ""

    def __str__(self) -> str:
        """In words."""
        takes = {shard: ", ".join(known) for shard, known in self.values.items()}
        takes |= {shard: f"{low:g} to {high:g}" for shard, (low, high) in self.bands.items()}
        told = [f"{shard_queue(self.queue, shard)} takes {what}" for shard, what in takes.items()]
        others = f"; all others go to {shard_queue(self.queue, self.rest)}" if self.rest else ""
        if self.values and not self.rest:
            others = "; others are refused"
        return f"{self.queue} is split by {self.by}: {'; '.join(told)}{others}"


def shard_queue(queue: str, shard: str) -> str:
    """What the queue of a shard is called."""
    return f"{queue}-{shard}"


def shard_of(split: Split, value: str | float | bool | None, leader: str) -> str | None:
    """The queue that takes a ticket; None = none does.

    `value`: the leader's region, the ticket's attribute, or its rating (`party_rating`); None = it brings none.
    """
    if split.bands:
        assert isinstance(value, int | float)
        return shard_queue(split.queue, _band_of(split.bands, float(value), leader))
    text = None if value is None else text_of(value)
    for shard, known in split.values.items():
        if text in known:
            return shard_queue(split.queue, shard)
    return shard_queue(split.queue, split.rest) if split.rest else None


def why_none(split: Split, value: object) -> str:
    """Why no shard takes a ticket, and what would be right."""
    what = f"the player's {REGION}" if split.by == REGION else split.by
    known = ", ".join(one for values in split.values.values() for one in values)
    brought = "is missing" if value is None else f"is {str(value)[:64]!r}"
    return f"{what} {brought}, and {split.queue} is split by it: use {known}"


def party_rating(ratings: Sequence[float], party: PartySpec) -> float:
    """What a party counts as: one number, where matchers see one a player (`core/parties`)."""
    if len(ratings) == 1:
        return ratings[0]
    bonus = party.premade_bonus * (len(ratings) - 1)
    match party.rating:
        case "max":
            return max(ratings) + bonus
        case "sum":
            return sum(ratings) + bonus
    return sum(ratings) / len(ratings) + bonus


def text_of(value: str | float | bool) -> str:
    """An attribute's value as the table has it: numbers and booleans as JSON writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _band_of(bands: Mapping[str, tuple[float, float]], rating: float, leader: str) -> str:
    inside = [shard for shard, (low, high) in bands.items() if low <= rating <= high]
    if len(inside) > 1:
        digest = hashlib.blake2b(leader.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return inside[int.from_bytes(digest) % len(inside)]
    return inside[0] if inside else min(bands, key=lambda shard: min(abs(rating - edge) for edge in bands[shard]))


# -- the table ---------------------------------------------------------------------------------------------------------


def splits_of(table: dict[str, dict[str, Any]]) -> dict[str, Split]:
    """Queue -> its split, of a table without mistakes."""
    found = {}
    for queue, body in table.items():
        named = {shard: body[shard] for shard in _shards(body)}
        if body[_BY] == RATING:
            bands = {shard: (float(low), float(high)) for shard, (low, high) in named.items()}
            found[queue] = Split(queue, RATING, bands=bands)
        else:
            values = {shard: tuple(map(text_of, known)) for shard, known in named.items()}
            found[queue] = Split(queue, body[_BY], values, rest=body.get(_REST, ""))
    return found


def with_shards(specs: Sequence[QueueSpec], table: Any) -> tuple[QueueSpec, ...]:
    """The queues that are opened: shards in place of what is split; of a table with mistakes, as far as it goes."""
    found: list[QueueSpec] = []
    for spec in specs:
        body = table.get(spec.name) if isinstance(table, dict) else None
        shards = _shards(body) if isinstance(body, dict) else []
        if shards:
            found += [msgspec.structs.replace(spec, name=shard_queue(spec.name, shard)) for shard in shards]
        else:
            found.append(spec)
    return tuple(found)


def split_mistakes(table: Any, specs: Sequence[QueueSpec]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Everything that is wrong with the tables [shards.QUEUE], as (where, what is wrong and what would be right)."""
    if not isinstance(table, dict):
        yield (), "this is not a table: write one for each queue that is split, such as [shards.duel]"
        return
    known = {spec.name: spec for spec in specs}
    taken = dict.fromkeys(known, "this file")
    for queue, body in table.items():
        if queue not in known:
            yield (queue,), f"there is no queue {queue[:64]!r} in this file: use {', '.join(known) or 'none'}"
        if not isinstance(body, dict):
            yield (queue,), f"this is not a table: write [shards.{queue[:64]}], and in it by and the shards"
            continue
        for at, what in _of_one(queue, body):
            yield (queue, *at), what
        for shard in _shards(body):
            name = shard_queue(queue, shard)
            if not QUEUE_NAME.fullmatch(name):
                yield (
                    (queue, shard),
                    f"the shard would be the queue {name[:80]!r}, which cannot name one: use lower-case letters, "
                    "digits, '-' or '_', at most 63 together with the queue's name and '-'",
                )
            elif name in taken:
                yield (queue, shard), f"the shard would be the queue {name}, which {taken[name]} has already"
            taken.setdefault(name, f"[shards.{queue}]")
        if queue in known and body.get(_BY) == RATING:
            yield from (((queue, _BY), what) for what in _unfit(known[queue]))


def _shards(body: dict[str, Any]) -> list[str]:
    return [key for key in body if key not in (_BY, _REST)]


def _of_one(queue: str, body: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    by, shards = body.get(_BY), _shards(body)
    is_known = by in (REGION, RATING) or (isinstance(by, str) and by.startswith(ATTRIBUTE) and len(by) > len(ATTRIBUTE))
    if by is None:
        yield (), f"it does not say what the queue is split by: {_HOW}"
    elif not is_known:
        yield (_BY,), f"a queue cannot be split by {str(by)[:64]!r}: {_HOW}"
    if len(shards) < 2:
        many = "one shard only" if shards else "no shard"
        example = "low = [0, 1600] and high = [1500, 4000]" if by == RATING else 'eu = ["eu"] and us = ["us"]'
        yield (), f"there is {many}: name two or more, such as {example}"
    if by == RATING:
        if _REST in body:
            yield (_REST,), "bands take every rating, those beyond them too: leave rest out"
        yield from _of_bands(body, shards)
        return
    if is_known:
        yield from _of_values(body, shards)
    rest = body.get(_REST)
    if rest is not None and rest not in shards:
        yield (_REST,), f"{str(rest)[:64]!r} is no shard of {queue}: use {', '.join(shards) or 'none'}"


def _of_values(body: dict[str, Any], shards: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    first: dict[str, str] = {}
    for shard in shards:
        values = body[shard]
        if not isinstance(values, list) or not all(isinstance(one, str | int) for one in values):
            yield (
                (shard,),
                f'this is not a list of the values that the shard {shard[:64]} takes, such as ["eu"]; keys that are no '
                "shard: by, rest",
            )
            continue
        if not values:
            yield (shard,), 'the shard takes no value: name one or more, such as ["eu"]'
        for text in map(text_of, values):
            if not text:
                yield (shard,), "a value is empty: no ticket would bring it; take it out"
            elif text in first:
                also = "twice" if first[text] == shard else f"in the shard {first[text]} too"
                yield (shard,), f"the value {text[:64]!r} stands {also}: a value has one shard"
            first.setdefault(text, shard)


def _of_bands(body: dict[str, Any], shards: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    bands: list[tuple[float, float, str]] = []
    for shard in shards:
        match body[shard]:
            case [int() | float() as low, int() | float() as high] if (
                not isinstance(low, bool) and not isinstance(high, bool) and -math.inf < low < high < math.inf
            ):
                bands.append((low, high, shard))
            case [int() | float() as low, int() | float() as high] if (
                not isinstance(low, bool) and not isinstance(high, bool) and math.inf > low >= high > -math.inf
            ):
                ends = "are the same" if low == high else "stand the wrong way round"
                right = [high, low] if low > high else [low, low + 100]
                yield (
                    (shard,),
                    f"the band's ends {ends}: write the lowest rating first, then the highest, such as "
                    f"{shard[:64]} = {right}",
                )
            case _:
                yield (
                    (shard,),
                    "this is not a band of ratings: write the lowest and the highest, such as "
                    f"{shard[:64]} = [0, 1600]; keys that are no shard: by",
                )
    bands.sort()
    reach = bands[0][1] if bands else 0.0
    for low, high, shard in bands[1:] if len(bands) == len(shards) else ():
        if low > reach:
            yield (shard,), f"nobody takes ratings from {reach:g} to {low:g}: let the bands meet"
        reach = max(reach, high)


def _unfit(spec: QueueSpec) -> Iterator[str]:
    """Why a queue cannot be split by rating."""
    if spec.rating is not None:
        yield f"{spec.name} keeps ratings: {_NOT_RATED.format(spec.name)}"
    if any(kept.startswith("ratings.") for kept in spec.door.keeps):
        yield f"players of {spec.name} have a rating for each side: split it by region or an attribute"
