"""SNAPSHOT IN, PLAN OUT. Matchmaking algorithms, one file each, behind one contract.

`contract` says what every matcher promises, runs a wave and checks a plan; `registry` is the literal table of names;
`parameters` judges constructor arguments; `cost` is the price of uneven teams; `fitting` tells whether parties can fill
teams. Nothing here knows the time, the environment or chance beyond the seed it is given.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .registry import MATCHERS, build, names

if TYPE_CHECKING:
    from .buckets import Buckets as Buckets
    from .cinder import Cinder as Cinder
    from .epgc import Epgc as Epgc
    from .exact import Exact as Exact
    from .first_come import FirstCome as FirstCome
    from .l2m import L2m as L2m
    from .ladder import Ladder as Ladder
    from .lom import Lom as Lom
    from .m2l import M2l as M2l
    from .random_sessions import Random as Random

_CLASSES = {place.partition(":")[2]: place.partition(":")[0] for place in MATCHERS.values()}

__all__ = [
    "build",
    "names",
    *sorted(_CLASSES),
]


def __getattr__(name: str) -> Any:
    """A matcher's class, imported when it is first asked for."""
    if name in _CLASSES:
        return getattr(import_module(_CLASSES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
