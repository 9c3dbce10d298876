"""A small stage for tests of the core: an engine, a clock in hand, and the events that came of it."""

import numpy as np

from evenmatch.core.engine import Engine, Step
from evenmatch.core.records import ticket_record
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.ids import first_number
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import (
    CooldownSpec,
    DoorSpec,
    Format,
    MatchSpec,
    QueueSpec,
    ReadyCheckSpec,
    TicketSpec,
    WaveSpec,
)
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.domain.venue import VenueSpec
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build

T0 = 1_000_000
"""When the stage opens."""
KEEP_MS = 10_000
"""How long finished tickets stay in the state."""

_WAVES = WaveSpec(every_s=1.0, deadline_s=3.0)
_TICKETS = TicketSpec(expires_s=30.0, heartbeat_s=20.0)
_CHECK = ReadyCheckSpec(timeout_s=5.0)

DUEL = QueueSpec("duel", Format(2, 1), wave=_WAVES, ticket=_TICKETS, ready_check=_CHECK)
"""One against one, with a ready check."""
QUICK = QueueSpec("quick", Format(2, 1), wave=_WAVES, ticket=_TICKETS)
"""One against one, matched at once."""
REGIONS = QueueSpec(
    "regions", Format(2, 2), wave=_WAVES, ticket=_TICKETS, ready_check=_CHECK, require_equal=("region",)
)
"""Two against two, of one region."""
LONG = QueueSpec("long", Format(2, 2), wave=_WAVES, ticket=_TICKETS, match=MatchSpec(runs_s=7.0))
"""Two against two, matched at once, and the match goes on for a while."""
CLAN = QueueSpec("clan", Format(2, 1), wave=_WAVES, ticket=_TICKETS, ready_check=_CHECK, match=MatchSpec(runs_s=7.0))
"""One against one, with a ready check, and the match goes on for a while."""
STRICT = QueueSpec(
    "strict",
    Format(2, 1),
    wave=_WAVES,
    ticket=_TICKETS,
    ready_check=_CHECK,
    match=MatchSpec(runs_s=7.0, confirm_s=4.0),
    cooldown=CooldownSpec(decline_s=4.0, lapse_s=8.0, lost_s=2.0, growth=2.0, most_s=20.0, forgive_s=25.0),
)
"""One against one; who lets the others down has to wait, and the game server confirms."""
SERVED = QueueSpec(
    "served",
    Format(2, 1),
    wave=_WAVES,
    ticket=_TICKETS,
    match=MatchSpec(confirm_s=4.0, rematch_s=15.0, rematch_lift_s=6.0),
)
"""One against one, without a ready check; the game server confirms, and nobody meets the same again at once."""
VENUE = QueueSpec(
    "venue",
    Format(2, 1),
    wave=_WAVES,
    ticket=_TICKETS,
    door=DoorSpec(keeps=("latencies.eu", "latencies.us", "region", "vetoed_maps"), words=("region", "vetoed_maps")),
    venue=VenueSpec(
        maps={"Radiance": 1.0, "Polypoid": 2.0, "Eclipse": 1.0},
        map_memory=2,
        regions=("eu", "us"),
        latency_max_ms=80.0,
        channels=3,
    ),
)
"""One against one, matched at once, on maps and in regions."""
QUEUES = (DUEL, QUICK, REGIONS, LONG, CLAN, STRICT, SERVED)


def member_at(player: int, eu_ms: float, us_ms: float, vetoed: tuple[str, ...] = ("Eclipse",)) -> Member:
    """A player who has measured how far away two regions are."""
    return Member(player, facts={"latencies.eu": eu_ms, "latencies.us": us_ms}, traits={"vetoed_maps": list(vetoed)})


def request(
    *players: int, region: str | None = None, key: int = 0, fingerprint: int = 0, rating: float = 1500.0
) -> TicketRequest:
    """A party's wish to play."""
    members = tuple(Member(player, rating + player) for player in players)
    return TicketRequest(members, {} if region is None else {"region": region}, key, fingerprint)


class Stage:
    """Everything at hand that an example needs."""

    def __init__(self, *specs: QueueSpec, keep_ms: int = KEEP_MS, lane: int = 1) -> None:
        self.engine = Engine(keep_ms=keep_ms)
        self.now_ms = T0
        self.events: list[ev.Event] = []
        self.effects: list[RunMatcher] = []
        if lane > 1:
            self.do(cmd.BeginNumbers(first_number(lane), first_number(lane)))
        for spec in specs:
            self.do(cmd.OpenQueue(spec))

    def do(self, command: cmd.Command) -> Step:
        """Take one step now."""
        step = self.engine.step(command, self.now_ms)
        self.events += step.events
        self.effects += step.effects
        return step

    def join(self, queue: str, *players: int, region: str | None = None) -> int:
        """The ticket of a party that joins."""
        (outcome,) = self.do(cmd.Join(queue, request(*players, region=region))).outcomes
        assert isinstance(outcome, int), outcome
        return outcome

    def joined(self, queue: str, wanted: TicketRequest) -> int | Reasons:
        """What becomes of one request."""
        step = self.do(cmd.Join(queue, wanted))
        if step.refusal is not None:
            return step.refusal.reason
        (outcome,) = step.outcomes
        return outcome if isinstance(outcome, int) else outcome.reason

    def refused(self, command: cmd.Command) -> Reasons | None:
        """Why a command is refused; None = it is not. A refusal must leave no event."""
        before = self.engine.state.sequence
        step = self.do(command)
        if step.refusal is None:
            return None
        assert step.events == () or isinstance(command, cmd.FinishWave)
        assert self.engine.state.sequence == before + len(step.events)
        return step.refusal.reason

    def tick(self, after_ms: int = 0) -> Step:
        """Let time pass, then tick."""
        self.now_ms += after_ms
        return self.do(cmd.Tick())

    def start(self, queue: str, after_ms: int = 1_000) -> RunMatcher:
        """Tick, and take the wave that this starts in a queue."""
        step = self.tick(after_ms)
        (effect,) = [effect for effect in step.effects if effect.spec.name == queue]
        return effect

    def finish(self, effect: RunMatcher, plan: Plan | None = None, *, reads_misses: bool = False) -> Step:
        """Answer a wave, by default with first_come's plan."""
        plan = first_come(effect) if plan is None else plan
        return self.do(cmd.FinishWave(effect.spec.name, effect.wave, plan, reads_misses=reads_misses))

    def wave(self, queue: str, after_ms: int = 1_000) -> list[int]:
        """Run one wave; the proposals it made."""
        step = self.finish(self.start(queue, after_ms))
        return [
            event.first_proposal + row
            for event in step.events
            if isinstance(event, ev.WaveFinished)
            for row in range(len(event.roster))
        ]

    def accept_all(self, proposal: int) -> None:
        """Everybody accepts."""
        for player in self.players_of(proposal):
            assert self.refused(cmd.Accept(proposal, player)) is None

    def players_of(self, proposal: int) -> list[int]:
        """The players of a proposal or match, ticket by ticket."""
        found = self.engine.state.find_proposal(proposal)
        assert found is not None
        queue, slot = found
        tickets, _ = queue.roster(slot)
        players: list[int] = queue.players.player[queue.player_rows(self.engine.state.slots_of(tickets))].tolist()
        return players

    def told(self, ticket: int, name: str) -> object:
        """One thing that is known of a ticket in the state."""
        record = ticket_record(self.engine.state, ticket, self.now_ms)
        assert record is not None, f"ticket {ticket} has left the state"
        return record[name]

    def is_in_state(self, ticket: int) -> bool:
        """Has the ticket not left the state yet?"""
        return self.engine.state.find_ticket(ticket) is not None

    def order(self, queue: str) -> list[int]:
        """The tickets of a queue's next snapshot, in its order."""
        from evenmatch.core.freeze import freeze

        tickets: list[int] = freeze(self.engine.state.queues[queue], self.now_ms).snapshot.ticket.tolist()
        return tickets

    def restart(self, downtime_ms: int) -> Step:
        """Come back after a crash, with nothing but the state."""
        self.engine = Engine(self.engine.state, keep_ms=self.engine.keep_ms)
        self.now_ms += downtime_ms
        return self.do(cmd.Resume())


def first_come(effect: RunMatcher) -> Plan:
    """What first_come answers to a wave."""
    return plan_wave(build("first_come", {}), effect.snapshot, seed=effect.seed)


def kinds(step: Step) -> list[str]:
    """The kinds of a step's events."""
    return [type(event).__name__ for event in step.events]


def heartbeat(*tickets: int, strict: bool = False) -> cmd.Heartbeat:
    """These tickets' clients are there."""
    return cmd.Heartbeat(np.array(tickets, np.int64), strict)
