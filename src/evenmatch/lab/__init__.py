"""THE SIMULATOR: the engine that runs live, with people who are made up and time that is not real.

    import evenmatch as em
    found = em.lab.compare("duel-small", matchers=["epgc", "buckets"], hours=2, seeds=3)
    print(found); found.to_csv("found.csv"); found.to_pandas()

Nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibrate import cinder_of as cinder_of
    from .calibrate import tiers_of as tiers_of
    from .calibrate import windows_of as windows_of
    from .comparing import compare as compare
    from .comparison import Comparison as Comparison
    from .population import Population as Population

__all__ = ["Comparison", "Population", "cinder_of", "compare", "tiers_of", "windows_of"]

_NAMES = {
    "Comparison": "comparison",
    "Population": "population",
    "cinder_of": "calibrate",
    "compare": "comparing",
    "tiers_of": "calibrate",
    "windows_of": "calibrate",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for."""
    if name in _NAMES:
        return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
