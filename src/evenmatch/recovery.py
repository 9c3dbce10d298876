"""From a journal back to the state it tells of: the newest checkpoint, then every event after it.

Recovery reads what was decided; it never decides or matches again. `verify` does the same from the journal's beginning
and holds every checkpoint on the way against the hash it was saved with.
"""

from collections.abc import Callable, Iterator

import msgspec

from evenmatch.core.checkpoint import dump, load
from evenmatch.core.evolve import evolve
from evenmatch.core.hashing import state_hash
from evenmatch.core.records import Departures, departures
from evenmatch.core.state import State
from evenmatch.domain.events import Forgotten, ResultReported
from evenmatch.errors import JournalDamaged
from evenmatch.storage.codec import decode_content, encode_content, encode_pieces
from evenmatch.storage.protocol import Checkpoint, Journal, Store

PIECE = 2**20
"""Bytes of a large checkpoint that are written at once."""


def checkpoint_of(state: State) -> Checkpoint:
    """The checkpoint of a state."""
    content = dump(state)
    return Checkpoint(state.sequence, content["hash"], encode_content(content))


def checkpoint_in_pieces(state: State) -> tuple[int, str, Iterator[bytes]]:
    """The same of a large state: its columns are copied at once, its bytes are made when they are asked for."""
    content = dump(state)
    return state.sequence, content["hash"], encode_pieces(content, PIECE)


def restore(checkpoint: Checkpoint) -> State:
    """The state of a checkpoint, proved by its hash."""
    state = load(decode_content(checkpoint.body))
    found = state_hash(state)
    if found != checkpoint.hash:
        raise JournalDamaged(
            f"the checkpoint at {checkpoint.sequence} gives {found}, but was saved as {checkpoint.hash}"
        )
    return state


def recover(journal: Journal) -> State:
    """The state at the journal's end."""
    checkpoint = journal.newest_checkpoint()
    state = State() if checkpoint is None else restore(checkpoint)
    replay(journal, state)
    return state


def replay(journal: Journal, state: State, upto: int | None = None) -> None:
    """Apply the events after a state's own sequence, up to one or to the end."""
    for sequence, event in journal.read(state.sequence):
        if upto is not None and sequence > upto:
            return
        if sequence != state.sequence + 1:
            raise JournalDamaged(f"event {state.sequence + 1} is missing: the journal goes on at {sequence}")
        evolve(state, event)


def hash_at(journal: Store, sequence: int) -> str:
    """The hash of the state after an event, by replay from where the journal begins."""
    first = journal.oldest
    base = next((c for c in journal.checkpoints() if c.sequence == first - 1), None)
    if base is None and first > 1:
        raise JournalDamaged(f"{journal.name} begins at {first}, but has no checkpoint for what came before")
    state = State() if base is None else restore(base)
    replay(journal, state, upto=sequence)
    if state.sequence != sequence:
        raise JournalDamaged(f"{journal.name} ends at {state.sequence}, before {sequence}")
    return state_hash(state)


class Verified(msgspec.Struct, frozen=True):
    """What a whole replay found."""

    hash: str
    events: int
    first_sequence: int
    checkpoints: int
    unrecorded: int
    """Finished tickets, matches and results that the tables do not have: pruned; in an archive, all of them."""


def verify(journal: Store, progress: Callable[[int], None] = lambda _: None) -> Verified:
    """Replay all that is kept and prove every checkpoint; raises JournalDamaged where something does not fit."""
    damage = journal.damage()
    if damage:
        raise JournalDamaged(f"{journal.name} is damaged: {'; '.join(damage)}")
    checkpoints = list(journal.checkpoints())
    first = journal.oldest
    state = State()
    if first > 1:
        base = next((c for c in checkpoints if c.sequence == first - 1), None)
        if base is None:
            raise JournalDamaged(f"{journal.name} begins at {first}, but has no checkpoint for what came before")
        state = restore(base)
    waiting = [c for c in checkpoints if c.sequence >= state.sequence]
    proved = unrecorded = 0
    for sequence, event in journal.read(state.sequence):
        proved += _prove(state, waiting)
        if sequence != state.sequence + 1:
            raise JournalDamaged(f"event {state.sequence + 1} is missing: the journal goes on at {sequence}")
        if isinstance(event, Forgotten):
            unrecorded += _prove_records(journal, departures(state, event))
        if isinstance(event, ResultReported):
            unrecorded += _prove_result(journal, event, sequence)
        evolve(state, event)
        progress(sequence)
    proved += _prove(state, waiting)
    if waiting:
        raise JournalDamaged(f"the checkpoint at {waiting[0].sequence} lies beyond the journal's end")
    return Verified(state_hash(state), state.sequence - first + 1, first, proved, unrecorded)


def _prove_records(journal: Store, left: Departures) -> int:
    """What the read tables say of finished tickets and matches must be what the events led to; counts the missing."""
    missing = 0
    for kind, rows, recorded in (
        ("ticket", left.tickets, journal.finished_ticket),
        ("match", left.matches, journal.finished_match),
    ):
        for number, record in rows:
            found = recorded(number)
            missing += found is None
            if found is not None and found != record:
                raise JournalDamaged(f"{journal.name}: the record of {kind} {number} is not what its events led to")
    return missing


def _prove_result(journal: Store, event: ResultReported, sequence: int) -> int:
    """A result in the ledger must be the one of its event, also after corrections; counts a missing one."""
    found = journal.ledger.result(event.match)
    if found is None:
        return 1
    if (found.sequence, found.ladder, found.player) != (sequence, event.ladder, event.player.tolist()):
        raise JournalDamaged(f"{journal.name}: the result of match {event.match} is not the one of its event")
    if not found.corrections and found.rank != event.rank.tolist():
        raise JournalDamaged(f"{journal.name}: match {event.match} ended otherwise than its result says")
    return 0


def _prove(state: State, waiting: list[Checkpoint]) -> int:
    proved = 0
    while waiting and waiting[0].sequence == state.sequence:
        checkpoint = waiting.pop(0)
        if state_hash(state) != checkpoint.hash or state_hash(restore(checkpoint)) != checkpoint.hash:
            raise JournalDamaged(f"replay to {state.sequence} does not give the checkpoint's hash {checkpoint.hash}")
        proved += 1
    return proved
