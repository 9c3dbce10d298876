"""Dead letters: requests for game servers that nobody answered. Operators see them, and send them once more."""

import functools
from typing import Any

import msgspec

from evenmatch.domain.ids import number_of
from evenmatch.domain.refusals import Reasons
from evenmatch.storage.outbox import Letter

from . import letters, wire
from .access import Caller
from .handlers import Answer, problem, turned_away, unknown
from .letters import LETTER_PREFIX
from .mailbox import TaskOrder, Unavailable
from .operators import noted
from .runner import Runner


class DeadLetterView(msgspec.Struct, frozen=True):
    """A request for a game server that was given up."""

    id: str
    """What the receiver knows it by (Evenmatch-Id)."""
    match: str
    queue: str
    made_ms: int
    """When the match was made, or to start."""
    tried_ms: int
    """When it was last sent."""
    attempts: int
    why: str
    """What was wrong the last time."""


class DeadLettersAnswer(msgspec.Struct, frozen=True):
    """All dead letters, oldest match first."""

    deadletters: list[DeadLetterView]


async def get_deadletters(runner: Runner) -> Answer:
    """GET /v1/deadletters"""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    found: list[Letter] | Unavailable = await runner.ask(lambda views, _: views.journal.letters("dead"))
    if isinstance(found, Unavailable):
        return problem(wire.problem_of(found))
    views = [DeadLetterView(**letters.told(letter)) for letter in found]
    return Answer(200, msgspec.json.encode(DeadLettersAnswer(views)))


async def retry(runner: Runner, letter: str, caller: Caller | None) -> Answer:
    """POST /v1/deadletters/{id}/retry"""
    number = number_of(LETTER_PREFIX, letter)
    if number is None:
        return unknown(Reasons.UNKNOWN_DEADLETTER, "dead letter", letter)
    busy = turned_away(runner)
    if busy is not None:
        return busy
    reply = runner.reply()
    note = noted(caller, "retry_deadletter", letter)
    runner.put(TaskOrder(functools.partial(letters.revive, match=number, note=note), reply))
    answer: Any = await reply
    return Answer(204) if answer is None else problem(wire.problem_of(answer))
