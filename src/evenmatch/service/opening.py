"""Opening queues at a start: whose rules count, the file's or those that an operator gave since.

queues.toml counts when it says something new: a file that says what it said when it was last applied does not undo what
an operator changed since.

    rules in force     the file now says       at a restart
    from the file      anything                the file's rules
    from an operator   what it said before     the operator's rules stay
    from an operator   something else          the file's rules: whoever wrote it came later
"""

import os

import msgspec
import structlog

from evenmatch import config
from evenmatch.core.engine import Engine, Step
from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import first_number
from evenmatch.domain.queue import DoorSpec, QueueSpec
from evenmatch.storage.protocol import Journal

from .signing import lacking

log = structlog.get_logger("evenmatch.rules")


def open_queues(engine: Engine, journal: Journal, specs: tuple[QueueSpec, ...], now_ms: int) -> list[Step]:
    """Open the queues of the file, and leave alone what an operator changed since the file was last applied."""
    steps = []
    if not engine.state.sequence and (journal.lane > 1 or (journal.shared and not specs)):  # others wait for an event
        steps.append(engine.step(cmd.BeginNumbers(*[first_number(journal.lane)] * 2), now_ms))
    for queue in tuple(engine.state.by_index):
        if not journal.openings(queue.spec.name):  # an older journal: what it has came from a file
            steps.append(engine.step(cmd.OpenQueue(queue.spec, anew=True), now_ms))
    steps += [engine.step(_opening(engine, journal, spec), now_ms) for spec in specs]
    for queue in engine.state.by_index:  # those of the file were refused; an operator's are in the journal already
        missing = lacking(os.environ, queue.spec)
        if missing is not None:
            log.warning("a queue's matches will get no game server", queue=queue.spec.name, why=missing)
    return steps


def _opening(engine: Engine, journal: Journal, spec: QueueSpec) -> cmd.OpenQueue:
    given = journal.openings(spec.name)
    if not given or given[-1].source != "operator":
        return cmd.OpenQueue(spec)
    filed = [opening.spec for opening in given if opening.source == "file"]
    if not filed or not _alike(filed[-1], spec):
        log.warning("queues.toml has changed and replaces an operator's rules", queue=spec.name)
        return cmd.OpenQueue(spec, anew=True)
    present = engine.state.queues[spec.name].spec
    if not _alike(present, spec):
        log.info("an operator's rules stay: queues.toml is as it was", queue=spec.name, version=given[-1].version)
    return cmd.OpenQueue(config.with_door(present), source="operator")


def _alike(one: QueueSpec, other: QueueSpec) -> bool:
    """Do two specs say the same, whatever their matchers ask for in this version of the program?"""
    return _plain(one) == _plain(other)


def _plain(spec: QueueSpec) -> QueueSpec:
    doorless = msgspec.structs.replace(spec, door=DoorSpec())
    return msgspec.convert(msgspec.to_builtins(doorless), QueueSpec)
