"""A queue's rules while it runs: changed by an operator, taken back, and looked at.

Every change is an event with a version, and the journal keeps the rules of every version. What a restart makes of them
is said in `opening`.
"""

import math
import os
from typing import Any

import msgspec
import structlog

from evenmatch import config
from evenmatch.core.decide import decide
from evenmatch.core.joining import unknown_queue
from evenmatch.domain import commands as cmd
from evenmatch.domain.events import TicketsGone
from evenmatch.domain.queue import QueueSpec
from evenmatch.domain.rating import ladders_at_odds
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.errors import ConfigError
from evenmatch.matchers.registry import MATCHERS, in_force
from evenmatch.storage.protocol import Journal

from .access import Caller
from .group import Group
from .operators import because, noted
from .signing import lacking
from .views import Views

log = structlog.get_logger("evenmatch.rules")


class RuleChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule that differs."""

    key: str
    """As in queues.toml, such as wave.every_s."""
    before: Any
    """null: it was not there."""
    after: Any
    """null: it is not there any more."""
    default: Any = None
    """What counts on the side where it is not there: the matcher's default; left out where it has none."""


class ChangeView(msgspec.Struct, frozen=True):
    """What a change of rules does, or would do."""

    queue: str
    version: int
    """The version in force after it."""
    previous: int
    """The version before; the same where nothing changes."""
    dry_run: bool
    changes: list[RuleChange]
    cancelled: int
    """Waiting tickets that could not have joined under the new rules, and so have to go."""


class VersionView(msgspec.Struct, frozen=True):
    """The rules of one version."""

    version: int
    at_ms: int
    source: str
    """file or operator"""
    rules: dict[str, Any]
    """As in queues.toml; a body for PUT /v1/queues/{queue}/spec."""
    changes: list[RuleChange]
    """Against the version before it that is kept."""


class VersionsView(msgspec.Struct, frozen=True):
    """The versions of a queue's rules, oldest first."""

    queue: str
    version: int
    """The one in force."""
    versions: list[VersionView]


def read_rules(queue: str, table: dict[str, Any]) -> QueueSpec | Refusal:
    """A queue's rules as a request brings them, read as queues.toml is."""
    matcher = table.get("matcher")
    if isinstance(matcher, dict) and set(matcher) == {"name", "parameters"} and isinstance(matcher["parameters"], dict):
        table = table | {"matcher": {"name": matcher["name"], **matcher["parameters"]}}  # as GET shows it
    try:
        return config.of_table(queue, table)
    except ConfigError as error:
        return Refusal(Reasons.BAD_SPEC, str(error))


def change(
    group: Group,
    name: str,
    wanted: QueueSpec | int,
    expected: int | None,
    caller: Caller | None,
    *,
    dry_run: bool,
    why: str = "",
) -> ChangeView | Refusal:
    """Give a queue these rules, or those of a version it had; in the engine thread. `why` goes into the audit."""
    engine = group.runner.engine
    queue = engine.state.queues.get(name)
    if queue is None:
        return unknown_queue(engine.state, name)
    if expected is not None and expected != queue.version:
        return Refusal(
            Reasons.WRONG_VERSION, f"{name} has version {queue.version} of its rules, not {expected}: look at it again"
        )
    spec = _of_version(group.runner.journal, name, wanted) if isinstance(wanted, int) else wanted
    if isinstance(spec, Refusal):
        return spec
    missing = lacking(os.environ, spec)
    if missing is not None:
        return Refusal(Reasons.BAD_SPEC, missing)
    others = [(other.spec.name, other.spec.rating) for other in engine.state.by_index if other is not queue]
    rated = [(told, rating) for told, rating in [*others, (name, spec.rating)] if rating is not None]
    at_odds = [f"{told}.rating.{field}: {what}" for told, field, what in ladders_at_odds(rated) if told == name]
    if at_odds:
        return Refusal(Reasons.BAD_SPEC, "; ".join(at_odds))
    command = cmd.OpenQueue(spec, source="operator")
    decision = decide(engine.state, command, group.now_ms)
    if isinstance(decision, Refusal):
        return decision
    gone = sum(len(event.ticket) for event in decision.events if isinstance(event, TicketsGone))
    previous, changes = queue.version, differences(config.table_of(queue.spec), config.table_of(spec))
    version = previous + 1 if decision.events else previous
    if decision.events and not dry_run:
        group.take(engine.step(command, group.now_ms))
        action = "change_rules" if isinstance(wanted, QueueSpec) else f"rollback to {wanted}"
        said = f"version {version}: " + "; ".join(map(_told, changes))
        note = noted(caller, action, name, because(why, said))
        if note is not None:
            group.take(engine.step(note, group.now_ms))
        log.info("rules changed", queue=name, version=version, changes=len(changes), cancelled=gone)
    return ChangeView(name, version, previous, dry_run, changes, gone)


def _told(one: RuleChange) -> str:
    return f"{one.key} {_shown(one.before, one.default)} -> {_shown(one.after, one.default)}"


def _shown(value: Any, default: Any) -> str:
    if value is None:
        return "none" if default is None else f"{_shown(default, None)} (default)"
    return msgspec.json.encode(value).decode()


def _of_version(journal: Journal, name: str, version: int) -> QueueSpec | Refusal:
    given = {opening.version: opening.spec for opening in journal.openings(name)}
    if version not in given:
        kept = f"{min(given)} to {max(given)}" if given else "none"
        return Refusal(Reasons.UNKNOWN_VERSION, f"{name} has no version {version}; kept versions: {kept}")
    return config.with_door(given[version])


def versions(views: Views, name: str) -> VersionsView | Refusal:
    """The rules that a queue has had."""
    queue = views.engine.state.queues.get(name)
    if queue is None:
        return unknown_queue(views.engine.state, name)
    told: list[VersionView] = []
    before: dict[str, Any] | None = None
    for opening in views.journal.openings(name):
        table = config.table_of(opening.spec)
        changes = [] if before is None else differences(before, table)
        told.append(VersionView(opening.version, opening.at_ms, opening.source, table, changes))
        before = table
    return VersionsView(name, queue.version, told)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[RuleChange]:
    """The rules that differ between two tables, by key."""
    old, new = _flat(before), _flat(after)
    changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    found = [RuleChange(key, old.get(key), new.get(key)) for key in changed]
    return [
        msgspec.structs.replace(one, default=_default(before if one.before is None else after, one.key))
        if None in (one.before, one.after)
        else one
        for one in found
    ]


def _default(table: dict[str, Any], key: str) -> Any:
    """What counts by these rules for a matcher's parameter that they do not name."""
    part, _, parameter = key.partition(".")
    given = dict(table.get("matcher", {})) if part == "matcher" else {}
    name = str(given.pop("name", ""))
    found = in_force(name, given).get(parameter) if name in MATCHERS else None
    return "inf" if found == math.inf else found  # JSON has no number without end


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
