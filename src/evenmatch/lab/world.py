"""The world: people, virtual time, and the engine that runs live.

    agenda ─> what is due ─> commands ─> Engine.step ─> events ─> what people do next ─> agenda
                                            └─ a wave ─> the queue's matcher ─> FinishWave

One population, one seed and one queue give one run, bit for bit. Nothing here decides who plays whom: the engine, its
rules and the matcher do, as in the server. A plan takes no virtual time.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from evenmatch.core.engine import Step
from evenmatch.domain import commands as cmd
from evenmatch.domain import events as ev
from evenmatch.domain.arrays import Array, numbers
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.ticket import Cause, TicketRequest
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
from .traffic import Traffic
from .wire import Crashed, PlainWire, Wire

__all__ = ["STEP_MS", "World"]

STEP_MS: Final = 500
_PLAYERS: Final = 1 << 24
"""A player's number takes so much room in the code of an answer."""


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
    ) -> None:
        self.spec, self.people, self.traffic = spec, people, traffic
        self.behaviour = Behaviour(population.sessions, seed)
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
        self._proposals: dict[int, tuple[Array, Array]] = {}
        """Open ready checks: tickets and their teams"""
        self._fresh: list[tuple[int, Array, Array]] = []
        """Matches of this moment: number, tickets and their teams"""
        self._playing: dict[int, tuple[Array, Array, Array]] = {}
        """Running matches: tickets; players' rows and their teams in the game"""
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
        self._do(cmd.OpenQueue(self.spec))
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
            self._begin()
            if now_ms - told >= 60_000:
                told = now_ms
                progress(now_ms / self.until_ms)
        progress(1.0)
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
                case ev.WaveFinished() if len(event.roster):
                    self._proposed(event)
                case ev.MatchMade():
                    tickets, teams = self._proposals.pop(event.proposal)
                    self._made(event.proposal, tickets, teams)
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
        tickets = self.log.tickets
        for place, (roster, teams) in enumerate(zip(event.roster, event.team_of, strict=True)):
            seated = roster >= 0
            number = event.first_proposal + place
            if not event.deadline_ms:
                self._made(number, roster[seated], teams[seated])
                continue
            self._proposals[number] = roster[seated], teams[seated]
            tickets.end[roster[seated] - 1] = End.PROPOSED
        if event.deadline_ms:
            self._ask(event)

    def _ask(self, event: ev.WaveFinished) -> None:
        """What everybody will answer, and when."""
        tickets = self.log.tickets
        seated = event.roster >= 0
        ticket = event.roster[seated]
        proposal = np.broadcast_to(event.first_proposal + np.arange(len(event.roster))[:, None], event.roster.shape)[
            seated
        ]
        size = tickets.size[ticket - 1]
        whose = np.repeat(np.arange(len(ticket)), size)
        member = np.arange(len(whose)) - np.repeat(np.cumsum(size) - size, size)
        row = ticket[whose] - 1
        keys = tickets.session[row] * GAMES + tickets.game[row]
        will, after_ms = self.behaviour.answers(keys, member, tickets.tried[row])
        player = self._players_of(tickets.session[row], member) + 1
        code = proposal[whose] * _PLAYERS + player
        for kind, what in ((Kind.ACCEPTS, ACCEPTS), (Kind.DECLINES, DECLINES), (Kind.LOSES, LOST)):
            chosen = will == what
            if chosen.any():
                self.agenda.add(kind, self.now_ms + after_ms[chosen], code[chosen])
        self.agenda.add(Kind.WAKES, numbers([event.deadline_ms]), numbers([0]))

    def _players_of(self, session: Array, member: Array) -> Array:
        rows: Array = (self.traffic.first[session] + member) % len(self.people)
        return rows

    def _rows_of(self, tickets: Array) -> tuple[Array, Array]:
        """The rows of the players of these tickets, and for each the place of its ticket."""
        log = self.log.tickets
        size = log.size[tickets - 1]
        whose = np.repeat(np.arange(len(tickets)), size)
        member = np.arange(len(whose)) - np.repeat(np.cumsum(size) - size, size)
        return self._players_of(log.session[tickets[whose] - 1], member), whose

    def _made(self, number: int, tickets: Array, teams: Array) -> None:
        """A match is played."""
        self.log.tickets.end[tickets - 1] = End.MATCHED
        self._fresh.append((number, tickets, teams))

    def _begin(self) -> None:
        """The matches of this moment begin: how even they are, and when they will be over."""
        if not self._fresh:
            return
        log, seats = self.log.tickets, self.spec.format.seats
        number = numbers([match for match, _, _ in self._fresh])
        tickets = np.concatenate([tickets for _, tickets, _ in self._fresh])
        teams = np.concatenate([teams for _, _, teams in self._fresh])
        log.ended_ms[tickets - 1] = self.now_ms
        flat, whose = self._rows_of(tickets)
        rows = flat.reshape(-1, seats)
        believed = self.ratings.mu[rows]
        team = self.outcomes.teams(teams[whose].reshape(rows.shape), believed)
        keys = log.session[tickets - 1] * GAMES + log.game[tickets - 1]
        held = np.array([len(tickets) for _, tickets, _ in self._fresh])
        lasts_ms = self.behaviour.match_ms(np.minimum.reduceat(keys, np.cumsum(held) - held))
        self.log.matches.add(
            at_ms=np.full(len(number), self.now_ms),
            match=number,
            lasts_ms=lasts_ms,
            players=np.full(len(number), seats),
            **self.outcomes.told(rows, team, believed),
        )
        self.log.seats.add(
            match=np.repeat(number, seats),
            row=flat,
            ticket=tickets[whose],
            team=team.ravel(),
            extra_ms=self.outcomes.extra_ms(rows).ravel(),
        )
        for place, (match, seated, _) in enumerate(self._fresh):
            self._playing[match] = seated, rows[place], team[place]
        self.agenda.add(Kind.ENDS, self.now_ms + lasts_ms, number)
        self._fresh.clear()

    def _failed(self, event: ev.ProposalsFailed) -> None:
        for number in event.proposal.tolist():
            self._proposals.pop(number, None)
        self._gone(event.blamed, End.BLAMED)
        tickets = self.log.tickets
        tickets.end[event.returned - 1] = End.WAITING
        tickets.tried[event.returned - 1] += 1

    def _gone(self, tickets: Array, how: End) -> None:
        log = self.log.tickets
        log.end[tickets - 1] = how
        log.ended_ms[tickets - 1] = self.now_ms
        if len(tickets):
            self._busy[self._rows_of(tickets)[0]] = False

    # -- what people do ----------------------------------------------------------------------------------------------

    def _join(self, keys: Array) -> None:
        requests, joined = [], []
        coming: set[int] = set()
        for place, key in enumerate(keys.tolist()):
            rows = self._party(key // GAMES)
            if key % GAMES == 0 and (self._busy[rows].any() or not coming.isdisjoint(rows.tolist())):
                self.log.skipped += 1
                continue
            coming.update(rows.tolist())
            members = tuple(self._facts.member(row, self.ratings.mu) for row in rows.tolist())
            requests.append(TicketRequest(members, key=self.wire.key(key)))
            joined.append(place)
        if not requests:
            return
        step = self._do(cmd.JoinMany(self.spec.name, tuple(requests)))
        taken: list[int] = []
        for place, outcome in zip(joined, step.outcomes, strict=True):
            if isinstance(outcome, Refusal):
                self.log.refused[outcome.reason.code] = self.log.refused.get(outcome.reason.code, 0) + 1
                self._busy[self._party(int(keys[place]) // GAMES)] = False
            else:
                assert outcome == self.log.tickets.count + len(taken) + 1, "tickets are numbered on"
                taken.append(place)
        if taken:
            self._note(keys[taken])

    def _party(self, session: int) -> Array:
        """The rows of a session's players."""
        rows: Array = (int(self.traffic.first[session]) + np.arange(int(self.traffic.size[session]))) % len(self.people)
        return rows

    def _note(self, keys: Array) -> None:
        """Tickets have joined."""
        log = self.log.tickets
        rows = log.add(len(keys))
        session = keys // GAMES
        log.session[rows], log.game[rows] = session, keys % GAMES
        log.size[rows] = self.traffic.size[session]
        log.joined_ms[rows] = self.now_ms
        tickets = np.arange(rows.start, rows.stop) + 1
        people, whose = self._rows_of(tickets)
        self._busy[people] = True
        size = log.size[rows]
        log.rating[rows] = np.bincount(whose, self.ratings.mu[people], len(keys)) / size
        log.skill[rows] = np.bincount(whose, self.people.skill[people], len(keys)) / size
        log.region[rows] = self.people.region[self.traffic.first[session]]
        self.agenda.add(Kind.GIVES_UP, self.now_ms + self.behaviour.patience_ms(keys), tickets)

    def _give_up(self, tickets: Array) -> None:
        end = self.log.tickets.end[tickets - 1]
        asked = tickets[end == End.PROPOSED]
        if len(asked):  # nobody leaves while a match is at hand; if nothing comes of it, then
            self.agenda.add(Kind.GIVES_UP, np.full(len(asked), self.now_ms + 1_000), asked)
        for ticket in tickets[end == End.WAITING].tolist():
            self._do(cmd.Leave(ticket))

    def _accept(self, codes: Array) -> None:
        self._answer(codes, cmd.Accept)

    def _decline(self, codes: Array) -> None:
        self._answer(codes, cmd.Decline)

    def _answer(self, codes: Array, what: Callable[[int, int], cmd.Command]) -> None:
        for proposal, player in zip((codes // _PLAYERS).tolist(), (codes % _PLAYERS).tolist(), strict=True):
            if proposal in self._proposals:
                self._do(what(proposal, player))

    def _lose(self, codes: Array) -> None:
        for proposal, player in zip((codes // _PLAYERS).tolist(), (codes % _PLAYERS).tolist(), strict=True):
            if proposal in self._proposals:
                tickets, _ = self._proposals[proposal]
                rows, whose = self._rows_of(tickets)
                lost = tickets[whose[rows == player - 1]]
                self._do(cmd.LoseContact(lost))

    def _end(self, matches: Array) -> None:
        """Matches are over."""
        over: list[Array] = []
        try:
            for number in matches.tolist():
                if number in self._playing:
                    over.append(self._result(number))
        finally:  # also if the engine crashed in the middle
            if over:
                self._go_on(np.concatenate(over) - 1)

    def _result(self, match: int) -> Array:
        """Who won, and what that does to ratings; the tickets that were in it."""
        tickets, rows, team = self._playing[match]
        if self.spec.match.runs_s:
            self._do(cmd.EndMatch(match))
        del self._playing[match]
        order, start, rank = self.outcomes.result(match, rows, team)
        after = self._model.updated(self.ratings.take(order), self.games[order], start, rank)
        for mine, new in zip(self.ratings, after, strict=True):
            mine[order] = new
        self.games[order] += 1
        return tickets

    def _go_on(self, places: Array) -> None:
        """Some play on after a while, some leave."""
        log = self.log.tickets
        keys = log.session[places] * GAMES + log.game[places]
        stays = self.behaviour.stays(keys)
        self.agenda.add(Kind.JOINS, self.now_ms + self.behaviour.pause_ms(keys[stays]), keys[stays] + 1)
        leaving = places[~stays] + 1
        if len(leaving):
            self._busy[self._rows_of(leaving)[0]] = False
