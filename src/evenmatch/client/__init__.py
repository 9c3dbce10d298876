"""A client of the server: `Client` for asyncio, `SyncClient` for plain threads; both do the same.

    async with Client("http://127.0.0.1:8750") as client:
        ticket = await client.join("duel", "ann", rating=1520)
        async for event in client.watch(ticket.id):
            if event.type == "proposed":
                await client.accept(event.proposal["id"], "ann")
            elif event.type == "matched":
                print(event.match)

A join carries an idempotency key of its own, so what is not answered is asked again without joining twice. A server
that is away, busy or asks for patience (Retry-After) is tried again for `patience_s`; every other "no" is raised as
`Refused` with its reason. `watch` comes back after a lost connection where it left off, by WebSocket or, where none can
be opened, by server-sent events.
"""

from evenmatch.errors import ClientError, Refused, Unreachable

from .asynchronous import Client
from .blocking import SyncClient
from .values import Event, Match, Ticket

__all__ = ["Client", "ClientError", "Event", "Match", "Refused", "SyncClient", "Ticket", "Unreachable"]
