"""The state after any past event: from the nearest saved one on, with stepping stones laid on the way.

Who looks at one past wave looks at its neighbours next. Two checkpoints are all that a journal keeps, and up to 10,000
events lie between them, so the way there is long, but from wave to wave it is short. Every `STONE_EVERY` events on the
way, and at its end, the state is kept as a checkpoint in memory; the next look begins at the nearest stone before it.

1. Stones hold what checkpoints hold, and are restored and proven as these are (`recovery`).
2. Bounded: `STONES` of them and `BYTES_MOST`, the longest unused go first; none of a state of more than `TICKETS_MOST`.
3. One thread at a time; the caller sees to that.
"""

from typing import Final

from evenmatch.core.state import State
from evenmatch.recovery import checkpoint_of, replay, restore
from evenmatch.storage.protocol import Checkpoint, Journal

REPLAY_MOST: Final = 100_000
STONE_EVERY: Final = 500
STONES: Final = 64
BYTES_MOST: Final = 64 * 2**20
TICKETS_MOST: Final = 20_000


class PastStates:
    """Gives states as they were."""

    def __init__(self) -> None:
        self._stones: dict[int, Checkpoint] = {}
        """By sequence, the longest unused first."""
        self.replayed = 0
        """Events that were read again, in all."""

    def at(self, journal: Journal, sequence: int) -> State | str:
        """The state after an event, or why it cannot be had."""
        base = self._nearest(journal, sequence)
        if base is None and journal.oldest > 1:
            return f"the journal begins at {journal.oldest}, and no saved state is older than this wave"
        first = 0 if base is None else base.sequence
        if sequence - first > REPLAY_MOST:
            return f"{sequence - first:,} events would have to be read again, and {REPLAY_MOST:,} are the most"
        state = State() if base is None else restore(base)
        while state.sequence < sequence:
            before = state.sequence
            replay(journal, state, upto=min(sequence, before + STONE_EVERY))
            if state.sequence == before:
                return f"the journal ends at {before}, before this wave"
            self.replayed += state.sequence - before
            self._lay(state)
        return state

    def _nearest(self, journal: Journal, sequence: int) -> Checkpoint | None:
        """The newest saved state that is not after an event."""
        near = max((each for each in self._stones if each <= sequence), default=None)
        base = None if near is None else self._stones.pop(near)
        if near is not None and base is not None:
            self._stones[near] = base
            if sequence - near <= STONE_EVERY:
                return base
        for checkpoint in journal.checkpoints():
            if checkpoint.sequence <= sequence and (base is None or checkpoint.sequence > base.sequence):
                base = checkpoint
        return base

    def _lay(self, state: State) -> None:
        if sum(queue.tickets.used for queue in state.queues.values()) > TICKETS_MOST:
            return
        self._stones[state.sequence] = checkpoint_of(state)
        while len(self._stones) > STONES or sum(len(each.body) for each in self._stones.values()) > BYTES_MOST:
            del self._stones[next(iter(self._stones))]
