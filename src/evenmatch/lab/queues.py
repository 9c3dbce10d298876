"""A matcher as a queue of the population's game: the rules that are the same for all, and what suits the matcher."""

from typing import Any, Final

import msgspec

from evenmatch import config
from evenmatch.domain.queue import SECONDS_MAX, Format, MatcherSpec, QueueSpec, ReadyCheckSpec, TicketSpec, WaveSpec
from evenmatch.errors import ConfigError, LabError

from .population import Population

__all__ = ["NotApplicable", "fitted", "for_matcher", "settled"]


class NotApplicable(Exception):
    """A matcher cannot play this game; why, in words."""


_LOBBY_SIZES: Final = {
    "epgc": "lobby_size",
    **dict.fromkeys(("lom", "m2l", "l2m", "random"), "session_size"),
}
"""Matchers that make lobbies, and the parameter that says how large."""


def fitted(matcher: str, form: Format) -> tuple[Format, dict[str, Any]]:
    """The format in which a matcher sees a game's matches, and its parameters for it: some see a lobby."""
    size = _LOBBY_SIZES.get(matcher)
    return (form, {}) if size is None else (Format(1, form.seats), {size: form.seats})


def for_matcher(population: Population, matcher: str, **parameters: object) -> QueueSpec:
    """The queue in which a matcher is tried; NotApplicable where it can't seat the game's format or its parties.

    Parameters that the matcher does not take are a mistake of the population: LabError.
    """
    own = population.fit(matcher).parameters
    try:
        return settled(population, _plain(population, matcher, own | parameters))
    except NotApplicable as why:
        if own:
            settled(population, _plain(population, matcher, {}))  # it cannot play, whatever its parameters
            raise LabError(f"the population's matchers.{matcher}.parameters cannot be used: {why}") from None
        raise


def _plain(population: Population, matcher: str, parameters: dict[str, Any]) -> QueueSpec:
    game = population.game
    form, sized = fitted(matcher, game.format)
    return QueueSpec(
        name=matcher.replace("_", "-"),
        format=form,
        matcher=MatcherSpec(matcher, sized | parameters),
        wave=WaveSpec(every_s=population.fit(matcher).every_s or game.every_s),
        ready_check=ReadyCheckSpec(game.ready_check_s) if game.ready_check_s else None,
        ticket=TicketSpec(expires_s=game.expires_s),
    )


def settled(population: Population, spec: QueueSpec) -> QueueSpec:
    """A queue as the world needs it: its people are always heard of."""
    ticket = msgspec.structs.replace(spec.ticket, heartbeat_s=SECONDS_MAX)
    try:
        (found,) = config.parse(config.to_toml([msgspec.structs.replace(spec, ticket=ticket)]), spec.name)
    except ConfigError as error:
        why = str(error).partition(": ")[2]
        raise NotApplicable(why.removeprefix(f"queues.{spec.name}.format: {spec.matcher.name}: ")) from None
    game = population.game.format
    if found.format.seats != game.seats or found.format.teams not in (1, game.teams):
        raise NotApplicable(f"it makes matches of {found.format}, and the game is {game}")
    servers = () if found.venue is None else found.venue.regions
    if servers and not set(servers) & set(population.regions.shares):
        lived = ", ".join(population.regions.shares)
        raise NotApplicable(f"its matches are played in {', '.join(servers)}, and the players are in {lived}")
    sizes = found.door.party_sizes
    if sizes is not None and not any(int(size) in sizes for size, share in population.parties.items() if share):
        wanted = " or ".join(map(str, sizes))
        raise NotApplicable(f"it seats parties of {wanted} only, and there are none")
    return found
