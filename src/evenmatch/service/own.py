"""Bodies that a player may send for itself. For other callers all is as ever."""

from typing import Final

import msgspec

from . import wire
from .access import Caller
from .bodies import TicketBody
from .wire import Problem, WireReasons


class _Said(msgspec.Struct):
    """What of a player's strength stands in a body, whatever it is."""

    rating: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ratings: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _SaidOfAll(msgspec.Struct):
    players: list[_Said]


_said: Final = msgspec.json.Decoder(_SaidOfAll)


def read_ticket(body: bytes, caller: Caller | None) -> TicketBody | Problem:
    """A ticket's body; a player joins alone, and does not say how strong it is."""
    ticket = wire.read_ticket(body)
    player = None if caller is None else caller.player
    if player is None or isinstance(ticket, Problem):
        return ticket
    if [member.id for member in ticket.players] != [player]:
        return WireReasons.NOT_YOURS.problem(
            f"a player joins alone, as itself ({player}); parties are joined by the game's backend"
        )
    for said in _said.decode(body).players:
        if said.rating is not msgspec.UNSET or said.ratings is not msgspec.UNSET:
            return WireReasons.RATING_NOT_YOURS.problem(
                "leave rating and ratings out: they are what this server knows, or what the game's backend says"
            )
    return ticket


def read_player(body: bytes, caller: Caller | None) -> str | Problem:
    """Who accepts or declines; a player does for itself only."""
    player = wire.read_player(body)
    if caller is None or caller.player is None or isinstance(player, Problem) or player == caller.player:
        return player
    return WireReasons.NOT_YOURS.problem(f"{caller.player} cannot answer for {player[:128]!r}")
