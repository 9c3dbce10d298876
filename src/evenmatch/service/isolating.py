"""Names within sentences, kept from turning the words around them.

A player's name may hold letters that run from right to left, or marks that override the direction of all that follows.
Within a line of plain text such a name is put between U+2068 and U+2069 (first strong isolate, pop directional
isolate), and isolates that it opens or closes itself are balanced first, so that it cannot end its own. Names without
any of this stay as they are.
"""

import unicodedata
from typing import Final

_OPEN: Final = "\u2068"
_CLOSE: Final = "\u2069"
_OPENING: Final = frozenset("\u2066\u2067\u2068")
_PLAIN: Final = frozenset({"L", "EN", "ES", "ET", "CS", "NSM", "BN", "ON", "WS", ""})


def isolated(name: str) -> str:
    """A name as it stands in a sentence."""
    if name.isascii() or all(unicodedata.bidirectional(character) in _PLAIN for character in name):
        return name
    kept: list[str] = []
    depth = 0
    for character in name:
        depth += (character in _OPENING) - (character == _CLOSE)
        if depth < 0:
            depth = 0
            continue
        kept.append(character)
    return f"{_OPEN}{''.join(kept)}{_CLOSE * depth}{_CLOSE}"
