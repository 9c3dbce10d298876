"""The in-memory twin of the inbox's desk: where nodes hand requests in and fetch answers."""

from collections.abc import Sequence

from .inbox import Outcome, Request
from .memory import MemoryStore


class MemoryDesk:
    """One node's desk before a store; the store has one lane."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def hand_in(self, requests: Sequence[tuple[int, Request]]) -> None:
        """Put requests into the inbox. Safe to do again after a failure."""
        for _, request in requests:
            if request.id not in self._store.outcomes:
                self._store.inbox.setdefault(request.id, request)

    def fetch(self, ids: Sequence[str]) -> list[Outcome]:
        """The answers that are there."""
        return [self._store.outcomes[id] for id in ids if id in self._store.outcomes]

    def drop(self, ids: Sequence[str]) -> None:
        """Answers that are not needed any more."""
        for id in ids:
            self._store.outcomes.pop(id, None)

    def take_back(self, ids: Sequence[str]) -> set[str]:
        """Take requests back that were not carried out; those that were taken back."""
        return {id for id in ids if self._store.inbox.pop(id, None) is not None}

    def close(self) -> None:
        """Nothing is held."""
