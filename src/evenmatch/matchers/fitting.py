"""Can these parties fill these teams exactly, each party staying whole?

Problem. A team with `room` free seats must be filled by parties whose sizes add up to `room`; several teams draw on the
same parties. Only sizes matter, so parties are counts per size. Threes alone never make a five; three and two do.
In full generality this is bin packing, for which nobody knows a method that is always fast.

Idea. Teams are filled one after the other, the smallest room first, trying large parties before small ones so that the
solos, which fit anywhere, are spent last. Two things keep the search short:
  - before a team is filled, the sums that the parties can make are computed as the bits of one integer; a room that is
    not among them ends the branch at once, and the ways to fill a room are listed without ever entering a dead end;
  - questions are remembered by the sorted rooms and the counts, each capped at the number that could be used at all,
    so that in a long queue, where almost all counts are above their cap, the same few questions return.
With as many solos as free seats the answer is yes without a search; so it is where taking the largest that fit, room
after room, comes out even.

Why correct. Every way to fill the first room is tried unless a necessary condition fails (the total, or a sum out of
reach); a branch is remembered as failed only after all of it was tried; capping removes only parties that cannot be
used together anyway.

What is promised. A filling that is returned is always a true one. None is a proof that there is none, unless the search
was given up after its allowance of steps (counted in `given_up`). One team is never given up: sums decide it. With up
to 10 teams none was in 17,000 random mixes (up to 8 sizes, teams of up to 100), though one can be built; with more
teams it happened about once in a thousand such mixes, where a match takes nearly everyone who is left. A caller must
keep the filling it was given as its witness and so never depends on a second answer.

Complexity. One step costs O(distinct sizes * log(count)) operations on integers of `room` bits.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

Filling: TypeAlias = list[list[int]]
"""For each room, how many parties of each size fill it."""

STEPS_PATIENT: Final = 10_000
"""Steps of one patient search, about a tenth of a second. A search that succeeds mostly takes one step a team."""
STEPS_MAX: Final = 1_000
"""Steps of one impatient search."""
STEPS_LEAST: Final = 16
"""Steps that every search has beyond one for each team."""
STEPS_SHARED: Final = 20_000
"""Steps of all impatient searches together, beyond which each gets only the least allowance."""
REMEMBERED_MAX: Final = 100_000
"""Questions remembered before forgetting all: bounds memory, and changes no answer but given-up ones."""


class Fitter:
    """Answers one kind of question for fixed party sizes, and remembers what it found."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """`sizes` are distinct, in descending order."""
        self.sizes: Final = tuple(sizes)
        self.given_up = 0
        self._solo: Final = len(self.sizes) - 1 if self.sizes and self.sizes[-1] == 1 else -1
        self._answers: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], ...] | None] = {}
        self._failed: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        self._shared = STEPS_SHARED
        self._steps = 0

    def fill(self, rooms: Sequence[int], counts: Sequence[int], *, patient: bool = False) -> Filling | None:
        """How many parties of each size fill each room exactly, or None.

        A patient search has its full allowance however much was spent before.
        """
        total = sum(rooms)
        if self._solo >= 0 and counts[self._solo] >= total:
            return [[0] * self._solo + [room] for room in rooms]
        order = sorted(range(len(rooms)), key=rooms.__getitem__)
        if (found := self._greedily(rooms, order, counts)) is not None:
            return found
        full = rooms.count(0)
        asked = tuple([rooms[room] for room in order[full:]])
        key = asked, self._capped(counts, total)
        if key not in self._answers:
            self._remember(key, patient)
        answer = self._answers[key]
        if answer is None:
            return None
        filling: Filling = [[0] * len(self.sizes)] * len(rooms)
        for room, used in zip(order[full:], answer, strict=True):
            filling[room] = list(used)
        return filling

    def _greedily(self, rooms: Sequence[int], order: Sequence[int], counts: Sequence[int]) -> Filling | None:
        """The filling that takes as many of the largest as it can, room after room, if it comes out even."""
        left, filling = list(counts), [[0] * len(self.sizes) for _ in rooms]
        for room in order:
            free, used = rooms[room], filling[room]
            for index, size in enumerate(self.sizes):
                if size <= free and left[index]:
                    taken = used[index] = min(left[index], free // size)
                    left[index] -= taken
                    free -= taken * size
            if free:
                return None
        return filling

    def _remember(self, key: tuple[tuple[int, ...], tuple[int, ...]], patient: bool) -> None:
        if len(self._answers) + len(self._failed) > REMEMBERED_MAX:
            self._answers.clear()
            self._failed.clear()
        least = STEPS_LEAST + len(key[0])
        allowed = STEPS_PATIENT if patient else max(least, min(STEPS_MAX, self._shared))
        self._steps = allowed
        self._answers[key] = self._search(*key)
        if not patient:
            self._shared -= allowed - max(self._steps, 0)
        if self._steps < 0 and self._answers[key] is None:
            self.given_up += 1

    def _search(self, rooms: tuple[int, ...], counts: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
        """A filling of the rooms, which ascend; None when there is none or no step is left."""
        if not rooms:
            return ()
        if (rooms, counts) in self._failed:
            return None
        reach = self._sums(counts, rooms[-1])
        if self._volume(counts) >= sum(rooms) and all(reach[0] >> room & 1 for room in rooms):
            rest, total = rooms[1:], sum(rooms[1:])
            for used in self._ways(rooms[0], 0, counts, reach):
                # One team needs no allowance: its first way is the answer.
                self._steps -= 1
                if self._steps < 0 and rest:
                    return None
                left = [count - gone for count, gone in zip(counts, used, strict=True)]
                others = self._search(rest, self._capped(left, total))
                if others is not None:
                    return (used, *others)
                if self._steps < 0:
                    return None
        self._failed.add((rooms, counts))
        return None

    def _capped(self, counts: Sequence[int], total: int) -> tuple[int, ...]:
        return tuple(
            [count if count * size <= total else total // size for count, size in zip(counts, self.sizes, strict=True)]
        )

    def _volume(self, counts: Sequence[int]) -> int:
        return sum([count * size for count, size in zip(counts, self.sizes, strict=True)])

    def _sums(self, counts: Sequence[int], most: int) -> list[int]:
        """Element i: an integer whose bit b is set if parties of the sizes from i on can add up to b players."""
        mask = (2 << most) - 1
        reach = [1]
        for size, count in zip(reversed(self.sizes), reversed(counts), strict=True):
            bits, batch = reach[-1], 1
            # Batches of 1, 2, 4, ... parties and the rest make every number from 0 to count.
            while count > 0:
                bits |= bits << size * min(batch, count) & mask
                count -= batch
                batch *= 2
            reach.append(bits)
        reach.reverse()
        return reach

    def _ways(self, room: int, index: int, counts: Sequence[int], reach: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """All ways to fill one room with the sizes from `index` on, most of the largest first."""
        if room == 0:
            yield (0,) * (len(counts) - index)
            return
        size = self.sizes[index]
        for used in range(min(counts[index], room // size), -1, -1):
            if reach[index + 1] >> room - used * size & 1:
                for others in self._ways(room - used * size, index + 1, counts, reach):
                    yield (used, *others)
