"""Why a party waits where matches are filled with whole parties of any size (`first_come`, `exact`).

Whether two tickets can be in one match depends on sizes only, so one question of `fitting` a size answers for all
tickets of that size: is there a full match that holds the two and is filled up by others who wait? And the least number
of single players who would complete a match follows by halving, for more of them never harm.
"""

from collections.abc import Sequence

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.explaining import of_pairs
from evenmatch.matchers.fitting import Fitter

__all__ = ["explain_parties", "singles_missing"]


def explain_parties(snapshot: Snapshot, row: int, beyond: Array | None = None) -> Explanation:
    """What keeps others from a row; `beyond`, bool[n], says whom the matcher does not look at."""
    size, form = snapshot.size, snapshot.format
    mine = int(size[row])
    if mine > form.size:
        everybody = np.ones(len(snapshot), bool)
        words = f"the party of {mine} is larger than a team of {form.size}"
        return of_pairs(snapshot, row, [("format", words, everybody)], unlock=f"a party of at most {form.size}")
    large = size > form.size
    if form.teams == 1:
        large |= size + mine > form.size
    looked_at = ~large if beyond is None else ~(large | beyond)
    looked_at[row] = True
    pool = _Pool(size[looked_at], mine, form)
    able = np.array([pool.holds(party) for party in range(form.size + 1)])
    cannot = looked_at & ~able[np.minimum(size, form.size)]
    if beyond is not None and beyond[row]:
        beyond = np.ones(len(snapshot), bool)
    rules = [("format", f"the two parties do not fit into one match of {form}", large)]
    if beyond is not None:
        rules.append(("pool", "others wait longer, and the matcher looks at the longest waiting only", beyond))
    rules.append(("parties", "with those who wait, no full match holds the two", cannot))
    unlock = None
    if beyond is not None and beyond[row]:
        unlock = "those who wait longer must be matched, or leave, first"
    elif missing := pool.missing():
        unlock = f"{missing} more single player{'s' * (missing > 1)}"
    return of_pairs(snapshot, row, rules, unlock=unlock or "")


def singles_missing(size: Array, mine: int, form: Format) -> int:
    """The least number of single players who would complete a match of a party of `mine` with some of these, 0 = none.

    `size`, int[k]: the parties, that one included, none larger than a team.
    """
    return _Pool(size, mine, form).missing()


class _Pool:
    """The parties of a queue, as counts by size."""

    def __init__(self, size: Array, mine: int, form: Format) -> None:
        counts = np.bincount(size, minlength=form.size + 1)
        self.sizes = [party for party in range(form.size, 0, -1) if counts[party] or party == 1]
        self.counts = [int(counts[party]) for party in self.sizes]
        self.counts[self.sizes.index(mine)] -= 1
        self.mine, self.form = mine, form
        self.fitter = Fitter(self.sizes)

    def holds(self, party: int) -> bool:
        """Can one more party of this size be in a full match with mine?"""
        if party not in self.sizes or not self.counts[self.sizes.index(party)]:
            return False
        left = list(self.counts)
        left[self.sizes.index(party)] -= 1
        form, mine = self.form, self.mine
        together = [form.size - mine - party] + [form.size] * (form.teams - 1)
        against = [form.size - mine, form.size - party] + [form.size] * (form.teams - 2)
        return (min(together) >= 0 and self._fills(together, left)) or (form.teams > 1 and self._fills(against, left))

    def _fills(self, rooms: Sequence[int], counts: Sequence[int]) -> bool:
        return self.fitter.fill(rooms, counts, patient=True) is not None

    def missing(self) -> int:
        """The least number of single players who would complete a match with mine; 0 = there is one."""
        rooms = [self.form.size - self.mine] + [self.form.size] * (self.form.teams - 1)
        least, most = 0, sum(rooms)
        while least < most:
            middle = (least + most) // 2
            if self._fills(rooms, [*self.counts[:-1], self.counts[-1] + middle]):
                most = middle
            else:
                least = middle + 1
        return least
