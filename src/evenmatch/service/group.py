"""The orders of one commit: carried out one after the other, answered together after it."""

import math
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from evenmatch.core.engine import Step
from evenmatch.domain import commands as cmd
from evenmatch.domain.effects import RunMatcher
from evenmatch.domain.events import Event, TicketsJoined
from evenmatch.domain.refusals import Refusal
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.errors import (
    JournalBusy,
    JournalDamaged,
    JournalEdited,
    JournalError,
    JournalNewer,
    JournalStale,
    JournalUnavailable,
    JournalUnsure,
)
from evenmatch.storage.erasing import Erasure
from evenmatch.storage.outbox import Letter

from .bodies import Player, facts_and_traits
from .mailbox import (
    CommandOrder,
    Joined,
    JoinEntry,
    JoinOrder,
    NamedOrder,
    Order,
    OutcomeOrder,
    Question,
    TaskOrder,
    Unavailable,
    WaveOrder,
)
from .rating_door import at_the_door

if TYPE_CHECKING:
    from .owner import Owner

log = structlog.get_logger("evenmatch.runner")

DATABASE_FAILS = "the database cannot be used"
FAILED = Unavailable("internal_error", "the server made a mistake with this request; nothing was changed", 500)


def unavailable(error: JournalError) -> Unavailable:
    """The answer to an order that the journal could not take."""
    said = str(error)
    if "://" in said:  # where a database is, and under which user, is for the log only
        said = "the journal's database cannot be used now"
    if isinstance(error, JournalUnsure):
        return Unavailable("journal_unavailable", f"it is not known if this was carried out, ask again: {said}")
    return Unavailable("journal_unavailable", f"nothing was changed: {said}")


def in_words(error: JournalError) -> str:
    """What an error comes to, for anybody: where a journal is, and what a database says, is for the log only."""
    if "://" not in str(error):
        return str(error)
    match error:
        case JournalEdited():
            return error.why
        case JournalUnavailable():
            return DATABASE_FAILS
        case JournalStale() | JournalBusy():
            return "the journal has another owner"
        case JournalNewer():
            return "a newer evenmatch wrote the journal: upgrade this one"
        case JournalDamaged():
            return "the journal is damaged; the log has more"
    return "the journal cannot be used; the log has more"


def side_by_side(orders: list[Order]) -> Iterable[list[Any]]:
    """Orders one by one, but neighbouring joins to the same queue together."""
    run: list[JoinOrder] = []
    for order in orders:
        if isinstance(order, JoinOrder):
            if run and run[0].queue != order.queue:
                yield run
                run = []
            run.append(order)
            continue
        if run:
            yield run
            run = []
        yield [order]
    if run:
        yield run


def _request(entry: JoinEntry, numbers: dict[str, int]) -> TicketRequest:
    """What somebody wants, with players by number."""
    members = []
    for player in entry.body.players:
        ping_ms = math.nan if player.ping_ms is None else player.ping_ms
        members.append(Member(numbers[player.id], player.rating, ping_ms, *facts_and_traits(player)))
    avoid = tuple([numbers[name] for name in entry.body.avoid]) if entry.body.avoid else ()
    will = None if entry.body.backfill is msgspec.UNSET else entry.body.backfill
    return TicketRequest(tuple(members), entry.body.attributes, entry.key, entry.fingerprint, avoid, will)


def _named(entry: JoinEntry) -> list[str]:
    """All whom a ticket names: its players, and those it avoids."""
    names = [player.id for player in entry.body.players]
    return [*names, *entry.body.avoid] if entry.body.avoid else names


class Group:
    """The orders of one commit, and what they led to."""

    def __init__(self, runner: "Owner", now_ms: int) -> None:
        self.runner = runner
        self.now_ms = now_ms
        self.events: list[Event] = []
        self.effects: list[RunMatcher] = []
        self.departures: list[Step] = []
        self.attributes: list[tuple[int, dict[str, Any]]] = []
        self.joined_players: list[int] = []
        self.erasures: list[Erasure] = []
        self.letters: list[Letter] = []
        """Requests for game servers, as they stand after this commit."""
        self.rest: list[WaveOrder] = []
        """Parts of large waves that come after whatever waits by now."""
        self._answers: list[tuple[Order, Any]] = []
        self._questions: list[Question] = []

    def take(self, step: Step) -> Step:
        """Note what a step led to."""
        self.events += step.events
        self.effects += step.effects
        if step.departures:
            self.departures.append(step)
        return step

    def step(self, run: list[Order]) -> None:
        """Carry out one order, or neighbouring joins at once."""
        order = run[0]
        match order:
            case JoinOrder():
                self._join([other for other in run if isinstance(other, JoinOrder)])
            case Question():
                self._questions.append(order)
            case CommandOrder():
                number = 0
                if order.player is not None:
                    number = self.runner.directory.known([order.player]).get(order.player, 0)
                self._answers.append((order, self._command(order, order.make(number))))
            case NamedOrder():
                numbers = self.runner.directory.numbers(list(order.names))
                step = self.take(self.runner.engine.step(order.make(numbers), self.now_ms))
                if step.refusal is None:
                    self.joined_players += numbers.values()
                self._answers.append((order, step.refusal))
            case TaskOrder():
                self._answers.append((order, order.work(self)))
            case WaveOrder():
                if order.engine is self.runner.engine:
                    if isinstance(order.command, cmd.FinishWave):
                        self.runner.plan_words.note(order.command)
                    rest = self.take(self.runner.engine.step(order.command, self.now_ms)).rest
                    if rest is not None:
                        self.rest.append(WaveOrder(rest, order.engine))
            case OutcomeOrder():
                pass  # what it brings is taken by the commit itself

    def _command(self, order: CommandOrder, command: cmd.Command | Refusal) -> Refusal | None:
        if isinstance(command, Refusal):
            return command
        step = self.take(self.runner.engine.step(command, self.now_ms))
        if step.refusal is not None:
            return step.refusal
        if order.audit is not None:
            self.take(self.runner.engine.step(order.audit, self.now_ms))
        if order.attributes is not None and isinstance(command, cmd.UpdateTicket):
            self.attributes.append((command.ticket, order.attributes))
        return None

    def _join(self, orders: list[JoinOrder]) -> None:
        engine, queue = self.runner.engine, orders[0].queue
        entries = [entry for order in orders for entry in order.entries]
        requests: tuple[TicketRequest, ...] = ()
        if queue in engine.state.queues:
            numbers = self.runner.directory.numbers([name for entry in entries for name in _named(entry)])
            requests = tuple([_request(entry, numbers) for entry in entries])
            requests = at_the_door(self.runner.book, engine.state.queues[queue].spec, entries, requests)
        step = self.take(engine.step(cmd.JoinMany(queue, requests), self.now_ms))
        if step.refusal is not None:
            self._answers += [(order, step.refusal) for order in orders]
            return
        for event in step.events:
            if isinstance(event, TicketsJoined):
                self.joined_players += event.player.tolist()
                self.joined_players += event.avoid[:, 1].tolist()
        keys, keeps = engine.state.keys, engine.state.queues[queue].spec.door.keeps
        place = 0
        for order in orders:
            outcomes: list[tuple[int, int] | Refusal] = []
            for entry in order.entries:
                outcome = step.outcomes[place]
                place += 1
                if isinstance(outcome, Refusal):
                    outcomes.append(outcome)
                    continue
                outcomes.append((outcome, keys[entry.key][2] if entry.key else self.now_ms))
                if entry.body.attributes:
                    self.attributes.append((outcome, entry.body.attributes))
            self._answers.append((order, Joined(outcomes, self._as_rated(queue, outcomes), keeps)))

    def _as_rated(self, queue: str, outcomes: list[tuple[int, int] | Refusal]) -> dict[int, list[Player]]:
        """The players of tickets with the ratings they wait with, where those are ours and not the ticket's."""
        if self.runner.engine.state.queues[queue].spec.rating is None:
            return {}
        numbers = [outcome[0] for outcome in outcomes if not isinstance(outcome, Refusal)]
        return {number: told for number in numbers if (told := self.runner.views.players(number, self.now_ms))}

    def answers(self) -> list[tuple[Order, Any]]:
        """All replies that were not given yet; to be called after the commit, for questions are answered here."""
        return self._answers + [(question, self._answer(question)) for question in self._questions]

    def answers_to(self, requests: Container[str]) -> list[tuple[Order, Any]]:
        """The replies to the orders of these requests, ahead of the commit: see `inbox`."""
        early = [pair for pair in self._answers if pair[0].request is not None and pair[0].request.id in requests]
        self._answers = [
            pair for pair in self._answers if pair[0].request is None or pair[0].request.id not in requests
        ]
        asked = [one for one in self._questions if one.request is not None and one.request.id in requests]
        self._questions = [one for one in self._questions if one not in asked]
        return early + [(question, self._answer(question)) for question in asked]

    def _answer(self, question: Question) -> Any:
        try:
            return question.ask(self.runner.views, self.now_ms)
        except JournalError as error:
            return unavailable(error)
        except Exception:
            log.exception("a question failed")
            return FAILED
