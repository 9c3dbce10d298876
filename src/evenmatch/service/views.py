"""What people are shown: tickets, proposals, matches and queues in the API's words.

Built from committed state, in the engine thread, when somebody asks; finished things come from the journal's read
tables. Every shape of the API stands here and nowhere else.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from evenmatch.core.engine import Engine
from evenmatch.core.records import match_record, proposal_record, ticket_record
from evenmatch.domain.ids import match_id, proposal_id, ticket_id
from evenmatch.domain.match import in_names
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Status
from evenmatch.matchers.registry import in_force
from evenmatch.storage.outbox import Letter
from evenmatch.storage.protocol import Journal

from .bodies import Player, player_of
from .directory import Directory
from .rating_book import RatingBook
from .rating_rules import odds_of_match


class ProposalView(msgspec.Struct, frozen=True):
    """A suggested match that awaits its ready check."""

    id: str
    deadline_ms: int | None
    """When the ready check lapses (milliseconds since 1970)."""
    pending: int
    """Players who have not accepted yet."""
    venue: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """Where it will be played, where that is said: map, region, channel."""
    cost: float | msgspec.UnsetType = msgspec.UNSET
    """What the matcher minimised; for players neither this nor its terms, lest they choose among matches."""
    terms: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """What the cost is made of, where the matcher says so."""


class TeamTicketView(msgspec.Struct, frozen=True):
    """A party in a team."""

    id: str
    players: list[Player]
    late_ms: int | msgspec.UnsetType = msgspec.UNSET
    """When it joined the match, if it came late."""


class TeamView(msgspec.Struct, frozen=True):
    """A team of a match."""

    players: list[str]
    """The ids of all its players, less those who left."""
    tickets: list[TeamTicketView]
    """All that were ever in it."""
    name: str | None = None
    """What the queue calls it, such as attack."""
    left: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Who left, and for whom others were asked for."""


class ServerView(msgspec.Struct, frozen=True):
    """The game server of a match."""

    address: str
    port: int
    token: str
    """What players show it."""


class MatchView(msgspec.Struct, frozen=True):
    """A match: accepted by everyone. Who plays changes only where it asked for players (backfill)."""

    id: str
    queue: str
    wave: int
    made_ms: int
    teams: list[TeamView]
    standing: str
    """starting (the game server is to confirm it), running, over, or cancelled by an operator"""
    quality: float | None
    """Predicted evenness, 0 to 1; null where there is one team only."""
    cost: float
    """What the matcher minimised; lower is better."""
    details: dict[str, Any] = {}
    """What else the matcher says of it, such as the map."""
    odds: list[float] | None = None
    """How likely each team is to win, where the queue keeps ratings; once there is a result, as it was said before."""
    server: ServerView | msgspec.UnsetType = msgspec.UNSET
    """Its game server, once there is one; for its players and the game's backend only."""
    reported: bool | msgspec.UnsetType = msgspec.UNSET
    """There is a result; said only where the match itself is asked for."""


class TicketView(msgspec.Struct, frozen=True):
    """A ticket."""

    id: str
    queue: str
    status: str
    """waiting, proposed, matched, cancelled or expired"""
    joined_ms: int
    waited_ms: int
    """Time spent waiting; ready checks do not count."""
    misses: int
    """Recorded waves it lived through unmatched."""
    players: list[Player]
    """The first one leads the party."""
    attributes: dict[str, Any]
    suspended: bool = False
    """Another proposal or a running match has one of its players; it waits on when that is over."""
    cause: str | None = None
    """Why it was cancelled or expired."""
    reason: str | None = None
    """Why the last wave left it waiting."""
    proposal: ProposalView | None = None
    match: MatchView | None = None
    """Its match: made, or to start."""
    backfill: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether it may be asked to join a match that runs already, while it is live and if it has said so."""


class WaveView(msgspec.Struct, frozen=True):
    """A wave that is recorded: it changed something."""

    number: int
    started_ms: int
    finished_ms: int
    waiting: int
    """Tickets it saw."""
    proposals: int
    seated: int
    """Tickets in those proposals."""
    dropped: int
    """Proposals that no longer held when the plan came back."""


class ShardView(msgspec.Struct, frozen=True):
    """A shard of a queue that is split, in short: it is a queue itself."""

    name: str
    waiting: int
    players_waiting: int
    oldest_wait_ms: int
    mode: str


class QueueView(msgspec.Struct, frozen=True):
    """A queue."""

    name: str
    waiting: int
    """Tickets waiting now."""
    players_waiting: int
    oldest_wait_ms: int
    wave: int
    """The number of the last wave that was run."""
    last_wave: WaveView | None
    version: int
    """How often its rules were given."""
    mode: str
    """open, paused (no waves are run) or draining (nobody may join)"""
    spec: QueueSpec
    places_open: int = 0
    """Places of running matches that nobody is invited to."""
    shards: list[ShardView] | msgspec.UnsetType = msgspec.UNSET
    """Of a queue that is split: what it is made of. Its numbers are theirs together; there is no last wave of all, and
    where their modes differ it is `mixed`."""
    parameters: dict[str, Any] = {}
    """All of its matcher's that are in force: those that `spec` names, and what counts in place of the others; null =
    there is none, or each wave measures it."""


def venue_of(details: dict[str, Any]) -> dict[str, Any]:
    """Where a match is played, by its details: the queue's venue, or what the matcher says of it; empty = nothing."""
    said = details.get("venue") or {name: details[name] for name in ("map", "server", "channel") if name in details}
    told: dict[str, Any] = in_names(said, ticket_id)
    return told


class Views:
    """Answers to those who ask."""

    def __init__(self, engine: Engine, journal: Journal, directory: Directory, book: RatingBook) -> None:
        self.engine = engine
        self.journal = journal
        self.directory = directory
        self.book = book

    def ticket(self, number: int, now_ms: int) -> TicketView | Refusal:
        """A ticket, live or long finished."""
        record = ticket_record(self.engine.state, number, now_ms) or self.journal.finished_ticket(number)
        if record is None:
            return Refusal(Reasons.UNKNOWN_TICKET, f"no ticket is called {ticket_id(number)}")
        return TicketView(
            id=ticket_id(number),
            queue=record["queue"],
            status=record["status"],
            joined_ms=record["joined_ms"],
            waited_ms=record["waited_ms"],
            misses=record["misses"],
            players=self._players([record["players"]])[0],
            attributes=self.journal.attributes_of(number),
            suspended=record["suspended"],
            cause=record["cause"],
            reason=self._reason(record["queue"], number) if record["status"] == "waiting" else None,
            proposal=None if record["proposal"] is None else self.proposal(record["proposal"]),
            match=None if (match := record["match"] or record["proposal"]) is None else self._match(match),
            backfill=record.get("backfill", msgspec.UNSET),
        )

    def _reason(self, queue: str, ticket: int) -> str | None:
        reason = self.engine.reason(queue, ticket)
        return None if reason is None else reason.word

    def progress(self, number: int, now_ms: int) -> tuple[int, bool] | Refusal:
        """The sequence of the last event of a ticket's story, and whether it is over."""
        record = ticket_record(self.engine.state, number, now_ms) or self.journal.finished_ticket(number)
        if record is None:
            return Refusal(Reasons.UNKNOWN_TICKET, f"no ticket is called {ticket_id(number)}")
        over = record["status"] not in ("waiting", "proposed")
        awaits = record["match"] is not None and self.goes_on(record["queue"], record["match"])
        return int(record["sequence"]), over and not awaits

    def proposal(self, number: int) -> ProposalView:
        """An open proposal."""
        record = proposal_record(self.engine.state, number)
        if record is None:  # told of long after: all that is left of it is its name
            return ProposalView(proposal_id(number), None, 0)
        pending = record["pending"] if record["standing"] == "open" else 0  # without a ready check nobody was asked
        joins = self.engine.state.queues[record["queue"]].fillings.invited.get(number)
        venue = venue_of(record.get("details", {})) if joins is None else self.venue(joins)
        if joins is not None:
            return ProposalView(proposal_id(number), record["deadline_ms"], pending, venue or msgspec.UNSET)
        terms = record.get("details", {}).get("terms", msgspec.UNSET)
        return ProposalView(
            proposal_id(number), record["deadline_ms"], pending, venue or msgspec.UNSET, record["cost"], terms
        )

    def venue(self, match: int) -> dict[str, Any]:
        """Where a match is played; empty = nobody says."""
        record = match_record(self.engine.state, match) or self.journal.finished_match(match)
        return {} if record is None else venue_of(record.get("details", {}))

    def match(self, number: int) -> MatchView | Refusal:
        """A match, fresh or long made."""
        found = self._match(number)
        if found is None:
            return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(number)}")
        return found

    def match_and_result(self, number: int) -> MatchView | Refusal:
        """The same, and whether it has a result: one look more into the ledger."""
        found = self.match(number)
        if isinstance(found, Refusal) or self.book.result(number) is None:
            return found
        return msgspec.structs.replace(found, reported=True)

    def _match(self, number: int) -> MatchView | None:
        record = match_record(self.engine.state, number) or self.journal.finished_match(number)
        if record is None:
            return None
        parties = [party for team in record["teams"] for party in team]
        players = iter(self._players([party["players"] for party in parties]))
        late = record.get("late", {})
        teams = [
            [
                TeamTicketView(ticket_id(party["ticket"]), next(players), late.get(str(party["ticket"]), msgspec.UNSET))
                for party in team
            ]
            for team in record["teams"]
        ]
        left = self._left(record)
        return MatchView(
            id=match_id(number),
            queue=record["queue"],
            wave=record["wave"],
            made_ms=record["made_ms"],
            teams=[
                TeamView(
                    [p.id for party in team for p in party.players if p.id not in left.get(n, ())],
                    team,
                    name,
                    left.get(n, msgspec.UNSET),
                )
                for n, (team, name) in enumerate(zip(teams, self.team_names(record["queue"], len(teams)), strict=True))
            ],
            standing=record["standing"],
            quality=record["quality"],
            cost=record["cost"],
            details=in_names(record.get("details", {}), ticket_id),
            odds=self._odds(number, record),
            server=self.server(record["queue"], number),
        )

    def _left(self, record: dict[str, Any]) -> dict[int, list[str]]:
        """Team -> the players who left it."""
        gone = record.get("left", [])
        names = self.directory.names([player for player, _, _ in gone])
        found: dict[int, list[str]] = {}
        for player, team, _ in gone:
            found.setdefault(team, []).append(names[player])
        return found

    def wants_players(self, queue: str, number: int) -> bool:
        """Does a match ask for players that have not come yet?"""
        found = self.engine.state.queues.get(queue)
        filling = None if found is None else found.fillings.by_match.get(number)
        return filling is not None and filling.wanted

    def _letter(self, queue: str, number: int) -> Letter | None:
        """The request for a match's game server, where its queue asks for one."""
        found = self.engine.state.queues.get(queue)
        return None if found is None or found.spec.allocate is None else self.journal.letter(number)

    def awaits_server(self, queue: str, number: int) -> bool:
        """Is a match still to hear of its game server?"""
        letter = self._letter(queue, number)
        return letter is not None and letter.status == "pending"

    def goes_on(self, queue: str, number: int) -> bool:
        """Will more be told of a match: of its game server, or of players that it asks for?"""
        return self.awaits_server(queue, number) or self.wants_players(queue, number)

    def server(self, queue: str, number: int) -> ServerView | msgspec.UnsetType:
        """A match's game server, once there is one."""
        letter = self._letter(queue, number)
        if letter is None or letter.server is None:
            return msgspec.UNSET
        return ServerView(letter.server.address, letter.server.port, letter.server.token)

    def _odds(self, number: int, record: dict[str, Any]) -> list[float] | None:
        queue = self.engine.state.queues.get(record["queue"])
        return None if queue is None else odds_of_match(self.book, queue.spec, number, record)

    def players(self, number: int, now_ms: int) -> list[Player] | None:
        """The players of a ticket, as it waits or waited."""
        record = ticket_record(self.engine.state, number, now_ms) or self.journal.finished_ticket(number)
        return None if record is None else self._players([record["players"]])[0]

    def team_names(self, queue: str, teams: int) -> Sequence[str | None]:
        """What the teams of a match are called, by the rules of now; None where they have no names."""
        known = self.engine.state.queues.get(queue)
        names = () if known is None else known.spec.match.team_names
        return names if len(names) == teams else [None] * teams

    def _players(self, parties: list[list[dict[str, Any]]]) -> list[list[Player]]:
        names = self.directory.names([player["player"] for party in parties for player in party])
        return [[player_of(names[player["player"]], player) for player in party] for party in parties]

    def queue(self, name: str, now_ms: int) -> QueueView | Refusal:
        """One queue."""
        queue = self.engine.state.queues.get(name)
        if queue is None:
            known = ", ".join(sorted(self.engine.state.queues)) or "none"
            return Refusal(Reasons.UNKNOWN_QUEUE, f"no queue is called {name!r}; open queues: {known}")
        t = queue.tickets
        slots = np.flatnonzero(t.status == Status.WAITING)
        return QueueView(
            name=name,
            waiting=len(slots),
            players_waiting=int(t.size[slots].sum()),
            oldest_wait_ms=int(queue.waited_ms(slots, now_ms).max()) if len(slots) else 0,
            wave=max(queue.wave, self.engine.timetable(name).wave),
            last_wave=WaveView(**queue.last_wave) if queue.last_wave else None,
            version=queue.version,
            mode=queue.mode.value,
            spec=queue.spec,
            places_open=queue.fillings.open,
            parameters=in_force(queue.spec.matcher.name, queue.spec.matcher.parameters),
        )

    def queues(self, now_ms: int) -> list[QueueView]:
        """All queues, by name."""
        views = [self.queue(name, now_ms) for name in sorted(self.engine.state.queues)]
        return [view for view in views if isinstance(view, QueueView)]
