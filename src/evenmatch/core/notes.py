"""What matchers want kept beside the columns: traits of players, details of proposals, and who was active lately.

Part of `evolve`: these change the state and are called from there only. Traits and details are few and not numbers, so
they live in dictionaries; a sum of their digests enters the state hash and is kept up to date as they come and go.
"""

import hashlib
from typing import Any

import msgspec

from evenmatch.domain.queue import milliseconds

from .state import QueueState


def _digest(*parts: Any) -> int:
    return int.from_bytes(hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest())


def note_traits(queue: QueueState, name: str, rows: list[int], tickets: list[int], values: list[Any]) -> None:
    """Keep what players bring of a trait."""
    kept = queue.traits.setdefault(name, {})
    for row, ticket, value in zip(rows, tickets, values, strict=True):
        if value is not None:
            kept[row] = (ticket, value)
            queue.notes_sum += _digest(name, ticket, value)


def note_details(queue: QueueState, first: int, details: tuple[dict[str, Any], ...]) -> None:
    """Keep what a matcher says of its proposals."""
    for number, told in enumerate(details, first):
        if told:
            queue.details[number] = told
            queue.notes_sum += _digest(number, told)


def drop_notes(queue: QueueState, rows: list[int], proposals: list[int]) -> None:
    """Let go of what was kept of players and proposals that leave the state."""
    for name, kept in queue.traits.items():
        for row in rows:
            noted = kept.pop(row, None)
            if noted is not None:
                queue.notes_sum -= _digest(name, *noted)
    if queue.details:
        for number in proposals:
            told = queue.details.pop(number, None)
            if told is not None:
                queue.notes_sum -= _digest(number, told)


def see_active(queue: QueueState, players: list[int], now_ms: int) -> None:
    """Note that players are there, and forget those who were not seen for the time that counts."""
    active = queue.active
    for player in players:
        active.pop(player, None)
        active[player] = now_ms
    before = now_ms - milliseconds(queue.spec.door.activity_s)
    gone = []
    for player, seen_ms in active.items():
        if seen_ms > before:
            break
        gone.append(player)
    for player in gone:
        del active[player]


def active_population(queue: QueueState, now_ms: int) -> int | None:
    """Players seen within the time that counts; None where nobody counts them."""
    if not queue.spec.door.activity_s:
        return None
    before = now_ms - milliseconds(queue.spec.door.activity_s)
    return sum(seen_ms > before for seen_ms in queue.active.values())
