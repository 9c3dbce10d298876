"""The promises of every plan, asked one after the other, each over the whole plan."""

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.snapshot import Snapshot


def broken(plan: Plan, snapshot: Snapshot) -> str | None:
    """The first promise that a plan of the right shapes breaks, in words, or None."""
    if np.isnan(plan.cost).any():
        return f"the cost of match {int(np.isnan(plan.cost).argmax())} is NaN"
    return seats_broken(plan, snapshot) or reasons_broken(plan, len(snapshot))


def seats_broken(plan: Plan, snapshot: Snapshot) -> str | None:
    """Of rosters and teams."""
    rosters, team_of, form = plan.rosters, plan.team_of, snapshot.format
    if not len(rosters):
        return None
    if not rosters.size:
        return "match 0 has no tickets"
    filled = rosters >= 0
    if (wrong := (rosters < -1) | (rosters >= len(snapshot))).any():
        return f"match {first_match(wrong)} names a row that the snapshot does not have"
    if (wrong := filled[:, 1:] & ~filled[:, :-1]).any():
        return f"match {first_match(wrong)} has an empty place before a ticket"
    if (wrong := np.where(filled, (team_of < 0) | (team_of >= form.teams), team_of != -1)).any():
        return f"match {first_match(wrong)} has a team outside 0 to {form.teams - 1}, or one for an empty place"
    rows = rosters[filled]
    if (twice := np.bincount(rows, minlength=len(snapshot)) > 1).any():
        return f"row {int(twice.argmax())} is seated twice"
    seat_team = (np.arange(len(rosters))[:, None] * form.teams + team_of)[filled]
    players = np.bincount(seat_team, weights=snapshot.size[rows], minlength=len(rosters) * form.teams)
    if (wrong := players != form.size).any():
        match, team = divmod(int(wrong.argmax()), form.teams)
        return f"team {team} of match {match} has {int(players[wrong][0])} players, not {form.size}"
    group = snapshot.group[rosters]
    if (wrong := filled & (group != group[:, :1])).any():
        return f"match {first_match(wrong)} mixes groups"
    return None


def first_match(wrong: Array) -> int:
    """The first match with a wrong place, bool[k, width]."""
    return int(wrong.any(axis=1).argmax())


def reasons_broken(plan: Plan, rows: int) -> str | None:
    """Of the reasons."""
    seated = np.zeros(rows, bool)
    seated[plan.rosters[plan.rosters >= 0]] = True
    if (wrong := seated != (plan.reasons == Reason.SEATED)).any():
        row = int(wrong.argmax())
        return f"row {row} is {'' if seated[row] else 'not '}seated, but its reason says otherwise"
    if (wrong := ~np.isin(plan.reasons, np.array(sorted(Reason)))).any():
        row = int(wrong.argmax())
        return f"row {row} has {int(plan.reasons[row])} for a reason, which there is not"
    return None
