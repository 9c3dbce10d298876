"""How much memory a call takes at the most, beyond what its process holds already.

On Linux the kernel keeps the peak of a process and lets it be reset (/proc/self/clear_refs). Elsewhere only the peak of
the whole life is known, so a call that stays below an earlier peak counts as nothing there.
"""

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["with_peak_mb"]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def with_peak_mb(work: Callable[[], Any]) -> tuple[Any, float | None]:
    """What a call returns, and how many MB the process held more than before, at the most; None = not known."""
    gc.collect()
    _give_back()
    try:
        _RESET.write_text("5")
        resets = True
    except OSError:
        resets = False
    before = _kilobytes("VmRSS") if resets else _lifelong_peak()
    answer = work()
    after = _kilobytes("VmHWM") if resets else _lifelong_peak()
    return answer, None if before is None or after is None else max(0.0, after - before) / 1000


def _give_back() -> None:
    """Ask the allocator to return what it keeps for later, which would otherwise hide what a call needs."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _kilobytes(name: str) -> float | None:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1.024
    return None


def _lifelong_peak() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1000 if sys.platform == "darwin" else peak * 1.024
