"""The scale of a picture, and bins over it: set by the crowd, not by one who is far from everybody.

Problem. One rating of 9,000 among a thousand round 1,500, or one wait of an hour among seconds, would leave everybody
else in a corner.

Idea. On each side the outermost hundredth, and at least a few, may be left out: if they lie further beyond the others
than `FAR` times the others' width, and than a least distance, the scale ends with the last that does not. Those beyond
are counted. They have bins of their own, so that their means say nothing of others.

Where there are so many that they are binned, and all have waited about as long, bins are over rating alone: who waits
how long is then no news, and how many there are of which rating is.
"""

from typing import Final

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array

CELLS: Final = 400
FAR: Final = 1.5
NARROWER: Final = 1.5
"""Nobody is left out unless the scale is that many times as narrow without them."""
LEFT_OUT: Final = 0.01
_FEW: Final = (6, 12)
"""From so many tickets on one, or two, may be left out on a side."""
_LEAST: Final = 50.0
"""Rating points, or ms of ping, within which nobody is called far."""
_LEAST_S: Final = 10.0
_GRID: Final = (40, 10)
"""Bins over rating and wait, with those beyond the scale; where there are bands, of all of them together."""
_TIER_GRID: Final = (20, 4)
"""Bins over ping and wait, for each tier: of these there may be many, then only the fullest bins are shown."""
_COLUMNS: Final = 80
"""Bins over rating alone."""
_ALIKE: Final = 0.2
"""Waits are about the same if nine in ten of them differ by no more than this share."""
_ALIKE_S: Final = 1.0
"""Or than this: who all came just now have waited for some ms each, and no share of that says anything."""


class Scale(msgspec.Struct, frozen=True):
    """From where to where the picture goes, and how many are beyond."""

    low: float
    """The lowest rating that is not far below all others; ping where the matcher goes by ping."""
    high: float
    longest_s: float
    """The longest wait that is not far above all others."""
    below: int = 0
    above: int = 0
    longer: int = 0
    least: float = 0.0
    """The lowest of all."""
    most: float = 0.0
    """The highest of all."""
    oldest_s: float = 0.0
    """The longest wait of all."""


def scale_of(across: Array, waited_s: Array) -> Scale | None:
    """The scale of tickets at these places; None = nobody has one."""
    known = across[~np.isnan(across)]
    if not len(known):
        return None
    low, high = _ends(known, _LEAST)
    _, longest = _ends(np.append(np.zeros(len(waited_s)), waited_s), _LEAST_S, len(waited_s))
    counts = [int(np.count_nonzero(beyond)) for beyond in (known < low, known > high, waited_s > longest)]
    ends = [round(float(end), 1) for end in (known.min(), known.max(), waited_s.max())]
    return Scale(round(low, 1), round(high, 1), round(longest, 1), *counts, *ends)


def _ends(values: Array, least: float, count: int | None = None) -> tuple[float, float]:
    """The first and the last value that are not far from all others; `count`: how many tickets they are of."""
    tickets = len(values) if count is None else count
    spared = max(int(np.ceil(tickets * LEFT_OUT)), sum(tickets >= few for few in _FEW)) if tickets >= _FEW[0] else 0
    ordered = np.sort(values)
    inner = ordered[spared : len(ordered) - spared]
    room = max(FAR * float(inner[-1] - inner[0]), least)
    kept = ordered[(ordered >= inner[0] - room) & (ordered <= inner[-1] + room)]
    gained = float(ordered[-1] - ordered[0]) > NARROWER * float(kept[-1] - kept[0])
    return (float(kept[0]), float(kept[-1])) if gained else (float(ordered[0]), float(ordered[-1]))


def alike(waited_s: Array) -> bool:
    """Have all waited about as long?"""
    first, last = np.quantile(waited_s, (0.05, 0.95)).tolist()
    return bool(last - first <= max(_ALIKE * last, _ALIKE_S))


def cells_of(
    across: Array, waited_s: Array, band: Array, bands: int, scale: Scale, *, by_ping: bool, by_count: bool
) -> Array:
    """int64[n]: the bin of each ticket; `bands`: so many are in use; with `by_count` over ratings alone."""
    wide, tall = _TIER_GRID if by_ping else (_GRID[0] // max(1, bands), _GRID[1])
    if by_count:
        wide, tall = columns_of(bands) + 2, 1
    cell = _bin(np.where(np.isnan(across), scale.low, across), wide, scale.low, scale.high)
    if not by_count:
        cell = cell * tall + _bin(waited_s, tall, float(waited_s.min()), scale.longest_s)
    return cell * (bands + 1) + band + 1 if bands else cell


def columns_of(bands: int) -> int:
    """How many bins there are over rating alone, on the scale."""
    return _COLUMNS // max(1, min(bands, 4))


def _bin(values: Array, bins: int, low: float, high: float) -> Array:
    """int64[n]: 0 = below, the last = above, else which of the equal parts between each value is in."""
    inner = max(1, bins - 2)
    if not high > low:
        part = np.ones(len(values), np.int64)
    else:
        part = 1 + np.clip((values - low) / (high - low) * inner, 0, inner - 1).astype(np.int64)
    found: Array = np.where(values < low, 0, np.where(values > high, bins - 1, part))
    return found


def binned(cell: Array, columns: dict[str, Array], band: Array) -> tuple[Array, Array, dict[str, Array]]:
    """How many tickets each bin has, its band, and its means (of players: their sum); the fullest bins only."""
    _, first, place, count = np.unique(cell, return_index=True, return_inverse=True, return_counts=True)
    fullest = np.sort(np.argsort(-count, kind="stable")[:CELLS])
    means = {name: np.bincount(place, column, len(count)) / count for name, column in columns.items()}
    means["players"] *= count
    return count[fullest], band[first][fullest], {name: column[fullest] for name, column in means.items()}
