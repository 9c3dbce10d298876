"""One lane beside others on a database: no player is in matches of two of them (I11).

1. Before the engine proposes a match, it asks the database which of the players other lanes have (`core/lanes`).
2. Every commit says whom it claims and releases. Where another lane was faster by a moment it is refused: the engine
   goes back to what is durable, and the same orders are carried out again. The wave is lost, which costs nothing: its
   plan belongs to the engine that is gone, and the next one asks.
3. Once a second it asks whether others still have those whom they had.
"""

from typing import TYPE_CHECKING

import numpy as np

from evenmatch.core import lanes
from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.storage.protocol import Journal

if TYPE_CHECKING:
    from .group import Group

_ASKED_EVERY_MS = 1_000


class OtherLanes:
    """What one engine has to do with the other lanes; nothing, where there are none."""

    def __init__(self, journal: Journal, engine: Engine) -> None:
        self._journal, self._engine = journal, engine
        self._asked_ms = 0
        if journal.shared:
            claims = engine.state.claims
            journal.settle_claims(np.fromiter(claims, np.int64, len(claims)))
            lanes.watch(engine.state)
            engine.ask_others = journal.claimed_elsewhere

    def moved(self) -> lanes.Moved:
        """Whom the events since the last commit claim and release."""
        return lanes.moved(self._engine.state)

    def ask(self, group: "Group") -> None:
        """Whom have they let go?"""
        known = self._engine.state.elsewhere
        if not known or group.now_ms - self._asked_ms < _ASKED_EVERY_MS:
            return
        self._asked_ms = group.now_ms
        players = np.fromiter(known, np.int64, len(known))
        free = np.setdiff1d(players, self._journal.claimed_elsewhere(players))
        if len(free):
            group.take(self._engine.step(cmd.ReleasedElsewhere(free), group.now_ms))
