"""The gap of a match, held against a plain reckoning of the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core.engine import Engine
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, QueueSpec
from evenmatch.domain.ticket import Member, TicketRequest
from evenmatch.service.waits import gaps_of


def plainly(ratings: list[list[list[float]]]) -> float:
    """One match: teams of parties of ratings; or one team, whose parties are compared."""
    if len(ratings) == 1:
        means = [sum(party) / len(party) for party in ratings[0]]
    else:
        means = [sum(map(sum, team)) / sum(map(len, team)) for team in ratings]
    return max(means) - min(means)


parties = st.lists(st.floats(0, 3000), min_size=1, max_size=3)
matches = st.integers(1, 3).flatmap(
    lambda teams: st.lists(
        st.lists(st.lists(parties, min_size=1, max_size=3), min_size=teams, max_size=teams), min_size=1, max_size=4
    )
)


@given(matches)
def test_a_gap_is_what_a_plain_reckoning_gives(given_matches: list[list[list[list[float]]]]) -> None:
    engine = Engine()
    spec = QueueSpec("pool", Format(2, 100))
    engine.step(cmd.OpenQueue(spec), 0)
    player = 0
    rows: list[list[tuple[int, int]]] = []
    requests = []
    for match in given_matches:
        rows.append([])
        for team, members in enumerate(match):
            for party in members:
                request = []
                for rating in party:
                    player += 1
                    request.append(Member(player, rating))
                requests.append(TicketRequest(tuple(request)))
                rows[-1].append((len(requests), team))
    engine.step(cmd.JoinMany("pool", tuple(requests)), 1)
    width = max(map(len, rows))
    roster, team_of = np.full((len(rows), width), -1), np.full((len(rows), width), -1)
    for place, row in enumerate(rows):
        for seat, (ticket, team) in enumerate(row):
            roster[place, seat], team_of[place, seat] = ticket, team
    found = gaps_of(engine.state, engine.state.queues["pool"], roster, team_of)
    np.testing.assert_allclose(found, [plainly(match) for match in given_matches], atol=1e-6)


def test_a_gap_is_unknown_where_a_ticket_is_in_the_state_no_more() -> None:
    engine = Engine()
    engine.step(cmd.OpenQueue(QueueSpec("pool", Format(2, 1))), 0)
    found = gaps_of(engine.state, engine.state.queues["pool"], np.array([[5, 6]]), np.array([[0, 1]]))
    assert np.isnan(found).tolist() == [True]
