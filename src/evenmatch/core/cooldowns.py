"""Cool-downs: who let a ready check fail may not join that queue again for a while.

The books hold, for a player and queue, the offences that are not forgiven yet, when the last one was, and until when
the player has to stay away. An offence costs `base * growth ^ (offences on the books)`, at most `most_s`; the base
depends on what it was: a decline, no answer, or no answer for want of a connection. Every `forgive_s` without an
offence takes one off. Books are wall time: a restart neither shortens nor prolongs them.

`penalties` is asked by decide; `write_books` and `clear_books` are part of evolve and are called from there only. Books
enter the state hash by the queue's sum of digests.
"""

from typing import NamedTuple

import numpy as np

from evenmatch.domain.arrays import NONE, Array
from evenmatch.domain.backfill_events import BackfillAsked
from evenmatch.domain.events import CooldownsEnded, ProposalsFailed
from evenmatch.domain.queue import CooldownSpec, milliseconds
from evenmatch.domain.ticket import Cause

from .notes import value_digest
from .state import NEVER, Book, QueueState

_AT_ONCE = 1_000


class Penalties(NamedTuple):
    """What offences cost: arrays of one length, as `ProposalsFailed` has them."""

    offender: Array = NONE
    offence: Array = NONE
    offences: Array = NONE
    until_ms: Array = NONE


def penalties(queue: QueueState, players: Array, causes: Array, now_ms: int) -> Penalties:
    """What these players get for these causes; nothing where the queue has no cool-downs."""
    spec = queue.spec.cooldown
    deserted = len(causes) and int(causes[0]) == Cause.DESERTED
    if not len(players) or (not queue.spec.backfill.leave_s if deserted else spec is None):
        return Penalties()
    offences, until_ms = [], []
    for player, cause in zip(players.tolist(), causes.tolist(), strict=True):
        count, seconds = 0, queue.spec.backfill.leave_s
        if spec is not None:
            count = unforgiven(spec, queue.books.get(player), now_ms)
            base_s = seconds if cause == Cause.DESERTED else _base_s(spec, Cause(cause))
            seconds = min(base_s * spec.growth ** min(count, 100), spec.most_s)
        offences.append(count + 1)
        until_ms.append(now_ms + milliseconds(seconds))
    return Penalties(players, causes.astype(np.int8), np.array(offences), np.array(until_ms))


def _base_s(spec: CooldownSpec, cause: Cause) -> float:
    if cause is Cause.LOST:
        return spec.lost_s
    return spec.decline_s if cause is Cause.DECLINED else spec.lapse_s


def unforgiven(spec: CooldownSpec, book: Book | None, now_ms: int) -> int:
    """Offences that still count."""
    if book is None:
        return 0
    return max(0, book.offences - (now_ms - book.last_ms) // milliseconds(spec.forgive_s))


def forgiven_ms(queue: QueueState, book: Book) -> int:
    """When nothing of a book counts any more."""
    spec = queue.spec.cooldown
    if spec is None:  # the rules changed: what was given is served, and that is all
        return book.until_ms
    return max(book.until_ms, book.last_ms + book.offences * milliseconds(spec.forgive_s))


def forgiven(queue: QueueState, now_ms: int, guilty: list[int]) -> tuple[CooldownsEnded | None, int]:
    """Books of which nothing counts any more, some of them at most, and when the next will be.

    `guilty`: who gets a new entry at this very moment, which must stay.
    """
    ends = {player: forgiven_ms(queue, book) for player, book in queue.books.items()}
    due = sorted(player for player, end in ends.items() if end <= now_ms and player not in guilty)
    next_ms = min((end for end in ends.values() if end > now_ms), default=NEVER)
    if not due:
        return None, next_ms
    if len(due) > _AT_ONCE:
        next_ms = now_ms
    return CooldownsEnded(now_ms, queue.spec.name, np.array(due[:_AT_ONCE])), next_ms


def write_books(queue: QueueState, event: ProposalsFailed | BackfillAsked) -> None:
    """Note the offences of an event."""
    columns = (event.offender, event.offence, event.offences, event.until_ms)
    for player, offence, offences, until_ms in zip(*(column.tolist() for column in columns), strict=True):
        _drop(queue, player)
        book = queue.books[player] = Book(offences, event.at_ms, until_ms, offence)
        queue.notes_sum += value_digest("book", player, *book)
        queue.next_forgive_ms = min(queue.next_forgive_ms, forgiven_ms(queue, book))


def clear_books(queue: QueueState, players: Array) -> None:
    """These players have a clean slate."""
    for player in players.tolist():
        _drop(queue, player)


def _drop(queue: QueueState, player: int) -> None:
    book = queue.books.pop(player, None)
    if book is not None:
        queue.notes_sum -= value_digest("book", player, *book)
