"""The engine against its plain twin: any commands, in any order, at any time."""

from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from evenmatch.core.engine import Engine, Step
from evenmatch.core.hashing import state_hash
from evenmatch.core.lanes import moved, watch
from evenmatch.core.records import ticket_record
from evenmatch.domain import backfill_events as bev
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.backfill import BackfillSpec
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.ids import first_number
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format, MatchSpec, Mode, QueueSpec, TicketSpec, milliseconds
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.ticket import Member, TicketRequest

from . import model_places as places
from .bad_plans import BAD_PLANS
from .invariants import Story, check_columns
from .model import DAY_MS, Model, Queue, Ticket
from .stage import CLAN, DUEL, LONG, QUICK, REGIONS, SERVED, STRICT, T0, first_come

KEEP_MS = 4_000
PLAYERS = st.integers(1, 9)
FILLED = msgspec.structs.replace(
    LONG, match=MatchSpec(runs_s=12.0), backfill=BackfillSpec(window=300.0, grows=30.0, expires_s=4.0)
)
"""Two against two; who fills a place joins at once."""
INVITED = msgspec.structs.replace(
    CLAN, match=MatchSpec(runs_s=12.0), backfill=BackfillSpec(window=0.0, grows=5.0, priority="last", expires_s=0.0)
)
"""One against one; who fills a place is asked, and waves go first."""
SPECS = (DUEL, QUICK, REGIONS, FILLED, INVITED, STRICT, SERVED)
NAMES = st.sampled_from([spec.name for spec in SPECS])
ANY_NAMES = st.sampled_from([*(spec.name for spec in SPECS), "nowhere"])
CHANGES = st.sampled_from(
    [
        {},
        {"format": Format(2, 2)},
        {"format": Format(2, 1)},
        {"ready_check": None, "cooldown": None},
        {"ticket": TicketSpec(expires_s=6.0, heartbeat_s=4.0)},
        {"require_equal": ("region",)},
        {"require_equal": ("mode",)},
        {"require_equal": ()},
    ]
)
ATTRIBUTES = st.sampled_from([{"region": "eu"}, {"region": "us"}, {"mode": "eu"}, {"region": "eu", "mode": "eu"}, {}])
PARTIES = st.builds(
    lambda players, attributes, key, fingerprint, avoid, will: TicketRequest(
        tuple(Member(player, 1000.0 + player) for player in players), attributes, key, fingerprint, tuple(avoid), will
    ),
    st.lists(PLAYERS, max_size=3),
    ATTRIBUTES,
    st.sampled_from([0, 0, 0, 1, 2**100 + 1]),
    st.integers(1, 2),
    st.lists(PLAYERS, max_size=1),
    st.sampled_from([None, None, None, True, False]),
)


class EngineMachine(RuleBasedStateMachine):
    """Every rule does one command to both; the invariants compare all there is to see."""

    @initialize(lane=st.sampled_from([1, 2]))
    def open_all(self, lane: int) -> None:
        self.engine = Engine(keep_ms=KEEP_MS)
        self.model = Model(KEEP_MS, first_number(lane))
        self.story = Story()
        self.now_ms = T0
        self.flights: dict[str, RunMatcher] = {}
        self.closed: list[RunMatcher] = []
        self.seen: dict[str, tuple[object, int]] = {}
        """What the last wave of each queue saw, and when it may be tried again; only if its plan held."""
        if lane > 1:
            self.agree(cmd.BeginNumbers(first_number(lane), first_number(lane)))
        for spec in SPECS:
            self.open_queue(spec.name, {})

    def step(self, command: cmd.Command) -> Step:
        before, claims = self.engine.state.sequence, set(self.engine.state.claims)
        watch(self.engine.state)
        step = self.engine.step(command, self.now_ms)
        assert self.engine.state.sequence == before + len(step.events)
        claimed, released = moved(self.engine.state)
        assert claimed.tolist() == sorted(set(self.engine.state.claims) - claims)
        assert released.tolist() == sorted(claims - set(self.engine.state.claims))
        for event in step.events:
            assert event.at_ms == self.now_ms
            self.story.hear(event)
        if step.events:
            self.model.settle(self.now_ms, downtime=isinstance(command, cmd.Resume))
        return step

    def agree(self, command: cmd.Command, judge: Callable[[], Reasons | None] = lambda: None) -> Step:
        """Do a command to the engine, then to the model: both grant it, or refuse it for the same reason."""
        step = self.step(command)
        found, expected = None if step.refusal is None else step.refusal.reason, judge()
        assert found == expected, (command, found, expected)
        self.model.watch()
        return step

    # Queues and joins.

    @rule(name=NAMES, changes=CHANGES)
    def open_queue(self, name: str, changes: dict[str, object]) -> None:
        spec: QueueSpec = msgspec.structs.replace(next(s for s in SPECS if s.name == name), **changes)
        self.agree(cmd.OpenQueue(spec))
        if name in self.model.queues:
            self.model.reopen(name, spec, self.now_ms)
        else:
            self.model.queues[name] = Queue(spec)

    @rule(name=ANY_NAMES, requests=st.lists(PARTIES, min_size=1, max_size=4))
    def join_many(self, name: str, requests: list[TicketRequest]) -> None:
        self.check_join(cmd.JoinMany(name, tuple(requests)), name, tuple(requests))

    @rule(name=NAMES, request=PARTIES)
    def join(self, name: str, request: TicketRequest) -> None:
        self.check_join(cmd.Join(name, request), name, (request,))

    @rule(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), first=PLAYERS, party=st.sampled_from([1, 1, 2]))
    def crowd(self, names: list[str], first: int, party: int) -> None:
        """Many players join several queues at once, as they should."""
        attributes: dict[str, str | int | float | bool] = {"region": "eu", "mode": "eu"}
        for name in names:
            players = range(first, first + 4)
            parties = [tuple(map(Member, players[k : k + party])) for k in range(0, len(players), party)]
            requests = tuple(TicketRequest(members, attributes) for members in parties)
            self.check_join(cmd.JoinMany(name, requests), name, requests)

    @rule(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), first=PLAYERS, party=st.sampled_from([1, 1, 2]))
    def crowd_and_wave(self, names: list[str], first: int, party: int) -> None:
        """The same, and the waves come back at once: the first takes the players, the others are overtaken."""
        self.crowd(names, first, party)
        self.tick(1_000)
        for name in names:
            if name in self.flights:
                self.finish(sorted(self.flights).index(name), reads_misses=False)

    def check_join(self, command: cmd.Command, name: str, requests: tuple[TicketRequest, ...]) -> None:
        step = self.step(command)
        expected = self.model.join(name, requests, self.now_ms)
        if isinstance(expected, Reasons):
            assert step.refusal is not None
            assert step.refusal.reason == expected
        else:
            assert [o.reason if isinstance(o, Refusal) else o for o in step.outcomes] == expected

    # Tickets.

    @precondition(lambda self: self.model.tickets)
    @rule(number=st.integers(0, 60), player=st.integers(0, 12))
    def leave(self, number: int, player: int) -> None:
        number = self.aim(number)
        self.agree(cmd.Leave(number, player), lambda: self.model.leave(number, player, self.now_ms))

    @precondition(lambda self: self.model.tickets)
    @rule(numbers=st.lists(st.integers(0, 60), max_size=4), strict=st.booleans())
    def heartbeat(self, numbers: list[int], strict: bool) -> None:
        numbers = [self.aim(number) for number in numbers]
        command = cmd.Heartbeat(np.array(numbers, np.int64), strict)
        self.agree(command, lambda: self.model.heartbeat(numbers, strict=strict))

    @precondition(lambda self: self.model.tickets)
    @rule()
    def everybody_is_there(self) -> None:
        numbers = [ticket.number for ticket in self.model.tickets.values() if ticket.live]
        command = cmd.Heartbeat(np.array(numbers, np.int64), True)
        self.agree(command, lambda: self.model.heartbeat(numbers, strict=True))

    @precondition(lambda self: self.model.tickets)
    @rule(number=st.integers(0, 60))
    def lose_contact(self, number: int) -> None:
        number = self.aim(number)
        self.agree(cmd.LoseContact(np.array([number])))
        if number in self.model.tickets:
            self.model.tickets[number].lost = True

    @precondition(lambda self: self.model.tickets)
    @rule(number=st.integers(0, 60), attributes=ATTRIBUTES, rating=st.sampled_from([900.0, 1500.0]))
    def update(self, number: int, attributes: dict[str, str | int | float | bool], rating: float) -> None:
        number = self.aim(number)
        players = self.model.tickets[number].players if number in self.model.tickets else ()
        wanted = TicketRequest(tuple(Member(player, rating) for player in players), attributes)
        command = cmd.UpdateTicket(number, wanted.members, attributes)
        step = self.agree(command, lambda: self.model.update(number, wanted))
        if step.events:
            record = ticket_record(self.engine.state, number, self.now_ms)
            assert record is not None
            assert {player["rating"] for player in record["players"]} == {rating}
            queue = self.model.tickets[number].queue
            self.seen[queue] = (None, self.seen.get(queue, (None, 0))[1])

    @rule(player=PLAYERS, others=st.lists(PLAYERS, max_size=3))
    def block(self, player: int, others: list[int]) -> None:
        self.agree(cmd.SetBlocks(player, tuple(others)))
        self.model.blocks[player] = set(others) - {player}

    # Other lanes.

    @rule(players=st.lists(PLAYERS, max_size=3))
    def claimed_elsewhere(self, players: list[int]) -> None:
        before = set(self.model.elsewhere)
        free = {player for player in players if self.model.claim(player) is None}
        step = self.agree(cmd.ClaimedElsewhere(np.array(players, np.int64)))
        assert [event.player.tolist() for event in step.events] == [sorted(free - before)] * bool(free - before)  # type: ignore[union-attr]
        self.model.elsewhere |= free
        self.model.watch()

    @precondition(lambda self: self.model.elsewhere)
    @rule(players=st.lists(PLAYERS, max_size=3), everybody=st.booleans())
    def released_elsewhere(self, players: list[int], everybody: bool) -> None:
        players = sorted(self.model.elsewhere) if everybody else players
        self.agree(cmd.ReleasedElsewhere(np.array(players, np.int64)))
        self.model.elsewhere -= set(players)

    # Operators.

    @rule(name=ANY_NAMES, mode=st.sampled_from(Mode))
    def set_mode(self, name: str, mode: Mode) -> None:
        known = name in self.model.queues
        self.agree(cmd.SetMode(name, mode), lambda: None if known else Reasons.UNKNOWN_QUEUE)
        if known:
            self.model.queues[name].mode = mode

    @precondition(lambda self: self.model.tickets)
    @rule(number=st.integers(0, 60))
    def cancel_ticket(self, number: int) -> None:
        number = self.aim(number)
        self.agree(cmd.CancelTicket(number), lambda: self.model.cancel(number, self.now_ms))

    @precondition(lambda self: self.model.proposals)
    @rule(which=st.integers(0, 30))
    def cancel_match(self, which: int) -> None:
        number = self.aim_match(which)
        self.agree(cmd.CancelMatch(number), lambda: self.model.cancel_match(number, self.now_ms))

    @rule(name=st.one_of(ANY_NAMES, st.just("")), player=PLAYERS)
    def lift(self, name: str, player: int) -> None:
        self.agree(cmd.LiftCooldown(player, name), lambda: self.model.lift(name, player))

    @precondition(lambda self: self.model.proposals)
    @rule(which=st.integers(0, 30), started=st.booleans())
    def confirm(self, which: int, started: bool) -> None:
        number = self.aim_match(which)
        command = cmd.ConfirmStart(number) if started else cmd.FailStart(number)
        self.agree(command, lambda: self.model.confirm(number, self.now_ms, started=started))

    def aim_match(self, which: int) -> int:
        """Mostly a proposal that is in the state, else any number."""
        numbers = sorted(self.model.proposals)
        return numbers[which % len(numbers)] if which < 25 else which

    def aim(self, number: int) -> int:
        """Mostly a ticket that is in the state, else any number."""
        known = sorted(self.model.tickets)
        return known[number % len(known)] if known and number < 50 else number

    # Time and waves.

    @rule(after_ms=st.sampled_from([0, 1, 500, 1_000, 1_000, 1_000, 2_500]))
    def tick(self, after_ms: int) -> None:
        self.now_ms += after_ms
        model = self.model
        beats = {name: self._beats(name) for name in model.queues}
        self.rested = [n for n in model.queues if self.now_ms >= self.engine.timetable(n).next_stage_ms]
        before = {ticket.number: (ticket, model.waited_ms(ticket, self.now_ms)) for ticket in model.tickets.values()}
        step = self.step(cmd.Tick())
        model.tick(self.now_ms)
        model.watch()
        self.check_departures(step, before)
        abandoned = [event.queue for event in step.events if isinstance(event, ev.WaveAbandoned)]
        late = [name for name, flight in self.flights.items() if self.now_ms >= flight.deadline_ms]
        assert sorted(abandoned) == sorted(late)
        for name in late:
            self.closed.append(self.flights.pop(name))
            self.seen[name] = (None, self.seen[name][1])
        self.check_waves(step, [name for name, beat in beats.items() if beat])

    def _beats(self, name: str) -> bool:
        """May the next tick invite tickets of a queue to running matches?"""
        timetable = self.engine.timetable(name)
        flying = timetable.flight is not None and self.now_ms < timetable.flight.deadline_ms
        return not flying and self.now_ms >= timetable.next_wave_ms

    def check_fill(self, step: Step, name: str, beats: bool) -> None:
        """Whoever is invited is whom the twin invites; in a queue whose waves go first only where none sets out."""
        starts = name in [effect.spec.name for effect in step.effects]
        goes_first = self.model.queues[name].spec.backfill.priority == "first"
        may = beats and (goes_first if starts else name in self.rested)
        expected = places.fill(self.model, name, self.now_ms) if may else []
        assert self.filled(step, name) == expected
        self.model.watch()

    def filled(self, step: Step, name: str) -> list[tuple[int, int, int]]:
        """(match, team, ticket) of those who were invited, or joined without being asked."""
        found = []
        for event in step.events:
            if isinstance(event, bev.PlacesOffered) and event.queue == name:
                found += list(zip(event.match.tolist(), event.team.tolist(), event.ticket.tolist(), strict=True))
            if isinstance(event, bev.MatchFilled) and event.queue == name:
                found.append((event.match, event.team, event.ticket))
        return found

    @rule(after_ms=st.sampled_from([4_999, 5_000, 7_000, 20_000, 30_000, DAY_MS]))
    def tick_much_later(self, after_ms: int) -> None:
        self.tick(after_ms)

    def check_departures(self, step: Step, before: dict[int, tuple[Ticket, int]]) -> None:
        left = {number: record for departed in step.departures for number, record in departed.tickets}
        assert sorted(left) == sorted(set(before) - set(self.model.tickets))
        for number, record in left.items():
            ticket, waited_ms = before[number]
            assert (record["status"], record["cause"]) == (ticket.status, ticket.cause)
            assert (record["waited_ms"], record["misses"]) == (waited_ms, ticket.misses)
            assert tuple(player["player"] for player in record["players"]) == ticket.players

    def check_waves(self, step: Step, beats: list[str]) -> None:
        started = {effect.spec.name: effect for effect in step.effects}
        for name, queue in self.model.queues.items():
            self.check_fill(step, name, name in beats)
            waiting = self.model.snapshot(name, self.now_ms)
            pairs = self.model.pairs(waiting, self.now_ms)
            sight = (queue.spec, [(t.number, t.misses, t.returned, t.group) for t in waiting], pairs)
            if name in started:
                assert name not in self.flights, "two waves of one queue are in flight"
                self.check_snapshot(started[name], waiting)
                self.model.start(name, self.now_ms)
                self.flights[name] = started[name]
                self.seen[name] = (sight, self.now_ms + milliseconds(queue.spec.wave.every_s))
            elif queue.mode == "paused":
                pass
            elif waiting and name not in self.flights:
                last, again_ms = self.seen.get(name, (None, 0))
                assert last == sight or self.now_ms < again_ms, f"{name} was not tried although it changed"
            elif name not in self.flights:  # an attempt that found everybody suspended keeps the beat too
                self.seen[name] = (None, self.now_ms + milliseconds(queue.spec.wave.every_s))

    def check_snapshot(self, effect: RunMatcher, waiting: list[Ticket]) -> None:
        snapshot = effect.snapshot
        assert effect.spec == self.model.queues[effect.spec.name].spec
        assert snapshot.ticket.tolist() == [ticket.number for ticket in waiting]
        assert snapshot.waited_ms.tolist() == [self.model.waited_ms(ticket, self.now_ms) for ticket in waiting]
        assert snapshot.misses.tolist() == [ticket.misses for ticket in waiting]
        assert snapshot.returned.tolist() == [ticket.returned for ticket in waiting]
        assert snapshot.forbidden.tolist() == self.model.pairs(waiting, self.now_ms)
        assert snapshot.player.tolist() == [player for ticket in waiting for player in ticket.players]
        assert np.diff(snapshot.player_start).tolist() == [len(ticket.players) for ticket in waiting]
        codes = snapshot.group.tolist()
        pairs = {(code, ticket.group) for code, ticket in zip(codes, waiting, strict=True)}
        assert len(pairs) == len(set(codes)) == len({ticket.group for ticket in waiting})

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 9), reads_misses=st.booleans())
    def finish(self, which: int, reads_misses: bool) -> None:
        name = sorted(self.flights)[which % len(self.flights)]
        flight = self.flights[name]
        plan = first_come(flight)
        rosters = [[int(n) for n in flight.snapshot.ticket[roster[roster >= 0]]] for roster in plan.rosters]
        self.model.watch()
        step = self.agree(cmd.FinishWave(name, flight.wave, plan, reads_misses=reads_misses))
        held = self.model.propose(name, rosters, self.now_ms, reads_misses=reads_misses)
        self.model.watch()  # who was proposed is suspended elsewhere, if only for a moment
        made = [event for event in step.events if isinstance(event, ev.WaveFinished)]
        assert len(made) == int(bool(held or reads_misses)), "a wave that changes nothing wrote"
        if self.model.queues[name].spec.backfill.priority == "first":
            assert len(made) == len(step.events)
        for event in made:
            assert [roster[roster >= 0].tolist() for roster in event.roster] == held
            assert event.dropped == len(rosters) - len(held)
            for number, (roster, team_of) in enumerate(zip(held, event.team_of.tolist(), strict=True)):
                proposal = self.model.proposals[event.first_proposal + number]
                proposal.team_of = dict(zip(roster, team_of[: len(roster)], strict=True))
        self.check_reasons(flight, plan, {number for roster in held for number in roster})
        if len(held) < len(rosters):
            self.seen[name] = (None, self.seen[name][1])
        self.closed.append(self.flights.pop(name))
        if self.model.queues[name].spec.backfill.priority == "last":
            expected = places.fill(self.model, name, self.now_ms)
            assert self.filled(step, name) == expected
            if expected:
                self.seen[name] = (None, self.seen[name][1])

    def check_reasons(self, flight: RunMatcher, plan: Plan, seated: set[int]) -> None:
        wave, reasons = self.engine.reasons(flight.spec.name)
        assert wave == flight.wave
        expected = {}
        for number, reason in zip(flight.snapshot.ticket.tolist(), plan.reasons.tolist(), strict=True):
            if number not in seated:
                expected[number] = reason if reason != Reason.SEATED else Reason.PLAN_OVERTAKEN
        assert reasons == expected, "I10: an unmatched ticket has no reason"

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 9), how=st.sampled_from(sorted(BAD_PLANS)))
    def finish_badly(self, which: int, how: str) -> None:
        name = sorted(self.flights)[which % len(self.flights)]
        flight = self.flights[name]
        bad = BAD_PLANS[how](flight.snapshot, first_come(flight))
        if bad is None:
            return
        step = self.agree(cmd.FinishWave(name, flight.wave, bad), lambda: Reasons.BAD_PLAN)
        self.check_abandoned(name, step)

    @precondition(lambda self: self.flights)
    @rule(which=st.integers(0, 9))
    def fail_wave(self, which: int) -> None:
        name = sorted(self.flights)[which % len(self.flights)]
        step = self.agree(cmd.FinishWave(name, self.flights[name].wave, None, failure="it broke"))
        self.check_abandoned(name, step)

    def check_abandoned(self, name: str, step: Step) -> None:
        (event,) = step.events
        assert isinstance(event, ev.WaveAbandoned)
        assert (event.queue, event.wave) == (name, self.flights[name].wave)
        self.seen[name] = (None, self.seen[name][1])
        self.closed.append(self.flights.pop(name))

    @precondition(lambda self: self.closed)
    @rule(which=st.integers(0, 99))
    def finish_again(self, which: int) -> None:
        flight = self.closed[which % len(self.closed)]
        self.agree(cmd.FinishWave(flight.spec.name, flight.wave, first_come(flight)), lambda: Reasons.WAVE_CLOSED)

    # Ready checks and matches.

    @precondition(lambda self: self.model.proposals)
    @rule(which=st.integers(0, 60), player=st.integers(0, 60), accepts=st.sampled_from([True, True, True, False]))
    def answer(self, which: int, player: int, accepts: bool) -> None:
        numbers = sorted(self.model.proposals)
        number = numbers[which % len(numbers)] if which < 55 else which
        players = self.model.proposals[number].players if number in self.model.proposals else [1]
        who = players[player % len(players)] if player < 55 else player
        if accepts:
            self.agree(cmd.Accept(number, who), lambda: self.model.accept(number, who, self.now_ms))
        else:
            self.agree(cmd.Decline(number, who), lambda: self.model.decline(number, who, self.now_ms))

    @precondition(lambda self: self.model.proposals)
    @rule(picks=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6), all_open=st.booleans())
    def many_accept(self, picks: list[tuple[int, int]], all_open: bool) -> None:
        known = sorted(self.model.proposals)
        pairs = [(known[which % len(known)] if which < 55 else which, player) for which, player in picks]
        pairs = [
            (
                n,
                self.model.proposals[n].players[p % len(self.model.proposals[n].players)]
                if n in self.model.proposals
                else p,
            )
            for n, p in pairs
        ]
        if all_open:
            opened = [proposal for proposal in self.model.proposals.values() if proposal.standing == "open"]
            pairs += [(proposal.number, player) for proposal in opened for player in proposal.players]
        columns = (np.array([pair[column] for pair in pairs], np.int64) for column in range(2))
        step = self.step(cmd.AcceptMany(*columns))
        expected = []
        for number, player in pairs:
            expected.append(self.model.accept(number, player, self.now_ms))
            self.model.watch()
        assert [outcome.reason if isinstance(outcome, Refusal) else None for outcome in step.outcomes] == expected

    @precondition(lambda self: any(p.standing == "open" for p in self.model.proposals.values()))
    @rule(which=st.integers(0, 9))
    def everybody_accepts(self, which: int) -> None:
        opened = [p for p in self.model.proposals.values() if p.standing == "open"]
        proposal = opened[which % len(opened)]
        for player in proposal.players:
            self.agree(
                cmd.Accept(proposal.number, player),
                partial(self.model.accept, proposal.number, player, self.now_ms),
            )

    @precondition(lambda self: self.model.proposals)
    @rule(which=st.integers(0, 30))
    def end_match(self, which: int) -> None:
        number = self.aim_match(which)
        self.agree(cmd.EndMatch(number), lambda: self.model.end(number, self.now_ms))

    @precondition(lambda self: any(p.standing == "running" for p in self.model.proposals.values()))
    @rule(
        which=st.integers(0, 30),
        who=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([True, True, True, False])), max_size=2),
        shift=st.sampled_from([0, 0, 0, 1]),
    )
    def ask_backfill(self, which: int, who: list[tuple[int, bool]], shift: int) -> None:
        """Players of a match leave, or places are asked for that are free; now and then of the wrong team."""
        running = [p.number for p in self.model.proposals.values() if p.standing == "running"]
        number = running[which % len(running)] if which < 25 else self.aim_match(which)
        match = self.model.proposals.get(number)
        wanted = []
        for place, named in who:
            if match is None or not match.team_of:
                wanted.append((place % 3, place))
                continue
            teams = places.teams_of(self.model, match)
            player = sorted(teams)[place % len(teams)]
            wanted.append(((teams[player] + shift) % 3, player if named else 0))
        self.agree(cmd.AskBackfill(number, tuple(wanted)), lambda: places.ask(self.model, number, wanted, self.now_ms))

    @rule(
        name=st.sampled_from(["long", "clan"]), first=PLAYERS, nth=st.integers(0, 3), party=st.sampled_from([1, 1, 2])
    )
    def somebody_leaves_and_others_come(self, name: str, first: int, nth: int, party: int) -> None:
        """A match is made and goes on, somebody leaves it, others join the queue, and a wave or two pass."""
        self.crowd_and_wave([name], first, 1)
        for proposal in [p for p in self.model.proposals.values() if p.standing == "open" and p.queue == name]:
            for player in proposal.players:
                self.agree(
                    cmd.Accept(proposal.number, player),
                    partial(self.model.accept, proposal.number, player, self.now_ms),
                )
        running = [p for p in self.model.proposals.values() if p.standing == "running" and p.queue == name]
        if not running:
            return
        match = running[nth % len(running)]
        teams = places.teams_of(self.model, match)
        player = sorted(teams)[nth % len(teams)]
        wanted = [(teams[player], player)]
        self.agree(
            cmd.AskBackfill(match.number, tuple(wanted)),
            lambda: places.ask(self.model, match.number, wanted, self.now_ms),
        )
        for newcomer in (first + 5, first + 7):
            members = tuple(Member(newcomer + k, 1400.0) for k in range(party))
            request = TicketRequest(members, {"region": "eu", "mode": "eu"})
            self.check_join(cmd.Join(name, request), name, (request,))
        self.tick(1_000)
        if name in self.flights:
            self.finish(sorted(self.flights).index(name), reads_misses=False)

    @precondition(lambda self: any(p.places for p in self.model.proposals.values()))
    @rule(which=st.integers(0, 30))
    def withdraw_backfill(self, which: int) -> None:
        asking = [p.number for p in self.model.proposals.values() if p.places]
        number = asking[which % len(asking)] if which < 25 else self.aim_match(which)
        self.agree(cmd.WithdrawBackfill(number), lambda: places.withdraw(self.model, number, self.now_ms))

    # Restarts.

    @rule(downtime_ms=st.sampled_from([0, 1, 3_000, 100_000]))
    def restart(self, downtime_ms: int) -> None:
        self.engine = Engine(self.engine.state, keep_ms=KEEP_MS)
        self.now_ms += downtime_ms
        self.flights.clear()
        self.closed.clear()
        self.seen.clear()
        self.agree(cmd.Resume())

    # What must be true after every rule.

    @invariant()
    def the_model_agrees(self) -> None:
        model, state = self.model, self.engine.state
        model.watch()
        assert sorted(state.tickets_at) == sorted(model.tickets)
        assert sorted(state.proposals_at) == sorted(model.proposals)
        for ticket in model.tickets.values():
            record = ticket_record(state, ticket.number, self.now_ms)
            assert record is not None
            expected = {
                "queue": ticket.queue,
                "status": ticket.status,
                "cause": ticket.cause,
                "waited_ms": model.waited_ms(ticket, self.now_ms),
                "misses": ticket.misses,
                "suspended": model.suspended(ticket),
                "proposal": ticket.proposal if ticket.status == "proposed" else None,
                "match": ticket.proposal if ticket.status == "matched" else None,
                "joined_ms": ticket.joined_ms,
            }
            assert {name: record[name] for name in expected} == expected
            assert tuple(player["player"] for player in record["players"]) == ticket.players
        for name, queue in model.queues.items():
            found = state.queues[name]
            away = {player: until for player, until in queue.stays_away.items() if until > self.now_ms}
            assert away == {player: b.until_ms for player, b in found.books.items() if b.until_ms > self.now_ms}
            assert sorted(found.lost) == [t.number for t in model.live_in(name) if t.lost]
            kept = {
                n: (len(f.joined), {p for p, _, _ in f.left}, [(o.team, o.ticket, bool(o.player)) for o in f.places])
                for n, f in found.fillings.by_match.items()
                if f.left or f.joined or f.places
            }
            assert kept == {
                p.number: (len(p.late), p.left, [(o.team, o.ticket or 0, o.filled) for o in p.places])
                for p in model.proposals.values()
                if p.queue == name and (p.left or p.late or p.places)
            }
        assert {key: known[:2] for key, known in state.keys.items()} == {k: v[:2] for k, v in model.keys.items()}

    @invariant()
    def the_invariants_hold(self) -> None:
        check_columns(self.engine.state)
        assert self.story.sequence == self.engine.state.sequence
        assert self.story.claims == self.engine.state.claims
        assert set(self.story.tickets) - self.story.forgotten == set(self.engine.state.tickets_at)
        assert state_hash(self.engine.state) == state_hash(self.engine.state)


TestEngine = pytest.mark.timeout(900)(EngineMachine.TestCase)
TestEngine.settings = settings(stateful_step_count=40, report_multiple_bugs=False)


@pytest.mark.slow
def test_the_engine_agrees_with_its_twin_for_long_and_with_fresh_dice() -> None:
    run_state_machine_as_test(
        EngineMachine, settings=settings(max_examples=500, stateful_step_count=80, derandomize=False)
    )
