"""A backup on an operator's word: a copy of the journal beside it, under a name that the server chooses.

    POST /v1/backup ─> a thread: storage/backup copies, the server goes on ─> noted in the audit ─> answer

1. The caller names no path, so a key can write nothing but backups, and none over another.
2. One at a time, and only where there is room for it and as much again: a key cannot fill the disk.
3. What is not noted is not kept: where the audit cannot be written, the copy is taken away again.
"""

import asyncio
import shutil
import time
from pathlib import Path
from typing import Final

import msgspec
import structlog

from evenmatch.errors import JournalError
from evenmatch.storage.backup import back_up, size_of
from evenmatch.storage.places import MAIN, folder_of, in_database

from .access import Caller
from .group import Group
from .handlers import Answer, problem
from .operators import noted
from .runner import Runner
from .tasks import carry_out, note
from .wire import WireReasons

log = structlog.get_logger("evenmatch.backup")
_ROOM: Final = 2
"""So many times the journal's size must be free."""


class BackupView(msgspec.Struct, frozen=True):
    """A copy of the journal."""

    file: str
    """Its name, in the journal's folder."""
    sequence: int
    """Everything up to here is in it."""
    lane: str
    """The lane that it is of; others are not in it."""
    bytes: int


class BackupAnswer(msgspec.Struct, frozen=True):
    """A backup that was made."""

    backup: BackupView


class Backups:
    """Makes the backups of one server."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._under_way = False

    async def make(self, caller: Caller | None) -> Answer:
        """POST /v1/backup"""
        place = self.runner.journal.place
        if place is None:
            return problem(WireReasons.NO_BACKUP.problem("the journal is in memory: there is no file to copy"))
        if self._under_way:
            return problem(WireReasons.BACKUP_UNDER_WAY.problem("one is being made: ask again when it is done"))
        self._under_way = True
        try:
            made = await asyncio.to_thread(_copied, place, self.runner.journal.lane_name)
        except (JournalError, OSError) as error:
            log.error("no backup", why=str(error))
            return problem(WireReasons.NO_BACKUP.problem(_said(error, place)))
        finally:
            self._under_way = False

        def entered(group: Group) -> None:
            said = f"everything up to sequence {made.sequence}, {made.bytes} bytes"
            note(group, noted(caller, "backup", made.file, said))

        refused = await carry_out(self.runner, entered)
        if isinstance(refused, Answer):
            await asyncio.to_thread((folder_of(place) / made.file).unlink, missing_ok=True)
            return refused
        log.info("backup", file=made.file, sequence=made.sequence, bytes=made.bytes)
        return Answer(200, msgspec.json.encode(BackupAnswer(made)))


def _copied(place: str, lane: str) -> BackupView:
    """A journal in a database goes into a file too, in the folder where the server was started."""
    folder, stem, size = folder_of(place), "evenmatch" if in_database(place) else Path(place).stem, size_of(place)
    stem += "" if lane == MAIN else f"-{lane}"
    free = shutil.disk_usage(folder).free
    if free < _ROOM * size:
        raise JournalError(f"{free} bytes are free, and the journal has {size}: {_ROOM} times that is needed")
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    target = next(
        name for number in range(1_000) if not (name := folder / f"{stem}-backup-{moment}-{number:03d}.db").exists()
    )
    sequence = back_up(place, target, lane)
    return BackupView(target.name, sequence, lane, target.stat().st_size)


def _said(error: Exception, place: str) -> str:
    """What went wrong, without the folders of this machine."""
    return str(error).replace(f"{folder_of(place)}/", "")
