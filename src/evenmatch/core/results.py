"""When a match may have a result, and what a result ends.

Results and ratings are not part of the state: they live in the journal's ledger, and whoever drives the engine has
looked there before asking (`service/results.py`). Here is what only the state knows: whether there is such a match, and
whether it still claims its players (I11).
"""

import msgspec
import numpy as np

from evenmatch.domain.events import Event, ResultReported
from evenmatch.domain.ids import match_id
from evenmatch.domain.refusals import Reasons, Refusal

from .backfill import ended
from .decision import Decision
from .state import CALLED_OFF, FAILED, JOINED, OVER, RUNNING, State


def no_match(state: State, match: int) -> Refusal | None:
    """Why a match cannot have a result, as far as the state knows; None = it can, or has left the state."""
    found = state.find_proposal(match)
    if found is None:
        if state.had_proposal(match):
            return None
        return Refusal(Reasons.UNKNOWN_MATCH, f"no match is called {match_id(match)}")
    standing = found[0].proposals.standing[found[1]]
    if standing == FAILED:
        return Refusal(Reasons.UNKNOWN_MATCH, f"{match_id(match)} came to nothing: its ready check failed")
    if standing == JOINED:
        return Refusal(Reasons.UNKNOWN_MATCH, f"{match_id(match)} was an invitation to a match that ran already")
    if standing == CALLED_OFF:
        return Refusal(Reasons.MATCH_OVER, f"{match_id(match)} was called off by an operator: it has no result")
    if standing not in (RUNNING, OVER):
        return Refusal(Reasons.MATCH_NOT_MADE, f"{match_id(match)} is still a proposal: report it once it is played")
    return None


def is_running(state: State, match: int) -> bool:
    """Does a match run? Then it has no result, for a result ends it."""
    found = state.find_proposal(match)
    return found is not None and bool(found[0].proposals.standing[found[1]] == RUNNING)


def report(state: State, result: ResultReported, now_ms: int) -> Decision | Refusal:
    """A result; a match that still runs is over with it."""
    refusal = no_match(state, result.match)
    if refusal is not None:
        return refusal
    events: tuple[Event, ...] = (msgspec.structs.replace(result, at_ms=now_ms),)
    found = state.find_proposal(result.match)
    if found is not None and found[0].proposals.standing[found[1]] == RUNNING:
        events += ended(state, found[0], np.array([result.match]), now_ms)
    return Decision(events)
