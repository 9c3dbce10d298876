"""Who is who: players' names and the numbers that the engine and the journal know them by.

Names live in the journal's side table. The names in use lately are kept in two generations of dictionaries: when the
young one is full it becomes the old one, and the old one is dropped; whoever is asked for again moves back to the young
one. So memory is bounded and a hot name costs one lookup.

Used from the engine thread only. A number given to a new name counts once the commit that carries it is durable; after
a failed commit the directory starts anew from the table. Where several owners give numbers out, the table does.
"""

import re

from evenmatch.storage.protocol import Journal

_GENERATION = 250_000
_ERASED = re.compile(r"#[0-9]{1,18}", re.ASCII)


class Directory:
    """Names and numbers of players."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._names: tuple[dict[int, str], dict[int, str]] = ({}, {})
        self._next = journal.last_player() + 1
        self._new: dict[int, str] = {}
        self._erased: dict[str, int] = {}
        """Names that the commit to come takes out of the table."""

    def numbers(self, names: list[str]) -> dict[str, int]:
        """The numbers of these players; whoever has none gets one."""
        found, missing = self._kept(names)
        given = self._journal.number(missing, self._erased) if missing else {}
        if given is None:
            found |= self._written(missing)
        else:
            for name, number in given.items():
                self._keep(number, name)
                if name in self._erased:  # the table has the old number still: the commit brings the new one
                    self._new[number] = name
            return found | given
        for name in missing:
            if name not in found:
                found[name] = self._next
                self._new[self._next] = name
                self._keep(self._next, name)
                self._next += 1
        return found

    def known(self, names: list[str]) -> dict[str, int]:
        """The numbers of those players who have one."""
        found, missing = self._kept(names)
        return found | self._written(missing)

    def _kept(self, names: list[str]) -> tuple[dict[str, int], list[str]]:
        """The numbers of players whose names were in use lately, and the names that were not."""
        young, old = self._numbers
        found: dict[str, int] = {}
        missing: list[str] = []
        for name in names:
            number = young.get(name)
            if number is None:
                number = old.get(name)
                if number is None:
                    missing.append(name)
                    continue
                self._keep(number, name)
            found[name] = number
        return found, missing

    def _written(self, names: list[str]) -> dict[str, int]:
        """The numbers that the table has for these names."""
        found = self._journal.numbers_of(names) if names else {}
        found = {name: number for name, number in found.items() if self._erased.get(name) != number}
        for name, number in found.items():
            self._keep(number, name)
        return found

    def shown(self, names: list[str]) -> dict[str, int]:
        """The same, also for erased players, by what they are shown as: `#17`."""
        found = self.known(names)
        for name in names:
            if name not in found and _ERASED.fullmatch(name):
                number = int(name[1:])
                last = self._journal.last_player() if self._journal.shared else self._next - 1
                if 0 < number <= last and self.names([number])[number] == name:
                    found[name] = number
        return found

    def names(self, players: list[int]) -> dict[int, str]:
        """The names of these players; an erased one is shown by number."""
        young, old = self._names
        found: dict[int, str] = {}
        missing: list[int] = []
        for player in players:
            name = young.get(player) or old.get(player)
            if name is None:
                missing.append(player)
            else:
                found[player] = name
        if missing:
            for player, name in self._journal.names_of(missing).items():
                if self._erased.get(name) != player:
                    found[player] = name
                    self._keep(player, name)
            for player in missing:
                found.setdefault(player, f"#{player}")
        return found

    def _keep(self, number: int, name: str) -> None:
        if len(self._numbers[0]) >= _GENERATION:
            self._numbers = ({}, self._numbers[0])
            self._names = ({}, self._names[0])
        self._numbers[0][name] = number
        self._names[0][number] = name

    def forget(self, name: str, number: int) -> None:
        """A player's name goes with the commit to come: whoever has it from now on is somebody else."""
        for numbers in self._numbers:
            numbers.pop(name, None)
        for names in self._names:
            names.pop(number, None)
        if self._new.pop(number, None) is None:
            self._erased[name] = number

    def settle(self, joined: list[int]) -> list[tuple[int, str]]:
        """The new names to write for players that joined; new names of players who were turned away are let go."""
        self._erased = {}
        if not self._new:
            return []
        rows = [(number, self._new.pop(number)) for number in joined if number in self._new]
        for number, name in self._new.items():
            for numbers in self._numbers:
                numbers.pop(name, None)
            for names in self._names:
                names.pop(number, None)
        self._new.clear()
        return rows
