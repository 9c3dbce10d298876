"""Requests from nodes to the owner of a lane, and their answers: what is handed over, whatever store it goes through.

A request lies in the inbox until it is carried out or taken back by whoever put it there. Carrying it out takes it from
the inbox and leaves its answer, in the very commit that holds its events; so it is done once, or not at all, and the
answer is there if and only if what it says has happened.
"""

import msgspec


class Request(msgspec.Struct, frozen=True):
    """What a node asks of the owner of a lane."""

    id: str
    """32 hexadecimal digits, chosen by the node that asks."""
    body: bytes


class Outcome(msgspec.Struct, frozen=True):
    """The answer to a request."""

    id: str
    body: bytes
    sequence: int = 0
    """Of the last event of the commit it came with; filled in by the store."""
