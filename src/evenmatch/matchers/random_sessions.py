"""Random sessions: members are dealt out to leaders by chance.

The last algorithm that the LOM document compares itself with (section 4), "merely a reference algorithm": what a
session weighs when nobody looks at weights. Members are shuffled by the seed and dealt out, h - 1 to each leader in
order. Leaders are drawn from the same seed as `lom` draws them, so under one seed the two are compared on the same
leaders.

Everything else is as in `lom`. O(n).
"""

from functools import partial
from typing import Any, ClassVar, Final

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
    plan_sessions,
)
from evenmatch.numerics.profiles import Profiles
from evenmatch.numerics.seeds import generator

__all__ = ["Random", "assign"]

SALT_MEMBERS: Final = 1
"""Another stream than the one that draws leaders."""


class Random:
    """Members are dealt out by chance; see the note above."""

    name: ClassVar[str] = "random"
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
        """The sessions in the order of their leaders; members in the order in which they were drawn."""
        return plan_sessions(self, snapshot, partial(dealt_by_seed, seed=seed), seed=seed, trace=trace)

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who is near to a row, and how many players its session lacks."""
        return explain_session(self, snapshot, row)


def assign(weights: ArrayLike, session_size: int, seed: int = 0) -> tuple[Array, float]:
    """The leader of each member, int64[m], -1 = left over, and the total weight; arguments as of `lom.assign`."""
    matrix, capacity = judged_weights("random", weights, session_size)
    leaders, members = matrix.shape
    return assigned(matrix, dealt_out(leaders, members, capacity, seed=seed))


def dealt_out(leaders: int, members: int, capacity: int, *, seed: int) -> Array:
    """int64[leaders, capacity]: the members of each leader, in the order in which they were drawn."""
    drawn = generator(seed, SALT_MEMBERS).permutation(members)
    return drawn[: leaders * capacity].reshape(leaders, capacity)


def dealt_by_seed(_: Profiles, leaders: Array, members: Array, capacity: int, *, seed: int) -> Array:
    """`dealt_out`, whoever they are."""
    return dealt_out(len(leaders), len(members), capacity, seed=seed)
