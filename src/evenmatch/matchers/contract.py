"""What every matcher promises, the one way a wave is run, and the check that a plan keeps its promises.

Problem. Algorithms differ; the engine, the lab and the tests must not care. And a rule that each algorithm had to keep
by itself would sooner or later be broken by one of them.

Idea. A matcher is a value with a `plan` method: columns in, arrays out. Rules that no algorithm needs to know of are
kept around it, and the rest is checked from outside:

    snapshot --split by group--> sub-snapshots --matcher.plan--> plans --rows mapped back, stacked--> one plan

Promises of a matcher, checked over every registered one by tests/matchers/test_contract.py:
  1. a ticket is in at most one match (I1), parties stay whole (I3), every team has exactly `format.size` players (I5);
  2. every row has a reason, SEATED exactly if it is in a match (I10);
  3. the same snapshot and seed give the same plan (I8), and the order of the rows does not matter;
  4. the snapshot is not changed, and a ticket's number matters only by its place in the order.

Why groups cannot mix: a matcher only ever sees rows of one group, so no plan of its own can join two. Tickets that must
not meet, or have no region in common, are kept apart round the matcher too (`apart`, `reach`).

Complexity. `plan_wave` adds one sort by group when there is more than one group, and nothing otherwise; `check_plan`
is one compiled pass over tickets and seats (`numerics/plan_check`).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Final, Protocol

import msgspec
import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import NO_FORMAT, DoorSpec, Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.domain.table import Table
from evenmatch.errors import MatcherError
from evenmatch.matchers.cost import match_cost
from evenmatch.matchers.reach import plan_in_reach, shared
from evenmatch.numerics import plan_check

__all__ = [
    "Matcher",
    "cannot_seat",
    "check_plan",
    "door",
    "groups_of",
    "next_change_ms",
    "own_format",
    "plan_from_matches",
    "plan_wave",
    "require_seatable",
    "wave_next_change_ms",
    "wave_ranges",
    "window_words",
    "with_format",
]


NO_DETAILS: Final = Table()
_SEATED: Final = int(Reason.SEATED)


class Matcher(Protocol):
    """A matchmaking algorithm with its parameters."""

    name: ClassVar[str]
    """The name in the registry."""
    reads_misses: ClassVar[bool]
    """The answer depends on `snapshot.misses`, so a wave is worth running although nobody came or went."""

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
        """The matches to suggest; `trace` asks for an account of the steps."""


def next_change_ms(matcher: Matcher, snapshot: Snapshot) -> int | None:
    """When time alone will change the matcher's answer; None = never, also for a matcher that does not say."""
    asked = getattr(matcher, "next_change_ms", None)
    if asked is None:
        return None
    answer: int | None = asked(snapshot)
    return answer


def cannot_seat(matcher: Matcher, form: Format, party: int) -> str | None:
    """Why a matcher can't play a format, or seat a party of this size in it; None = it can.

    A matcher that can't do everything says so by a method `cannot_seat(form, party)`.
    """
    asked = getattr(matcher, "cannot_seat", None)
    if asked is None:
        return None
    answer: str | None = asked(form, party)
    return answer


def own_format(matcher: Matcher) -> Format:
    """The format a matcher plays when none is named."""
    for parameter in ("lobby_size", "session_size"):
        if hasattr(matcher, parameter):
            return Format(1, getattr(matcher, parameter))
    return Format(2, 1)


def with_format(matcher: Matcher, snapshot: Snapshot) -> Snapshot:
    """The snapshot, with the matcher's own format where it names none."""
    if snapshot.format != NO_FORMAT:
        return snapshot
    return msgspec.structs.replace(snapshot, format=own_format(matcher))


def require_seatable(matcher: Matcher, snapshot: Snapshot) -> Snapshot:
    """The snapshot, in the matcher's own format where it names none.

    Raises MatcherError if the matcher can't play the snapshot's format, or can't seat one of its tickets.
    """
    snapshot = with_format(matcher, snapshot)
    form = snapshot.format
    for party in _party_sizes(snapshot):
        if (why := cannot_seat(matcher, form, party)) is not None:
            ticket = int(snapshot.ticket[(snapshot.size == party).argmax()])
            raise MatcherError(f"{matcher.name}: ticket {ticket}: {why}")
    if not len(snapshot):
        whys = [cannot_seat(matcher, form, party) for party in range(1, form.size + 1)]
        if None not in whys:
            raise MatcherError(f"{matcher.name}: {whys[0]}")
    return snapshot


def _party_sizes(snapshot: Snapshot) -> list[int]:
    """The different sizes of the tickets, ascending."""
    if snapshot.solo:
        return [1] if len(snapshot) else []
    size = snapshot.size
    if not np.count_nonzero(size != size[0]):
        return [int(size[0])]
    return [int(party) for party in np.flatnonzero(np.bincount(size))]


_WORDS: Final = ("region", "vetoed_maps", "roles")


def door(matcher: Matcher, form: Format) -> DoorSpec:
    """What a queue with this matcher and format asks of those who join.

    A matcher that reads more than rating and ping says so by `keeps` (names of facts and traits); one that can't plan
    without some of them by `requires` (groups of names, one of each group is enough); `words` says which of them are
    not numbers, where that is not plain from the name, and `choices` which of them must be of a few words.
    Raises MatcherError for a format that the matcher can't play.
    """
    whys = [cannot_seat(matcher, form, party) for party in range(1, form.size + 1)]
    if None not in whys:
        raise MatcherError(f"{matcher.name}: {whys[0]}")
    sizes = tuple(party for party, why in enumerate(whys, 1) if why is None)
    return DoorSpec(
        party_sizes=sizes if hasattr(matcher, "cannot_seat") else None,
        keeps=tuple(getattr(matcher, "keeps", ())),
        requires=tuple(tuple(group) for group in getattr(matcher, "requires", ())),
        words=tuple(name for name in getattr(matcher, "words", _WORDS) if name in getattr(matcher, "keeps", ())),
        activity_s=60.0 * float(getattr(matcher, "activity_minutes", 0.0)),
        choices=getattr(matcher, "choices", None) or msgspec.UNSET,
    )


def plan_wave(matcher: Matcher, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:
    """The plan of one wave: each group is matched by itself, in ascending order of group code.

    With several groups, `details` is {"groups": [...]} with one entry a group, and steps of the trace name theirs.
    """
    if _one_group(snapshot):
        return plan_in_reach(matcher, snapshot, seed=seed, trace=trace)
    parts = [(rows, plan_in_reach(matcher, part, seed=seed, trace=trace)) for rows, part in groups_of(snapshot)]
    codes = [int(snapshot.group[rows[0]]) for rows, _ in parts]
    width = max(plan.rosters.shape[1] for _, plan in parts)
    reasons = np.empty(len(snapshot), np.int8)
    for rows, plan in parts:
        reasons[rows] = plan.reasons
    rosters = [_widened(np.where(plan.rosters >= 0, rows[plan.rosters], -1), width) for rows, plan in parts]
    told = zip(codes, (plan for _, plan in parts), strict=True)
    return Plan(
        rosters=np.concatenate(rosters).astype(np.int32),
        team_of=np.concatenate([_widened(plan.team_of, width) for _, plan in parts]).astype(np.int8),
        cost=np.concatenate([plan.cost for _, plan in parts]),
        reasons=reasons,
        details={"groups": [{"group": c, **p.details} for c, (_, p) in zip(codes, parts, strict=True) if p.details]},
        match_details=Table.stacked([plan.match_details for _, plan in parts]),
        trace=tuple({"group": code, **step} for code, plan in told for step in plan.trace),
    )


def wave_next_change_ms(matcher: Matcher, snapshot: Snapshot) -> int | None:
    """When time alone will change the plan of a wave: the earliest such moment of any group; None = never."""
    if _one_group(snapshot):
        return next_change_ms(matcher, snapshot)
    moments = [next_change_ms(matcher, part) for _, part in groups_of(snapshot)]
    return min((moment for moment in moments if moment is not None), default=None)


def wave_ranges(matcher: Matcher, snapshot: Snapshot) -> tuple[Array, Array] | None:
    """float64[n] each: from which and up to which rating each ticket would take somebody now; None = it has no windows.

    A matcher that has windows or ranges says so by a method `ranges`; each group is asked for by itself, as in a wave.
    """
    asked = getattr(matcher, "ranges", None)
    if asked is None:
        return None
    low, high = np.empty(len(snapshot)), np.empty(len(snapshot))
    if _one_group(snapshot):
        low[:], high[:] = asked(snapshot) if len(snapshot) else (low, high)
        return low, high
    for rows, part in groups_of(snapshot):
        low[rows], high[rows] = asked(part)
    return low, high


def window_words(matcher: Matcher, waited_ms: int, misses: int | None, rating: float) -> str | None:
    """How wide a ticket's window is by its wait alone, whoever else waits; None = the matcher can't say, or has none.

    A matcher whose windows follow from waits says so by a method `window_after`. `misses`: None = not known.
    """
    asked = getattr(matcher, "window_after", None)
    words: str | None = None if asked is None else asked(waited_ms, misses, rating)
    return words


def _one_group(snapshot: Snapshot) -> bool:
    group = snapshot.group
    return not len(group) or not np.count_nonzero(group != group[0])


def groups_of(snapshot: Snapshot) -> Iterator[tuple[Array, Snapshot]]:
    """The rows and the sub-snapshot of each group, by ascending code, rows in the order they had."""
    order = np.argsort(snapshot.group, kind="stable")
    # Taking all rows once and slicing keeps many small groups linear; `take` per group would reread every row.
    ordered = snapshot.take(order)
    edges = np.flatnonzero(np.diff(ordered.group)) + 1
    for first, end in zip([0, *edges.tolist()], [*edges.tolist(), len(snapshot)], strict=True):
        yield order[first:end], _slice(ordered, first, end)


def _slice(snapshot: Snapshot, first: int, end: int) -> Snapshot:
    """The consecutive rows from `first` up to `end`, as views."""
    rows = slice(first, end)
    start = snapshot.player_start[first : end + 1]
    players = slice(int(start[0]), int(start[-1]))
    return Snapshot(
        format=snapshot.format,
        now_ms=snapshot.now_ms,
        ticket=snapshot.ticket[rows],
        waited_ms=snapshot.waited_ms[rows],
        misses=snapshot.misses[rows],
        returned=snapshot.returned[rows],
        group=snapshot.group[rows],
        player_start=start - start[0],
        player=snapshot.player[players],
        facts={name: column[players] for name, column in snapshot.facts.items()},
        traits={name: values[players] for name, values in snapshot.traits.items()},
        active_population=snapshot.active_population,
        first_match=snapshot.first_match,
        forbidden=_pairs_within(snapshot.forbidden, first, end),
        reach=snapshot.reach[rows] if len(snapshot.reach) else snapshot.reach,
        regions=snapshot.regions,
        met=_pairs_within(snapshot.met, first, end),
    )


def _pairs_within(pairs: Array, first: int, end: int) -> Array:
    """The pairs of rows from `first` up to `end`, counted from `first`."""
    if not len(pairs):
        return pairs
    inside: Array = pairs[((first <= pairs) & (pairs < end)).all(axis=1)] - first
    return inside


def _widened(matches: Array, width: int) -> Array:
    if matches.shape[1] == width:
        return matches
    wide = np.full((len(matches), width), -1, matches.dtype)
    wide[:, : matches.shape[1]] = matches
    return wide


def plan_from_matches(
    snapshot: Snapshot,
    *,
    rows: Array,
    teams: Array,
    tickets: Array,
    left: Array,
    cost: Array | None = None,
    details: dict[str, Any] | None = None,
    match_details: Table = NO_DETAILS,
    trace: tuple[dict[str, Any], ...] = (),
) -> Plan:
    """A plan from matches laid one after the other.

    `rows` and `teams`, int[t], say row and team of each seated ticket in order of selection; `tickets`, int[k], how
    many of them belong to each match; `left`, int[n], the reason of each row if it is not seated. Without `cost`,
    float64[k], a match costs what `match_cost` says.
    """
    matches = len(tickets)
    width = int(tickets.max()) if matches else 0
    if matches * width == len(rows):
        rosters, team_of = rows.reshape(matches, width).astype(np.int32), teams.reshape(matches, width).astype(np.int8)
    else:
        filled = np.arange(width) < tickets[:, None]
        rosters, team_of = np.full(filled.shape, -1, np.int32), np.full(filled.shape, -1, np.int8)
        rosters[filled], team_of[filled] = rows, teams
    reasons = left.astype(np.int8)
    reasons[rows] = _SEATED
    return Plan(
        rosters=rosters,
        team_of=team_of,
        cost=match_cost(snapshot, rosters, team_of) if cost is None else cost,
        reasons=reasons,
        details=details or {},
        match_details=match_details,
        trace=trace,
    )


def check_plan(plan: Plan, snapshot: Snapshot) -> str | None:
    """The first promise that a plan breaks, in words, or None. Trusts nothing that the matcher says."""
    if (wrong := _shape_broken(plan, len(snapshot))) is not None:
        return wrong
    broken = plan_check.first_broken(plan, snapshot)
    if broken is not None:
        return _in_words(*broken, plan, snapshot)
    if len(snapshot.reach) and len(plan.rosters) and (far := shared(plan.rosters, snapshot.reach) == 0).any():
        return f"match {int(far.argmax())} has no region that all its tickets can reach"
    return None


_COLUMNS: Final = (
    ("rosters", np.dtype(np.int32), 2),
    ("team_of", np.dtype(np.int8), 2),
    ("cost", np.dtype(np.float64), 1),
    ("reasons", np.dtype(np.int8), 1),
)


def _shape_broken(plan: Plan, rows: int) -> str | None:
    for column, kind, dimensions in _COLUMNS:
        array = getattr(plan, column)
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != dimensions:
            return f"{column} is not a {kind.name} array of {dimensions} dimension{'s' * (dimensions > 1)}"
    if plan.team_of.shape != plan.rosters.shape:
        return f"team_of has shape {plan.team_of.shape}, rosters {plan.rosters.shape}"
    if len(plan.cost) != len(plan.rosters):
        return f"there are {len(plan.cost)} costs for {len(plan.rosters)} matches"
    if len(plan.reasons) != rows:
        return f"there are {len(plan.reasons)} reasons for {rows} tickets"
    return None


def _in_words(rule: int, at: int, plan: Plan, snapshot: Snapshot) -> str:
    """What `plan_check` found."""
    form = snapshot.format
    if rule == plan_check.TEAM_NOT_FULL:
        if not plan.rosters.size:
            return "match 0 has no tickets"
        match, team = divmod(at, form.teams)
        players = int(snapshot.size[plan.rosters[match][plan.team_of[match] == team]].sum())
        return f"team {team} of match {match} has {players} players, not {form.size}"
    if rule == plan_check.REASON_WRONG:
        return f"row {at} is {'' if at in plan.rosters else 'not '}seated, but its reason says otherwise"
    if rule == plan_check.NO_SUCH_REASON:
        return f"row {at} has {int(plan.reasons[at])} for a reason, which there is not"
    told = {
        plan_check.COST_NAN: f"the cost of match {at} is NaN",
        plan_check.NO_SUCH_ROW: f"match {at} names a row that the snapshot does not have",
        plan_check.GAP: f"match {at} has an empty place before a ticket",
        plan_check.NO_SUCH_TEAM: f"match {at} has a team outside 0 to {form.teams - 1}, or one for an empty place",
        plan_check.TWICE: f"row {at} is seated twice",
        plan_check.GROUPS_MIXED: f"match {at} mixes groups",
        plan_check.FORBIDDEN_PAIR: f"match {at} holds two tickets that must not meet",
    }
    return told[rule]
