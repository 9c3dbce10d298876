"""Tickets and matches as those may see them who ask.

Readers do not see game servers. Players do, of their own matches; but of each other they do not see how far others are
from anywhere, nor where: `latencies`, `region` and `ping_ms` are shown of the player alone (`messages` takes
them out of what is pushed). What a proposal costs they learn only once it is a match. The game's backend sees all.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .access import Caller, caller_of
from .bodies import Player
from .handlers import without_server
from .views import MatchView, TicketView

_PRIVATE: Final[dict[str, Any]] = {"latencies": msgspec.UNSET, "region": msgspec.UNSET, "ping_ms": None}


def shown_to(scope: Any) -> Callable[[Any], Any]:
    """A ticket or match as who asks may see it."""
    caller = caller_of(scope)
    if caller is not None and caller.role == "reader":
        return without_server
    return lambda view: seen_by(caller, view)


def player_of(scope: Any) -> str | None:
    """The player who asks; None = it is none."""
    caller = caller_of(scope)
    return None if caller is None else caller.player


def seen_by(caller: Caller | None, view: Any) -> Any:
    """A ticket or match as a caller may see it who may see game servers."""
    player = None if caller is None else caller.player
    if player is None:
        return view
    if isinstance(view, MatchView):
        return _match(view, player)
    if isinstance(view, TicketView):
        match = None if view.match is None else _match(view.match, player)
        proposal = view.proposal
        if proposal is not None:
            proposal = msgspec.structs.replace(proposal, cost=msgspec.UNSET, terms=msgspec.UNSET)
        return msgspec.structs.replace(view, players=_players(view.players, player), match=match, proposal=proposal)
    return view


def _match(view: MatchView, player: str) -> MatchView:
    teams = [
        msgspec.structs.replace(
            team,
            tickets=[
                msgspec.structs.replace(ticket, players=_players(ticket.players, player)) for ticket in team.tickets
            ],
        )
        for team in view.teams
    ]
    return msgspec.structs.replace(view, teams=teams)


def _players(players: list[Player], player: str) -> list[Player]:
    return [one if one.id == player else msgspec.structs.replace(one, **_PRIVATE) for one in players]
