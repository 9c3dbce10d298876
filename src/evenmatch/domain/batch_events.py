"""Facts of many ready checks at once: what `Accepted` and `MatchMade` say of one proposal, in columns.

They are events like all others (`events`), and stand in a file of their own for its length only. A ticket stands in
each once, however many of its players accept in one event, so that its story stays a chain.
"""

from typing import TypeAlias

import msgspec

from evenmatch.domain.arrays import Array


class ManyAccepted(msgspec.Struct, frozen=True, tag="many_accepted", eq=False):
    """Players accepted proposals, in this order. Told to all tickets of the proposals."""

    at_ms: int
    queue: str
    player: Array
    """int64[n]"""
    accepts: Array
    """int64[n]: the proposal that each accepted"""
    ticket: Array
    """int64[m]: all tickets of these proposals, proposal by proposal"""
    previous: Array
    """int64[m]"""
    proposal: Array
    """int64[m]: of each ticket"""
    pending: Array
    """int64[m]: players of it who have not accepted yet, after all of these"""


class MatchesMade(msgspec.Struct, frozen=True, tag="matches_made", eq=False):
    """The last players of these proposals accepted: they are matches, in this order."""

    at_ms: int
    queue: str
    ends_ms: int
    """When they are over for I11; 0 = at once."""
    ticket: Array
    """int64[m]: all tickets of these matches, match by match"""
    previous: Array
    """int64[m]"""
    proposal: Array
    """int64[m]: of each ticket"""


BatchEvent: TypeAlias = ManyAccepted | MatchesMade
