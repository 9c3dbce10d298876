"""Make the golden journal of this release: python -m tests.golden.make

Every release leaves one behind, with its hash; they are never made again, for they stand for the files that people
have. While a release is in the making, run this after any change of events or hash; when the schema changes, keep the
last one of the old schema under a name of its own, as journal-schema-1. (journal-schema-2 is older than results,
cool-downs and the audit.)
"""

from pathlib import Path

import msgspec
import numpy as np

from evenmatch import __version__
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.state import State
from evenmatch.domain import events as ev
from evenmatch.domain.table import Choice, Table
from evenmatch.recovery import checkpoint_of
from evenmatch.storage.protocol import Commit
from evenmatch.storage.sqlite import SqliteJournal
from tests.core.stage import T0
from tests.core.tour import GRAND_TOUR
from tests.core.walk import Walk

HERE = Path(__file__).parent


def make(path: Path) -> str:
    """Write the grand tour of a lane into a new journal, with checkpoints and events after the last; its hash."""
    walk, state = Walk(GRAND_TOUR, lane=2), State()
    with SqliteJournal(path) as journal:
        for number, commit in enumerate(walk.commits):
            events = [_with_details(event) for event in commit]
            journal.append(
                Commit(
                    first_sequence=state.sequence + 1,
                    at_ms=T0,
                    events=events,
                    names=[(number + 1, f"player {number + 1}")],
                    attributes=[(number + 1, {"region": "eu"})],
                )
            )
            for event in events:
                evolve(state, event)
            if number in (len(walk.commits) // 3, len(walk.commits) // 2):
                journal.save_checkpoint(checkpoint_of(state))
    return state_hash(state)


def _with_details(event: ev.Event) -> ev.Event:
    """A wave with something to say of each proposal, in columns of every kind."""
    if not isinstance(event, ev.WaveFinished) or not len(event.roster):
        return event
    rows = len(event.roster)
    gap = np.where(np.arange(rows) % 2, np.nan, np.arange(rows) / 4)
    words = Choice(np.arange(rows) % 2, ["Eclipse", None])
    sides = Table({"bw": event.roster[:, 0], "sc2": event.roster[:, -1]})
    return msgspec.structs.replace(event, details=Table({"gap": gap, "map": words, "sides": sides}))


if __name__ == "__main__":
    golden = HERE / f"journal-{__version__}.evm"
    golden.unlink(missing_ok=True)
    golden.with_suffix(".hash").write_text(make(golden) + "\n", "ascii")
    golden.with_name(golden.name + ".lock").unlink()
