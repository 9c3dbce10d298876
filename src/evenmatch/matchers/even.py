"""even: one matcher for any format, that says how far from the best possible its plan can be at most.

Problem. Tickets, which are parties of one or more, into matches of the queue's format. Hard rules: parties stay whole,
windows (`even_parameters`), the cap on latency, tickets that must not meet. Every match has a cost, a sum of named
terms (`numerics/match_terms`).

Objective. As many players as can be seated, then due tickets before others, then the least total cost; in teams the
cost less what waits count for (`even_worth`). With `hold` a match must be worth its cost, or it waits (`even_pool`).

    pool     tickets in canonical order, windows, who is due                          (even_pool)
    solve    one against one, sides, lobbies of two: exact, with a proof              (even_pairs)
             other formats: teams, by search, with bounds                             (even_teams)
    check    every match once more against every rule, whoever made it                (numerics/even_check)
    account  terms, bounds and gaps, in numbers and in words                          (even_account)

Promises.
  1. Never a double booking, never a broken rule: a plan that fails the check is refused by an error.
  2. Pairs: exactly lexicographic (matches, levels of due tickets, cost), proven among all pairs that may meet, unless
     `work` is used up before; the bounds say so.
  3. Bounded overtaking. A ticket that has missed more than `overtaken_most` waves is due. A miss is a wave that seated
     somebody else, so it was passed over no more often than that. Among pairs, no later ticket that is not due sits in
     a place that a due ticket could have taken: with the due one in its place there would be as many matches and higher
     levels. The same holds among due tickets, the earlier before the later, as far as their levels differ. Waits and
     misses are in the snapshot, so nothing has to be remembered between waves. Among teams the place is that of one
     or more tickets of lower levels in one match, with as many players together (`numerics/team_turns`); it costs no
     seat, and may cost evenness.
  4. Outliers. Who has waited `outlier_s` is due; who has waited `window_free_s` accepts anybody, and under the policies
     `mean` and `older` is accepted by anybody who came later. So whoever has waited both is seated in the next wave, if
     anybody legal is there who is not taken by another due ticket.

Nothing is random, and work is counted, not timed: the same snapshot gives the same plan.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.ticket import SIGMA
from evenmatch.errors import MatcherError
from evenmatch.matchers.contract import with_format
from evenmatch.matchers.even_account import details_of, match_details, named_roles, too_few_left, trace_of
from evenmatch.matchers.even_explained import explain_even, soonest_change
from evenmatch.matchers.even_held import with_holding
from evenmatch.matchers.even_pairs import Solved, by_earliest, solve_pairs
from evenmatch.matchers.even_parameters import (
    NO_ROLES,
    OFF_ROLE,
    WORK_MOST,
    Hold,
    WindowRule,
    cannot_play,
    judge_off_role,
    judge_roles,
    judge_sides,
    judge_weights,
    remarks_on,
)
from evenmatch.matchers.even_pool import Pool, pool_of, seat_worth
from evenmatch.matchers.even_teams import solve_teams
from evenmatch.matchers.even_worth import Judge, seat_of, seat_values
from evenmatch.matchers.parameters import number, whole_number
from evenmatch.numerics.even_check import breaches, first_of
from evenmatch.numerics.match_terms import plan_costs, plan_terms
from evenmatch.numerics.role_seats import plan_roles
from evenmatch.numerics.team_plan import TeamRules

__all__ = ["Even"]

LISTED_MAX: Final = 200
"""Tickets of which all pairs are asked when time will change the answer; of more it is asked at every beat."""


PAIRS_A_UNIT: Final = 100
"""Pairs of single players that may be weighed for each unit of `work`."""


class Even:
    """One matcher for any format; see the note above."""

    name: ClassVar[str] = "even"
    reads_misses: ClassVar[bool] = False
    keeps_apart: ClassVar[bool] = True
    keeps_reach: ClassVar[bool] = True

    def __init__(
        self,
        *,
        window: float = 100,
        window_growth: float = 1,
        window_free_s: float = 600,
        window_density: float = 4,
        window_policy: str = "mean",
        rating_scale: float = 400,
        weight_spread: float = 1,
        weight_imbalance: float = 1,
        weight_distribution: float = 0.5,
        weight_latency: float = 0.1,
        weight_premade: float = 0.25,
        weight_role: float = 1,
        weight_repeat: float = 0.5,
        overtaken_most: int = 10,
        outlier_s: float = 600,
        hold: bool = False,
        seat_value: float = 1,
        wait_value: float = 0.01,
        latency_cap_ms: float = 0,
        sides: Sequence[str] = (),
        roles: Mapping[str, int] = NO_ROLES,
        off_role: float | str = OFF_ROLE,
        work: int = 150_000,
    ) -> None:
        """Parameters, all of them optional.

        window, window_growth, window_free_s: the widest range of ratings that a ticket accepts, what a second of
            waiting adds, and the wait in seconds after which there is no limit.
        window_density: how many times as wide a window may be where few others are near; 1 = no wider.
        window_policy: whose windows bound a match: "mean" of all, the "older" ticket's, or "both" (the least).
        rating_scale: this many points more make a player ten times as likely to win as to lose.
        weight_*: what each term of the cost counts for (`numerics/match_terms`).
        overtaken_most, outlier_s: a ticket with more misses, or so long a wait in seconds, goes first.
        hold: leave a poor match for later where a better one is to be expected.
        seat_value, wait_value: with `hold`, what a player's seat may cost; what a second of waiting counts for
            beside cost, in teams always, in pairs with `hold`.
        latency_cap_ms: nobody plays in a region farther away than this; 0 = no cap beside the queue's own.
        sides: the names of two sides; a player's rating on a side is the fact `ratings.SIDE`.
        roles, off_role: a table role -> places in a team; what it costs to play a role one did not name, or "never".
        work: how much may be done for one plan, in units of the search for teams; of pairs 100 are weighed for one.
        """
        self.window, self.window_growth, self.window_free_s = window, window_growth, window_free_s
        self.window_density, self.window_policy = window_density, window_policy
        self.rule = WindowRule.judged(window, window_growth, window_free_s, window_density, window_policy)
        self.window_after = self.rule.after
        self.rating_scale = number(self.name, "rating_scale", rating_scale, least=1, most=1e6)
        self.weight_spread, self.weight_imbalance = weight_spread, weight_imbalance
        self.weight_distribution, self.weight_latency = weight_distribution, weight_latency
        self.weight_premade, self.weight_role, self.weight_repeat = weight_premade, weight_role, weight_repeat
        self.weights = judge_weights(
            spread=weight_spread,
            imbalance=weight_imbalance,
            distribution=weight_distribution,
            latency=weight_latency,
            premade=weight_premade,
            role=weight_role,
            repeat=weight_repeat,
        )
        self.overtaken_most = whole_number(self.name, "overtaken_most", overtaken_most, least=0, most=10**9)
        self.outlier_s = number(self.name, "outlier_s", outlier_s, least=0, most=1e9)
        self._hold = Hold.judged(hold, seat_value, wait_value)
        self.hold, self.seat_value, self.wait_value = hold, seat_value, wait_value
        self.latency_cap_ms = number(self.name, "latency_cap_ms", latency_cap_ms, least=0, most=1e6)
        self.sides = judge_sides(sides)
        self.roles = judge_roles(roles)
        self.off_role = judge_off_role(off_role)
        self.work = whole_number(self.name, "work", work, least=0, most=WORK_MOST)

    @property
    def keeps(self) -> tuple[str, ...]:
        """What a queue must keep of its players."""
        return (SIGMA, *(f"ratings.{side}" for side in self.sides), *(("roles",) if self.roles else ()))

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """What players may name: a role that the queue does not have would let them play any."""
        return {"roles": tuple(self.roles)} if self.roles else {}

    @property
    def requires(self) -> tuple[tuple[str, ...], ...]:
        """Every player must be able to play one of the sides, if there are any."""
        return (tuple(f"ratings.{side}" for side in self.sides),) if self.sides else ()

    def cannot_seat(self, form: Format, party: int) -> str | None:  # noqa: ARG002 parties of any size are seated or told why not
        """Sides are for one against one, and roles must fill a team."""
        return cannot_play(form, self.sides, self.roles)

    def remarks(self, expires_s: float) -> list[str]:
        """What does not go well with a queue whose tickets live so long."""
        return remarks_on(expires_s, self.outlier_s, self.window_free_s)

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The matches in the order of their earliest tickets."""
        snapshot = with_format(self, snapshot)
        form = snapshot.format
        if (why := self.cannot_seat(form, 1)) is not None:
            raise MatcherError(f"{self.name}: {why}")
        pool, sideless = self.pool(snapshot)
        solved = self._solve(snapshot, pool)
        rosters, team_of = by_earliest(solved)
        terms, gap, (_, role_of) = self._terms(pool, form, rosters, team_of)
        cost = plan_costs(terms, self.weights)
        self._check(pool, form, rosters, team_of, cost)
        parts = terms * self.weights.array
        seated = rosters[rosters >= 0]
        reasons = np.full(len(snapshot), int(Reason.PARTY_TOO_LARGE), np.int8)
        reasons[sideless & (snapshot.size <= form.size)] = int(Reason.CANNOT_PLAY_SIDE)
        reasons[pool.rows] = too_few_left(pool.size, seated, solved.reasons, form.seats)
        reasons[pool.rows[seated]] = int(Reason.SEATED)
        total, due = float(cost.sum()), pool.level > 0
        due_left = int(np.count_nonzero(due)) - int(np.count_nonzero(due[seated]))
        details = details_of(
            *(solved, int(pool.size[seated].sum()), total, int(np.count_nonzero(due)), due_left),
            hold=self.hold,
            held=bool(np.any(reasons == int(Reason.HELD))),
        )
        ticket = snapshot.ticket[pool.rows]
        steps: tuple[dict[str, Any], ...] = ()
        if trace:
            members = [ticket[match[match >= 0]].tolist() for match in rosters]
            steps = trace_of(details, solved.steps, len(pool.rows), pool.window, members, cost, parts)
        roles = None
        if self.roles:
            roles = named_roles(ticket, rosters, pool.start, role_of, tuple(self.roles))
        width = int((rosters >= 0).sum(axis=1).max()) if len(rosters) else 0
        rosters, team_of = rosters[:, :width], team_of[:, :width]
        return Plan(
            rosters=np.where(rosters >= 0, pool.rows[rosters], -1).astype(np.int32),
            team_of=np.ascontiguousarray(team_of, np.int8),
            cost=cost,
            reasons=reasons,
            details=details,
            match_details=match_details(parts, gap, self._named_sides(ticket, rosters, team_of), roles),
            trace=steps,
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who could be in a match with a row, what keeps the others away, and when time will help."""
        snapshot = with_format(self, snapshot)
        pool, sideless = self.pool(snapshot)
        found = explain_even(
            *(snapshot, row, pool, sideless, self.rule, self.latency_cap_ms, tuple(self.sides), self.roles)
        )
        if not self.hold:
            return found
        worth = seat_worth(pool, self._hold, self.weights, self.rating_scale)
        form, judge = snapshot.format, self.judge_of(pool, snapshot.format)
        waves = self.overtaken_most + 1 - int(snapshot.misses[row])
        return with_holding(found, row, pool, form, worth, judge, self._hold.wait_value, self.outlier_s, waves)

    def next_change_ms(self, snapshot: Snapshot) -> int | None:
        """When a window will have grown enough, or a ticket waited long enough, to change the answer."""
        snapshot = with_format(self, snapshot)
        pool, _ = self.pool(snapshot)
        if int(pool.size.sum()) < snapshot.format.seats:
            return None
        if self.hold or len(pool.rows) > LISTED_MAX or snapshot.format.seats > 2:
            return snapshot.now_ms + 1
        soonest = soonest_change(pool, self.rule, self.outlier_s)
        return None if soonest == np.inf else snapshot.now_ms + max(1, int(np.ceil(soonest)))

    def ranges(self, snapshot: Snapshot) -> tuple[Array, Array]:
        """float64[n] each: the ratings within each ticket's window, infinite = any; NaN = it can't be seated at all."""
        pool, _ = self.pool(with_format(self, snapshot))
        low, high = np.full(len(snapshot), np.nan), np.full(len(snapshot), np.nan)
        low[pool.rows], high[pool.rows] = pool.rating - pool.window, pool.rating + pool.window
        return low, high

    def due(self, snapshot: Snapshot) -> Array:
        """bool[n]: the tickets that have waited so long that they go first."""
        pool, _ = self.pool(with_format(self, snapshot))
        first = np.zeros(len(snapshot), bool)
        first[pool.rows] = pool.level > 0
        return first

    def pool(self, snapshot: Snapshot) -> tuple[Pool, Array]:
        """What it reads of a snapshot of one group; and bool[n]: the rows that can play none of the sides."""
        return pool_of(
            snapshot,
            tuple(self.sides),
            self.rule,
            overtaken_most=self.overtaken_most,
            outlier_s=self.outlier_s,
            latency_cap_ms=self.latency_cap_ms,
            roles=self.roles,
            off_role=self.off_role,
        )

    def weigh(self, snapshot: Snapshot, made: Plan) -> tuple[Array, Array]:
        """bool[k]: the matches of anybody's plan that keep the rules; float64[k]: what they cost here."""
        pool, _ = self.pool(snapshot)
        place = np.full(len(snapshot) + 1, -1)
        place[pool.rows] = np.arange(len(pool.rows))
        rosters, team_of = place[made.rosters], made.team_of.astype(np.int64)
        seatable = ((rosters >= 0) == (made.rosters >= 0)).all(axis=1)
        legal, cost = np.zeros(len(rosters), bool), np.zeros(len(rosters))
        if seatable.any():
            legal[seatable], cost[seatable] = self._judged(pool, snapshot.format, rosters[seatable], team_of[seatable])
        return legal, cost

    def _judged(self, pool: Pool, form: Format, rosters: Array, team_of: Array) -> tuple[Array, Array]:
        terms, _, _ = self._terms(pool, form, rosters, team_of)
        cost = plan_costs(terms, self.weights)
        return ~np.any(list(self._breaches(pool, form, rosters, team_of, cost).values()), axis=0), cost

    def _solve(self, snapshot: Snapshot, pool: Pool) -> Solved:
        form = snapshot.format
        worth = seat_worth(pool, self._hold, self.weights, self.rating_scale) if self.hold else None
        if form.seats == 2 and not self.roles:
            return solve_pairs(
                pool,
                weights=self.weights,
                policy=self.rule.policy,
                scale=self.rating_scale,
                lobby=form.teams == 1,
                work=PAIRS_A_UNIT * self.work,
                worth=worth,
            )
        rules = TeamRules(
            teams=form.teams,
            size=form.size,
            policy=self.rule.policy,
            weights=self.weights,
            rating_scale=float(self.rating_scale),
            places=tuple(self.roles.values()),
            work=self.work,
        )
        wait_value = 0.0 if form.seats == 2 else self.wait_value  # pairs: matches, turns, cost, and nothing else
        seat = seat_of(pool, self.weights, self.rating_scale, form.seats, wait_value)
        value = seat_values(pool, wait_value, worth, seat)
        base = 0.0 if self.hold else seat
        return solve_teams(snapshot, pool, rules, value, self.judge_of(pool, form), hold=self.hold, seat=base)

    def judge_of(self, pool: Pool, form: Format) -> Judge:
        """What says of any rosters and teams over the places of a pool which matches keep the rules, and their cost."""
        return partial(self._judged, pool, form)

    def _terms(
        self, pool: Pool, form: Format, rosters: Array, team_of: Array
    ) -> tuple[Array, Array | None, tuple[Array, Array]]:
        """The terms of each match; with several teams the gap between the means of strongest and weakest; and the
        roles: float64[k]: what those of each match cost at the least, inf = they can't be given out; and all of them.
        """
        mu = pool.mu
        if self.sides and len(rosters):
            mu = np.zeros(len(pool.rows))
            mu[rosters] = np.where(team_of == 0, pool.first[rosters], pool.second[rosters])
        places = np.array(list(self.roles.values()), np.int64)
        role, role_of = plan_roles(rosters, team_of, pool.start, pool.role_cost, places, form.teams)
        terms = plan_terms(
            rosters,
            team_of,
            start=pool.start,
            mu=mu,
            sigma=pool.sigma,
            latency=pool.latency,
            reach=pool.reach,
            teams=form.teams,
            size=form.size,
            scale=self.rating_scale,
            role=np.where(np.isfinite(role), role, 0.0),
            met=pool.met,
        )
        if form.teams == 1:
            return terms, None, (role, role_of)
        total = mu if len(mu) == len(pool.size) else np.add.reduceat(mu, pool.start[:-1])
        sums = np.zeros((len(rosters), form.teams))
        match, column = np.nonzero(rosters >= 0)
        np.add.at(sums, (match, team_of[match, column]), total[rosters[match, column]])
        return terms, (sums.max(axis=1) - sums.min(axis=1)) / form.size, (role, role_of)

    def _breaches(self, pool: Pool, form: Format, rosters: Array, team_of: Array, cost: Array) -> dict[str, Array]:
        terms, _, (role, _) = self._terms(pool, form, rosters, team_of)
        return breaches(
            rosters,
            team_of,
            teams=form.teams,
            size=form.size,
            party=pool.size,
            rating=pool.rating,
            first=pool.first,
            second=pool.second,
            sided=bool(self.sides),
            window=pool.window,
            policy=self.rule.policy,
            latency=pool.latency,
            latency_cap=self.latency_cap_ms or np.inf,
            reach=pool.reach,
            apart=pool.apart,
            role=role,
            cost=cost,
            true_cost=plan_costs(terms, self.weights),
        )

    def _check(self, pool: Pool, form: Format, rosters: Array, team_of: Array, cost: Array) -> None:
        """Raise MatcherError for a plan that breaks a rule, whoever made it."""
        broken = first_of(self._breaches(pool, form, rosters, team_of, cost))
        if broken is not None:
            raise MatcherError(f"{self.name}: its plan is refused: match {broken[1]} breaks the rule {broken[0]!r}")

    def _named_sides(self, ticket: Array, rosters: Array, team_of: Array) -> dict[str, Array] | None:
        if not self.sides or not len(rosters):
            return None
        rows = np.arange(len(rosters))
        return {side: ticket[rosters[rows, (team_of == at).argmax(axis=1)]] for at, side in enumerate(self.sides)}
