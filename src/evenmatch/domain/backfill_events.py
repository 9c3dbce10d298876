"""Facts of backfill: a running match asks for players, some are invited, and they join it or not.

They are events like all others (`events`), and stand in a file of their own for its length only.
"""

from typing import TypeAlias

import msgspec

from evenmatch.domain.arrays import NO_PAIRS, NONE, Array


class BackfillAsked(msgspec.Struct, frozen=True, tag="backfill_asked", eq=False):
    """A running match asks for players for places of its teams; whoever is named as having left is free (I11)."""

    at_ms: int
    queue: str
    match: int
    team: Array
    """int64[k]: of each place"""
    instead_of: Array
    """int64[k]: the player who left it, 0 = nobody is named"""
    expires_ms: int
    """When places that nobody has taken are given up; 0 = with the match."""
    ticket: Array
    """int64[n]: the tickets in the match, which hear of it"""
    previous: Array
    key: Array = NO_PAIRS
    """uint64[1, 3]: idempotency key (high, low) and fingerprint; empty = none"""
    offender: Array = NONE
    """int64[m]: the players who left and get a cool-down"""
    offence: Array = NONE
    offences: Array = NONE
    until_ms: Array = NONE


class PlacesOffered(msgspec.Struct, frozen=True, tag="places_offered", eq=False):
    """Waiting tickets were invited to matches that ask for players: a proposal each, numbered on."""

    at_ms: int
    queue: str
    first_proposal: int
    match: Array
    """int64[k]"""
    team: Array
    """int64[k]"""
    ticket: Array
    """int64[k]"""
    previous: Array
    deadline_ms: int
    """When their ready checks lapse."""


class MatchFilled(msgspec.Struct, frozen=True, tag="match_filled", eq=False):
    """A ticket joined a running match, and is as much in it as the others."""

    at_ms: int
    queue: str
    match: int
    team: int
    ticket: int
    previous: int
    proposal: int
    """The invitation that was accepted; 0 = nobody was asked."""
    inside: Array
    """int64[n]: the tickets that were in the match before, which hear of it"""
    inside_previous: Array


class BackfillClosed(msgspec.Struct, frozen=True, tag="backfill_closed", eq=False):
    """Places of a match are open no longer."""

    at_ms: int
    queue: str
    match: int
    cause: str
    """withdrawn, lapsed or ended"""
    place: Array
    """int64[k]: their numbers"""
    ticket: Array
    """int64[n]: the tickets in the match, which hear of it"""
    previous: Array


BackfillEvent: TypeAlias = BackfillAsked | PlacesOffered | MatchFilled | BackfillClosed
