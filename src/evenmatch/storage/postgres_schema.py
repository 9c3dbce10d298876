"""The tables in PostgreSQL: numbered migrations, safe to run while an older version serves.

1. A migration is a file, migrations/NNNN_name.sql, applied once, in order, each in a transaction of its own. One
   process at a time applies them; one that has to wait for a table gives up soon, for others would wait behind it.
2. Each says in its first line which programs can go on beside it: `-- needs: N`, the number of the newest migration
   that a program must know. Migrations add; one that takes away needs the program that no longer asks for it.
3. A database that says it needs more than this program knows, or that is another cluster's, is left as it is.
"""

import re
from importlib import resources
from typing import Final, NamedTuple

import psycopg

from evenmatch.errors import JournalError, JournalForeign, JournalNewer, JournalUnavailable

from .codec import SCHEMA
from .postgres_line import SCHEMA_NAME, Db

_FILE: Final = re.compile(r"(\d{4})_(\w+)\.sql")
_NEEDS: Final = re.compile(r"-- needs: (\d+)\n")
_LOCK: Final = 0x65766D31  # "evm1": one process migrates at a time
_PATIENCE_S: Final = 5


class Migration(NamedTuple):
    """One step of the tables' history."""

    number: int
    name: str
    needs: int
    """Programs that know this migration, or a later one, work with the tables from here on."""
    script: str


def migrations() -> list[Migration]:
    """All that this program knows, in order."""
    found = []
    for file in sorted(resources.files(__package__).joinpath("migrations").iterdir(), key=lambda file: file.name):
        named = _FILE.fullmatch(file.name)
        if named is not None:
            script = file.read_text("utf-8")
            needs = _NEEDS.match(script)
            assert needs is not None, f"{file.name} does not say what it needs"
            found.append(Migration(int(named[1]), named[2], int(needs[1]), script))
    assert [step.number for step in found] == list(range(1, len(found) + 1))
    return found


def prepare(db: Db, name: str, cluster: str) -> None:
    """Bring the tables up to what this program knows, and see that they are ours."""
    known = migrations()
    if not _there(db, name):
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not _exists(db, "migrations"):
                db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}".encode())
                db.execute(
                    "CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL, needs integer NOT NULL,"
                    " at timestamptz NOT NULL DEFAULT clock_timestamp())"
                )
    _refuse_newer(db, name, known)
    if _cluster_known(db):
        _refuse_other(db, name, cluster)
    for step in known:
        _apply(db, name, step, cluster)
    _refuse_other(db, name, cluster)
    db.execute("UPDATE cluster SET codec = %s WHERE codec < %s", (SCHEMA, SCHEMA))


def look(db: Db, name: str) -> None:
    """See that the tables are there and that this program can read them; change nothing."""
    if not _there(db, name):
        raise JournalForeign(f"{name} has no journal: there is no schema {SCHEMA_NAME} in it")
    known = migrations()
    _refuse_newer(db, name, known)
    row = db.execute("SELECT count(*) FROM migrations").fetchone()
    if row is None or row[0] < len(known) or not _cluster_known(db):
        raise JournalError(
            f"{name} was made by an older evenmatch (migration {row[0] if row else 0} of {len(known)}): "
            "start a server of this version on it once, which brings it up to date"
        )


def _apply(db: Db, name: str, step: Migration, cluster: str) -> None:
    done = "SELECT 1 FROM migrations WHERE number = %s"
    if db.execute(done, (step.number,)).fetchone():
        return
    try:
        with db.transaction():
            db.execute(f"SET LOCAL lock_timeout = '{_PATIENCE_S}s'".encode())
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if db.execute(done, (step.number,)).fetchone():
                return
            db.execute(step.script.encode())
            if step.number == 1:
                db.execute("INSERT INTO cluster (name, codec) VALUES (%s, %s)", (cluster, SCHEMA))
            db.execute("INSERT INTO migrations (number, name, needs) VALUES (%s, %s, %s)", step[:3])
    except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateColumn, psycopg.errors.DuplicateObject) as error:
        raise JournalForeign(
            f"{name}: migration {step.number} ({step.name}) was carried out already, but the table migrations does not "
            "say so: somebody edited it. Restore it from a backup; nothing was changed"
        ) from error
    except psycopg.errors.LockNotAvailable as error:
        raise JournalUnavailable(
            f"{name}: migration {step.number} ({step.name}) had to wait too long for others; "
            "nothing was changed, try again"
        ) from error


def _there(db: Db, name: str) -> bool:
    """Are our tables there? A schema of our name that holds something else is somebody else's."""
    held = db.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'v', 'm', 'p')",
        (SCHEMA_NAME,),
    ).fetchall()
    if held and ("migrations",) not in held:
        raise JournalForeign(
            f"{name} has a schema {SCHEMA_NAME} that is not evenmatch's (it holds {held[0][0]}): use another database"
        )
    if held and db.execute("SELECT has_schema_privilege(%s, 'USAGE')", (SCHEMA_NAME,)).fetchone() == (False,):
        raise JournalUnavailable(f"{name}: the user has too few rights. Let it own the schema {SCHEMA_NAME}")
    return bool(held)


def _exists(db: Db, table: str) -> bool:
    row = db.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA_NAME}.{table}",)).fetchone()
    return bool(row and row[0])


def _refuse_newer(db: Db, name: str, known: list[Migration]) -> None:
    row = db.execute("SELECT coalesce(max(number), 0), coalesce(max(needs), 0) FROM migrations").fetchone()
    assert row is not None
    if row[1] > len(known):
        raise JournalNewer(
            f"{name} has the tables of a newer evenmatch (migration {row[0]}, for programs that know {row[1]}; "
            f"this one knows {len(known)}): upgrade. It was left as it is"
        )
    if _exists(db, "cluster"):
        codec = db.execute("SELECT codec FROM cluster").fetchone()
        if codec and codec[0] > SCHEMA:
            raise JournalNewer(
                f"{name} was written by a newer evenmatch (schema {codec[0]}, known here up to {SCHEMA}): upgrade"
            )


def _cluster_known(db: Db) -> bool:
    return _exists(db, "cluster") and db.execute("SELECT 1 FROM cluster").fetchone() is not None


def _refuse_other(db: Db, name: str, cluster: str) -> None:
    row = db.execute("SELECT name FROM cluster").fetchone()
    if row is None:
        raise JournalForeign(
            f"{name} does not say whose it is: its table cluster was emptied. Restore it from a backup"
        )
    if row[0] != cluster:
        raise JournalForeign(
            f"{name} belongs to the cluster {row[0]!r}, and this is {cluster!r}: "
            f"use another database, or set EVENMATCH_CLUSTER={row[0]}"
        )
