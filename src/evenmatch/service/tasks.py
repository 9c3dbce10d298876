"""Carrying out something that takes more than one command, in the engine thread and in one commit."""

from collections.abc import Callable
from typing import Any

from evenmatch.domain import commands as cmd
from evenmatch.domain.refusals import Refusal

from . import wire
from .group import Group
from .handlers import problem, turned_away
from .mailbox import TaskOrder, Unavailable
from .runner import Runner


async def carry_out(runner: Runner, work: Callable[[Group], Any]) -> Any:
    """What `work` gives, once it is durable; an `Answer` where it is refused."""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    reply = runner.reply()
    runner.put(TaskOrder(work, reply))
    return refused_or(await reply)


async def look_up(runner: Runner, ask: Callable[..., Any]) -> Any:
    """What committed state says; an `Answer` where it is refused."""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    return refused_or(await runner.ask(ask))


def refused_or(found: Any) -> Any:
    """The answer for a refusal; anything else as it is."""
    return problem(wire.problem_of(found)) if isinstance(found, Refusal | Unavailable) else found


def note(group: Group, entry: cmd.NoteAction | None) -> None:
    """Enter an operator's action into the audit, in the same commit."""
    if entry is not None:
        group.take(group.runner.engine.step(entry, group.now_ms))
