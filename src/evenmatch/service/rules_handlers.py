"""What requests about a queue's rules do: values in, an `Answer` out."""

from typing import Any

import msgspec

from evenmatch.domain.refusals import Refusal

from . import rules, wire
from .access import Caller
from .handlers import Answer, problem
from .runner import Runner
from .tasks import carry_out, look_up, refused_or
from .veil import veiled_versions


class RollbackBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which rules a queue is to have again."""

    version: int
    dry_run: bool = False
    why: str = ""
    """The reason, for the audit."""


async def put_spec(
    runner: Runner,
    queue: str,
    body: bytes,
    if_match: str | None,
    dry_run: str | None,
    caller: Caller | None,
    why: str | None = None,
) -> Answer:
    """PUT /v1/queues/{queue}/spec"""
    expected, dry = _version(if_match), _flag("dry_run", dry_run)
    for wrong in (expected, dry):
        if isinstance(wrong, wire.Problem):
            return problem(wrong)
    table = wire.read(dict[str, Any], body)
    if isinstance(table, wire.Problem):
        return problem(table)
    spec = rules.read_rules(queue, table)
    if isinstance(spec, Refusal):
        known = await look_up(runner, lambda views, now_ms: views.queue(queue, now_ms))
        refused: Answer = known if isinstance(known, Answer) else refused_or(spec)
        return refused
    return await _change(runner, queue, spec, expected, caller, why or "", dry_run=bool(dry))  # type: ignore[arg-type]


async def rollback(runner: Runner, queue: str, body: bytes, if_match: str | None, caller: Caller | None) -> Answer:
    """POST /v1/queues/{queue}/rollback"""
    expected = _version(if_match)
    if isinstance(expected, wire.Problem):
        return problem(expected)
    read = wire.read(RollbackBody, body)
    if isinstance(read, wire.Problem):
        return problem(read)
    return await _change(runner, queue, read.version, expected, caller, read.why, dry_run=read.dry_run)


async def _change(
    runner: Runner, queue: str, wanted: Any, expected: int | None, caller: Caller | None, why: str, *, dry_run: bool
) -> Answer:
    view = await carry_out(
        runner, lambda group: rules.change(group, queue, wanted, expected, caller, dry_run=dry_run, why=why)
    )
    if isinstance(view, Answer):
        return view
    etag = (b"etag", f'"{view.previous if dry_run else view.version}"'.encode())
    return Answer(200, msgspec.json.encode({"change": view}), headers=(etag,))


async def get_versions(runner: Runner, queue: str, *, whole: bool) -> Answer:
    """GET /v1/queues/{queue}/versions"""
    view = await look_up(runner, lambda views, _: rules.versions(views, queue))
    if isinstance(view, Answer):
        return view
    shown = view if whole else veiled_versions(view)
    return Answer(200, msgspec.json.encode(shown), headers=((b"etag", f'"{view.version}"'.encode()),))


def _version(text: str | None) -> int | wire.Problem | None:
    """The version that If-Match names, with or without quotes; None = any."""
    if text is None or text.strip() == "*":
        return None
    digits = text.strip().removeprefix('"').removesuffix('"')
    if digits.isascii() and digits.isdigit() and len(digits) <= 15:
        return int(digits)
    return wire.WireReasons.MALFORMED.problem(f'If-Match is {text[:64]!r}: use the version of the rules, such as "3"')


def _flag(name: str, text: str | None) -> bool | wire.Problem:
    if text in (None, "false", "0"):
        return False
    if text in ("true", "1"):
        return True
    return wire.WireReasons.MALFORMED.problem(f"{name} is {str(text)[:64]!r}: use true or false")
