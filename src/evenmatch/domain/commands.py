"""What can be asked of the engine. A command either becomes events or is refused; it never half-happens."""

from typing import TypeAlias

import msgspec

from evenmatch.domain.arrays import Array
from evenmatch.domain.events import ResultCorrected, ResultReported, SeasonStarted
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.ticket import Member, TicketRequest


class OpenQueue(msgspec.Struct, frozen=True):
    """Open a queue, or give an open one new rules; the same rules again change nothing."""

    spec: QueueSpec
    source: str = "file"
    """Who gives the rules: "file" or "operator"."""
    anew: bool = False
    """Record the rules also where they are those that the queue has."""


class BeginNumbers(msgspec.Struct, frozen=True):
    """Number tickets and proposals from here; only a journal that has nothing yet can."""

    ticket: int
    proposal: int


class ClaimedElsewhere(msgspec.Struct, frozen=True, eq=False):
    """Other lanes have these players. Those who are known to be there, or are in a match here, are passed over."""

    players: Array


class ReleasedElsewhere(msgspec.Struct, frozen=True, eq=False):
    """Other lanes have these players no longer. Those who were not known to be there are passed over."""

    players: Array


class Join(msgspec.Struct, frozen=True):
    """A party enters a queue."""

    queue: str
    request: TicketRequest


class JoinMany(msgspec.Struct, frozen=True):
    """Many parties enter a queue, each accepted or refused on its own, in order."""

    queue: str
    requests: tuple[TicketRequest, ...]


class Leave(msgspec.Struct, frozen=True):
    """A ticket is withdrawn; while it is proposed, that declines the proposal."""

    ticket: int
    player: int = 0
    """Which of its players leaves; 0 = that is not known."""


class LeaveMany(msgspec.Struct, frozen=True, eq=False):
    """Many tickets are withdrawn, each as `Leave` would, in order."""

    tickets: Array


class Heartbeat(msgspec.Struct, frozen=True, eq=False):
    """The clients of these tickets are there. Tickets that are no longer live are passed over."""

    tickets: Array
    strict: bool = False
    """Refuse when a ticket is not live."""


class Tick(msgspec.Struct, frozen=True):
    """Time has passed: deadlines are met, waves fall due, finished things leave."""


class FinishWave(msgspec.Struct, frozen=True, eq=False):
    """A matcher has answered, or failed."""

    queue: str
    wave: int
    plan: Plan | None
    failure: str = ""
    reads_misses: bool = False
    """The matcher's answer depends on misses, so their rise must be recorded even when nobody is matched."""
    next_change_ms: int | None = None
    """When time alone will change the matcher's answer; None = never."""
    first: int = 0
    """Matches of the plan before this one are recorded already."""


class Accept(msgspec.Struct, frozen=True):
    """A player takes part in a proposed match."""

    proposal: int
    player: int


class AcceptMany(msgspec.Struct, frozen=True, eq=False):
    """Many players take part in proposed matches, each granted or refused on its own, in order."""

    proposals: Array
    players: Array
    """int64[n] each: who takes part in what"""

    def __post_init__(self) -> None:
        if len(self.proposals) != len(self.players):
            raise ValueError(f"{len(self.proposals)} proposals and {len(self.players)} players: name a player for each")


class Decline(msgspec.Struct, frozen=True):
    """A player does not take part in a proposed match."""

    proposal: int
    player: int


class ConfirmStart(msgspec.Struct, frozen=True):
    """The game server says that a match has started."""

    match: int


class FailStart(msgspec.Struct, frozen=True):
    """The game server says that a match could not start: everybody waits again."""

    match: int


class LoseContact(msgspec.Struct, frozen=True, eq=False):
    """The clients of these tickets closed their connections. Tickets that are no longer live are passed over."""

    tickets: Array


class UpdateTicket(msgspec.Struct, frozen=True):
    """A waiting ticket gets other facts, traits or attributes; its time in the queue goes on."""

    ticket: int
    members: tuple[Member, ...]
    """All its players, as they are to be, in the order of the ticket."""
    attributes: dict[str, str | int | float | bool]


class SetBlocks(msgspec.Struct, frozen=True):
    """A player never wants to meet these, and may meet all others again."""

    player: int
    blocked: tuple[int, ...]


class SetMode(msgspec.Struct, frozen=True):
    """Pause a queue, let it run empty, or open it again."""

    queue: str
    mode: Mode


class CancelTicket(msgspec.Struct, frozen=True):
    """An operator takes a ticket out of its queue; nobody is to blame."""

    ticket: int


class CancelMatch(msgspec.Struct, frozen=True):
    """An operator ends a proposal or a match: who was not matched yet waits again."""

    match: int


class LiftCooldown(msgspec.Struct, frozen=True):
    """An operator lets a player join again at once, in one queue or (empty) in all, and clears the books."""

    player: int
    queue: str = ""


class EndMatch(msgspec.Struct, frozen=True):
    """A running match is reported over: its players are free for others (I11)."""

    match: int


class EndMatches(msgspec.Struct, frozen=True, eq=False):
    """Many running matches are reported over, each as `EndMatch` would, in order."""

    matches: Array


class AskBackfill(msgspec.Struct, frozen=True):
    """A running match asks for players."""

    match: int
    places: tuple[tuple[int, int], ...]
    """The team of each place, and the player who left it (0 = nobody is named)."""
    key: int = 0
    """Digest (128 bits) of the caller's idempotency key; 0 = none."""
    fingerprint: int = 0
    """Digest (63 bits) of what was asked under that key."""


class WithdrawBackfill(msgspec.Struct, frozen=True):
    """A match asks for nobody any more; whoever was invited waits on."""

    match: int


class GiveServer(msgspec.Struct, frozen=True):
    """A match has got a game server."""

    match: int
    queue: str
    address: str
    port: int
    token: str
    attempts: int


class GiveUpServer(msgspec.Struct, frozen=True):
    """Nobody gives a match a game server; one that is to start does not."""

    match: int
    queue: str
    why: str
    attempts: int


class NoteAction(msgspec.Struct, frozen=True):
    """An operator did something; what it led to stands before it in the same commit."""

    who: str
    action: str
    subject: str
    detail: str = ""


class ReportResult(msgspec.Struct, frozen=True, eq=False):
    """A match ended like this, and ratings are to be these; a running one is over for I11."""

    result: ResultReported


class CorrectResult(msgspec.Struct, frozen=True, eq=False):
    """A known result is to be another, with all ratings that follow from it."""

    pieces: tuple[ResultCorrected, ...]


class StartSeason(msgspec.Struct, frozen=True, eq=False):
    """Ratings are to be pulled towards the start."""

    season: SeasonStarted


class Resume(msgspec.Struct, frozen=True):
    """The engine is back after a restart: deadlines move by the time it was away."""


Command: TypeAlias = (
    BeginNumbers
    | ClaimedElsewhere
    | ReleasedElsewhere
    | OpenQueue
    | Join
    | JoinMany
    | Leave
    | LeaveMany
    | Heartbeat
    | LoseContact
    | UpdateTicket
    | Tick
    | FinishWave
    | Accept
    | AcceptMany
    | Decline
    | ConfirmStart
    | FailStart
    | EndMatch
    | EndMatches
    | AskBackfill
    | WithdrawBackfill
    | GiveServer
    | GiveUpServer
    | ReportResult
    | CorrectResult
    | StartSeason
    | SetBlocks
    | SetMode
    | CancelTicket
    | CancelMatch
    | LiftCooldown
    | NoteAction
    | Resume
)
