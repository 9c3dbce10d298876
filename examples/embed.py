"""evenmatch inside your own program: the engine and an in-memory journal, no server, and time in your own hands."""

from evenmatch.core.engine import Engine, Step
from evenmatch.core.hashing import state_hash
from evenmatch.core.records import match_record
from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import match_id, ticket_id
from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.matchers.contract import plan_wave
from evenmatch.matchers.registry import build
from evenmatch.recovery import recover
from evenmatch.storage.memory import MemoryJournal
from evenmatch.storage.protocol import Commit

engine, journal = Engine(), MemoryJournal()


def do(command: cmd.Command, now_ms: int) -> Step:
    """Step the engine, then keep the events before anybody hears of them."""
    step = engine.step(command, now_ms)
    if step.events:
        journal.append(Commit(journal.last + 1, now_ms, list(step.events)))
    return step


# A queue of one against one, without a ready check: a proposal is a match at once.
do(cmd.OpenQueue(QueueSpec("duel", Format(teams=2, size=1))), now_ms=0)

# Players are numbers here; who they are is your program's business.
joined = do(cmd.JoinMany("duel", tuple(TicketRequest((Member(player),)) for player in (1, 2, 3))), now_ms=10)
print("joined ", [ticket_id(outcome) for outcome in joined.outcomes if isinstance(outcome, int)])

# A tick lets time pass. When a wave is due, it asks for a matcher to be run on a snapshot of the queue.
for wave in do(cmd.Tick(), now_ms=1_000).effects:
    matcher = build(wave.spec.matcher.name, wave.spec.matcher.parameters)
    plan = plan_wave(matcher, wave.snapshot, seed=wave.seed)
    do(cmd.FinishWave(wave.spec.name, wave.wave, plan), now_ms=1_005)

match = match_record(engine.state, 1)
assert match is not None
print(
    "matched",
    match_id(1),
    [[player["player"] for ticket in team for player in ticket["players"]] for team in match["teams"]],
)

# The journal alone gives the same state again.
assert state_hash(recover(journal)) == state_hash(engine.state)
print("replay ", journal.last, "events give the same state")
