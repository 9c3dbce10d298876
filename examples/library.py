"""evenmatch as a library: a wave over tickets, a matcher on numpy columns, and parts of the algorithms by themselves.

There is no server, no clock and no disk; `python examples/library.py` prints what the README shows.
"""

import json
from pathlib import Path

import numpy as np

import evenmatch as em

# Tickets as dictionaries: the answer speaks of them by their ids.
tickets = json.loads((Path(__file__).parent / "tickets.json").read_text("utf-8"))
outcome = em.plan(tickets, matcher="epgc", lobby_size=4)
for match in outcome.matches:
    print("lobby   ", *match.teams[0], match.details)
print("waiting ", *(one.ticket for one in outcome.unmatched))

# Columns of numpy, a row a player. The rows in `rosters` are the rows that were given.
snapshot = em.Snapshot.from_columns(
    ratings={"bw": [1500, 1480, np.nan, 1620], "sc2": [np.nan, 1510, 1490, 1600]},  # NaN = can't play that side
    misses=[0, 2, 1, 0],
)
for solver in ("document", "optimal"):
    plan = em.matchers.Ladder(solver=solver).plan(snapshot, seed=1)
    print(f"{solver:8}", plan.rosters.tolist(), plan.cost.tolist())

# The parts stand alone.
print("degrees ", em.epgc.weighted_degrees([22, 18, 25], [180, 240, 200]).tolist())
print("window  ", em.ladder.window(3, em.ladder.pressure(12, 40)))
leader_of, total = em.lom.assign([[4, 1, 3, 7, 2], [2, 0, 5, 8, 6]], session_size=3)
print("assign  ", leader_of.tolist(), total)
print("overlap ", em.cinder.overlap([1400, 1500, 1700], [1450, 1500, 1550], lcap=0, ucap=3000, n_bucket=30))

# What cannot be used is a ValueError that says why.
try:
    em.plan(tickets, matcher="epgc", lobby_size=0)
except em.MatcherError as error:
    print("refused ", error)
