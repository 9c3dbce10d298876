"""The canonical order: longer wait first, then returned from a failed match, then the lower ticket number, then row.

Sorting a million tickets by three columns one after the other takes half a second. There are cheaper ways:

1. Rows that stand in the order already, as a queue hands them out, are seen to by comparing neighbours.
2. Wait, return, ticket and row, each counted from its least, mostly fit together into 63 bits. Such keys are all
   different and hold the row in their last bits, so sorting the keys themselves is enough, and no key needs to say
   where it came from. Where ticket numbers rise along the rows, the row stands for the ticket.
3. Where tickets do not fit in, rows are first put in the order of their tickets, and then stand for them.
4. Where not even that fits, and for few rows, the columns are sorted one after the other.

All of them give the same order for any numbers. Waits are turned round by `~`, which has no overflow as `-` has.
"""

from typing import Final

import numpy as np

from .arrays import Array

FEW: Final = 200
"""So few rows are sorted sooner than looked at."""
KEY_BITS: Final = 63


def canonical_order(waited_ms: Array, returned: Array, ticket: Array) -> Array:
    """int64[n]: rows in canonical order, from int64[n], bool[n] and int64[n]."""
    if len(ticket) <= FEW:
        return np.lexsort((ticket, ~returned, ~waited_ms))
    tickets_rise = bool((ticket[:-1] <= ticket[1:]).all())
    if _in_order(waited_ms, returned, ticket, tickets_rise):
        return np.arange(len(ticket))
    keys = _keys(waited_ms, returned, None if tickets_rise else ticket)
    if keys is not None:
        return _rows_of(keys)
    by_ticket = np.argsort(ticket, kind="stable")
    keys = _keys(waited_ms[by_ticket], returned[by_ticket], None)
    if keys is not None:
        return by_ticket[_rows_of(keys)]
    return np.lexsort((ticket, ~returned, ~waited_ms))


def _in_order(waited_ms: Array, returned: Array, ticket: Array, tickets_rise: bool) -> bool:
    """Whether every row stands before the next by right."""
    earlier, later = waited_ms[:-1], waited_ms[1:]
    if not (earlier >= later).all():
        return False
    tied = earlier == later
    if (tied & (returned[:-1] < returned[1:])).any():
        return False
    return tickets_rise or not (tied & (returned[:-1] == returned[1:]) & (ticket[:-1] > ticket[1:])).any()


def _keys(waited_ms: Array, returned: Array, ticket: Array | None) -> Array | None:
    """int64[n]: wait, return, ticket if there is one, and row in one number each; None where they do not fit."""
    longest = int(waited_ms.max())
    wait_bits = (longest - int(waited_ms.min())).bit_length()
    row_bits = (len(waited_ms) - 1).bit_length()
    least = 0 if ticket is None else int(ticket.min())
    ticket_bits = 0 if ticket is None else (int(ticket.max()) - least).bit_length()
    if wait_bits + 1 + ticket_bits + row_bits > KEY_BITS:
        return None
    keys: Array = np.subtract(longest, waited_ms, dtype=np.int64)
    keys <<= 1
    keys |= ~returned
    if ticket is not None:
        keys <<= ticket_bits
        keys |= ticket - least
    keys <<= row_bits
    keys |= np.arange(len(keys))
    return keys


def _rows_of(keys: Array) -> Array:
    """int64[n]: the rows in the last bits of the keys, in the order of the keys, which are sorted in place."""
    keys.sort()
    keys &= (1 << (len(keys) - 1).bit_length()) - 1
    return keys
