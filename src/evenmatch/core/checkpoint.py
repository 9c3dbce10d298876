"""A state as plain columns and counters, and back.

Mappings by number are rebuilt from the columns, so a checkpoint is mostly a copy of arrays; loading one costs the same
whatever the journal's length. The hash of what was loaded must equal the hash of what was saved.
"""

from typing import Any

import msgspec
import numpy as np

from evenmatch.domain.arrays import NONE
from evenmatch.domain.queue import Mode, QueueSpec
from evenmatch.domain.table import Table

from .active import Active
from .claims import add_live
from .filling import filling_digest
from .hashing import key_digest, state_hash
from .lanes import note_elsewhere
from .notes import value_digest
from .state import FREE, OPEN, PROPOSED, RUNNING, STARTING, WAITING, Book, QueueState, State, Told
from .tables import Slots


def dump(state: State) -> dict[str, Any]:
    """The whole state, as values that the codec can write."""
    digest = state_hash(state)
    return {
        "hash": digest,
        "sequence": state.sequence,
        "now_ms": state.now_ms,
        "first": [state.first_ticket, state.first_proposal],
        "next_ticket": state.next_ticket,
        "next_proposal": state.next_proposal,
        "sums": [str(state.tickets_sum_high), str(state.tickets_sum_low)],
        "keys": np.array([(k >> 64, k & 2**64 - 1, t, f, w) for k, (t, f, w) in state.keys.items()], np.uint64).reshape(
            -1, 5
        ),
        "blocks": [[player, *blocked] for player, blocked in state.blocks.items()],
        "blocks_changed": state.blocks_changed,
        "elsewhere": np.fromiter(state.elsewhere, np.int64, len(state.elsewhere)),
        "queues": [_dump_queue(queue) for queue in state.by_index],
    }


def _dump_queue(queue: QueueState) -> dict[str, Any]:
    return {
        "spec": msgspec.to_builtins(queue.spec),
        "version": queue.version,
        "wave": queue.wave,
        "last_wave": queue.last_wave,
        "changed": queue.changed,
        "groups": queue.groups,
        "next_group": queue.next_group,
        "traits": {name: [[row, *noted] for row, noted in kept.items()] for name, kept in queue.traits.items()},
        "details": [[told.first, told.left, str(told.digest), told.details.plain()] for told in queue.details],
        "books": [[player, *book] for player, book in queue.books.items()],
        "lost": list(queue.lost),
        "avoids": [[ticket, *players] for ticket, players in queue.avoids.items()],
        "met": {"made_ms": queue.met.made_ms, "player": queue.met.player, "team": queue.met.team},
        "maps": queue.map_memory.dump(),
        "fillings": queue.fillings.dump(),
        "mode": queue.mode,
        "notes_sum": str(queue.notes_sum),
        "active": queue.active.entries,
        "tickets": queue.tickets.dump(),
        "players": queue.players.dump(),
        "proposals": queue.proposals.dump(),
        "free_tickets": queue.ticket_slots.free.copy(),
        "free_players": {str(size): slots.free.copy() for size, slots in queue.player_blocks.free.items()},
        "free_proposals": queue.proposal_slots.free.copy(),
    }


def load(content: dict[str, Any]) -> State:
    """The state that `dump` was given."""
    state = State()
    state.sequence, state.now_ms = content["sequence"], content["now_ms"]
    state.begin_numbers(*content.get("first", (1, 1)))
    state.next_ticket, state.next_proposal = content["next_ticket"], content["next_proposal"]
    state.tickets_sum_high, state.tickets_sum_low = (int(text) for text in content["sums"])
    for high, low, ticket, fingerprint, when in content["keys"].tolist():
        key = high << 64 | low
        state.keys[key] = (ticket, fingerprint, when)
        state.keys_sum += key_digest(key, state.keys[key])
    for player, *blocked in content.get("blocks", ()):
        state.blocks[player] = tuple(blocked)
        state.blocks_sum += value_digest("blocks", player, *blocked)
    state.blocks_changed = content.get("blocks_changed", 0)
    for player in content.get("elsewhere", NONE).tolist():
        note_elsewhere(state, player)
    for queue in content["queues"]:
        _load_queue(state, queue)
    return state


def _load_queue(state: State, content: dict[str, Any]) -> None:
    queue = state.open(msgspec.convert(content["spec"], QueueSpec))
    queue.version, queue.wave = content["version"], content["wave"]
    queue.last_wave, queue.changed = content["last_wave"], content["changed"]
    queue.groups, queue.next_group = content["groups"], content["next_group"]
    queue.traits = {n: {row: (ticket, value) for row, ticket, value in kept} for n, kept in content["traits"].items()}
    queue.details = [_told(*told) for told in content["details"]]
    queue.books = {player: Book(*book) for player, *book in content.get("books", ())}
    queue.lost = dict.fromkeys(content.get("lost", ()))
    queue.avoids = {ticket: tuple(players) for ticket, *players in content.get("avoids", ())}
    for name, column in content.get("met", {}).items():
        setattr(queue.met, name, column)
    if "maps" in content:
        queue.map_memory.load(content["maps"])
    queue.fillings.load(content.get("fillings", []), filling_digest)
    queue.mode = Mode(content.get("mode", "open"))
    queue.notes_sum = int(content["notes_sum"])
    queue.active = Active(content["active"])
    queue.tickets.load(content["tickets"])
    queue.players.load(content["players"])
    queue.proposals.load(content["proposals"])
    queue.ticket_slots = Slots(content["free_tickets"])
    queue.proposal_slots = Slots(content["free_proposals"])
    queue.player_blocks.free = {int(size): Slots(free) for size, free in content["free_players"].items()}
    queue.next_expiry_ms = queue.next_lapse_ms = queue.next_end_ms = queue.next_forget_ms = 0
    queue.next_forgive_ms = 0
    _index(state, queue)


def _told(first: int, *kept: Any) -> Told:
    if len(kept) == 1:  # schema 1: a dictionary a proposal
        return Told(first, Table.from_rows(kept), 1, value_digest(first, kept[0]))
    left, digest, table = kept
    return Told(first, Table.from_plain(table), left, int(digest))


def _index(state: State, queue: QueueState) -> None:
    """Rebuild the mappings over a queue's columns."""
    t, p = queue.tickets, queue.proposals
    slots = np.flatnonzero(t.status != FREE)
    slots = slots[np.argsort(t.ticket[slots])]
    place = queue.index << 32
    state.tickets_at.put(t.ticket[slots], slots | place)
    live = slots[(t.status[slots] == WAITING) | (t.status[slots] == PROPOSED)]
    queue.waiting = int(np.count_nonzero(t.status[slots] == WAITING))
    players = queue.players.player[queue.player_rows(live)]
    add_live(state, players, np.repeat(t.ticket[live], t.size[live]))
    rows = np.flatnonzero(p.standing)
    state.proposals_at.put(p.proposal[rows], rows | place)
    claiming = rows[np.isin(p.standing[rows], (OPEN, STARTING, RUNNING))]
    roster = p.roster[claiming]
    late = queue.fillings.all_joined(p.proposal[claiming]) if len(queue.fillings) else NONE
    claimed = state.slots_of(np.concatenate((roster[roster >= 0], late)))
    players, claims = queue.players.player[queue.player_rows(claimed)], np.repeat(t.proposal[claimed], t.size[claimed])
    if len(queue.fillings):
        stayed = queue.fillings.stayed(players, claims)
        players, claims = players[stayed], claims[stayed]
    state.claims.put(players, claims)
