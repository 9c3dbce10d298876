"""evenmatch: a matchmaker for online games.

    import evenmatch as em
    em.plan(tickets, matcher="epgc", lobby_size=4)                       one wave over a list of tickets
    em.matchers.Epgc(lobby_size=10).plan(em.Snapshot.from_columns(rating=..., ping_ms=...), seed=1)
    em.epgc, em.ladder, em.buckets, em.lom, em.cinder                    the parts of the five documents, by themselves
    em.lab.compare("duel-small", matchers=["epgc", "buckets"])           matchers on simulated players, side by side

Nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenmatch import lab as lab
    from evenmatch import matchers as matchers
    from evenmatch.domain.queue import Format as Format
    from evenmatch.domain.snapshot import Snapshot as Snapshot
    from evenmatch.errors import EvenmatchError as EvenmatchError
    from evenmatch.errors import MatcherError as MatcherError
    from evenmatch.errors import TicketError as TicketError
    from evenmatch.matchers import buckets as buckets
    from evenmatch.matchers import cinder as cinder
    from evenmatch.matchers import epgc as epgc
    from evenmatch.matchers import ladder as ladder
    from evenmatch.matchers import lom as lom
    from evenmatch.planning import plan as plan

__all__ = [
    "EvenmatchError",
    "Format",
    "MatcherError",
    "Snapshot",
    "TicketError",
    "__version__",
    "buckets",
    "cinder",
    "epgc",
    "lab",
    "ladder",
    "lom",
    "matchers",
    "plan",
]

__version__ = "0.1.0"

_NAMES = {
    "EvenmatchError": "evenmatch.errors",
    "Format": "evenmatch.domain.queue",
    "MatcherError": "evenmatch.errors",
    "Snapshot": "evenmatch.domain.snapshot",
    "TicketError": "evenmatch.errors",
    "plan": "evenmatch.planning",
}
_MODULES = {name: f"evenmatch.matchers.{name}" for name in ("buckets", "cinder", "epgc", "ladder", "lom")}
_MODULES |= {"lab": "evenmatch.lab", "matchers": "evenmatch.matchers"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
