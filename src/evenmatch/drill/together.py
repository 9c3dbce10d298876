"""The auditor's account of what many ready checks told at once."""

from typing import TYPE_CHECKING

from evenmatch.domain import batch_events as many
from evenmatch.domain import events as ev

if TYPE_CHECKING:
    from .auditor import Audit


def hear_of_many(account: "Audit", event: many.BatchEvent) -> None:
    """One event more: proposal by proposal, as if each had been told of alone."""
    if len(set(event.ticket.tolist())) != len(event.ticket):
        account.fault("a ticket stands twice in one event")
    for number in dict.fromkeys(event.proposal.tolist()):
        here = event.proposal == number
        match event:
            case many.ManyAccepted():
                pending = set(event.pending[here].tolist())
                for player in event.player[event.accepts == number].tolist():
                    account.accept(number, event.queue, player)
                account.pend(number, event.queue, pending, event.ticket[here], event.previous[here])
            case many.MatchesMade():
                told = (event.ticket[here], event.previous[here])
                account.make(ev.MatchMade(event.at_ms, event.queue, number, event.ends_ms, *told))
    if isinstance(event, many.ManyAccepted) and set(event.accepts.tolist()) != set(event.proposal.tolist()):
        account.fault("accepts and the proposals that hear of them are not the same")
