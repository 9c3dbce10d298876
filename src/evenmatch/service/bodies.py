"""What clients send, as msgspec reads it; a player has the same shape on the way in and on the way out."""

from typing import Any

import msgspec

from evenmatch.domain.queue import Mode
from evenmatch.domain.ticket import RATING_DEFAULT
from evenmatch.domain.venue import LATENCY


class Player(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A player of a party. What is left out of the last six is left out of answers too."""

    id: str
    rating: float = RATING_DEFAULT
    ping_ms: float | None = None
    ratings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """A rating for each side that the player can play."""
    profile: dict[str, float | str] | msgspec.UnsetType = msgspec.UNSET
    region: str | msgspec.UnsetType | None = msgspec.UNSET
    vetoed_maps: list[str] | msgspec.UnsetType = msgspec.UNSET
    roles: list[str] | msgspec.UnsetType = msgspec.UNSET
    latencies: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """Milliseconds to each region that the player has measured."""


def facts_and_traits(player: Player) -> tuple[dict[str, float], dict[str, Any]]:
    """What a player brings beside rating and ping, as the engine names it: numbers, and the rest."""
    facts: dict[str, float] = {}
    traits: dict[str, Any] = {}
    if player.ratings:
        facts = {f"ratings.{side}": rating for side, rating in player.ratings.items()}
    if player.profile:
        for name, value in player.profile.items():
            if isinstance(value, str):
                traits[f"profile.{name}"] = value
            else:
                facts[f"profile.{name}"] = value
    if player.latencies:
        facts |= {f"{LATENCY}{region}": latency_ms for region, latency_ms in player.latencies.items()}
    for name in ("region", "vetoed_maps", "roles"):
        value = getattr(player, name)
        if value:
            traits[name] = value
    return facts, traits


def kept_of(player: Player, keeps: tuple[str, ...]) -> Player:
    """A player with what a queue keeps of it, as a look at its ticket shows it."""
    facts, traits = facts_and_traits(player)
    if not facts and not traits:
        return Player(player.id, player.rating, player.ping_ms)
    kept = {name: value for name, value in (facts | traits).items() if name in keeps}
    return player_of(player.id, {"rating": player.rating, "ping_ms": player.ping_ms, **kept})


def player_of(name: str, record: dict[str, Any]) -> Player:
    """A player as a record of the engine tells of one."""
    more: dict[str, Any] = {}
    for key, value in record.items():
        group, _, rest = key.partition(".")
        if value is None or key in ("player", "rating", "ping_ms"):
            continue
        if rest:
            more.setdefault(group, {})[rest] = value
        else:
            more[key] = value
    return Player(name, record["rating"], record["ping_ms"], **more)


class TicketBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A party that wants to play: one player or more."""

    players: list[Player]
    attributes: dict[str, str | int | float | bool] = {}
    avoid: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Players whom this party does not want to meet this time."""
    leader: str | msgspec.UnsetType = msgspec.UNSET
    """Who leads the party; left out, the first player does."""
    backfill: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether it may be asked to join a match that runs already; left out, as the queue's rules say."""


class PlayerChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a player of a waiting ticket brings from now on; what is left out stays as it is."""

    id: str
    rating: float | msgspec.UnsetType = msgspec.UNSET
    ping_ms: float | msgspec.UnsetType | None = msgspec.UNSET
    ratings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    profile: dict[str, float | str] | msgspec.UnsetType = msgspec.UNSET
    region: str | msgspec.UnsetType | None = msgspec.UNSET
    vetoed_maps: list[str] | msgspec.UnsetType = msgspec.UNSET
    roles: list[str] | msgspec.UnsetType = msgspec.UNSET
    latencies: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class TicketChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes of a waiting ticket."""

    players: list[PlayerChange] = []
    attributes: dict[str, str | int | float | bool] | None = None


class BlocksBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom a player never wants to meet."""

    players: list[str]


class WhyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why something is done, in words."""

    why: str = ""


class ModeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a queue runs."""

    mode: Mode
    why: str = ""


class BatchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many tickets at once."""

    tickets: list[TicketBody]


class PlayerAnswerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who accepts or declines."""

    player: str
