"""Names that people see, and the numbers they stand for.

Inside, a ticket, proposal or match is an int; outside it is a prefix and that int in twelve digits, so that the order
of the numbers and the order of the names by code point are the same (canonical order relies on it).
A match carries the number of the proposal it grew from.

Where a database has several lanes, each numbers its tickets and proposals from a beginning of its own, so that a number
says its lane, and no two lanes give the same name to anything. All stay below 2^53, for JavaScript counts no further;
names of other lanes than the first have more digits.
"""

import re
from typing import Final

TICKET_PREFIX: Final = "t-"
PROPOSAL_PREFIX: Final = "p-"
MATCH_PREFIX: Final = "m-"

_DIGITS: Final = re.compile(r"[0-9]{12,18}", re.ASCII)
LANES_MOST: Final = 8_000
_LANE_BITS: Final = 40
QUEUE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)


def ticket_id(number: int) -> str:
    """The public name of a ticket."""
    return f"t-{number:012d}"


def proposal_id(number: int) -> str:
    """The public name of a proposal."""
    return f"p-{number:012d}"


def match_id(number: int) -> str:
    """The public name of a match."""
    return f"m-{number:012d}"


def number_of(prefix: str, name: str) -> int | None:
    """The number behind a public name, or None where the name cannot be one."""
    digits = name[len(prefix) :]
    if not name.startswith(prefix) or not _DIGITS.fullmatch(digits) or len(digits) != max(12, len(str(int(digits)))):
        return None
    return int(digits)


def first_number(lane: int) -> int:
    """The first number of a lane's tickets, and of its proposals."""
    return (lane - 1 << _LANE_BITS) + 1


def lane_of(number: int) -> int:
    """The lane that a ticket's, proposal's or match's number belongs to."""
    return (number - 1 >> _LANE_BITS) + 1
