"""Facts. What the journal holds, what `evolve` applies, and what everybody is told of.

Every event stands in the journal under its own sequence number. One that touches tickets says, for each, the sequence
of the event that touched it before (`previous`), so that a ticket's story is a chain through the journal: it can be
read backwards at any time without an index and without keeping stories in memory.

Journals outlive programs: a field may be added with a default; anything else needs a new schema version and an
upcaster (`storage/codec.py`).
"""

from typing import Any, TypeAlias

import msgspec

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array
from evenmatch.domain.backfill_events import BackfillEvent
from evenmatch.domain.batch_events import BatchEvent
from evenmatch.domain.lane_events import LaneEvent
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.table import Table


class QueueOpened(msgspec.Struct, frozen=True, tag="queue_opened", eq=False):
    """A queue opened, or its rules changed."""

    at_ms: int
    spec: QueueSpec
    source: str = ""
    """Who gave the rules: "file" (queues.toml) or "operator"; empty in old journals."""
    version: int = 0
    """How often rules were given, this time included; 0 in old journals."""


class TicketsJoined(msgspec.Struct, frozen=True, tag="tickets_joined", eq=False):
    """Tickets entered a queue. They are numbered on from `first_ticket`; their players stand one after the other."""

    at_ms: int
    queue: str
    first_ticket: int
    size: Array
    """int16[n]"""
    player: Array
    """int64[m]"""
    facts: dict[str, Array]
    """float64[m] each"""
    groups: tuple[str, ...]
    """What the tickets of each group share, as canonical JSON."""
    group: Array
    """int32[n], into `groups`; empty = all in the first"""
    keys: Array
    """uint64[n, 3]: idempotency key (high, low) and fingerprint, 0 = none; empty = no ticket has one"""
    traits: dict[str, list[Any]] = {}
    """a value a player each, None = not given"""
    avoid: Array = NO_PAIRS
    """int64[k, 2]: (ticket, counted from 0, and player) whom tickets do not want to meet"""
    will: Array = NO_PAIRS
    """int64[k, 2]: (ticket, counted from 0, and 1 = it may be asked to join running matches, 2 = it may not)"""


class TicketsSeen(msgspec.Struct, frozen=True, tag="tickets_seen", eq=False):
    """The clients of these tickets were heard of."""

    at_ms: int
    queue: str
    ticket: Array


class TicketsGone(msgspec.Struct, frozen=True, tag="tickets_gone", eq=False):
    """Waiting tickets left the queue without a match: cancelled (left) or expired (too_long, unheard)."""

    at_ms: int
    queue: str
    cause: int
    ticket: Array
    previous: Array


class WaveFinished(msgspec.Struct, frozen=True, tag="wave_finished", eq=False):
    """A wave's proposals were made, all at once."""

    at_ms: int
    queue: str
    wave: int
    seed: int
    started_ms: int
    digest: int
    """Digest (63 bits) of the snapshot that the matcher saw."""
    waiting: int
    """Tickets in that snapshot."""
    dropped: int
    """Proposals of the plan that no longer held when it came back."""
    first_proposal: int
    """The proposals are numbered on from here."""
    roster: Array
    """int64[k, width]: tickets, -1 = empty"""
    team_of: Array
    """int8[k, width]"""
    cost: Array
    """float64[k]"""
    quality: Array
    """float64[k]: predicted evenness, NaN where a match has one team only"""
    previous: Array
    """int64[k, width]"""
    snapshot_sequence: int
    """The journal's sequence when the snapshot was taken: who has been matchable since before then, and still is, has
    one miss more."""
    deadline_ms: int
    """When the ready check lapses; 0 = there is none, and the proposals are matches at once."""
    ends_ms: int
    """When those matches are over for I11; 0 = at once."""
    confirm_ms: int = 0
    """Without a ready check: when the start of the matches is given up; 0 = nobody has to confirm it."""
    details: Table = Table()
    """What the matcher says of each proposal; empty = nothing."""
    more: bool = False
    """A large wave is several events: more of this one follows. Who waits on has missed it when the last has come."""


class WaveAbandoned(msgspec.Struct, frozen=True, tag="wave_abandoned", eq=False):
    """A wave's matcher failed or was too late; nobody was matched and nobody has a miss more."""

    at_ms: int
    queue: str
    wave: int
    why: str


class Accepted(msgspec.Struct, frozen=True, tag="accepted", eq=False):
    """A player accepted a proposal. Told to all tickets of the proposal."""

    at_ms: int
    queue: str
    proposal: int
    player: int
    pending: int
    """Players who have not accepted yet."""
    ticket: Array
    previous: Array


class MatchStarting(msgspec.Struct, frozen=True, tag="match_starting", eq=False):
    """The last player accepted; the match is made once the game server confirms that it has started."""

    at_ms: int
    queue: str
    proposal: int
    deadline_ms: int
    """When it is given up."""
    ticket: Array
    previous: Array


class MatchMade(msgspec.Struct, frozen=True, tag="match_made", eq=False):
    """The last player accepted, and the game server confirmed where that is asked for: the proposal is a match."""

    at_ms: int
    queue: str
    proposal: int
    ends_ms: int
    ticket: Array
    previous: Array


class ProposalsFailed(msgspec.Struct, frozen=True, tag="proposals_failed", eq=False):
    """Ready checks ended without a match: the blamed are cancelled, the innocent wait again as they did before (I6)."""

    at_ms: int
    queue: str
    cause: int
    proposal: Array
    blamed: Array
    blamed_previous: Array
    returned: Array
    returned_previous: Array
    lost: Array = NONE
    """Those of the blamed whose connection was lost."""
    offender: Array = NONE
    """int64[n]: the players who get a cool-down"""
    offence: Array = NONE
    """int8[n]: the cause of each"""
    offences: Array = NONE
    """int64[n]: on the books now"""
    until_ms: Array = NONE
    """int64[n]: when each may join again"""
    guilty: Array = NONE
    """int64[m]: the players who declined or did not answer, also where it costs nothing; empty in old journals"""


class CooldownsEnded(msgspec.Struct, frozen=True, tag="cooldowns_ended", eq=False):
    """Players' offences left the books: forgiven, or lifted by an operator."""

    at_ms: int
    queue: str
    player: Array
    lifted: bool = False


class ContactLost(msgspec.Struct, frozen=True, tag="contact_lost", eq=False):
    """The clients of these tickets closed their connections; they count as lost until they are heard of again."""

    at_ms: int
    queue: str
    ticket: Array


class TicketUpdated(msgspec.Struct, frozen=True, tag="ticket_updated", eq=False):
    """A waiting ticket's players brought other facts or traits, or it has other attributes to share."""

    at_ms: int
    queue: str
    ticket: int
    previous: int
    facts: dict[str, Array]
    """float64[m] each: all that is known now"""
    group: str
    """What it shares with those it may meet, as canonical JSON."""
    traits: dict[str, list[Any]] = {}


class BlocksSet(msgspec.Struct, frozen=True, tag="blocks_set", eq=False):
    """A player does not want to meet these, and nobody else is blocked."""

    at_ms: int
    player: int
    blocked: Array


class QueueModeSet(msgspec.Struct, frozen=True, tag="queue_mode_set", eq=False):
    """A queue was paused, is to run empty, or is open again."""

    at_ms: int
    queue: str
    mode: Mode


class MatchesEnded(msgspec.Struct, frozen=True, tag="matches_ended", eq=False):
    """Matches are over for I11."""

    at_ms: int
    queue: str
    proposal: Array
    cancelled: bool = False
    """By an operator: they count as never played."""


class ServerAllocated(msgspec.Struct, frozen=True, tag="server_allocated", eq=False):
    """A match was given a game server. Told to those of its tickets that are still in the state."""

    at_ms: int
    queue: str
    match: int
    address: str
    port: int
    token: str
    """What players show the game server."""
    attempts: int
    """Requests that it took."""
    ticket: Array
    previous: Array


class AllocationFailed(msgspec.Struct, frozen=True, tag="allocation_failed", eq=False):
    """A match was given no game server, and nobody is asked again unless an operator says so."""

    at_ms: int
    queue: str
    match: int
    why: str
    attempts: int
    ticket: Array
    previous: Array


class ResultReported(msgspec.Struct, frozen=True, tag="result_reported", eq=False):
    """How a match ended, and what that did to the ratings of its players; replay never rates again."""

    at_ms: int
    queue: str
    match: int
    ladder: str
    """Where ratings are kept; empty = the queue keeps none."""
    rank: Array
    """int64[teams]: lower finished better, equal drew"""
    leaver: Array
    """int64[...]: players who left; each is rated as if the own team had come last"""
    player: Array
    """int64[n], team by team"""
    team: Array
    """int64[n]"""
    before: Array
    """float64[n, 3]: rating, deviation, volatility; empty = not rated"""
    after: Array
    """float64[n, 3]"""
    sides: tuple[str, ...] = ()
    """Where sides have ladders of their own: the side of each team."""


class ResultCorrected(msgspec.Struct, frozen=True, tag="result_corrected", eq=False):
    """A result was corrected or annulled, and every later one of its ladder rated again."""

    at_ms: int
    queue: str
    match: int
    ladder: str
    void: bool
    """It counts no longer."""
    rank: Array
    leaver: Array
    ladders: tuple[str, ...]
    """The ladder of the ratings that follow, and of its sides."""
    on: Array
    """int64[n], into `ladders`"""
    player: Array
    """int64[n]: everybody whose rating is another now"""
    rating: Array
    """float64[n, 3]: rating, deviation, volatility as they are now"""
    more: bool = False
    """More of the same correction follows."""


class SeasonStarted(msgspec.Struct, frozen=True, tag="season_started", eq=False):
    """The ratings of a ladder and its sides were pulled towards the start, and made less sure."""

    at_ms: int
    queue: str
    ladder: str
    season: int
    keep: float
    start: float
    deviation: float
    most: float


class Forgotten(msgspec.Struct, frozen=True, tag="forgotten", eq=False):
    """Finished tickets and proposals left the state for the read table."""

    at_ms: int
    queue: str
    ticket: Array
    proposal: Array = NONE


class KeysForgotten(msgspec.Struct, frozen=True, tag="keys_forgotten", eq=False):
    """The oldest idempotency keys left the state."""

    at_ms: int
    count: int


class Resumed(msgspec.Struct, frozen=True, tag="resumed", eq=False):
    """The engine was away; deadlines moved on by that long."""

    at_ms: int
    downtime_ms: int


class OperatorActed(msgspec.Struct, frozen=True, tag="operator_acted", eq=False):
    """An operator did something. The state is as the events before it left it; the audit's read table keeps it."""

    at_ms: int
    who: str
    """The key that was used: its name and id."""
    action: str
    subject: str
    """An id, such as m-000000000001; a player by number, for names can be erased."""
    detail: str = ""


Event: TypeAlias = (
    QueueOpened
    | TicketsJoined
    | TicketsSeen
    | TicketsGone
    | WaveFinished
    | WaveAbandoned
    | Accepted
    | MatchMade
    | MatchStarting
    | ProposalsFailed
    | CooldownsEnded
    | ContactLost
    | TicketUpdated
    | BlocksSet
    | QueueModeSet
    | MatchesEnded
    | ServerAllocated
    | AllocationFailed
    | ResultReported
    | ResultCorrected
    | SeasonStarted
    | Forgotten
    | KeysForgotten
    | Resumed
    | OperatorActed
    | BackfillEvent
    | BatchEvent
    | LaneEvent
)
