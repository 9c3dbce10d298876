"""Places of running matches that are to be filled, and who has come and gone: what the state keeps of backfill.

A match that never asked for players has no entry here and costs nothing. One that did keeps it until it leaves the
state: its places (open, invited or filled), the tickets that joined late, and the players who left.
"""

from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

NEVER = 2**62


class Place(msgspec.Struct, frozen=True):
    """A place of a team that a match asked somebody for."""

    number: int
    """Counted from 1 within the match."""
    team: int
    instead_of: int
    """Who left it; 0 = nobody was named."""
    asked_ms: int
    expires_ms: int
    """0 = with the match"""
    proposal: int = 0
    """The invitation that is under way, or was accepted."""
    ticket: int = 0
    """Who is invited, or has taken it."""
    player: int = 0
    """Who has taken it; 0 = nobody yet."""
    filled_ms: int = 0

    @property
    def open(self) -> bool:
        """Nobody is invited."""
        return not self.ticket

    @property
    def invited(self) -> bool:
        """Somebody is, and has not answered."""
        return self.ticket != 0 and not self.player

    @property
    def word(self) -> str:
        """Its standing, as the API spells it."""
        return "open" if self.open else "invited" if self.invited else "filled"


class Filling(msgspec.Struct, frozen=True):
    """What became of one match since it first asked."""

    match: int
    next_place: int = 1
    places: tuple[Place, ...] = ()
    joined: tuple[tuple[int, int, int], ...] = ()
    """(ticket, team, when) of those who came late"""
    left: tuple[tuple[int, int, int], ...] = ()
    """(player, team, when) of those who left"""

    @property
    def wanted(self) -> bool:
        """Is a place open, or somebody invited to one?"""
        return any(not place.player for place in self.places)


class Fillings:
    """Those of a queue."""

    def __init__(self) -> None:
        self.by_match: dict[int, Filling] = {}
        self.digests: dict[int, int] = {}
        """What each adds to the sum of digests."""
        self.invited: dict[int, int] = {}
        """Invitation -> match."""
        self.open = 0
        """Places that nobody is invited to."""
        self.next_expiry_ms = NEVER
        """When a place can be given up; a memo."""

    def __len__(self) -> int:
        return len(self.by_match)

    def put(self, filling: Filling) -> None:
        """Keep what is known of a match now."""
        self.drop(filling.match)
        self.by_match[filling.match] = filling
        for place in filling.places:
            if place.open:
                self.open += 1
                if place.expires_ms:
                    self.next_expiry_ms = min(self.next_expiry_ms, place.expires_ms)
            elif place.invited:
                self.invited[place.proposal] = filling.match

    def drop(self, match: int) -> None:
        """Keep nothing of a match."""
        before = self.by_match.pop(match, None)
        if before is not None:
            for place in before.places:
                if place.open:
                    self.open -= 1
                elif place.invited:
                    self.invited.pop(place.proposal, None)

    def joined(self, match: int) -> tuple[Array, Array]:
        """The tickets that came late to a match, and their teams."""
        found = self.by_match.get(match)
        late = np.array([] if found is None else found.joined, np.int64).reshape(-1, 3)
        return late[:, 0], late[:, 1].astype(np.int8)

    def all_joined(self, matches: Array) -> Array:
        """int64: the tickets that came late to any of these matches."""
        asked = np.array(list(self.by_match), np.int64)
        found = [self.by_match[match] for match in asked[np.isin(asked, matches)].tolist()]
        return np.array([ticket for filling in found for ticket, _, _ in filling.joined], np.int64)

    def stayed(self, players: Array, matches: Array) -> Array:
        """bool[n]: has each player not left the match beside it?"""
        left = {(player, match) for match, found in self.by_match.items() for player, _, _ in found.left}
        return np.array([pair not in left for pair in zip(players.tolist(), matches.tolist(), strict=True)], bool)

    def moved(self, away_ms: int) -> list[Filling]:
        """All of them, with their deadlines so much later."""
        return [
            msgspec.structs.replace(
                found,
                places=tuple(
                    msgspec.structs.replace(place, expires_ms=place.expires_ms + away_ms) if place.expires_ms else place
                    for place in found.places
                ),
            )
            for found in self.by_match.values()
        ]

    def dump(self) -> list[Any]:
        """As plain values, in the order they came."""
        return [msgspec.to_builtins(found) for found in self.by_match.values()]

    def load(self, content: list[Any], digest_of: Any) -> None:
        """Put back what `dump` gave."""
        for found in content:
            filling = msgspec.convert(found, Filling)
            self.put(filling)
            self.digests[filling.match] = digest_of(filling)
