"""What a party counts as: the ratings and pings of its players as a matcher is to see them.

A matcher reads a value a player, and takes the mean of a party where it needs one number. A queue may want more: a
party that plays together is stronger than its mean, or as strong as its best, and as slow as its slowest. So, in the
snapshot and nowhere else, the players of a party of two or more get the party's value:

    each     their own values, as they are (the default)
    mean     the mean of the party; of pings too
    max      the highest of the party
    sum      all of it added up (ratings only)

and `premade_bonus` rating points for each further member. Players who bring no value are left out of it, and get none.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.queue import PartySpec


def counted(facts: dict[str, Array], start: Array, spec: PartySpec) -> dict[str, Array]:
    """The facts, float64[m] each, with the parties' values; the players of row r are start[r] : start[r + 1]."""
    size = start[1:] - start[:-1]
    if spec == PartySpec() or not len(size) or int(size.max()) < 2:
        return facts
    together = np.repeat(size > 1, size)
    further = np.repeat(size - 1, size)[together]
    found = dict(facts)
    for name, values in facts.items():
        if name == "ping_ms":
            found[name] = np.where(together, _of_party(values, start, spec.ping), values)
        elif name == "rating" or name.startswith("ratings."):
            found[name] = np.where(together, _of_party(values, start, spec.rating), values)
            found[name][together] += spec.premade_bonus * further
    return found


def _of_party(values: Array, start: Array, how: str) -> Array:
    """float64[m]: the value of each player's party, NaN where the player brings none."""
    if how == "each":
        return values
    given = ~np.isnan(values)
    size = start[1:] - start[:-1]
    if how == "max":
        party = np.maximum.reduceat(np.where(given, values, -np.inf), start[:-1])
    else:
        party = np.add.reduceat(np.where(given, values, 0.0), start[:-1])
        if how == "mean":
            party = party / np.maximum(1, np.add.reduceat(given.astype(np.int64), start[:-1]))
    return np.where(given, np.repeat(party, size), np.nan)
