"""evenmatch watch: follow tickets in a terminal, by the client that everybody else may use too."""

import os
import sys
import threading
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from evenmatch.client import Event, SyncClient
from evenmatch.errors import ClientError, ConfigError, Refused
from evenmatch.settings import API_KEY

_COLOURS = {
    "queued": "cyan",
    "proposed": "yellow",
    "accepted": "green",
    "matched": "bold green",
    "server": "bold green",
    "unserved": "red",
    "requeued": "yellow",
    "cancelled": "red",
    "expired": "red",
}
_FIRST_PATIENCE_S = 1.0
_PATIENCE_S = 30.0
"""So long a server that answered before may be away; one that never did, not so long."""


def watch(
    *tickets: Annotated[str, Parameter(required=True)],
    url: str = "http://127.0.0.1:8750",
    accept: bool = False,
    after: int = 0,
    key: str | None = None,
) -> None:
    """Follow tickets until their story is over.

    Parameters
    ----------
    tickets
        One or more ticket ids, such as t-000000000001.
    url
        Where the server is.
    accept
        Accept proposals for all players of these tickets.
    after
        Leave out events up to this sequence.
    key
        An API key or a player's token. Default: EVENMATCH_API_KEY, where other users of the machine do not see it.
    """
    credential = os.environ.get(API_KEY, "").strip() if key is None else key
    if not credential.isascii() or not credential.isprintable():
        raise ConfigError("the key cannot be one: it has characters that no key or token has")
    failures: list[str] = []
    with SyncClient(url, credential, patience_s=_FIRST_PATIENCE_S) as client:
        threads = [
            threading.Thread(target=_follow, args=(client, ticket, accept, after, failures), daemon=True)
            for ticket in tickets
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            raise SystemExit(130) from None
    if failures:
        print("\n".join(f"evenmatch: {failure}" for failure in failures), file=sys.stderr)
        raise SystemExit(2)


def _follow(client: SyncClient, ticket: str, accept: bool, after: int, failures: list[str]) -> None:
    """Print a ticket's events to the end."""
    console = Console(highlight=False, soft_wrap=True)
    try:
        players = client.ticket(ticket).names if accept else []
        for event in client.watch(ticket, after):
            client.patience_s = _PATIENCE_S
            console.print(_line(event))
            if event.type == "proposed" and event.proposal:
                _accept_all(client, event.proposal["id"], players)
    except Refused as refused:
        failures.append(refused.detail if ticket in refused.detail else f"{ticket}: {refused.detail}")
    except ClientError as error:
        failures.append(f"{error}; start one with `evenmatch serve`, or give --url")


def _line(event: Event) -> str:
    colour = _COLOURS.get(event.type, "white")
    said = f"[dim]{event.sequence:>8}[/] {escape(event.ticket)} [{colour}]{event.type:<9}[/] {event.queue}"
    if event.match:
        teams = " [dim]vs[/] ".join(escape(", ".join(team["players"])) for team in event.match["teams"])
        quality = event.match["quality"]
        even = "" if quality is None else f", {quality:.0%} even"
        said += f"  {escape(event.match['id'])}: {teams}{even}"
    elif event.type == "accepted":
        said += f"  {escape(event.player or '')} accepted, {event.pending} to go"
    elif event.proposal:
        said += f"  {escape(event.proposal['id'])}, {event.proposal['timeout_ms'] / 1000:g} s to accept"
    elif event.cause:
        said += f"  {event.cause}"
    return said


def _accept_all(client: SyncClient, proposal: str, players: list[str]) -> None:
    for player in players:
        try:
            client.accept(proposal, player)
        except Refused as refused:
            if refused.status not in (409, 410):  # accepted before, or over by now: the story will tell
                raise
