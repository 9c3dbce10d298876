"""What is measured. A contest is a piece of work, our way of doing it, other ways, and how to tell that they agree.

Contests are values made of functions that stand in modules, so that a fresh process can be handed one.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["Agree", "Aim", "Contest", "Opponent", "duration", "times"]

Agree: TypeAlias = Callable[[Any, Any, Any], str | None]
"""(given, ours, theirs) -> what differs, in words, or None."""


def as_given(given: Any) -> Any:
    """The input itself."""
    return given


class Opponent(NamedTuple):
    """Another way of doing the same work."""

    name: str
    run: Callable[[Any], Any]
    largest: int
    """Beyond this size it would take too long, or too much memory."""
    needs: tuple[str, ...] = ()
    """Modules of other people that must be there."""
    prepare: Callable[[Any], Any] = as_given
    """The input in the form that it wants; not timed."""
    agree: Agree | None = None
    """If results have to be compared otherwise than with the other opponents."""
    told: Callable[[Any], dict[str, float]] | None = None
    """theirs -> seats and cost, where it is a plan."""


class Aim(NamedTuple):
    """Something that was set out to be reached."""

    kind: str
    """What is compared: "seconds" or "megabytes" (at most), "ratio" (at least, to an opponent), "growth" (at most)."""
    value: float
    size: int = 0
    """At which size; 0 for growth, which is about all of them."""
    against: str = ""
    """The opponent that a ratio is to."""

    def words(self, unit: str) -> str:
        """The aim as a person would say it."""
        at = f"{self.size:,} {unit}"
        match self.kind:
            case "seconds":
                return f"{at} in {duration(self.value)}"
            case "megabytes":
                return f"{at} in {self.value:g} MB"
            case "ratio":
                return f"{at}: {times(self.value)} {self.against}"
            case _:
                return f"growth of n^{self.value:g} at most"


class Contest(NamedTuple):
    """One row of the table: the work, at several sizes."""

    name: str
    what: str
    sizes: tuple[int, ...]
    make: Callable[[int, int], Any]
    """(size, seed) -> what all of them are given; nobody may change it."""
    ours: Callable[[Any], Any]
    agree: Agree
    opponents: tuple[Opponent, ...] = ()
    aims: tuple[Aim, ...] = ()
    unit: str = "players"
    sound: Callable[[Any, Any], str | None] | None = None
    """(given, ours) -> what is wrong with our result by itself, in words, or None; asked at every size."""
    quick: tuple[int, ...] = ()
    """The sizes of a quick run; none = the first two."""
    told: Callable[[Any], dict[str, float]] | None = None
    """ours -> seats and cost of the plan, and the bounds on both."""
    tiny: int = 20
    """A size at which everything is done once before anything is measured, so that all code is loaded."""


_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def duration(seconds: float) -> str:
    """A time in three digits and the unit that suits it."""
    for scale, unit in _UNITS:
        if seconds >= scale * 0.9995 or unit == "µs":
            break
    value = seconds / scale
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f} {unit}"


def times(ratio: float) -> str:
    """How many times as much as something else, in two digits or more."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"
