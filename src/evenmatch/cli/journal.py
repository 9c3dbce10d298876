"""evenmatch journal: look into a server's journal, prove it, shorten it."""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from evenmatch import recovery
from evenmatch.domain.match import in_names
from evenmatch.domain.table import Table
from evenmatch.errors import ConfigError, JournalDamaged
from evenmatch.settings import from_environment
from evenmatch.storage.backup import back_up
from evenmatch.storage.copying import copy as copy_rows
from evenmatch.storage.files import is_served
from evenmatch.storage.places import MAIN, in_database, lanes_at, open_store, shown


def show(
    path: str,
    *,
    after: int = 0,
    limit: int = 0,
    lane: str = MAIN,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Print a journal's events, one a line.

    Parameters
    ----------
    path
        The journal: its file, or postgresql://... A running server is not disturbed.
    after
        Leave out events up to this sequence.
    limit
        Print at most so many; 0 = all.
    lane
        Which lane of a database that has several.
    json_lines
        Print every field, as one JSON object a line.
    """
    with open_store(path, lane=lane, read_only=True) as journal:
        shown = 0
        for sequence, event in journal.read(after):
            if limit and shown == limit:
                break
            content = msgspec.to_builtins(event, enc_hook=_plain)
            if json_lines:
                print(json.dumps({"sequence": sequence, **content}, allow_nan=False))
            else:
                print(f"{sequence:>10}  {content.pop('at_ms')}  {content.pop('type'):<17} {_brief(content)}")
            shown += 1
        print(f"{shown} events shown of {journal.oldest} to {journal.last}", file=sys.stderr)
    _say_lane(path, lane)


def _say_lane(place: str, lane: str) -> None:
    """Say that a database has other lanes, which are no part of what was done."""
    others = [name for name in lanes_at(place) if name != lane]
    if others:
        many = f"lane {lane} only; the database has {len(others) + 1}. The others: {', '.join(others)} (--lane NAME)"
        print(f"evenmatch: {many}", file=sys.stderr)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return np.where(np.isnan(value), None, value).tolist()  # type: ignore[call-overload]
        return value.tolist()
    if isinstance(value, Table):
        return [in_names(row, int) for row in value]
    raise TypeError(f"{type(value)} cannot be shown")


def _brief(content: dict[str, Any]) -> str:
    parts = []
    for key, value in content.items():
        if key in ("facts", "keys", "group", "groups", "previous", "blamed_previous", "returned_previous", "team_of"):
            continue
        text = json.dumps(value)
        parts.append(f"{key}={text if len(text) <= 60 else text[:57] + '...'}")
    return " ".join(parts)


def verify(path: str, *, lane: str = MAIN, json_output: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """Replay a journal from its beginning, prove every checkpoint and print the state hash.

    Parameters
    ----------
    path
        The journal: its file, or postgresql://... A running server is not disturbed.
    lane
        Which lane of a database that has several.
    json_output
        Print the result as JSON.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    with (
        open_store(path, lane=lane, read_only=True) as journal,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("replaying event", total=None)
        found = recovery.verify(journal, lambda sequence: progress.update(task, completed=sequence))
    _say_lane(path, lane)
    if json_output:
        print(msgspec.json.encode(found).decode())
        return
    print(f"state hash   {found.hash}")
    print(f"events       {found.events:,} (from sequence {found.first_sequence:,})")
    print(f"checkpoints  {found.checkpoints} proved")
    if found.unrecorded:
        missing = f"{found.unrecorded:,} finished tickets or matches"
        print(f"read tables  {missing} are missing (pruned ones are; in an archive, all are)")


def backup(
    path: str,
    target: Path,
    *,
    lane: str = MAIN,
    prove: bool = True,
    json_output: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Copy a journal to a new file, also while its server runs, and prove the copy.

    Parameters
    ----------
    path
        The journal: its file, or postgresql://... A running server is not disturbed.
    target
        The copy: a new file. Keys are not in it.
    lane
        Which lane of a database that has several.
    prove
        Replay the copy and prove its checkpoints, as `journal verify` does.
    json_output
        Print the result as JSON.
    """
    last = back_up(path, target, lane)
    found = None
    if prove:
        with open_store(str(target), read_only=True) as journal:
            found = recovery.verify(journal)
    _say_lane(path, lane)
    if json_output:
        told = {"sequence": last, "bytes": target.stat().st_size, "hash": None if found is None else found.hash}
        print(json.dumps(told))
        return
    print(f"backup       {target}: everything up to sequence {last:,}, {target.stat().st_size:,} bytes")
    print(f"state hash   {found.hash}" if found is not None else "not proved   evenmatch journal verify does it")


def copy(
    source: str, target: str, /, *, lane: str = MAIN, json_output: Annotated[bool, Parameter(name="--json")] = False
) -> None:
    """Copy a journal from a file into PostgreSQL, or back, and prove that both give the same state hash.

    Parameters
    ----------
    source
        The journal: its file, or postgresql://... A running server is not disturbed; what comes later is not copied.
    target
        Where it goes: a new file, or a database without a journal.
    lane
        Which lane of a source that has several; it becomes the target's only one.
    json_output
        Print the result as JSON.
    """
    if in_database(target):
        settings = from_environment(os.environ)
        with (
            open_store(source, lane=lane, read_only=True) as journal,
            open_store(target, cluster=settings.cluster) as opened,
        ):
            last = copy_rows(journal, opened).last
    else:
        last = back_up(source, Path(target), lane)
    with open_store(source, lane=lane, read_only=True) as journal, open_store(target, read_only=True) as opened:
        before, after = recovery.hash_at(journal, last), recovery.verify(opened).hash
    if before != after:
        raise JournalDamaged(
            f"{shown(target)} gives the state hash {after}, and {shown(source)} {before}: do not use it"
        )
    _say_lane(source, lane)
    if not in_database(source) and is_served(Path(source)):
        print(f"evenmatch: {source} is being served: what comes after sequence {last:,} is not copied", file=sys.stderr)
    if json_output:
        print(json.dumps({"sequence": last, "hash": after}))
        return
    print(f"copied       everything up to sequence {last:,} to {shown(target)}")
    print(f"state hash   {after}, the same as {shown(source)}")


def archive(path: str, target: Path, *, lane: str = MAIN) -> None:
    """Move events that no restart needs any more into a file of their own.

    Parameters
    ----------
    path
        The journal: its file, or postgresql://... A server may be running on it.
    target
        The archive's file: new, or the one an earlier archive of this journal went to.
    lane
        Which lane of a database that has several.
    """
    with open_store(path, lane=lane, own=False) as journal:
        moved = journal.archive(target)
    _say_lane(path, lane)
    print(f"{moved:,} events moved to {target}" if moved else "nothing to move: no checkpoint has events behind it")


def prune(
    path: str,
    *,
    older_than: str,
    lane: str = MAIN,
    json_output: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Drop the records of finished tickets and matches that are older; events, results and ratings stay.

    Parameters
    ----------
    path
        The journal: its file, or postgresql://... A server may be running on it.
    older_than
        How old, by when they joined or were made: 90d, or 36h; an hour or more.
    lane
        Which lane of a database that has several.
    json_output
        Print the result as JSON.
    """
    before_ms = round((time.time() - _seconds(older_than)) * 1000)
    with open_store(path, lane=lane, own=False) as journal:
        gone = journal.prune(before_ms)
    _say_lane(path, lane)
    if json_output:
        print(msgspec.json.encode(gone).decode())
        return
    print(f"{gone.tickets:,} tickets and {gone.matches:,} matches older than {older_than} are gone")


def _seconds(age: str) -> int:
    """How long an age is, such as 90d."""
    found = re.fullmatch(r"([0-9]{1,5})([dh])", age.strip())
    seconds = int(found[1]) * {"d": 86_400, "h": 3_600}[found[2]] if found else 0
    if not seconds:
        raise ConfigError(f"--older-than {age[:40]!r} is not an age: use days or hours, such as 90d or 36h")
    return seconds
