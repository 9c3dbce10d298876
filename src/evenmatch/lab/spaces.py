"""Which parameters of a matcher can be tuned, and how far."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from evenmatch.errors import LabError

__all__ = ["SPACES", "Knob", "knobs", "parameters"]


class Knob(msgspec.Struct, frozen=True):
    """A number to be found."""

    low: float
    high: float
    whole: bool = False
    log: bool = True
    """Look at ratios, not at differences."""


_EVERY: Final = {"every_s": Knob(1.0, 60.0)}
_WINDOW: Final = {"base": Knob(10, 600, whole=True), "growth": Knob(2, 300, whole=True)}
_WEIGHTS: Final = {"rating_weight": Knob(0.05, 20.0), "ping_weight": Knob(0.05, 20.0)}

SPACES: Final[Mapping[str, Mapping[str, Knob]]] = {
    "buckets": {"bucket": Knob(2, 400, whole=True), "growth_s": Knob(1.0, 60.0), "range_max": Knob(1, 60, whole=True)},
    "cinder": {
        "sanction_max": Knob(1, 80, whole=True),
        "overlap_min": Knob(0.0, 0.9, log=False),
        "n_bucket": Knob(5, 60, whole=True),
    },
    "even": {
        "window": Knob(10, 1000, whole=True),
        "window_growth": Knob(0.1, 20.0),
        "window_free_s": Knob(60, 1200, whole=True),
        "weight_imbalance": Knob(0.1, 10.0),
        "weight_spread": Knob(0.1, 10.0),
        "hold": Knob(0, 1, whole=True, log=False),
        "wait_value": Knob(0.001, 0.1),
    },
    "epgc": {"alpha": Knob(0.05, 20.0), "beta": Knob(0.05, 20.0), "tiers": Knob(1, 12, whole=True)},
    "ladder": _WINDOW,
    "lom": _WEIGHTS,
    "m2l": _WEIGHTS,
    "l2m": _WEIGHTS,
    "exact": {"pool_max": Knob(4, 14, whole=True)},
    "first_come": {},
    "random": {},
}
"""Matcher -> its knobs; how often there is a wave is one of every matcher's."""


def knobs(matcher: str) -> dict[str, Knob]:
    """All knobs of a matcher; LabError where nobody has said what of it can be turned."""
    if matcher not in SPACES:
        raise LabError(f"{matcher} cannot be tuned: nothing is known to turn; use {', '.join(sorted(SPACES))}")
    return dict(SPACES[matcher]) | _EVERY


def parameters(matcher: str, found: Mapping[str, float], boundaries: Any) -> tuple[dict[str, Any], float]:
    """A matcher's parameters, and how often there is a wave; `boundaries` gives those of so many tiers."""
    told = dict(found)
    every_s = float(f"{told.pop('every_s'):.3g}")
    if matcher == "ladder":
        base, growth = told["base"], told["growth"]
        ratios = ((0.75, 25 / 35), (1.0, 1.0), (1.25, 45 / 35))
        return {"windows": [[round(base * b), max(1, round(growth * g))] for b, g in ratios]}, every_s
    if matcher == "epgc":
        tiers = int(told["tiers"])
        own: dict[str, Any] = {"alpha": _short(told["alpha"]), "beta": _short(told["beta"])}
        return own | {"boundaries": boundaries(tiers)}, every_s
    if "rating_weight" in told:
        weights = {"rating": (told["rating_weight"], 400), "ping_ms": (told["ping_weight"], 50)}
        features = [{"name": name, "scale": scale, "weight": _short(w)} for name, (w, scale) in weights.items()]
        return {"features": features}, every_s
    if matcher == "even":
        held = bool(told.pop("hold"))
        worth = told.pop("wait_value")
        own = {"hold": True, "wait_value": _short(worth)} if held else {}
        return own | _plain(matcher, told), every_s
    return _plain(matcher, told), every_s


def _plain(matcher: str, told: Mapping[str, float]) -> dict[str, Any]:
    space = SPACES[matcher]
    return {name: int(value) if space[name].whole else _short(value) for name, value in told.items()}


def _short(value: float) -> float:
    return float(f"{value:.3g}")
