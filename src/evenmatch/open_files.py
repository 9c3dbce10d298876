"""How many files, and so how many connections, a process may have open."""

import resource
from typing import Final

from evenmatch.errors import ConfigError

_SPARE: Final = 1_000
"""Files besides those of connected players."""
_MOST: Final = 1_048_576
"""More than this is not asked for, even where nothing forbids it."""


def raise_limit() -> int:
    """Let this process and its children have as many files open as it may allow itself; returns how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # the system's own limit is lower than what it says
            return soft
        return wanted
    return wanted if soft == resource.RLIM_INFINITY else soft


def make_room(players: int) -> None:
    """Raise the limit for so many connected players, or say what stands in the way."""
    most, wanted = raise_limit(), players + _SPARE
    if most < wanted:
        raise ConfigError(
            f"{players} players need {wanted} open files and at most {most} are allowed: "
            f"raise the limit (ulimit -n {wanted}), or use --players {max(2, most - _SPARE)}"
        )
