"""Why a ticket waits: what keeps which of the others from it, who is nearest, and what would help."""

import msgspec

from evenmatch.domain.arrays import NONE, Array


class Rule(msgspec.Struct, frozen=True):
    """One rule, and how many of the other tickets it keeps away."""

    name: str
    words: str
    """The rule, as it stands for this ticket now."""
    excluded: int
    """Counted for each rule by itself: a ticket that breaks two is counted twice."""


class Near(msgspec.Struct, frozen=True):
    """Another ticket, by how far away it is."""

    distance: float
    unit: str
    acceptable: bool
    """The two could be matched now, as far as they are concerned."""
    after_ms: int | None = None
    """Time until it will be acceptable if both just wait; None = time alone does not help, or see `after_waves`."""
    after_waves: int | None = None
    """The same, counted in waves that leave both waiting."""


class Explanation(msgspec.Struct, frozen=True, eq=False):
    """What keeps a row of a snapshot from the others."""

    rules: tuple[Rule, ...]
    acceptable: Array = NONE
    """int64[k]: rows that no rule keeps away."""
    nearest: Near | None = None
    """The closest of those whom only time can bring, or who are acceptable; None = there is nobody, or no distance."""
    soonest: Near | None = None
    """The one who will be acceptable first."""
    unlock: str | None = None
    """What would make a match possible; None = nothing more is needed than the next wave."""
    unlock_ms: int | None = None
    """Time until `unlock` comes about by itself, if all just wait; None = see `soonest`, or it does not."""
