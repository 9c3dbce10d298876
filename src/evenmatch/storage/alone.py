"""What a journal says that has no others beside it: its one owner knows all players, and nobody else claims any."""

from evenmatch.domain.arrays import NONE, Array


def claimed_elsewhere(*_: object) -> Array:
    """There is no other lane."""
    return NONE


def settle_claims(*_: object) -> None:
    """Nobody asks."""


def expect_commits(*_: object) -> None:
    """Only a commit itself shows."""


def number(*_: object) -> dict[str, int] | None:
    """The owner gives numbers out itself."""
    return None
