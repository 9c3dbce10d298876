"""The audit's read table in an SQLite journal: what operators did, to be looked up without reading all events.

The events are the truth; the rows are written in the same commit and stay when old events are moved to an archive.
"""

import sqlite3
from pathlib import Path
from typing import Any, Final

import msgspec

from evenmatch.errors import JournalDamaged

from .transactions import said_clearly

AUDIT_TABLE: Final = "CREATE TABLE IF NOT EXISTS audit (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"
"""As in journal.sql; older files do not have it."""


def audited(db: sqlite3.Connection, path: Path, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
    """Operators' actions after a sequence, oldest first; none where an older file has no table for them."""
    with said_clearly(path):
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit'").fetchone():
            return []
        rows = db.execute(
            "SELECT sequence, body FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?", (after, limit)
        ).fetchall()
    try:
        return [(sequence, msgspec.json.decode(body, type=dict[str, Any])) for sequence, body in rows]
    except (msgspec.DecodeError, TypeError) as error:
        raise JournalDamaged(f"{path} is damaged: the audit cannot be read ({error})") from error
