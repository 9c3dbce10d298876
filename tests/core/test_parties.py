"""What a party counts as in a wave, and which parties may join."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.core.parties import counted
from evenmatch.domain import commands as cmd
from evenmatch.domain.queue import Format, MatchSpec, PartySpec, QueueSpec, rule_broken
from evenmatch.domain.refusals import Reasons
from evenmatch.domain.ticket import Member, TicketRequest

from .stage import QUICK, Stage, request

PARTIES = st.lists(st.lists(st.none() | st.floats(-3000, 3000), min_size=1, max_size=4), min_size=1, max_size=6)


def plain(party: list[float | None], how: str, bonus: float) -> list[float]:
    """The rule in words: one party, one value."""
    given = [value for value in party if value is not None]
    if len(party) == 1 or not given:
        return [math.nan if value is None else value for value in party]
    value = {"mean": sum(given) / len(given), "max": max(given), "sum": sum(given)}.get(how)
    found = [math.nan if own is None else own if value is None else value for own in party]
    return [each + bonus * (len(party) - 1) for each in found]


@given(PARTIES, st.sampled_from(["each", "mean", "max", "sum"]), st.sampled_from([0.0, 25.0, -10.0]))
def test_parties_count_as_the_rule_says(parties: list[list[float | None]], how: str, bonus: float) -> None:
    start = np.cumsum([0, *map(len, parties)])
    values = np.array([math.nan if v is None else v for party in parties for v in party], np.float64)
    facts = {"rating": values, "ping_ms": np.abs(values), "profile.age": values}
    found = counted(facts, start, PartySpec(rating=how, ping="max", premade_bonus=bonus))
    expected = [value for party in parties for value in plain(party, how, bonus)]
    np.testing.assert_allclose(found["rating"], expected, atol=1e-6)
    pings = [plain([None if v is None else abs(v) for v in party], "max", 0.0) for party in parties]
    np.testing.assert_allclose(found["ping_ms"], [ping for party in pings for ping in party], atol=1e-6)
    assert found["profile.age"] is values


def test_the_matcher_sees_what_a_party_counts_as_and_nobody_else() -> None:
    spec = msgspec.structs.replace(
        QUICK, format=Format(2, 2), party=PartySpec(rating="max", ping="max", premade_bonus=20)
    )
    stage = Stage(spec)
    members = (Member(1, 1400.0, 30.0), Member(2, 1700.0, 90.0))
    stage.do(cmd.Join("quick", TicketRequest(members)))
    stage.do(cmd.Join("quick", TicketRequest((Member(3, 1500.0),))))
    snapshot = stage.start("quick").snapshot
    assert snapshot.facts["rating"].tolist() == [1720.0, 1720.0, 1500.0]
    assert snapshot.facts["ping_ms"][:2].tolist() == [90.0, 90.0]
    players = stage.engine.state.queues["quick"].players
    assert players.rating[:2].tolist() == [1400.0, 1700.0], "the ticket keeps what it brought"


def test_a_queue_for_full_teams_takes_no_other() -> None:
    full = msgspec.structs.replace(QUICK, format=Format(2, 2), party=PartySpec(full_team=True))
    stage = Stage(msgspec.structs.replace(QUICK, format=Format(2, 2)))
    alone = stage.join("quick", 1)
    pair = stage.join("quick", 2, 3)
    stage.do(cmd.OpenQueue(full))
    assert (stage.told(alone, "cause"), stage.told(pair, "status")) == ("rules_changed", "waiting")
    assert stage.joined("quick", request(4)) is Reasons.PARTY_UNSUPPORTED
    assert isinstance(stage.joined("quick", request(4, 5)), int)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"party": PartySpec(rating="median")}, "party.rating"),
        ({"party": PartySpec(ping="sum")}, "party.ping"),
        ({"party": PartySpec(premade_bonus=math.nan)}, "party.premade_bonus"),
        ({"match": MatchSpec(team_names=("red",))}, "match.team_names"),
        ({"match": MatchSpec(team_names=("red", "red"))}, "match.team_names"),
        ({"match": MatchSpec(team_names=("red", ""))}, "match.team_names"),
    ],
)
def test_rules_that_make_no_sense_are_refused(changes: dict[str, object], key: str) -> None:
    broken = rule_broken(msgspec.structs.replace(QueueSpec("x"), **changes))
    assert broken is not None
    assert broken[0] == key
