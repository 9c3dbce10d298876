"""First come, first served: the oldest ticket that can play, plays, with the earliest tickets that complete its match.

Problem. Any format (teams x size), parties whole. Nobody should be able to say "I waited longer, I fitted, and you took
another"; ratings are not looked at. This is the baseline that every other matcher is compared with.

Idea. Tickets stand in canonical order. A match is anchored at the oldest ticket that can still be in one. Then the
tickets are gone through in order; each joins the first team (lowest index) in which the match can still be completed
from the tickets that remain, and is passed over if there is none. A ticket passed over stays for the next match.

    1x5, sizes in order:  3 3 1 2   ->  anchor 3; the second 3 can't complete a five; 1 leaves room 1, nobody left
                                        fits, so it is passed over; 2 completes.          match: 3 2, left: 3 1

Why per-size queues suffice. Whether a match can be completed depends on sizes and counts only (`fitting`), so:
  1. if one ticket of a size is passed over, all of that size are, to the end of this match: what can complete it only
     becomes less as it fills. The size is closed for the match.
  2. if an anchor can be in no match, no ticket of its size can be in one, now or later: the size is closed for good.
  3. thus the next ticket is always the earliest head among the queues of the open sizes, and none is looked at twice.

The witness. While a match is built, one way to complete it is kept: for each team, how many parties of each size. A
ticket that the witness has in that team needs no search; nor does one for which the witness has enough solos there,
which it replaces. Only otherwise is `fitting` asked, and its answer is the new witness. There always is a witness, so
an anchored match is always finished.

What is promised. Every match keeps the format. The result is exactly the rule above as long as no search is given up;
`details["searches_given_up"]` tells how many were (left out if none; `fitting` says when to expect any). A search given
up counts as "cannot be completed that way": the match is valid, perhaps with a later ticket than the rule would have
taken; and a size given up as an anchor waits for another wave.

When all parties have the same size, the rule makes plain blocks of the canonical order, and one reshape makes the plan.

Complexity. Sorting, then O(log distinct sizes) a ticket and O(distinct sizes * teams) a match, apart from searches.
"""

import heapq
from typing import Any, ClassVar, Final

import numpy as np

from evenmatch.domain.arrays import Array
from evenmatch.domain.explanation import Explanation
from evenmatch.domain.match import Plan, Reason
from evenmatch.domain.queue import Format
from evenmatch.domain.snapshot import Snapshot
from evenmatch.matchers.contract import plan_from_matches, with_format
from evenmatch.matchers.fitting import Filling, Fitter
from evenmatch.matchers.party_fits import explain_parties

__all__ = ["FirstCome"]

TOO_FEW_PLAYERS, NO_FITTING_PARTIES, PARTY_TOO_LARGE = (
    np.int8(reason) for reason in (Reason.TOO_FEW_PLAYERS, Reason.NO_FITTING_PARTIES, Reason.PARTY_TOO_LARGE)
)
_ONES: Final = np.ones(1, np.int64)
"""The sizes of single players, however many they are."""


class FirstCome:
    """The oldest ticket plays first; see the note above."""

    name: ClassVar[str] = "first_come"
    reads_misses: ClassVar[bool] = False

    def plan(self, snapshot: Snapshot, *, seed: int = 0, trace: bool = False) -> Plan:  # noqa: ARG002 nothing is random
        """The matches in the order of their anchors."""
        snapshot = with_format(self, snapshot)
        form, order = snapshot.format, snapshot.canonical_order()
        in_order = _ONES if snapshot.solo else snapshot.size[order]
        if (too_large := in_order > form.size).any():
            order, in_order = order[~too_large], in_order[~too_large]
        details: dict[str, Any] = {}
        if len(order) and (in_order == in_order[0]).all():
            teams, tickets = blocks(int(in_order[0]), len(order), form)
            rows = order[: len(teams)]
        else:
            drain = Drain(in_order[: len(order)], form)
            chosen, teams, tickets = drain.run()
            rows = order[chosen]
            if drain.fitter.given_up:
                details["searches_given_up"] = drain.fitter.given_up
        return plan_from_matches(
            snapshot,
            rows=rows,
            teams=teams,
            tickets=tickets,
            left=reasons_left(snapshot, rows),
            details=details,
            trace=account(snapshot.ticket[rows], tickets) if trace else (),
        )

    def explain(self, snapshot: Snapshot, row: int) -> Explanation:
        """Who could be in a match with a row, and what is missing for one."""
        return explain_parties(with_format(self, snapshot), row)


def reasons_left(snapshot: Snapshot, seated: Array) -> Array:
    """int8[n]: why each row would be in no match, given the rows that are; only meant for the others."""
    form = snapshot.format
    if snapshot.solo:
        few = len(snapshot) - len(seated) < form.seats
        return np.full(len(snapshot), TOO_FEW_PLAYERS if few else NO_FITTING_PARTIES, np.int8)
    size = snapshot.size
    fits = size <= form.size
    few = int(size[fits].sum() - size[seated].sum()) < form.seats
    return np.where(fits, TOO_FEW_PLAYERS if few else NO_FITTING_PARTIES, PARTY_TOO_LARGE)


def account(tickets: Array, per_match: Array) -> tuple[dict[str, Any], ...]:
    """The trace: for each match its anchor, and its tickets in order of selection."""
    matches = np.split(tickets, np.cumsum(per_match)[:-1]) if len(per_match) else []
    return tuple({"anchor": int(match[0]), "tickets": match.tolist()} for match in matches)


def blocks(size: int, count: int, form: Format) -> tuple[Array, Array]:
    """Teams and tickets per match for `count` tickets that all have `size` players: the first ones play, in order."""
    per_team, odd = divmod(form.size, size)
    per_match = per_team * form.teams
    matches = 0 if odd else count // per_match
    teams = np.empty((matches, form.teams, per_team), np.int8)
    teams[:] = np.arange(form.teams, dtype=np.int8)[:, None]
    return teams.ravel(), np.full(matches, per_match)


class Drain:
    """One run of the rule over tickets of mixed sizes, given by their places 0, 1, ... in canonical order."""

    def __init__(self, in_order: Array, form: Format) -> None:
        """`in_order`, int[n]: the party size at each place, none larger than a team."""
        self.form = form
        self.sizes: list[int] = np.unique(in_order)[::-1].tolist()
        self.fitter = Fitter(self.sizes)
        self.solo = len(self.sizes) - 1 if self.sizes and self.sizes[-1] == 1 else -1
        self.queues: list[list[int]] = [np.flatnonzero(in_order == size).tolist() for size in self.sizes]
        for queue in self.queues:
            queue.reverse()  # the head is taken by pop()
        self.players = int(in_order.sum())
        """Players in the queues."""
        self.places: list[int] = []
        self.teams: list[int] = []
        self.tickets: list[int] = []
        self.rooms: list[int] = []
        self.witness: Filling = []
        self.left: list[int] = []
        """Tickets of each size that this match may still take; 0 once the size is closed for it."""

    def run(self) -> tuple[Array, Array, Array]:
        """Places, teams and tickets per match, match by match in order of selection."""
        while self.players >= self.form.seats:
            anchor = min(self.heads())[1]
            if self.anchored(anchor):
                before = len(self.places)
                self.complete(anchor)
                self.tickets.append(len(self.places) - before)
                self.players -= self.form.seats
            else:
                self.players -= self.sizes[anchor] * len(self.queues[anchor])
                self.queues[anchor] = []
        return (
            np.array(self.places, np.int64),
            np.array(self.teams, np.int8),
            np.array(self.tickets, np.int64),
        )

    def anchored(self, index: int) -> bool:
        """Whether a match with a party of this size in the first team exists; if so, it is begun."""
        self.rooms = [self.form.size] * self.form.teams
        self.rooms[0] -= self.sizes[index]
        self.left = [len(queue) for queue in self.queues]
        self.left[index] -= 1
        found = self.fitter.fill(self.rooms, self.left, patient=True)
        self.witness = found or []
        return found is not None

    def complete(self, anchor: int) -> None:
        """Seat the anchor, then the earliest tickets that leave the match completable, until it is full."""
        self.seat(anchor, 0)
        heads = self.heads()
        heapq.heapify(heads)
        widest = max(self.rooms)
        free = sum(self.rooms)
        while free:
            index = heads[0][1]
            team = self.team_for(index) if self.sizes[index] <= widest else -1
            if team < 0:
                self.left[index] = 0
                heapq.heappop(heads)
                continue
            free -= self.sizes[index]
            self.left[index] -= 1
            self.rooms[team] -= self.sizes[index]
            widest = max(self.rooms)
            self.seat(index, team)
            if self.queues[index]:
                heapq.heapreplace(heads, (self.queues[index][-1], index))
            else:
                heapq.heappop(heads)

    def heads(self) -> list[tuple[int, int]]:
        """The place of the earliest ticket of each size, and the size's index."""
        return [(queue[-1], index) for index, queue in enumerate(self.queues) if queue]

    def seat(self, index: int, team: int) -> None:
        """Take the head of a queue into a team."""
        self.places.append(self.queues[index].pop())
        self.teams.append(team)

    def team_for(self, index: int) -> int:
        """The first team that a party of this size can join, the witness changed to match; -1 if there is none."""
        size = self.sizes[index]
        refused = -1
        for team, room in enumerate(self.rooms):
            if room < size:
                continue
            if self.witnessed(index, team):
                return team
            # Teams with equal room are alike to the search: what was refused once is refused again.
            if room != refused and self.searched(index, team):
                return team
            refused = room
        return -1

    def witnessed(self, index: int, team: int) -> bool:
        """Whether the witness shows that a party of this size can join the team; if so, it is taken out of it."""
        needs = self.witness[team]
        if needs[index]:
            needs[index] -= 1
            return True
        size = self.sizes[index]
        if self.solo < 0 or needs[self.solo] < size:
            return False
        needs[self.solo] -= size
        holders = [other for other in self.witness if other[index]]
        if sum([other[index] for other in holders]) == self.left[index]:
            # The witness wants every party of this size elsewhere: there the freed solos take its place.
            holders[0][index] -= 1
            holders[0][self.solo] += size
        return True

    def searched(self, index: int, team: int) -> bool:
        """Whether a search shows that a party of this size can join the team; if so, it found the new witness."""
        rooms, left = self.rooms.copy(), self.left.copy()
        rooms[team] -= self.sizes[index]
        left[index] -= 1
        found = self.fitter.fill(rooms, left)
        if found is None:
            return False
        self.witness = found
        return True
