"""Which maps players played lately, a queue each: so that nobody sees the same one again and again.

Rows of columns, found by player. A row holds the last maps, the newest first, as places in `names`. It is bounded: when
`MOST` players are remembered, the half that has not played for longest is forgotten.

Only `evolve` changes it. The columns enter the state hash, whatever the order of rows.
"""

from typing import Any

import numpy as np

from evenmatch.domain.arrays import Array

from .paged import Paged

MOST = 200_000
"""Players remembered in one queue."""
_PAGES = 6


class MapMemory:
    """The maps that players of one queue remember."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.names: list[str] = []
        """Every map that was ever remembered."""
        self.used = 0
        self._player = np.empty(0, np.int64)
        self._noted = np.empty(0, np.int64)
        self._seen = np.empty((0, 0), np.int16)
        self._row_of = Paged(_PAGES)

    def __len__(self) -> int:
        return self.used

    @property
    def columns(self) -> tuple[Array, Array, Array]:
        """Players; the event with which each last played; their maps, int16[n, depth], -1 = none."""
        rows = slice(0, self.used)
        return self._player[rows], self._noted[rows], self._seen[rows]

    def find(self, players: Array) -> Array:
        """int16[m, depth]: the maps that these players remember, the newest first, -1 = none."""
        rows = self._row_of.find(players)
        found: Array = np.where((rows >= 0)[:, None], self._seen[rows], -1) if self.used else _nothing(players, 0)
        return found

    def note(self, players: Array, maps: list[str], map_of: Array, depth: int, sequence: int) -> None:
        """These players, each once, played on `maps[map_of]`; `depth` maps of each are kept."""
        codes = np.array([self._code(name) for name in maps], np.int16)[map_of]
        self._deepen(depth)
        rows = self._row_of.find(players)
        fresh = rows < 0
        new = int(np.count_nonzero(fresh))
        if self.used + new > self.most:
            self._forget()
            rows = self._row_of.find(players)
            fresh = rows < 0
            new = int(np.count_nonzero(fresh))
        self._grow(new)
        rows[fresh] = np.arange(self.used, self.used + new)
        self._player[rows[fresh]] = players[fresh]
        self._seen[rows[fresh]] = -1
        self._row_of.put(players[fresh], rows[fresh])
        self.used += new
        self._seen[rows, 1:] = self._seen[rows, :-1]
        self._seen[rows, 0] = codes
        self._noted[rows] = sequence

    def _code(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def _deepen(self, depth: int) -> None:
        if self._seen.shape[1] != depth:
            other = np.full((len(self._seen), depth), -1, np.int16)
            both = min(depth, self._seen.shape[1])
            other[:, :both] = self._seen[:, :both]
            self._seen = other

    def _grow(self, more: int) -> None:
        if self.used + more > len(self._player):
            room = max(64, 2 * (self.used + more))
            for name in ("_player", "_noted", "_seen"):
                column = getattr(self, name)
                wider = np.zeros((room, *column.shape[1:]), column.dtype)
                wider[: self.used] = column[: self.used]
                setattr(self, name, wider)

    def _forget(self) -> None:
        """Let the half go that has not played for longest; of those with one event, the higher numbers."""
        player, noted, seen = self.columns
        kept = np.lexsort((player, -noted))[: self.most // 2]
        self._load(player[kept], noted[kept], seen[kept])

    def _load(self, player: Array, noted: Array, seen: Array) -> None:
        self._player, self._noted, self._seen = player.copy(), noted.copy(), seen.copy()
        self.used = len(player)
        self._row_of = Paged(_PAGES)
        self._row_of.put(self._player, np.arange(self.used))

    def dump(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        player, noted, seen = (column.copy() for column in self.columns)
        return {"names": list(self.names), "player": player, "noted": noted, "seen": seen}

    def load(self, content: dict[str, Any]) -> None:
        """What a checkpoint kept."""
        self.names = list(content["names"])
        self._load(content["player"], content["noted"], content["seen"])


def _nothing(players: Array, depth: int) -> Array:
    return np.full((len(players), depth), -1, np.int16)
