"""Which queues share an owner: the table [lanes] of queues.toml, a lane's name -> its queues."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .ids import QUEUE_NAME
from .queue import QueueSpec
from .rating import ladder_of

MAIN: Final = "main"
"""The lane of queues that no other names."""


def lane_mistakes(
    table: Any, specs: Sequence[QueueSpec], shards: Mapping[str, Sequence[str]]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Everything that is wrong with the table, as (where, what is wrong and what would be right).

    `shards`: a queue that is split -> the queues of its shards, each in a lane of its own where the table says nothing.
    """
    if not isinstance(table, dict):
        yield (), 'this is not a table: write [lanes], and in it a line such as eu = ["duel-eu"]'
        return
    known = {spec.name for spec in specs}
    own = {shard: shard for queues in shards.values() for shard in queues}
    lane_of: dict[str, str] = {}
    for lane, queues in table.items():
        if not QUEUE_NAME.fullmatch(lane):
            yield (lane,), "this cannot name a lane: use lower-case letters, digits, '-' or '_', at most 63"
        if not isinstance(queues, list) or not all(isinstance(queue, str) for queue in queues):
            yield (lane,), f'this is not a list of queues: write {lane} = ["{next(iter(sorted(known)), "duel")}"]'
            continue
        for queue in queues:
            if queue in shards:
                yield (lane,), f"the queue {queue} is split: name its shards, {', '.join(shards[queue])}"
            elif queue not in known:
                yield (lane,), f"there is no queue {queue[:64]!r} in this file: use {', '.join(sorted(known))}"
            elif queue in lane_of:
                yield (lane,), f"the queue {queue} is in the lane {lane_of[queue]} already: a queue has one lane"
            lane_of.setdefault(queue, lane)
    first: dict[str, str] = {}
    for spec in specs:
        if spec.rating is not None:
            ladder = ladder_of(spec.rating, spec.name)
            other = first.setdefault(ladder, spec.name)
            here, there = (lane_of.get(queue, own.get(queue, MAIN)) for queue in (spec.name, other))
            if here != there:
                yield (
                    (here if here in table else there,),
                    f"queues {other} and {spec.name} share the ladder {ladder!r}: put both into the same lane, or "
                    "leave the ladder out, so that each has its own",
                )
