"""evenmatch token: a player's token, for trying things out."""

import os
import time

from evenmatch.service.tokens import make_token
from evenmatch.settings import from_environment


def token(player: str, *, minutes: float = 60.0) -> None:
    """Print a token for a player, signed with EVENMATCH_PLAYER_SECRET.

    Parameters
    ----------
    player
        The player's id.
    minutes
        How long it counts.
    """
    print(make_token(from_environment(os.environ), player, minutes, time.time()))
