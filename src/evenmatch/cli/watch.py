"""evenmatch watch: follow tickets over their WebSockets, in a terminal."""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from evenmatch.errors import ConfigError
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


_COME_BACK = (1001, 1006, 1011, 1012, 1013)
"""Closes after which the story goes on elsewhere or later."""
_PATIENCE_S = 30.0
"""So long a server that answered before may be away."""


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
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    failures: list[str] = []
    threads = [
        threading.Thread(target=_follow, args=(url.rstrip("/"), headers, ticket, accept, after, failures), daemon=True)
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


def _follow(url: str, headers: dict[str, str], ticket: str, accept: bool, after: int, failures: list[str]) -> None:
    """Print a ticket's events to the end, coming back with `after` when the server goes away for a while."""
    console = Console(highlight=False, soft_wrap=True)
    last, patience_until = after, 0.0
    while True:
        try:
            address = f"ws{url.removeprefix('http')}/v1/tickets/{ticket}/events?after={last}"
            with connect(address, additional_headers=headers) as socket:
                patience_until = time.monotonic() + _PATIENCE_S
                for text in socket:
                    event = json.loads(text)
                    last = event["sequence"]
                    console.print(_line(event))
                    if accept and event["type"] == "proposed":
                        _accept_all(url, headers, ticket, event["proposal"]["id"])
                return
        except ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code not in _COME_BACK:
                failures.append(f"{ticket}: closed with {closed.rcvd.code}: {closed.rcvd.reason}")
                return
            patience_until = time.monotonic() + _PATIENCE_S
            console.print(f"[dim]{escape(ticket)}: the connection was lost; trying again ...[/]")
        except (OSError, WebSocketException) as error:
            if time.monotonic() > patience_until:
                failures.append(
                    f"no evenmatch answers at {url} ({error}); start one with `evenmatch serve`, or give --url"
                )
                return
        time.sleep(0.5)


def _line(event: dict[str, Any]) -> str:
    colour = _COLOURS.get(event["type"], "white")
    said = f"[dim]{event['sequence']:>8}[/] {escape(event['ticket'])} [{colour}]{event['type']:<9}[/] {event['queue']}"
    if event.get("match"):
        teams = " [dim]vs[/] ".join(escape(", ".join(team["players"])) for team in event["match"]["teams"])
        quality = event["match"]["quality"]
        even = "" if quality is None else f", {quality:.0%} even"
        said += f"  {escape(event['match']['id'])}: {teams}{even}"
    elif event["type"] == "accepted":
        said += f"  {escape(event['player'])} accepted, {event['pending']} to go"
    elif event.get("proposal"):
        said += f"  {escape(event['proposal']['id'])}, {event['proposal']['timeout_ms'] / 1000:g} s to accept"
    elif event.get("cause"):
        said += f"  {event['cause']}"
    return said


def _accept_all(url: str, headers: dict[str, str], ticket: str, proposal: str) -> None:
    looking = urllib.request.Request(f"{url}/v1/tickets/{ticket}", headers=headers)
    with urllib.request.urlopen(looking, timeout=10) as answer:
        players = [player["id"] for player in json.load(answer)["ticket"]["players"]]
    for player in players:
        body = json.dumps({"player": player}).encode()
        request = urllib.request.Request(f"{url}/v1/proposals/{proposal}/accept", body, headers, method="POST")
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as refused:
            with refused:
                if refused.code not in (409, 410):  # accepted before, or over by now: the story will tell
                    raise
