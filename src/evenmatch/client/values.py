"""What the server answers, as values. A field that this client does not know yet is passed over."""

from typing import Any

import msgspec


class Ticket(msgspec.Struct, frozen=True):
    """A ticket as it stands."""

    id: str
    queue: str
    status: str
    """waiting, proposed, matched, cancelled or expired"""
    joined_ms: int
    waited_ms: int
    players: list[dict[str, Any]]
    misses: int = 0
    attributes: dict[str, Any] = {}
    suspended: bool = False
    cause: str | None = None
    reason: str | None = None
    """Why the last wave left it waiting."""
    proposal: dict[str, Any] | None = None
    match: dict[str, Any] | None = None

    @property
    def names(self) -> list[str]:
        """The ids of its players."""
        return [player["id"] for player in self.players]


class Match(msgspec.Struct, frozen=True):
    """A match."""

    id: str
    queue: str
    teams: list[dict[str, Any]]
    quality: float | None = None
    cost: float | None = None
    made_ms: int | None = None
    standing: str | None = None
    details: dict[str, Any] = {}
    odds: list[float] | None = None

    @property
    def names(self) -> list[list[str]]:
        """The ids of the players of each team."""
        return [list(team["players"]) for team in self.teams]


class Event(msgspec.Struct, frozen=True):
    """Something that happened to a ticket."""

    sequence: int
    """Give the last one as `after` to go on from there."""
    type: str
    """queued, updated, proposed, accepted, starting, matched, server, unserved, requeued, cancelled or expired; of a
    match that asks for players: backfill, filled or unfilled"""
    ticket: str
    queue: str | None = None
    at_ms: int = 0
    cause: str | None = None
    player: str | None = None
    pending: int | None = None
    proposal: dict[str, Any] | None = None
    match: dict[str, Any] | None = None
    server: dict[str, Any] | None = None
    """Where the match is played: address, port and token."""
    left: list[str] | None = None
    """Of `backfill`: who left the match."""
    joined: str | None = None
    """Of `filled`, and of `matched` where a running match was joined: the ticket that came."""

    @property
    def is_last(self) -> bool:
        """Does the ticket wait no more? Only the match's game server may follow."""
        return self.type in ("matched", "cancelled", "expired")


class Problem(msgspec.Struct, frozen=True):
    """A "no", as the server tells it."""

    reason: str = ""
    title: str = ""
    detail: str = ""
    retry_after_s: float = 0
