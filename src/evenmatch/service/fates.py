"""What became of proposals: a match, a ready check that failed and through whom, or answers that are still awaited.

    events, as they are committed ─> which event made a proposal, and which ended it ─┐
    state ─> those that stand; a thread: read tables and those events ────────────────┴─> in words

1. A proposal that fails leaves the state soon, and no table has it. So the two events that tell of it are noted, of the
   newest (`origins`); from before the start they are read back with past waves (`past_waves`).
2. The engine thread looks into the state and finds names; the journal is read elsewhere.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from evenmatch.core.records import STANDINGS
from evenmatch.core.state import FAILED, JOINED, OPEN
from evenmatch.domain.backfill_events import PlacesOffered
from evenmatch.domain.events import Event, ProposalsFailed, WaveFinished
from evenmatch.domain.ids import PROPOSAL_PREFIX, match_id, proposal_id
from evenmatch.domain.ticket import Cause
from evenmatch.errors import JournalError
from evenmatch.storage.protocol import Journal

from .mailbox import Unavailable
from .origins import Origins
from .past_waves import PastWave
from .runner import Runner
from .storytelling import at_fault
from .views import Views

NONE_SUCH: Final = -1
"""The standing of a proposal that is not in the state."""
_AWAITS: Final = "awaits "
_JOINED: Final = "was accepted, and joined a match that ran already"
_FAILED: Final = "its ready check failed"
_NOTHING: Final = "never became a match, or the record of that is no longer kept"


class Fate(NamedTuple):
    """What became of a proposal."""

    match: str | None
    """The match that it became; None = it did not, or has not yet."""
    became: str
    """Where the match stands, in a word, or what became of the proposal, in a few."""


class _Read(NamedTuple):
    """What journal and read tables know of a proposal that does not stand any more."""

    standing: str | None
    """Of the match that it became."""
    made: Event | None
    failed: Event | None


async def fates(runner: Runner, proposals: Iterable[int]) -> dict[int, Fate] | Unavailable:
    """What became of these proposals; those that there never were are left out."""
    numbers = list(proposals)
    standing: dict[int, Fate | None] | Unavailable = await runner.ask(lambda views, _: _in_state(views, numbers))
    if isinstance(standing, Unavailable):
        return standing
    gone = [number for number, fate in standing.items() if fate is None]
    found = {number: fate for number, fate in standing.items() if fate is not None}
    if not gone:
        return found
    read = await asyncio.to_thread(_read, runner, gone)
    told: dict[int, Fate] | Unavailable = await runner.ask(
        lambda views, _: {number: _told(views, number, one) for number, one in read.items()}
    )
    return told if isinstance(told, Unavailable) else found | told


def with_fates(wave: PastWave, became: dict[int, Fate]) -> PastWave:
    """A wave, with what became of its proposals."""
    rows = []
    for row in wave.proposals:
        fate = became.get(int(row.id.removeprefix(PROPOSAL_PREFIX)))
        rows.append(row if fate is None else replace(row, match=fate.match, became=fate.became))
    return replace(wave, proposals=rows)


async def why_no_match(runner: Runner, proposal: int) -> str | None:
    """Why there is no match of this number, in a sentence; None = there was no proposal, or nobody can look now."""
    try:
        found = await fates(runner, [proposal])
        fate = None if isinstance(found, Unavailable) else found.get(proposal)
        if fate is None or fate.match is not None:
            return None
        where = await asyncio.to_thread(_where, runner, proposal)
    except JournalError:
        return None
    yet = " yet" * fate.became.startswith(_AWAITS)
    return f"{match_id(proposal)} is no match{yet}; {proposal_id(proposal)}{where}: {fate.became}"


def _in_state(views: Views, numbers: list[int]) -> dict[int, Fate | None]:
    """Proposals that stand; None = it is to be read what became of it. In the engine thread."""
    state = views.engine.state
    found: dict[int, Fate | None] = {}
    for number in numbers:
        place = state.find_proposal(number)
        standing, count = NONE_SUCH, 0
        if place is not None:
            queue, row = place
            standing, count = int(queue.proposals.standing[row]), int(queue.proposals.pending[row])
        if standing == OPEN:
            found[number] = Fate(None, f"{_AWAITS}{count} answer{'s' * (count != 1)}")
        elif standing == JOINED:
            found[number] = Fate(None, _JOINED)
        elif standing not in (NONE_SUCH, FAILED):
            found[number] = Fate(match_id(number), STANDINGS[standing])
        elif state.had_proposal(number):
            found[number] = None
    return found


def _read(runner: Runner, numbers: list[int]) -> dict[int, _Read]:
    """What is known of proposals that do not stand; away from the engine."""
    with runner.journal.reader() as reading:
        return {number: _read_one(runner, reading, number) for number in numbers}


def _read_one(runner: Runner, reading: Journal, number: int) -> _Read:
    record = reading.finished_match(number)
    if record is not None:
        return _Read(record["standing"], None, None)
    made, failed = (_event(runner, reading, number, of) for of in (Origins.made, Origins.failed))
    return _Read(None, made, failed)


def _event(runner: Runner, reading: Journal, number: int, of: Callable[[Origins, int], int | None]) -> Event | None:
    past = runner.past_waves
    sequence = of(past.origins, number) or of(past.origins_before(runner.journal), number)
    return None if sequence is None else reading.event(sequence)


def _where(runner: Runner, number: int) -> str:
    """Queue and wave of a proposal, in words; empty = not known."""
    with runner.journal.reader() as reading:
        made = _event(runner, reading, number, Origins.made)
    if isinstance(made, WaveFinished):
        return f" of {made.queue}, wave {made.wave:,}"
    return f" of {made.queue}, an invitation to a match that ran," if isinstance(made, PlacesOffered) else ""


def _told(views: Views, number: int, read: _Read) -> Fate:
    """In words; in the engine thread, which finds names."""
    if read.standing is not None:
        return Fate(match_id(number), read.standing)
    if not isinstance(read.failed, ProposalsFailed):
        gone = views.engine.state.find_proposal(number) is None
        return Fate(None, _NOTHING if gone else _FAILED)
    return Fate(None, at_fault(views, read.failed, _together(read.made, number), Cause(read.failed.cause).word))


def _together(made: Event | None, number: int) -> list[int]:
    """The tickets of a proposal."""
    if isinstance(made, WaveFinished):
        row = made.roster[number - made.first_proposal]
        return [int(one) for one in row[row >= 0]]
    return [int(made.ticket[number - made.first_proposal])] if isinstance(made, PlacesOffered) else []
