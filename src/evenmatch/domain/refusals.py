"""The expected "no": every reason for which a command is turned down, in one place.

A refusal is a value. The state is as it was, and nothing is written. The statuses are those of HTTP, so that one table
says what each reason means to every caller.
"""

from enum import Enum

import msgspec


class Reasons(Enum):
    """Reason code -> (HTTP status, title)."""

    UNKNOWN_QUEUE = (404, "There is no such queue")
    UNKNOWN_TICKET = (404, "There is no such ticket")
    UNKNOWN_PROPOSAL = (404, "There is no such proposal")
    UNKNOWN_MATCH = (404, "There is no such match")
    UNKNOWN_RESULT = (404, "This match has no result yet")
    UNKNOWN_PLAYER = (404, "There is no such player")
    UNKNOWN_VERSION = (404, "The queue never had these rules")
    UNKNOWN_DEADLETTER = (404, "There is no such dead letter")
    UNKNOWN_SIDE = (404, "There is no such side")
    ALREADY_WAITING = (409, "A player already has a live ticket in this queue")
    ALREADY_ACCEPTED = (409, "This player has accepted already")
    ALREADY_MATCHED = (409, "This ticket has its match already")
    KEY_REUSED = (409, "This idempotency key was used with another body")
    WAVE_CLOSED = (409, "This wave is not in flight")
    MATCH_OVER = (409, "This match is over already")
    MATCH_STARTING = (409, "This match is about to start")
    MATCH_NOT_STARTING = (409, "This match does not wait for its start to be confirmed")
    MATCH_NOT_RUNNING = (409, "Only a match that runs can ask for players")
    BACKFILL_OFF = (409, "The queue does not fill places of running matches")
    ALREADY_LEFT = (409, "This player has left the match already")
    NO_FREE_PLACE = (409, "The team has no free place that is not asked for already")
    NOT_WAITING = (409, "This ticket does not wait any more")
    QUEUE_DRAINING = (409, "The queue takes no new tickets")
    COOLING_DOWN = (403, "A player may not join this queue again yet")
    MATCH_NOT_MADE = (409, "This match is not made yet")
    RESULT_KNOWN = (409, "This match has another result already")
    NOT_RATED = (409, "This queue keeps no ratings")
    SEASON_OVER = (409, "Another season is running")
    NOT_A_MEMBER = (403, "This player is not part of that proposal")
    WRONG_VERSION = (412, "The queue's rules are not those that were meant")
    PROPOSAL_OVER = (410, "This proposal is over")
    TICKET_GONE = (410, "This ticket is no longer in the queue")
    NOT_IN_TICKET = (422, "A player is not part of that ticket")
    EMPTY_PARTY = (422, "A ticket needs at least one player")
    PARTY_TOO_LARGE = (422, "The party is larger than a team")
    PLAYER_TWICE = (422, "A player stands in the party twice")
    BAD_RATING = (422, "A rating is out of range")
    BAD_PING = (422, "A ping is out of range")
    BAD_FACT = (422, "A fact of a player cannot be used")
    PARTY_UNSUPPORTED = (422, "The queue's matcher cannot seat a party of this size")
    MISSING_FACT = (422, "The queue's matcher needs something that a player does not bring")
    MISSING_ATTRIBUTE = (422, "The queue requires an attribute that the ticket lacks")
    NO_SHARD = (422, "No shard of the queue takes this ticket")
    UNKNOWN_TEAM = (422, "The match has no such team")
    NOT_IN_TEAM = (422, "A player is not in that team")
    BAD_RESULT = (422, "The result does not fit the match")
    BAD_SEASON = (422, "A season cannot start like this")
    BAD_SPEC = (422, "The queue's rules cannot be used")
    BAD_PLAN = (422, "The plan breaks a rule that every plan keeps")

    @property
    def status(self) -> int:
        """The HTTP status that goes with the reason."""
        return self.value[0]

    @property
    def title(self) -> str:
        """The reason in a few words, the same for every refusal of the kind."""
        return self.value[1]

    @property
    def code(self) -> str:
        """The reason as the API spells it."""
        return self.name.lower()


class Refusal(msgspec.Struct, frozen=True):
    """An expected "no", with its reason and what would be right."""

    reason: Reasons
    detail: str
    retry_s: int = 0
    """After so many seconds it may be granted; 0 = that is not a matter of time."""
