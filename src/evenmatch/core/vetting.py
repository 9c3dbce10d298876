"""Vetting a plan: the last check before anyone hears of a match.

Two questions, both answered for all proposals at once:

1. Is the plan a plan? Rows that exist, none twice, teams of the right size, one group a match, one reason a row. A plan
   that fails here comes from a broken matcher and is refused whole.
2. Does it still hold? While the matcher thought, tickets may have left, expired, been suspended by a proposal in
   another queue (I11) or changed what they share, or players may have blocked others. Such a proposal is dropped; its
   other tickets simply wait on. So is every proposal when the queue was given another format meanwhile, and one that no
   region is left for (I5).

The first is asked once, and takes no state, so any thread may ask it (`looked_at`). The second is asked of each part of
the plan just before it is recorded: a large wave is recorded in several events, so that nobody who joins waits for all
of it.
"""

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, in_plain
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Choice, Table
from evenmatch.numerics import plan_check
from evenmatch.numerics.quality import evenness, match_quality, team_means

from .state import WAITING, QueueState
from .venue import playable, with_venues
from .waves import Flight, Recording


class Vetted(msgspec.Struct, frozen=True, eq=False):
    """The proposals that hold, in the plan's order."""

    roster: Array
    """int64[k, width]: tickets, -1 = empty"""
    slots: Array
    """int64[k, width]: their slots, -1 = empty"""
    team_of: Array
    cost: Array
    quality: Array
    details: Table
    rows: Array
    """int64: the rows of the snapshot that are in them"""
    dropped: int


def looked_at(flight: Flight, plan: Plan) -> Recording:
    """Check a plan against the snapshot it was made for; what recording it takes besides is worked out ahead."""
    recording = Recording(flight.frozen, plan, _broken(flight.snapshot, plan))
    if recording.wrong is None and len(plan.rosters):
        recording.work_ahead()
    return recording


def refused(queue: QueueState, flight: Flight, recording: Recording) -> Refusal | None:
    """The answer to a plan that is none."""
    if recording.wrong is None:
        return None
    return Refusal(Reasons.BAD_PLAN, f"wave {flight.wave} of {queue.spec.name}: {recording.wrong}")


def vet(queue: QueueState, recording: Recording, count: int, apart: Array, first: int, seed: int) -> Vetted:
    """Check the next `count` matches of a plan against the queue as it is now, and choose their venues.

    `apart`, int64[k, 2]: slots of tickets that must not meet, if players blocked others meanwhile. What holds is
    numbered on from `first`.
    """
    t, plan = queue.tickets, recording.plan
    part = slice(recording.next, recording.next + count)
    rows, team_of = plan.rosters[part].astype(np.int64), plan.team_of[part]
    filled = rows >= 0
    snapshot = recording.snapshot
    slots = np.where(filled, recording.slots[rows], -1)
    tickets = np.where(filled, snapshot.ticket[rows], -1)
    here = (t.ticket[slots] == tickets) & (t.status[slots] == WAITING) & (t.suspended[slots] == 0)
    holds = (here | ~filled).all(axis=1) & (snapshot.format == queue.spec.format)
    group = t.group[slots]
    holds &= ((group == group[:, :1]) | ~filled).all(axis=1)
    if len(apart):
        match_of = np.full(len(t.status), -1)
        match_of[slots[filled]] = np.nonzero(filled)[0]
        one, other = match_of[apart].T
        holds[one[(one == other) & (one >= 0)]] = False
    holds[holds] = playable(queue, slots[holds])
    kept = slice(None) if holds.all() else holds
    rows, tickets, slots, team_of = rows[kept], tickets[kept], slots[kept], team_of[kept]
    details = plan.match_details
    if len(details):
        details = in_plain(details[np.arange(len(plan.rosters))[part][kept]])
    seated = rows[rows >= 0]
    return Vetted(
        roster=tickets,
        slots=slots,
        team_of=team_of,
        cost=plan.cost[part][kept].astype(np.float64),
        quality=_quality(details, recording, rows, team_of),
        details=with_venues(queue, slots, details, first, seed),
        rows=seated,
        dropped=len(holds) - len(rows),
    )


def waiting_in_part(queue: QueueState, recording: Recording, count: int) -> Array:
    """int64: the slots of those tickets in the next `count` matches of a plan that can still be matched."""
    rows = recording.plan.rosters[recording.next : recording.next + count].astype(np.int64)
    rows = rows[rows >= 0]
    t, slots = queue.tickets, recording.slots[rows]
    here = (t.ticket[slots] == recording.snapshot.ticket[rows]) & (t.status[slots] == WAITING)
    waiting: Array = slots[here & (t.suspended[slots] == 0)]
    return waiting


def _quality(details: Table, recording: Recording, rows: Array, team_of: Array) -> Array:
    """By the gap that the matcher tells of a match (of sides, say), else by the teams' mean ratings."""
    gap = details.columns.get("gap")
    if gap is None or isinstance(gap, Table) or not len(details):
        teams = recording.snapshot.format.teams
        return match_quality(team_means(rows, team_of, recording.rating_total, recording.size, teams))
    return evenness(np.array(gap.tolist() if isinstance(gap, Choice) else gap, np.float64))


def _broken(snapshot: Snapshot, plan: Plan) -> str | None:
    """The first rule of every plan that this one breaks, in words, or None."""
    rows, team_of, count = plan.rosters, plan.team_of, len(snapshot)
    if rows.ndim != 2 or rows.shape != team_of.shape or plan.cost.shape != rows.shape[:1]:
        return f"rosters {rows.shape}, team_of {team_of.shape} and cost {plan.cost.shape} do not fit together"
    if rows.dtype.kind != "i" or team_of.dtype.kind != "i" or plan.reasons.dtype.kind != "i":
        return "rosters, team_of and reasons must be whole numbers"
    if plan.cost.dtype.kind not in "fi":
        return "a cost is not a number"
    if plan.match_details and len(plan.match_details) != len(rows):
        return f"{len(plan.match_details)} details for {len(rows)} matches"
    if plan.reasons.shape != (count,):
        return f"{len(plan.reasons)} reasons for {count} tickets"
    form = snapshot.format
    if len(rows) and rows.shape[1] > form.seats:
        return f"a roster has {rows.shape[1]} places for {form.seats} seats"
    broken = plan_check.first_broken(plan, snapshot, gaps=True)
    if broken is None:
        return None
    rule, at = broken
    told = {
        plan_check.COST_NAN: "a cost is not a number",
        plan_check.NO_SUCH_ROW: f"a roster names a row outside 0..{count - 1}",
        plan_check.NO_SUCH_TEAM: f"a ticket's team is not one of 0..{form.teams - 1}",
        plan_check.TWICE: f"row {at} is seated twice (I1)",
        plan_check.TEAM_NOT_FULL: f"a team does not have {form.size} players (I5)",
        plan_check.GROUPS_MIXED: "a match mixes tickets that the queue keeps apart (require_equal)",
        plan_check.FORBIDDEN_PAIR: f"match {at} holds two tickets that must not meet (I5)",
        plan_check.REASON_WRONG: "a ticket that waits has no reason, or one that is seated has one (I10)",
        plan_check.NO_SUCH_REASON: "a reason is none of those that there are (I10)",
    }
    return told[rule]
