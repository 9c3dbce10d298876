"""evenmatch journal: look into a server's journal, prove it, shorten it."""

import json
import sys
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
from evenmatch.storage.backup import back_up
from evenmatch.storage.sqlite import SqliteJournal


def show(
    path: Path, *, after: int = 0, limit: int = 0, json_lines: Annotated[bool, Parameter(name="--json")] = False
) -> None:
    """Print a journal's events, one a line.

    Parameters
    ----------
    path
        The journal's file. A running server is not disturbed.
    after
        Leave out events up to this sequence.
    limit
        Print at most so many; 0 = all.
    json_lines
        Print every field, as one JSON object a line.
    """
    with SqliteJournal(path, read_only=True) as journal:
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


def verify(path: Path, *, json_output: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """Replay a journal from its beginning, prove every checkpoint and print the state hash.

    Parameters
    ----------
    path
        The journal's file. A running server is not disturbed.
    json_output
        Print the result as JSON.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    with (
        SqliteJournal(path, read_only=True) as journal,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("replaying event", total=None)
        found = recovery.verify(journal, lambda sequence: progress.update(task, completed=sequence))
    if json_output:
        print(msgspec.json.encode(found).decode())
        return
    print(f"state hash   {found.hash}")
    print(f"events       {found.events:,} (from sequence {found.first_sequence:,})")
    print(f"checkpoints  {found.checkpoints} proved")
    if found.unrecorded:
        print(f"read tables  {found.unrecorded:,} finished tickets or matches are missing (in an archive, all are)")


def backup(
    path: Path, target: Path, *, prove: bool = True, json_output: Annotated[bool, Parameter(name="--json")] = False
) -> None:
    """Copy a journal to a new file, also while its server runs, and prove the copy.

    Parameters
    ----------
    path
        The journal's file. A running server is not disturbed.
    target
        The copy: a new file. Keys are not in it.
    prove
        Replay the copy and prove its checkpoints, as `journal verify` does.
    json_output
        Print the result as JSON.
    """
    last = back_up(path, target)
    found = None
    if prove:
        with SqliteJournal(target, read_only=True) as journal:
            found = recovery.verify(journal)
    if json_output:
        told = {"sequence": last, "bytes": target.stat().st_size, "hash": None if found is None else found.hash}
        print(json.dumps(told))
        return
    print(f"backup       {target}: everything up to sequence {last:,}, {target.stat().st_size:,} bytes")
    print(f"state hash   {found.hash}" if found is not None else "not proved   evenmatch journal verify does it")


def archive(path: Path, target: Path) -> None:
    """Move events that no restart needs any more into a file of their own.

    Parameters
    ----------
    path
        The journal's file. A server may be running on it.
    target
        The archive's file: new, or the one an earlier archive of this journal went to.
    """
    with SqliteJournal(path, own=False) as journal:
        moved = journal.archive(target)
    print(f"{moved:,} events moved to {target}" if moved else "nothing to move: no checkpoint has events behind it")
