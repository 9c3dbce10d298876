"""Everything the engine knows, in columns.

    State ── queues: name -> QueueState ── tickets   one row a live or lately finished ticket
      │                                 ├─ players   one row a player of such a ticket, party by party
      │                                 └─ proposals one row an open proposal, match or lately failed proposal
      ├─ tickets_at, proposals_at   number -> queue and slot
      ├─ live, several              player -> the ticket, or the tickets, that are not finished (I2)
      ├─ claims                     player -> the open proposal or running match (I11)
      ├─ elsewhere                  players whom other lanes have (I11)
      └─ keys                       idempotency key -> ticket

Only `evolve` changes it. Two times say how long a ticket has waited: while it waits, `now - since_ms`; while its clock
stands still (proposed, suspended, finished), `waited_ms`.

The mappings by number (`paged`) can be rebuilt from the columns, so a checkpoint holds columns and counters only.
"""

from typing import Any, NamedTuple

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import Mode, QueueSpec, milliseconds
from evenmatch.domain.table import Table
from evenmatch.domain.ticket import FACTS, Status

from .active import Active
from .map_memory import MapMemory
from .paged import Paged
from .places import Fillings
from .tables import Blocks, Columns, Slots, spans

TICKET_COLUMNS = {
    "ticket": "i8",
    "status": "i1",
    "cause": "i1",
    "returned": "i1",
    "suspended": "i2",  # players of the ticket that a proposal or match elsewhere claims (I11)
    "size": "i2",
    "group": "i4",
    "misses": "i4",
    "start": "i8",  # its first row among the players
    "since_ms": "i8",
    "waited_ms": "i8",
    "joined_ms": "i8",
    "seen_ms": "i8",
    "expires_ms": "i8",
    "finished_ms": "i8",
    "proposal": "i8",  # the open proposal or the match it is in, -1 = none
    "sequence": "i8",  # the last event of its story
    "woke": "i8",  # the event since which it has been matchable
    "will": "i1",  # may it be asked to join a running match? 0 = it has not said, 1 = yes, 2 = no
    "digest_high": "u8",
    "digest_low": "u8",
    "dirty": "?",  # changed since its digest was taken
}
PLAYER_COLUMNS = {"player": "i8", "accepted": "i1"}
PROPOSAL_COLUMNS = {
    "proposal": "i8",
    "standing": "i1",
    "pending": "i2",  # players who have not accepted
    "wave": "i8",
    "made_ms": "i8",
    "deadline_ms": "i8",
    "ends_ms": "i8",
    "over_ms": "i8",  # when it failed or became a match, 0 = it is open
    "cost": "f8",
    "quality": "f8",
    "roster": "i8",
    "team_of": "i1",
}

FREE, WAITING, PROPOSED, MATCHED, CANCELLED, EXPIRED = (int(status) for status in Status)
"""A ticket's status, as the plain number in its column: comparing a column with an enum's member costs far more."""

OPEN, RUNNING, OVER, FAILED, STARTING, CALLED_OFF, JOINED = 1, 2, 3, 4, 5, 6, 7
"""A proposal's standing; 0 = an unused slot. STARTING: all have accepted, and the game server is to confirm the start.
A match is RUNNING while it claims its players, then OVER, or CALLED_OFF by an operator. JOINED: an invitation to a
running match that was accepted; its ticket is in that match now."""

NEVER = 2**62
"""A time that does not come."""

_LONG_PAGES, _SHORT_PAGES = 12, 6
_SLOT = 0xFFFFFFFF


class Told:
    """What a matcher said of the proposals of one event."""

    __slots__ = ("details", "digest", "first", "left")

    def __init__(self, first: int, details: Table, left: int, digest: int | None = None) -> None:
        self.first, self.details = first, details
        self.left = left
        """Proposals of it that are in the state; the table goes with the last of them."""
        self.digest = digest
        """Its part in the sum of digests; None = not asked for yet."""


class Book(NamedTuple):
    """A player's offences in one queue that are not forgiven yet (`cooldowns`)."""

    offences: int
    last_ms: int
    until_ms: int
    """Until then the player may not join."""
    cause: int


class Met:
    """The matches that were lately made: who met whom, and when."""

    def __init__(self) -> None:
        self.made_ms = np.empty(0, np.int64)
        self.player = np.empty((0, 0), np.int64)
        """int64[k, width], -1 = nobody"""
        self.team = np.empty((0, 0), np.int8)

    def add(self, now_ms: int, player: Array, team: Array, before_ms: int) -> None:
        """Note matches, and forget those that were made at `before_ms` or earlier."""
        kept = self.made_ms > before_ms
        width = max(self.player.shape[1], player.shape[1])
        self.made_ms = np.concatenate((self.made_ms[kept], np.full(len(player), now_ms)))
        self.player = np.concatenate((_wide(self.player[kept], width), _wide(player, width)))
        self.team = np.concatenate((_wide(self.team[kept], width), _wide(team, width)))


def _wide(rows: Array, width: int) -> Array:
    wide = np.full((len(rows), width), -1, rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide


class QueueState:
    """One queue: its rules and its tickets."""

    def __init__(self, index: int, spec: QueueSpec) -> None:
        self.index = index
        self.spec = spec
        self.version = 1
        """How often its rules were given."""
        self.wave = 0
        """The last recorded wave."""
        self.last_wave: dict[str, Any] = {}
        self.changed = 0
        """The event that last changed what a matcher would see."""
        self.waiting = 0
        """Tickets with status waiting, the suspended ones included."""
        self.groups: dict[str, int] = {}
        self.next_group = 0
        self.traits: dict[str, dict[int, Any]] = {}
        """Trait -> player's row -> value, of those who bring one."""
        self.details: list[Told] = []
        """What the matcher said of its proposals, wave by wave."""
        self.books: dict[int, Book] = {}
        """Player -> offences and cool-down."""
        self.lost: dict[int, None] = {}
        """Live tickets whose clients closed their connections and were not heard of since."""
        self.avoids: dict[int, tuple[int, ...]] = {}
        """Live ticket -> players whom it avoids."""
        self.met = Met()
        """Kept where the queue has a rule against rematches."""
        self.map_memory = MapMemory()
        """Kept where the queue's venue has a memory of maps."""
        self.fillings = Fillings()
        """Running matches that asked for players."""
        self.mode = Mode.OPEN
        self.notes_sum = 0
        """Digest of traits, details, books and lost tickets, kept up to date."""
        self.active = Active()
        """Who was seen lately; kept where the matcher counts active players."""
        self.tickets = Columns(TICKET_COLUMNS)
        self.ticket_slots = Slots()
        self.players = Columns(PLAYER_COLUMNS | dict.fromkeys(FACTS, "f8"))
        self.player_blocks = Blocks()
        seats = spec.format.seats
        self.proposals = Columns(PROPOSAL_COLUMNS, {"roster": seats, "team_of": seats})
        self.proposal_slots = Slots()
        # The earliest moment at which a deadline of each kind can be due: `evolve` only ever moves one forward in time,
        # the scan in `deadlines` sets it right. A memo, not a fact: it is neither hashed nor kept in checkpoints.
        self.next_expiry_ms = NEVER
        self.next_lapse_ms = NEVER
        self.next_end_ms = NEVER
        self.next_forget_ms = NEVER
        self.next_forgive_ms = NEVER

    @property
    def ticket_ms(self) -> int:
        """How long a ticket may be in this queue."""
        return milliseconds(self.spec.ticket.expires_s)

    @property
    def heartbeat_ms(self) -> int:
        """How long a ticket may go unheard of."""
        return milliseconds(self.spec.ticket.heartbeat_s)

    def player_rows(self, slots: Array) -> Array:
        """The rows of all players of these tickets, ticket by ticket."""
        return spans(self.tickets.start[slots], self.tickets.size[slots].astype(np.int64))

    def waited_ms(self, slots: Array, now_ms: int) -> Array:
        """int64: how long these tickets have waited."""
        t = self.tickets
        running = (t.status[slots] == WAITING) & (t.suspended[slots] == 0)
        result: Array = np.where(running, now_ms - t.since_ms[slots], t.waited_ms[slots])
        return result

    def roster(self, slot: int) -> tuple[Array, Array]:
        """The tickets of a proposal and their teams, in order of selection; then those that joined it late."""
        row: Array = self.proposals.roster[slot]
        filled = row >= 0
        tickets, team_of = row[filled], self.proposals.team_of[slot][filled]
        if self.fillings:
            late, team = self.fillings.joined(int(self.proposals.proposal[slot]))
            return np.concatenate((tickets, late)), np.concatenate((team_of, team))
        return tickets, team_of


class State:
    """The engine's whole memory."""

    def __init__(self) -> None:
        self.sequence = 0
        """Events applied so far."""
        self.now_ms = 0
        self.queues: dict[str, QueueState] = {}
        self.by_index: list[QueueState] = []
        self.live = Paged(_SHORT_PAGES)
        self.several: dict[int, tuple[int, ...]] = {}
        self.claims = Paged(_SHORT_PAGES)
        self.movements: list[tuple[bool, Array]] | None = None
        """Players as they are claimed (True) or released, where somebody asks; a memo (`lanes`)."""
        self.elsewhere: dict[int, None] = {}
        """Players whom other lanes have."""
        self.elsewhere_sum = 0
        self.keys: dict[int, tuple[int, int, int]] = {}
        """key -> (ticket, fingerprint, when), oldest first"""
        self.keys_sum = 0
        self.blocks: dict[int, tuple[int, ...]] = {}
        """Player -> those whom the player never wants to meet."""
        self.blocks_sum = 0
        self.blocks_changed = 0
        """The event that last changed them."""
        self.tickets_sum_high = 0
        self.tickets_sum_low = 0
        self.begin_numbers(1, 1)

    def begin_numbers(self, ticket: int, proposal: int) -> None:
        """Number tickets and proposals from here; none has been numbered yet."""
        self.first_ticket = self.next_ticket = ticket
        self.first_proposal = self.next_proposal = proposal
        self.tickets_at = Paged(_LONG_PAGES, ticket - 1)
        self.proposals_at = Paged(_LONG_PAGES, proposal - 1)

    def had_ticket(self, ticket: int) -> bool:
        """Was this number given to a ticket, be it in the state or gone?"""
        return self.first_ticket <= ticket < self.next_ticket

    def had_proposal(self, proposal: int) -> bool:
        """Was this number given to a proposal, be it in the state or gone?"""
        return self.first_proposal <= proposal < self.next_proposal

    def open(self, spec: QueueSpec) -> QueueState:
        """A new, empty queue."""
        queue = QueueState(len(self.by_index), spec)
        self.queues[spec.name] = queue
        self.by_index.append(queue)
        return queue

    def find_ticket(self, ticket: int) -> tuple[QueueState, int] | None:
        """The queue and slot of a ticket that is in the state."""
        place = self.tickets_at.get(ticket)
        return None if place is None else (self.by_index[place >> 32], place & 0xFFFFFFFF)

    def find_proposal(self, proposal: int) -> tuple[QueueState, int] | None:
        """The queue and slot of a proposal that is in the state."""
        place = self.proposals_at.get(proposal)
        return None if place is None else (self.by_index[place >> 32], place & 0xFFFFFFFF)

    def slots_of(self, tickets: Array) -> Array:
        """int64: the slots of tickets of one queue, all in the state."""
        return self.tickets_at.find_all(tickets) & _SLOT

    def rows_of(self, proposals: Array) -> Array:
        """int64: the slots of proposals of one queue, all in the state."""
        return self.proposals_at.find_all(proposals) & _SLOT

    def live_tickets(self, player: int) -> tuple[int, ...]:
        """A player's unfinished tickets, over all queues."""
        many = self.several.get(player)
        if many is not None:
            return many
        one = self.live.get(player)
        return () if one is None else (one,)
