"""What clients send, as msgspec reads it; a player has the same shape on the way in and on the way out."""

import msgspec

from evenmatch.domain.ticket import RATING_DEFAULT


class Player(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A player of a party."""

    id: str
    rating: float = RATING_DEFAULT
    ping_ms: float | None = None


class TicketBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A party that wants to play: one player or more."""

    players: list[Player]
    attributes: dict[str, str | int | float | bool] = {}


class BatchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many tickets at once."""

    tickets: list[TicketBody]


class PlayerAnswerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who accepts or declines."""

    player: str
