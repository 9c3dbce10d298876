"""The world: people, virtual time, and the engine that runs live.

    agenda ─> what is due ─> commands ─> Engine.step ─> events ─> what people do next ─> agenda
                                            └─ a wave ─> the queue's matcher ─> FinishWave

One population, one seed and one queue give one run, bit for bit. Nothing here decides who plays whom: the engine, its
rules and the matcher do, as in the server. A plan takes no virtual time. What people do in a moment is handed to the
engine together, and what only the measures ask for is worked out for many matches at a time.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from evenmatch.core.engine import Step
from evenmatch.domain import batch_events as many
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array, numbers
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.shards import Split
from evenmatch.domain.ticket import Cause, Member, TicketRequest
from evenmatch.matchers.contract import Matcher, plan_wave, wave_next_change_ms
from evenmatch.matchers.registry import build
from evenmatch.numerics.rating_models import Ratings, build_model

from .agenda import Agenda, Kind
from .behaviour import ACCEPTS, DECLINES, GAMES, LOST, Behaviour
from .facts import Facts
from .log import End, Log
from .outcomes import Outcomes
from .overtaking import overtaken
from .people import People
from .population import Population
from .rosters import Rosters, Stage, once
from .shards import NOBODY_TAKES, Shards
from .traffic import Traffic
from .wire import Crashed, PlainWire, Wire

__all__ = ["STEP_MS", "World"]

STEP_MS: Final = 1_000
_PLAYERS: Final = 1 << 24
"""A player's number takes so much room in the code of an answer."""
_NO_ATTRIBUTES: Final[dict[str, str | int | float | bool]] = {}
_TOGETHER: Final = 4_096
"""Matches that are written to the log at a time."""


class World:
    """One run."""

    def __init__(
        self,
        spec: QueueSpec,
        population: Population,
        people: People,
        traffic: Traffic,
        seed: int,
        hours: float,
        *,
        step_ms: int = STEP_MS,
        wire: Wire | None = None,
        split: Split | None = None,
    ) -> None:
        self.spec, self.people, self.traffic = spec, people, traffic
        self.shards = Shards(spec, split, people)
        self.behaviour = Behaviour(population.sessions, seed, len(traffic))
        self.until_ms = int(hours * 3_600_000)
        self.agenda = Agenda(step_ms, self.until_ms)
        self.log = Log(self.until_ms)
        self.wire: Wire = PlainWire() if wire is None else wire
        self.now_ms = 0
        self._matcher: Matcher = build(spec.matcher.name, spec.matcher.parameters)
        self._model = build_model(population.ratings.model, population.ratings.parameters)
        self.ratings = Ratings(*(column.copy() for column in people.ratings))
        self.games = people.games.copy()
        self.outcomes = Outcomes(population.game, spec, people, seed)
        self._facts = Facts(spec, population, people)
        self._busy = np.zeros(len(people), bool)
        """Players who are in a session."""
        self._alone = bool((traffic.size == 1).all())
        """Nobody comes with others."""
        self.rosters = Rosters(spec.format.seats)
        self._begun: list[tuple[int, Array]] = []
        """Matches that the log does not have yet: when, and their numbers"""
        self._handlers: dict[Kind, Callable[[Array], None]] = {
            Kind.ENDS: self._end,
            Kind.ACCEPTS: self._accept,
            Kind.DECLINES: self._decline,
            Kind.LOSES: self._lose,
            Kind.GIVES_UP: self._give_up,
            Kind.JOINS: self._join,
            Kind.WAKES: lambda _: None,
        }

    def run(self, progress: Callable[[float], None] = lambda _: None) -> Log:
        """From the first moment to the last; `progress` hears the share that is done."""
        for spec in self.shards.specs:
            self._do(cmd.OpenQueue(spec))
        self.log.started_skill_error = self._skill_error()
        self.agenda.add(Kind.JOINS, self.traffic.at_ms, np.arange(len(self.traffic)) * GAMES)
        every_ms = max(1, round(self.spec.wave.every_s * 1000))
        beats = np.arange(every_ms, self.until_ms + 1, every_ms)
        self.agenda.add(Kind.WAKES, beats, beats)
        told = 0
        for now_ms, due in self.agenda:
            self.now_ms = now_ms
            for kind, what in due:
                arrived = self.wire.carried(self.agenda, kind, what, now_ms)
                try:
                    self._handlers[kind](arrived)
                except Crashed:  # nobody was answered: they ask again
                    self.agenda.add(kind, np.full(len(arrived), now_ms + self.agenda.step_ms), arrived)
            if due[-1][0] == Kind.WAKES:
                with contextlib.suppress(Crashed):
                    self._do(cmd.Tick())
            if now_ms - told >= 60_000:
                told = now_ms
                self._write(_TOGETHER)
                progress(now_ms / self.until_ms)
        progress(1.0)
        self._write(1)
        self.log.ended_skill_error = self._skill_error()
        self.log.ended_mu, self.log.ended_games = self.ratings.mu, self.games
        self.log.state_hash = self.wire.finished()
        return self.log

    def _skill_error(self) -> float:
        """How far ratings are off, on average."""
        return float(np.abs(self.ratings.mu - self.people.skill).mean())

    def _do(self, command: cmd.Command) -> Step:
        """Hand a command over, and live with what it leads to."""
        return self._take(self.wire.step(command, self.now_ms))

    # -- what the engine says ---------------------------------------------------------------------------------------

    def _take(self, step: Step) -> Step:
        """Live on with what a command led to, and carry its waves out."""
        for event in step.events:
            match event:
                case many.MatchesMade():
                    self._made(once(event.proposal))
                case ev.WaveFinished() if len(event.roster):
                    self._proposed(event)
                case ev.MatchMade():
                    self._made(numbers([event.proposal]))
                case ev.ProposalsFailed():
                    self._failed(event)
                case ev.TicketsGone():
                    how = End.GAVE_UP if event.cause == Cause.LEFT else End.EXPIRED
                    self._gone(event.ticket, how)
                case ev.WaveAbandoned():
                    self.log.failed_waves += 1
                case _:
                    pass
        for effect in step.effects:
            self._wave(effect)
        return step

    def _wave(self, effect: RunMatcher) -> None:
        began = time.process_time()
        snapshot = effect.snapshot
        plan = plan_wave(self._matcher, snapshot, seed=effect.seed)
        rest: cmd.FinishWave | None = cmd.FinishWave(
            queue=effect.spec.name,
            wave=effect.wave,
            plan=plan,
            reads_misses=self._matcher.reads_misses,
            next_change_ms=wave_next_change_ms(self._matcher, snapshot),
        )
        steps = []
        while rest is not None:
            steps.append(self.wire.step(rest, self.now_ms))
            rest = steps[-1].rest
        self.log.wave_s.append(time.process_time() - began)
        self.log.waves += 1
        self.log.wave_waiting.append(len(snapshot))
        self.log.tickets.overtaken[overtaken(snapshot, plan) - 1] += 1
        for step in steps:
            self._take(step)

    def _proposed(self, event: ev.WaveFinished) -> None:
        """Who is in each proposal, how long its match will take, and what everybody will answer."""
        log, seated = self.log.tickets, event.roster >= 0
        ticket = event.roster[seated]
        row, whose = self._rows(log.session[ticket - 1])
        shape = len(event.roster), self.spec.format.seats
        team = event.team_of[seated][whose]
        keys = log.session[ticket - 1] * GAMES + log.game[ticket - 1]
        held = np.count_nonzero(seated, axis=1)
        lasts_ms = self.behaviour.match_ms(np.minimum.reduceat(keys, np.cumsum(held) - held))
        stage = Stage.ASKED if event.deadline_ms else Stage.UNKNOWN
        self.rosters.add(event.first_proposal, event.roster, row.reshape(shape), team.reshape(shape), lasts_ms, stage)
        number = event.first_proposal + np.arange(len(event.roster))
        if not event.deadline_ms:
            self._made(number)
            return
        log.end[ticket - 1] = End.PROPOSED
        member = np.arange(len(whose)) - np.searchsorted(whose, whose)
        will, after_ms = self.behaviour.answers(keys[whose], member, log.tried[ticket[whose] - 1])
        code = np.repeat(number, shape[1]) * _PLAYERS + row + 1
        for kind, what in ((Kind.ACCEPTS, ACCEPTS), (Kind.DECLINES, DECLINES), (Kind.LOSES, LOST)):
            chosen = will == what
            if chosen.any():
                self.agenda.add(kind, self.now_ms + after_ms[chosen], code[chosen])
        self.agenda.add(Kind.WAKES, numbers([event.deadline_ms]), numbers([0]))

    def _rows(self, session: Array) -> tuple[Array, Array]:
        """The rows of the players of these sessions, and for each the place of its session."""
        if self._alone:
            return self.traffic.first[session], np.arange(len(session))
        size = self.traffic.size[session]
        whose = np.repeat(np.arange(len(session)), size)
        member = np.arange(len(whose)) - np.repeat(np.cumsum(size) - size, size)
        return (self.traffic.first[session[whose]] + member) % len(self.people), whose

    def _made(self, match: Array) -> None:
        """Matches begin."""
        rosters, log, at = self.rosters, self.log.tickets, match - 1
        tickets = rosters.tickets(match) - 1
        log.end[tickets] = End.MATCHED
        log.ended_ms[tickets] = self.now_ms
        rosters.stage[at] = Stage.PLAYED
        rosters.believed[at] = self.ratings.mu[rosters.row[at]]
        self.agenda.add(Kind.ENDS, self.now_ms + rosters.lasts_ms[at], match)
        self._begun.append((self.now_ms, match))

    def _write(self, least: int) -> None:
        """Write the matches that have begun to the log, if there are so many: how even they are, and who is in them."""
        if sum(len(match) for _, match in self._begun) < least:
            return
        match = np.concatenate([match for _, match in self._begun])
        at_ms = np.repeat(numbers([when for when, _ in self._begun]), [len(match) for _, match in self._begun])
        self._begun.clear()
        rosters, seats = self.rosters, self.spec.format.seats
        row, believed = rosters.row[match - 1], rosters.believed[match - 1]
        team = self.outcomes.teams(rosters.team[match - 1], believed)
        tickets = rosters.tickets(match)
        self.log.matches.add(
            at_ms=at_ms,
            match=match,
            lasts_ms=rosters.lasts_ms[match - 1],
            players=np.full(len(match), seats),
            **self.outcomes.told(row, team, believed),
        )
        self.log.seats.add(
            match=np.repeat(match, seats),
            row=row.ravel(),
            ticket=np.repeat(tickets, self.log.tickets.size[tickets - 1]),
            team=team.ravel(),
            extra_ms=self.outcomes.extra_ms(row).ravel(),
        )

    def _failed(self, event: ev.ProposalsFailed) -> None:
        known = event.proposal[event.proposal <= len(self.rosters.stage)]
        self.rosters.stage[known - 1] = Stage.OVER
        self._gone(event.blamed, End.BLAMED)
        tickets = self.log.tickets
        tickets.end[event.returned - 1] = End.WAITING
        tickets.tried[event.returned - 1] += 1

    def _gone(self, tickets: Array, how: End) -> None:
        if len(tickets):
            log = self.log.tickets
            log.end[tickets - 1] = how
            log.ended_ms[tickets - 1] = self.now_ms
            self._busy[self._rows(log.session[tickets - 1])[0]] = False

    # -- what people do ----------------------------------------------------------------------------------------------

    def _join(self, keys: Array) -> None:
        rows, whose = self._rows(keys // GAMES)
        stays_away = self._still_here(keys, rows, whose)
        if stays_away.any():
            self.log.skipped += int(np.count_nonzero(stays_away))
            keys = keys[~stays_away]
            rows, whose = self._rows(keys // GAMES)
        if not len(keys):
            return
        members = self._facts.members(rows, self.ratings.mu[rows])
        parties: list[tuple[Member, ...]] = [(member,) for member in members]
        if not self._alone:
            ends = np.cumsum(self.traffic.size[keys // GAMES]).tolist()
            parties = [tuple(members[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
        wishes = zip(parties, keys.tolist(), strict=True)
        requests = [TicketRequest(party, _NO_ATTRIBUTES, self.wire.key(key)) for party, key in wishes]
        for queue, places in self.shards.taking(parties):
            self._enter(queue, keys[places], tuple(requests[place] for place in places))

    def _enter(self, queue: str, keys: Array, requests: tuple[TicketRequest, ...]) -> None:
        """Tickets for one queue; "" = none takes them."""
        outcomes = self._do(cmd.JoinMany(queue, requests)).outcomes if queue else (NOBODY_TAKES,) * len(keys)
        taken = np.array([not isinstance(outcome, Refusal) for outcome in outcomes])
        if not taken.all():
            for outcome in outcomes:
                if isinstance(outcome, Refusal):
                    self.log.refused[outcome.reason.code] = self.log.refused.get(outcome.reason.code, 0) + 1
            self._busy[self._rows(keys[~taken] // GAMES)[0]] = False
            keys, outcomes = keys[taken], tuple(outcome for outcome in outcomes if not isinstance(outcome, Refusal))
        first = self.log.tickets.count + 1
        assert outcomes == tuple(range(first, first + len(keys))), "tickets are numbered on"
        if len(keys):
            self._note(keys, *self._rows(keys // GAMES))

    def _still_here(self, keys: Array, rows: Array, whose: Array) -> Array:
        """bool[n]: whose players are in an earlier session, or come with somebody else at this moment."""
        new, busy = keys % GAMES == 0, self._busy[rows]
        if len(set(rows.tolist())) == len(rows):
            found: Array = new & (busy if self._alone else np.bincount(whose, busy, len(keys)) > 0)
            return found
        coming: set[int] = set()
        found = np.zeros(len(keys), bool)
        for place in range(len(keys)):
            party = rows[whose == place].tolist()
            found[place] = new[place] and (self._busy[party].any() or not coming.isdisjoint(party))
            coming.update(() if found[place] else party)
        return found

    def _note(self, keys: Array, people: Array, whose: Array) -> None:
        """Tickets have joined."""
        log = self.log.tickets
        rows = log.add(len(keys))
        session, game = np.divmod(keys, GAMES)
        size = self.traffic.size[session]
        log.session[rows], log.game[rows], log.size[rows] = session, game, size
        log.joined_ms[rows] = self.now_ms
        self._busy[people] = True
        for column, brought in ((log.rating, self.ratings.mu[people]), (log.skill, self.people.skill[people])):
            column[rows] = brought if self._alone else np.bincount(whose, brought, len(keys)) / size
        log.region[rows] = self.people.region[self.traffic.first[session]]
        tickets = np.arange(rows.start, rows.stop) + 1
        self.agenda.add(Kind.GIVES_UP, self.now_ms + self.behaviour.patience_ms(keys), tickets)

    def _give_up(self, tickets: Array) -> None:
        end = self.log.tickets.end[tickets - 1]
        asked = tickets[end == End.PROPOSED]
        if len(asked):  # nobody leaves while a match is at hand; if nothing comes of it, then
            self.agenda.add(Kind.GIVES_UP, np.full(len(asked), self.now_ms + 1_000), asked)
        leaving = tickets[end == End.WAITING]
        if len(leaving):
            self._do(cmd.LeaveMany(leaving))

    def _asked(self, codes: Array) -> tuple[Array, Array]:
        """Proposals that are still open, and the players who have something to say."""
        proposal, player = np.divmod(codes, _PLAYERS)
        still = self.rosters.of(proposal, Stage.ASKED)
        return proposal[still], player[still]

    def _accept(self, codes: Array) -> None:
        proposal, player = self._asked(codes)
        if len(proposal):
            self._do(cmd.AcceptMany(proposal, player))

    def _decline(self, codes: Array) -> None:
        for proposal, player in zip(*(column.tolist() for column in self._asked(codes)), strict=True):
            if self.rosters.stage[proposal - 1] == Stage.ASKED:
                self._do(cmd.Decline(proposal, player))

    def _lose(self, codes: Array) -> None:
        for proposal, player in zip(*(column.tolist() for column in self._asked(codes)), strict=True):
            tickets = self.rosters.tickets(numbers([proposal]))
            rows, whose = self._rows(self.log.tickets.session[tickets - 1])
            self._do(cmd.LoseContact(tickets[whose[rows == player - 1]]))

    def _end(self, matches: Array) -> None:
        """Matches are over: who won, and what that does to ratings. Some play on after a while, some leave."""
        rosters = self.rosters
        matches = matches[rosters.of(matches, Stage.PLAYED)]
        if not len(matches):
            return
        if self.spec.match.runs_s:
            self._do(cmd.EndMatches(matches))
        rosters.stage[matches - 1] = Stage.OVER
        rows = rosters.row[matches - 1]
        team = self.outcomes.teams(rosters.team[matches - 1], rosters.believed[matches - 1])
        order, start, rank = self.outcomes.results(matches, rows, team)
        after = self._model.updated_many(self.ratings.take(order), self.games[order], start, rank)
        for mine, new in zip(self.ratings, after, strict=True):
            mine[order] = new
        self.games[order] += 1
        self._go_on(rosters.tickets(matches) - 1)

    def _go_on(self, places: Array) -> None:
        log = self.log.tickets
        keys = log.session[places] * GAMES + log.game[places]
        stays = self.behaviour.stays(keys)
        self.agenda.add(Kind.JOINS, self.now_ms + self.behaviour.pause_ms(keys[stays]), keys[stays] + 1)
        leaving = log.session[places[~stays]]
        if len(leaving):
            self._busy[self._rows(leaving)[0]] = False
