"""What clients know, held against the account that an audit has made of the journal."""

from collections import Counter
from typing import TYPE_CHECKING

from .book import LIVE
from .log import Joined, Log, Seen

if TYPE_CHECKING:
    from .auditor import Audit


def compare(account: "Audit", log: Log) -> None:
    """Compare the account with what clients were told."""
    _joins(account, log)
    for told in log.told:
        ticket = account.tickets.get(told.ticket)
        if ticket is None or (told.sequence, told.type) not in ticket.story:
            account.fault(f"I7: {told} was told, but is not in the journal")
    for number, heard in log.stories.items():
        story = account.tickets[number].story if number in account.tickets else []
        if [(told.sequence, told.type) for told in heard] != story:
            account.fault(f"I7: the owner of ticket {number} heard {heard}, but its story is {story}")
    _sights(account, log)
    by_name = {name: number for number, name in account.names.items()}
    for number, name in log.accepted:
        proposal = account.proposals.get(number)
        if proposal is None or by_name.get(name) not in proposal.accepted:
            account.fault(f"I7: {name} was told that proposal {number} is accepted, but it is not in the journal")
    for number, name in log.declined:
        proposal = account.proposals.get(number)
        if proposal is None or proposal.decliner is None:
            account.fault(f"I7: {name} was told that proposal {number} is declined, but it is not in the journal")
        elif by_name.get(name) not in account.tickets[proposal.decliner].players:
            account.fault(f"I6: {name} declined proposal {number}, but ticket {proposal.decliner} is blamed")
    for number, ranks in log.results:
        if account.results.get(number) != ranks:
            account.fault(f"I7: match {number} was told that its result is {ranks}, not {account.results.get(number)}")
    account.faults += [f"I10: nobody says why ticket {number} waits" for number in log.unexplained]
    account.faults += log.wrong
    for number in log.left:
        left = account.tickets.get(number)
        if left is None or (left.status, left.cause) not in (("cancelled", "left"), ("cancelled", "declined")):
            account.fault(f"I4: ticket {number} was told that it left, but it did not")


def _joins(account: "Audit", log: Log) -> None:
    of_key: dict[str, Joined] = {}
    for joined in log.joined:
        ticket = account.tickets.get(joined.ticket)
        first = of_key.setdefault(joined.key, joined)
        if first != joined:
            account.fault(f"the key {joined.key} was answered with {first} and with {joined}")
        if ticket is None:
            account.fault(f"I4: {joined} was acknowledged, but is not in the journal")
            continue
        names = tuple(account.names.get(player, "?") for player in ticket.players)
        if (ticket.queue, names, ticket.joined_ms) != (joined.queue, joined.players, joined.joined_ms):
            account.fault(f"I7: {joined} was acknowledged, but the journal has {ticket}")
    if len({joined.ticket for joined in of_key.values()}) != len(of_key):
        account.fault("I4: two keys were answered with the same ticket")
    sent = Counter(player for players in log.attempted.values() for player in players)
    known = Counter(player for joined in of_key.values() for player in joined.players)
    entered = Counter(account.names.get(p, "?") for ticket in account.tickets.values() for p in ticket.players)
    for player in entered.keys() | known.keys():
        if not known[player] <= entered[player] <= sent[player]:
            account.fault(
                f"I4: {player} joined {entered[player]} times; {sent[player]} tries, {known[player]} acknowledged"
            )


def _sights(account: "Audit", log: Log) -> None:
    last: dict[int, Seen] = {}
    for seen in log.seen:
        ticket, before = account.tickets.get(seen.ticket), last.get(seen.ticket)
        if ticket is None:
            account.fault(f"I7: {seen} was shown, but is not in the journal")
            continue
        if before is not None and (seen.waited_ms < before.waited_ms or seen.misses < before.misses):
            account.fault(f"I6: {seen} after {before}: wait or misses were lost")
        last[seen.ticket] = seen
        if seen.proposal is not None and ticket.when_proposed.get(seen.proposal) != (seen.waited_ms, seen.misses):
            kept = ticket.when_proposed.get(seen.proposal)
            account.fault(f"I6: {seen}, but by the journal it waited and missed {kept}")
        ended = seen.status not in LIVE
        if ended and (seen.status, seen.waited_ms, seen.misses) != (ticket.status, ticket.waited_ms, ticket.misses):
            account.fault(f"I7: {seen}, but the journal has {ticket}")
        if seen.match is not None and (seen.match != ticket.proposal or ticket.matches != 1):
            account.fault(f"I1: {seen}, but the journal has {ticket}")
