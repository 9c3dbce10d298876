"""The price of an uneven match, the same for every matcher that balances teams.

With two or more teams it is the squared gap between the strongest and the weakest team's mean rating: squaring makes
one very uneven match dearer than several slightly uneven ones. With one team nobody plays against anybody, so the
spread between the strongest and the weakest party counts instead, party means standing for their players.
"""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.snapshot import Snapshot
from evenmatch.numerics.quality import rating_totals, squared_gap, team_means


def match_cost(snapshot: Snapshot, rosters: Array, team_of: Array) -> Array:
    """float64[k], squared rating points: the cost of each match of a plan's `rosters` and `team_of`, int[k, width]."""
    if not len(rosters):
        return np.empty(0)
    total, size = rating_totals(snapshot), snapshot.size
    if snapshot.format.teams > 1:
        return squared_gap(team_means(rosters, team_of, total, size, snapshot.format.teams))
    means = (total / size)[rosters]  # -1 reads the last ticket, and is blanked out below
    means[rosters < 0] = np.nan
    return squared_gap(means)
