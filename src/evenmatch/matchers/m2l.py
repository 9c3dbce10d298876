"""M2L, members to leaders: each member in turn joins the closest leader who still has room.

The first of the greedy algorithms that the LOM document compares itself with (section 4): "every member node, from the
first to the last, selects a un-fully-matched leader node with the minimum association weight". Members go in canonical
order; of equally close leaders the earlier is taken. When all leaders are full, the members who remain are left over:
the last in canonical order, however close they are.

Everything else is as in `lom`. How it is done fast: `numerics/greedy_sessions`.
"""

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.association import Declared, counted, kept, required, words
from evenmatch.matchers.sessions import (
    assigned,
    explain_session,
    format_refusal,
    judge_parameters,
    judged_weights,
    leads_session,
    plan_sessions,
)
from evenmatch.numerics.greedy_sessions import members_pick_by_matrix, members_pick_by_profile

__all__ = ["M2l", "assign"]


class M2l:
    """Members pick leaders; see the note above."""

    name: ClassVar[str] = "m2l"
    reads_misses: ClassVar[bool] = False

    def __init__(self, *, session_size: int = 10, leaders: str = "random", features: Declared | None = None) -> None:
        """The parameters of `lom`."""
        judge_parameters(self.name, session_size, leaders, features)
        self.session_size = session_size
        self.leaders = leaders
        self.features = features

    @property
    def keeps(self) -> tuple[str, ...]:
        """What a queue must keep of its players for the declared features."""
        return kept(self.name, self.features)

    @property
    def requires(self) -> tuple[tuple[str, ...], ...]:
        """What every player must bring."""
        return required(self.name, self.features)

    @property
    def words(self) -> tuple[str, ...]:
        """Those of `keeps` that are words."""
        return words(self.name, self.features)

    def stands_for(self, snapshot: Snapshot | None) -> dict[str, Any]:
        """What counts where a parameter is left out."""
        return {"features": counted(self.name, self.features, snapshot)}

    def cannot_seat(self, form: Format, party: int) -> str | None:
        """Why a party of this size can't play in this format; None = it can."""
        return format_refusal(self.session_size, form, party)

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        """The sessions in the order of their leaders; members in order of picking, which is canonical."""
        return plan_sessions(self, snapshot, members_pick_by_profile, seed=seed, trace=trace)

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who is near to a row, and how many players its session lacks."""
        return explain_session(self, snapshot, row)

    def leads(self, snapshot: Snapshot, seed: int) -> Array:
        """bool[n]: who leads in a wave with this seed."""
        return leads_session(self, snapshot, seed)


def assign(weights: ArrayLike, session_size: int) -> tuple[Array, float]:
    """The leader of each member, int64[m], -1 = left over, and the total weight; arguments as of `lom.assign`.

    >>> leader_of, total = assign([[4, 1, 3, 7, 2], [2, 0, 5, 8, 6]], 3)
    >>> leader_of.tolist(), total
    ([1, 1, 0, 0, -1], 12.0)
    """
    matrix, capacity = judged_weights("m2l", weights, session_size)
    return assigned(matrix, members_pick_by_matrix(matrix, capacity))
