"""Queues that are split, as the database knows them: workers say it by their files, every node reads it.

A file speaks for the queues that it names, and for no others. If two files say different things, the one that was read
last counts; tickets stay where they are, so a split may change while its shards have some.
"""

from collections.abc import Collection, Mapping

import msgspec

from evenmatch.domain.shards import Split
from evenmatch.errors import JournalDamaged

from .postgres_line import Db, Line


def declare(line: Line, splits: Mapping[str, Split], whole: Collection[str]) -> dict[str, tuple[str, str]]:
    """Write down how queues are split, and that those of `whole` are not: what it changed, as (before, now)."""
    with line.transaction() as db:
        db.execute("LOCK TABLE shards IN SHARE ROW EXCLUSIVE MODE")
        before = _bodies(db)
        now = {queue: msgspec.json.encode(split).decode() for queue, split in splits.items()}
        for queue in before:
            if queue in whole:
                db.execute("DELETE FROM shards WHERE queue = %s", (queue,))
        for queue, body in now.items():
            if before.get(queue) != body:
                db.execute(
                    "INSERT INTO shards (queue, body) VALUES (%s, %s)"
                    " ON CONFLICT (queue) DO UPDATE SET body = excluded.body",
                    (queue, body),
                )
    touched = [*now, *(queue for queue in before if queue in whole)]
    found = {queue: (before.get(queue, ""), now.get(queue, "")) for queue in touched}
    return {queue: (was, will) for queue, (was, will) in found.items() if was != will}


def declared(line: Line) -> dict[str, Split]:
    """Queue -> how it is split."""
    with line.use() as db:
        bodies = _bodies(db)
    found = {}
    for queue, body in bodies.items():
        try:
            found[queue] = msgspec.json.decode(body, type=Split)
        except msgspec.MsgspecError as error:
            raise JournalDamaged(
                f"{line.name}: the table shards says of {queue!r} what no worker wrote ({error}): "
                "start a worker with its queues.toml again, which writes it anew"
            ) from None
    return found


def _bodies(db: Db) -> dict[str, str]:
    return dict(db.execute("SELECT queue, body FROM shards ORDER BY queue").fetchall())
