"""A walk: commands made of plain numbers, so that any list of numbers is a run through all kinds of events."""

from collections.abc import Mapping

import msgspec
import numpy as np
from hypothesis import strategies as st

from evenmatch.core.crew import crew_of
from evenmatch.core.hashing import state_hash
from evenmatch.core.state import RUNNING, State
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import NONE
from evenmatch.domain.queue import Format, Mode
from evenmatch.domain.ticket import TicketRequest

from .model import DAY_MS
from .stage import QUEUES, VENUE, Stage, member_at, request

Move = tuple[str, int, int]

_KINDS = (
    *("crowd", "crowd", "wave", "wave", "wave", "accept", "accept", "accept_all", "decline", "tick", "tick"),
    *("join", "leave", "seen", "late", "end", "restart", "open", "give_up", "keyed", "audit", "result", "season"),
    *("confirm", "fail_start", "lose", "update", "mode", "cancel_ticket", "cancel_match", "lift", "block", "avoid"),
    *("serve", "unserved", "far", "backfill", "backfill", "withdraw", "wills", "accept_many", "accept_many"),
    *("leave_many", "end_many", "elsewhere", "elsewhere", "back"),
)
MOVES = st.lists(st.tuples(st.sampled_from(_KINDS), st.integers(0, 40), st.integers(0, 40)), min_size=5, max_size=40)

_MUCH_LATER_MS = (3_000, 5_000, 7_000, 10_000, 20_000, 30_000, 60_000, DAY_MS)


class Walk:
    """Walks by numbers and notes the hash after every move that wrote something; a move is a commit."""

    def __init__(self, moves: list[Move], lane: int = 1) -> None:
        self.stage = Stage(*QUEUES, VENUE, lane=lane)
        self.commits: list[list[ev.Event]] = [list(self.stage.events)]
        self.hashes = [state_hash(self.state)]
        for kind, a, b in moves:
            before = len(self.stage.events)
            self._move(kind, a, b)
            if len(self.stage.events) > before:
                self.commits.append(self.stage.events[before:])
                self.hashes.append(state_hash(self.state))

    @property
    def state(self) -> State:
        """Where the walk has come to."""
        return self.stage.engine.state

    @property
    def events(self) -> list[ev.Event]:
        """All that happened."""
        return self.stage.events

    def _move(self, kind: str, a: int, b: int) -> None:
        stage, queue = self.stage, QUEUES[a % len(QUEUES)]
        match kind:
            case "crowd":  # four players, as two parties or four
                party = self.state.queues[queue.name].spec.format.size if b % 3 == 0 else 1
                players = range(b + 1, b + 5)
                parties = (request(*players[k : k + party], region="eu") for k in range(0, 4, party))
                stage.do(cmd.JoinMany(queue.name, tuple(parties)))
            case "join":
                stage.do(cmd.Join(queue.name, request(b + 1, region=("eu", "us")[a % 2])))
            case "keyed":
                wanted = request(b + 1, region="eu", key=(b + 1) << 64 | a, fingerprint=a)
                stage.do(cmd.Join(queue.name, wanted))
            case "wave":  # all that are due come back, in some order
                effects = stage.tick(1_000).effects
                for k in range(len(effects)):
                    stage.finish(effects[(k + a) % len(effects)], reads_misses=b % 5 == 0)
            case "give_up":
                if stage.tick(1_000).effects:
                    stage.tick(3_000)
            case "tick":
                stage.tick(a * 10)
            case "late":
                stage.tick(_MUCH_LATER_MS[a % len(_MUCH_LATER_MS)])
            case "leave":
                stage.do(cmd.Leave(_one(self.state.tickets_at, a)))
            case "seen":
                stage.do(cmd.Heartbeat(np.array([_one(self.state.tickets_at, n) for n in (a, b)])))
            case "accept":
                proposal = _one(self.state.proposals_at, a)
                stage.do(cmd.Accept(proposal, _one(self._claimed(proposal), b)))
            case "accept_all":
                proposal = _one(self.state.proposals_at, a)
                for player in self._claimed(proposal):
                    stage.do(cmd.Accept(proposal, player))
            case "accept_many":  # of several proposals, some who have accepted before or may not
                stage.do(accepts_of(self.state, a, b))
            case "leave_many":
                stage.do(cmd.LeaveMany(np.array([_one(self.state.tickets_at, n) for n in (a, b, a + 1, b)])))
            case "end_many":
                stage.do(cmd.EndMatches(np.array([_one(self.state.proposals_at, n) for n in (a, b, a + 1, b)])))
            case "decline":
                proposal = _one(self.state.proposals_at, a)
                stage.do(cmd.Decline(proposal, _one(self._claimed(proposal), b)))
            case "end":
                stage.do(cmd.EndMatch(_one(self.state.proposals_at, a)))
            case "confirm":
                stage.do(cmd.ConfirmStart(_one(self.state.proposals_at, a)))
            case "fail_start":
                stage.do(cmd.FailStart(_one(self.state.proposals_at, a)))
            case "lose":
                stage.do(cmd.LoseContact(np.array([_one(self.state.tickets_at, n) for n in (a, b)])))
            case "update":
                self._update(_one(self.state.tickets_at, a), b)
            case "mode":
                stage.do(cmd.SetMode(queue.name, list(Mode)[b % 3]))
            case "cancel_ticket":
                stage.do(cmd.CancelTicket(_one(self.state.tickets_at, a)))
            case "cancel_match":
                stage.do(cmd.CancelMatch(_one(self.state.proposals_at, a)))
            case "lift":
                books = {player: 0 for queue in self.state.by_index for player in queue.books}
                stage.do(cmd.LiftCooldown(_one(books, a), "" if b % 2 else queue.name))
            case "block":
                stage.do(cmd.SetBlocks(a + 1, tuple(range(b + 1, b + 1 + a % 4))))
            case "avoid":
                wanted = msgspec.structs.replace(request(a + 1, region="eu"), avoid=(b + 1, b + 2))
                stage.do(cmd.Join(queue.name, wanted))
            case "backfill":  # somebody leaves a running match, perhaps with a key
                self._backfill(_one(self._running(), a), b)
            case "withdraw":
                stage.do(cmd.WithdrawBackfill(_one(self._running(), a)))
            case "wills":
                wanted = msgspec.structs.replace(request(b + 1, region="eu"), backfill=bool(a % 2))
                stage.do(cmd.Join(QUEUES[b % len(QUEUES)].name, wanted))
            case "serve" | "unserved":
                self._serve(kind, _one(self.state.proposals_at, a), b)
            case "far":  # they are near to one region or the other, and veto a map
                members = [member_at(b + n + 1, 20.0 + 100 * (n % 2), 130.0 - 100 * (n % 2)) for n in range(4)]
                stage.do(cmd.JoinMany(VENUE.name, tuple(TicketRequest((member,)) for member in members)))
            case "elsewhere":  # another lane has some players
                stage.do(cmd.ClaimedElsewhere(np.arange(b + 1, b + 1 + a % 4)))
            case "back":
                stage.do(cmd.ReleasedElsewhere(np.array([_one(self.state.elsewhere, n) for n in (a, b)])))
            case "audit":
                stage.do(cmd.NoteAction(f"key {a}", "end_match", f"m-{b:012}", "why not" if a else ""))
            case "result":
                match, none = _one(self.state.proposals_at, a), np.empty((0, 3))
                result = ev.ResultReported(0, queue.name, match, "", np.arange(2), NONE, NONE, NONE, none, none)
                if stage.do(cmd.ReportResult(result)).refusal is None:
                    void = bool(b % 2)
                    correction = ev.ResultCorrected(0, queue.name, match, "", void, NONE, NONE, (), NONE, NONE, none)
                    stage.do(cmd.CorrectResult((correction,)))
            case "season":
                season = ev.SeasonStarted(0, queue.name, queue.name, b + 2, 0.5, 1500.0, 250.0, 500.0)
                stage.do(cmd.StartSeason(season))
            case "restart":
                stage.restart(a * 500)
            case "open":
                stage.do(cmd.OpenQueue(msgspec.structs.replace(queue, format=Format(2, 1 + b % 3))))

    def _serve(self, kind: str, match: int, b: int) -> None:
        found = self.state.find_proposal(match)
        queue = QUEUES[b % len(QUEUES)].name if found is None else found[0].spec.name
        if kind == "serve":
            self.stage.do(cmd.GiveServer(match, queue, "10.0.0.1", 7000 + b, "token", 1 + b % 5))
        else:
            self.stage.do(cmd.GiveUpServer(match, queue, "answered with status 503", 1 + b % 5))

    def _running(self) -> dict[int, int]:
        return {
            match: 0
            for match in self.state.proposals_at
            if (found := self.state.find_proposal(match)) and found[0].proposals.standing[found[1]] == RUNNING
        }

    def _backfill(self, match: int, b: int) -> None:
        found = self.state.find_proposal(match)
        if found is not None:
            crew = crew_of(self.state, *found)
            who = b % len(crew.player)
            place = int(crew.team[who]), int(crew.player[who]) if b % 5 else 0
            self.stage.do(cmd.AskBackfill(match, (place,), key=(b % 2) << 70 | match, fingerprint=b))

    def _update(self, ticket: int, change: int) -> None:
        found = self.state.find_ticket(ticket)
        if found is not None:
            players = found[0].players.player[found[0].player_rows(np.array([found[1]]))].tolist()
            wanted = request(*players, region=("eu", "us")[change % 2], rating=1000.0 + change)
            self.stage.do(cmd.UpdateTicket(ticket, wanted.members, wanted.attributes))

    def _claimed(self, proposal: int) -> dict[int, int]:
        return {player: claim for player, claim in self.state.claims.items() if claim == proposal}


def accepts_of(state: State, a: int, b: int) -> cmd.AcceptMany:
    """Players whom proposals claim accept them; who is left out, and who comes twice, hangs on the numbers."""
    pairs = [(claim, player) for player, claim in state.claims.items() if (player + a) % (2 + b % 4) or not b % 3]
    pairs = pairs[a % 5 :] + pairs[: 1 + b % 3]
    if b % 7 == 1:
        pairs.append((a, b))
    return cmd.AcceptMany(np.array([p for p, _ in pairs], np.int64), np.array([w for _, w in pairs], np.int64))


def _one(known: Mapping[int, object], which: int) -> int:
    """One of the known numbers; 1 where there are none."""
    return sorted(known)[which % len(known)] if known else 1
