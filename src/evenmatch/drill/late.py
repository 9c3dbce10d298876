"""The auditor's account of backfill: who left a match, who was invited to it, and who came."""

from typing import TYPE_CHECKING

from evenmatch.domain import backfill_events as bev

from .book import Proposal, Ticket

if TYPE_CHECKING:
    from .auditor import Audit


def hear_of_backfill(account: "Audit", event: bev.BackfillEvent) -> None:
    """One event more."""
    match event:
        case bev.BackfillAsked():
            _asked(account, event)
        case bev.PlacesOffered():
            _offered(account, event)
        case bev.MatchFilled():
            _filled(account, event)
        case bev.BackfillClosed():
            _inside(account, event.ticket.tolist(), event.previous.tolist(), event.queue, "unfilled")


def _inside(account: "Audit", tickets: list[int], previous: list[int], queue: str, word: str) -> None:
    """Those in a match hear of something."""
    for number, before in zip(tickets, previous, strict=True):
        ticket = account._touched(number, before, queue, "matched")
        if ticket is not None:
            ticket.story.append((account.sequence, word))


def _asked(account: "Audit", event: bev.BackfillAsked) -> None:
    match = account._proposal(event.match, event.queue, "running")
    _inside(account, event.ticket.tolist(), event.previous.tolist(), event.queue, "backfill")
    for player in event.instead_of[event.instead_of > 0].tolist():
        if match is None or account.claims.pop(player, None) != match.number:
            account.fault(f"I11: player {player} left match {event.match} without being in it")
            continue
        match.left.add(player)
        for number in account.live.get(player, ()):
            account._set_clock(account.tickets[number])


def _offered(account: "Audit", event: bev.PlacesOffered) -> None:
    columns = (event.ticket, event.previous, event.match)
    for row, (number, previous, to) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        match, ticket = (
            account._proposal(to, event.queue, "running"),
            account._touched(number, previous, event.queue, "waiting"),
        )
        if event.first_proposal + row != account.first_proposal + len(account.proposals):
            account.fault(f"I1: invitation {event.first_proposal + row} after {len(account.proposals)} proposals")
        invitation = Proposal(event.first_proposal + row, event.queue, (number,), "open", joins=to)
        account.proposals[invitation.number] = invitation
        if ticket is None or match is None:
            continue
        _may_join(account, ticket, match, 0)
        account._stop_clock(ticket)
        ticket.status, ticket.proposal = "proposed", invitation.number
        ticket.when_proposed[invitation.number] = (ticket.waited_ms, ticket.misses)
        ticket.story.append((account.sequence, "proposed"))
        account._claim(invitation)


def _may_join(account: "Audit", ticket: Ticket, match: Proposal, claimed_by: int) -> None:
    if ticket.group != account.tickets[match.tickets[0]].group:
        account.fault(f"I5: ticket {ticket.number} joins match {match.number}, which require_equal keeps apart")
    for player in ticket.players:
        if account.claims.get(player, 0) != claimed_by or player in match.left:
            account.fault(f"I11: player {player} joins match {match.number} from {account.claims.get(player)}")


def _filled(account: "Audit", event: bev.MatchFilled) -> None:
    match = account._proposal(event.match, event.queue, "running")
    _inside(account, event.inside.tolist(), event.inside_previous.tolist(), event.queue, "filled")
    status = "proposed" if event.proposal else "waiting"
    ticket = account._touched(event.ticket, event.previous, event.queue, status)
    if match is None or ticket is None:
        return
    if event.proposal:
        invitation = account._proposal(event.proposal, event.queue, "open")
        if invitation is None or invitation.joins != match.number or invitation.accepted != set(ticket.players):
            account.fault(f"ticket {ticket.number} joins match {match.number} without having accepted")
        else:
            invitation.standing = "joined"
    _may_join(account, ticket, match, event.proposal)
    account._stop_clock(ticket)
    ticket.proposal = match.number
    account._match(ticket)
    match.tickets = (*match.tickets, ticket.number)
    for player in ticket.players:
        account.claims[player] = match.number
    account._set_clocks(account._members(match))
