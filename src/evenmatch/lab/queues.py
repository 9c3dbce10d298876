"""A matcher as a queue of the population's game: the rules that are the same for all, and what suits the matcher."""

from typing import Any, Final

import msgspec

from evenmatch import config
from evenmatch.domain.queue import SECONDS_MAX, Format, MatcherSpec, QueueSpec, ReadyCheckSpec, TicketSpec, WaveSpec
from evenmatch.errors import ConfigError

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
    """The queue in which a matcher is tried; NotApplicable where it can't seat the game's format or its parties."""
    game, fit = population.game, population.fit(matcher)
    form, own = fitted(matcher, game.format)
    spec = QueueSpec(
        name=matcher.replace("_", "-"),
        format=form,
        matcher=MatcherSpec(matcher, own | fit.parameters | parameters),
        wave=WaveSpec(every_s=fit.every_s or game.every_s),
        ready_check=ReadyCheckSpec(game.ready_check_s) if game.ready_check_s else None,
        ticket=TicketSpec(expires_s=game.expires_s),
    )
    return settled(population, spec)


def settled(population: Population, spec: QueueSpec) -> QueueSpec:
    """A queue as the world needs it: its people are always heard of."""
    ticket = msgspec.structs.replace(spec.ticket, heartbeat_s=SECONDS_MAX)
    try:
        (found,) = config.parse(config.to_toml([msgspec.structs.replace(spec, ticket=ticket)]), spec.name)
    except ConfigError as error:
        raise NotApplicable(str(error).partition(": ")[2]) from None
    game = population.game.format
    if found.format.seats != game.seats or found.format.teams not in (1, game.teams):
        raise NotApplicable(f"it makes matches of {found.format}, and the game is {game}")
    sizes = found.door.party_sizes
    if sizes is not None and not any(int(size) in sizes for size, share in population.parties.items() if share):
        wanted = " or ".join(map(str, sizes))
        raise NotApplicable(f"it seats parties of {wanted} only, and there are none")
    return found
