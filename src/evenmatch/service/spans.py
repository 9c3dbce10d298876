"""Spans of time in sentences: written as the dashboard writes them, so that one wait reads the same everywhere."""

from typing import Final

_MINUTES_S: Final = 100
_HOURS_S: Final = 7200
_DAYS_S: Final = 172_800


def span(milliseconds: float) -> str:
    """A time span as people write it: 340 ms, 4.2 s, 3.4 min, 2.1 h, 3.0 days."""
    value = max(0.0, milliseconds / 1000)
    if 0 < value < 0.9995:
        return f"{value * 1000:.3g} ms"
    if value < _MINUTES_S - 0.05:
        return f"{value:.1f}".removesuffix(".0") + " s"
    if value < _HOURS_S:
        return f"{value / 60:.1f} min"
    return f"{value / 3600:.1f} h" if value < _DAYS_S else f"{value / 86_400:.1f} days"
