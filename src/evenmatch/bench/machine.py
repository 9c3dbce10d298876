"""The machine a benchmark ran on, as far as it matters for the numbers."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from evenmatch import __version__

__all__ = ["machine"]

LIBRARIES: Final = ("numpy", "numba", "scipy", "networkx", "rustworkx", "ortools", "pot")


def machine(threads: int) -> dict[str, str | int]:
    """Processor, cores, versions, and how many threads our kernels may use."""
    found: dict[str, str | int] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "memory_gb": _memory_gb(),
        "python": platform.python_version(),
        "evenmatch": __version__,
    }
    return found | {name: _version(name) for name in LIBRARIES}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gb() -> int:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, ValueError, OSError):
        return 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
