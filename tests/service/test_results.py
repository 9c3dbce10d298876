"""Results over HTTP: reported exactly once, rated in order, corrected with all that follows, and read back."""

import asyncio
import math
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from evenmatch import config
from evenmatch.core.hashing import state_hash
from evenmatch.domain import events as ev
from evenmatch.domain.queue import QueueSpec
from evenmatch.recovery import recover
from evenmatch.service.app import App
from evenmatch.settings import Settings
from evenmatch.storage.sqlite import SqliteJournal

from .callers import bearer, key_in
from .inside import FailingMemory, FailingSqlite, app_over, living, memory_and_journal, until

QUEUES = """
[queues.duel]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
[queues.duel.rating]
placement = 2

[queues.long]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
match = { runs_s = 1000 }
rating = { ladder = "duel", placement = 2 }

[queues.slow]
matcher = { name = "first_come" }
wave = { every_s = 1000 }

[queues.plain]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }

[queues.ready]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
ready_check = { timeout_s = 100 }

[queues.trusting]
matcher = { name = "first_come" }
wave = { every_s = 0.02 }
rating = { trust_backend = true, start = 1000 }

[queues.even]
matcher = { name = "even" }
wave = { every_s = 0.02 }
rating = { placement = 0 }

[queues.brawl]
matcher = { name = "first_come" }
format = { teams = 4, size = 1 }
wave = { every_s = 0.02 }
rating = { model = "elo" }

[queues.pairs]
matcher = { name = "first_come" }
format = { teams = 2, size = 2 }
wave = { every_s = 0.02 }
rating = { model = "glicko2" }

[queues.sides]
matcher = { name = "ladder" }
wave = { every_s = 0.02 }
rating = { placement = 0 }

[queues.even-sides]
matcher = { name = "even", sides = ["bw", "sc2"] }
wave = { every_s = 0.02 }
rating = { placement = 0 }
"""
SPECS: tuple[QueueSpec, ...] = config.parse(QUEUES, "queues.toml")
WON, LOST, DREW = ({"teams": [{"rank": a}, {"rank": b}]} for a, b in ((1, 2), (2, 1), (1, 1)))
Journal = FailingMemory | FailingSqlite
Story = Callable[["Table"], Awaitable[None]]


class Table:
    """A client that plays matches."""

    def __init__(self, client: httpx.AsyncClient, app: App, journal: Journal) -> None:
        self.client, self.app, self.journal = client, app, journal

    async def ask(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = await self.client.request(method, f"/v1{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def refused(self, method: str, path: str, body: Any, status: int, reason: str) -> str:
        problem = await self.ask(method, path, body, status)
        assert problem["reason"] == reason
        detail: str = problem["detail"]
        return detail

    async def match(self, queue: str, *players: str | dict[str, Any]) -> str:
        """The id of a match of these players, in this order."""
        tickets = []
        for player in players:
            body = {"players": [{"id": player} if isinstance(player, str) else player]}
            tickets.append((await self.ask("POST", f"/queues/{queue}/tickets", body, 201))["ticket"]["id"])

        async def made() -> str:
            ticket = (await self.ask("GET", f"/tickets/{tickets[0]}"))["ticket"]
            return ticket["match"]["id"] if ticket["match"] else ""

        return str(await until(made, "a match"))

    async def play(self, queue: str, players: tuple[Any, ...], body: dict[str, Any]) -> dict[str, Any]:
        """The result of a match between them."""
        return await self.report(await self.match(queue, *players), body)

    async def report(self, match: str, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.ask("POST", f"/matches/{match}/result", body))["result"]
        return found

    async def rating(self, player: str, ladder: str = "duel") -> dict[str, Any]:
        ratings = (await self.ask("GET", f"/players/{player}/ratings"))["ratings"]
        (found,) = (rating for rating in ratings if rating["ladder"] == ladder)
        return dict(found)


def players_of(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {player["id"]: player for team in result["teams"] for player in team["players"]}


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    return FailingMemory() if request.param == "memory" else FailingSqlite(tmp_path / "journal.db")


def run(
    journal: Journal, story: Story, settings: Settings | None = None, specs: tuple[QueueSpec, ...] = SPECS
) -> list[ev.Event]:
    """Tell a story over a server of its own; its events. Replay gives the state that it ended with (I8)."""

    async def told() -> list[ev.Event]:
        # The key is read once: that its file is gone then changes nothing.
        with tempfile.TemporaryDirectory() as folder:
            operator = bearer(key_in(Path(folder), "operator"))
            ours = msgspec.structs.replace(settings or Settings(tick_ms=5), keys=Path(folder) / "evenmatch.keys")
            app = app_over(journal, *specs, settings=ours)
        async with living(app) as client:
            client.headers.update(operator)
            await story(Table(client, app, journal))
            memory, replayed = await memory_and_journal(app)
            assert memory == replayed
            events: list[ev.Event] = await app.runner.ask(
                lambda views, _: [event for _, event in views.journal.read(0)]
            )
            return events

    return asyncio.run(told())


def reported(events: list[ev.Event]) -> list[ev.ResultReported]:
    return [event for event in events if isinstance(event, ev.ResultReported)]


# -- reporting ---------------------------------------------------------------------------------------------------------


def test_a_result_moves_ratings_and_is_found_again_everywhere(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        assert (await table.ask("GET", f"/matches/{match}"))["match"]["odds"] == [0.5, 0.5]
        result = await table.report(match, WON)
        ann, ben = players_of(result)["ann"], players_of(result)["ben"]
        assert (ann["before"], ben["before"], ann["ladder"]) == (1500.0, 1500.0, "duel")
        assert ann["after"] > 1500.0 > ben["after"]
        assert ann["deviation"] < 500.0
        assert [team["rank"] for team in result["teams"]] == [1, 2]
        assert (await table.ask("GET", f"/matches/{match}/result"))["result"] == result
        assert (await table.ask("GET", f"/matches/{match}"))["match"]["odds"] == [0.5, 0.5]
        rating = await table.rating("ann")
        assert (rating["rating"], rating["games"], rating["placed"]) == (ann["after"], 1, False)
        (change,) = (await table.ask("GET", "/players/ann/history"))["history"]
        assert (change["before"], change["after"], change["match"], change["season"]) == (1500, ann["after"], match, 1)
        assert (await table.ask("GET", "/players/ann/history?ladder=other"))["history"] == []
        ticket = (await table.ask("POST", "/queues/duel/tickets", {"players": [{"id": "ann", "rating": 9}]}, 201))[
            "ticket"
        ]
        assert ticket["players"][0]["rating"] == ann["after"]
        assert (await table.ask("GET", f"/tickets/{ticket['id']}"))["ticket"]["players"] == ticket["players"]

    (event,) = reported(run(journal, story))
    assert event.rank.tolist() == [0, 1]
    assert event.before.shape == event.after.shape == (2, 3)


def test_many_reports_of_one_match_at_once_make_one_result(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        path = f"/v1/matches/{match}/result"
        answers = await asyncio.gather(*(table.client.post(path, json=(WON, LOST)[n % 2]) for n in range(30)))
        granted = [answer.json() for answer in answers if answer.status_code == 200]
        refused = [answer.json() for answer in answers if answer.status_code == 409]
        assert (len(granted), len(refused)) == (15, 15)
        assert all(answer == granted[0] for answer in granted)
        assert all(problem["reason"] == "result_known" for problem in refused)
        assert (await table.rating("ann"))["games"] == 1

    assert len(reported(run(journal, story))) == 1


def test_results_of_one_commit_see_each_others_ratings(journal: Journal) -> None:
    async def story(table: Table) -> None:
        matches = [await table.match("duel", "ann", other) for other in ("ben", "cid", "dan")]
        journal.reached.clear()
        journal.gate.clear()
        gate = asyncio.create_task(table.match("slow", "gate"))
        await until(journal.reached.is_set, "the gate")
        reports = [asyncio.create_task(table.report(match, WON)) for match in matches]
        await until(lambda: table.app.runner.depth >= 3, "a mailbox with all of them")
        before = journal.last
        journal.gate.set()
        found = [players_of(await report)["ann"] for report in reports]
        assert [one["before"] for one in found[1:]] == [one["after"] for one in found[:-1]]
        assert (await table.rating("ann"))["rating"] == found[-1]["after"]
        assert journal.last >= before + 3
        gate.cancel()

    run(journal, story)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_result_whose_commit_failed_can_be_sent_again(journal: Journal, when: str) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        other = await table.match("duel", "ann", "cid")
        journal.failures.append(when)
        await table.refused("POST", f"/matches/{match}/result", WON, 503, "journal_unavailable")
        first = await table.report(match, WON)
        second = await table.report(other, LOST)
        assert players_of(first)["ann"]["before"] == 1500.0
        assert players_of(second)["ann"]["before"] == players_of(first)["ann"]["after"]
        assert (await table.rating("ann"))["games"] == 2

    assert len(reported(run(journal, story))) == 2


def test_a_result_ends_a_running_match(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("long", "ann", "ben")
        body = {"players": [{"id": "ann"}]}
        ticket = (await table.ask("POST", "/queues/slow/tickets", body, 201))["ticket"]["id"]
        assert (await table.ask("GET", f"/tickets/{ticket}"))["ticket"]["suspended"]
        await table.report(match, DREW)
        assert not (await table.ask("GET", f"/tickets/{ticket}"))["ticket"]["suspended"]

    assert sum(isinstance(event, ev.MatchesEnded) for event in run(journal, story)) == 1


def test_a_match_that_has_left_the_state_can_still_be_reported(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        await until(lambda: not table.app.runner.engine.state.proposals_at, "a state without the match")
        result = await table.report(match, {"teams": [{"score": 3}, {"score": 1.5}]})
        assert [(team["rank"], team["score"]) for team in result["teams"]] == [(1, 3.0), (2, 1.5)]
        await table.refused("POST", f"/matches/{match}/result", WON, 409, "result_known")

    run(journal, story, Settings(tick_ms=5, keep_s=0.05))


def test_a_queue_without_ratings_keeps_results_all_the_same(journal: Journal) -> None:
    async def story(table: Table) -> None:
        result = await table.play("plain", ("ann", {"id": "ben", "rating": 1700}), WON)
        assert players_of(result)["ann"] == {
            "id": "ann", "left": False, "ladder": None, "before": None, "after": None, "deviation": None,
        }  # fmt: skip
        assert (await table.ask("GET", "/players/ann/ratings"))["ratings"] == []
        assert (await table.ask("GET", f"/matches/{result['match']}"))["match"]["odds"] is None
        corrected = await table.ask("PUT", f"/matches/{result['match']}/result", LOST)
        assert [team["rank"] for team in corrected["result"]["teams"]] == [2, 1]
        await table.refused("GET", "/queues/plain/leaderboard", None, 409, "not_rated")
        await table.refused("GET", "/queues/plain/calibration", None, 409, "not_rated")
        await table.refused("POST", "/queues/plain/season", {"season": 2}, 409, "not_rated")

    run(journal, story)


# -- draws, leavers, many teams, sides ---------------------------------------------------------------------------------


def test_equals_who_draw_stay_equal_and_are_surer(journal: Journal) -> None:
    async def story(table: Table) -> None:
        result = await table.play("duel", ("ann", "ben"), {"teams": [{"score": 2}, {"score": 2}]})
        found = players_of(result)
        assert [team["rank"] for team in result["teams"]] == [1, 1]
        assert found["ann"]["after"] == found["ben"]["after"] == 1500.0
        assert found["ann"]["deviation"] < 500.0
        told = (await table.ask("GET", "/queues/duel/calibration"))["calibration"]
        assert (told["games"], told["log_loss"]) == (0, None)

    run(journal, story)


def test_who_leaves_loses_as_the_last_whoever_won(journal: Journal) -> None:
    async def story(table: Table) -> None:
        result = await table.play("pairs", ("ann", "ben", "cid", "dan"), {**WON, "leavers": ["ann"]})
        team = [[player["id"] for player in team["players"]] for team in result["teams"]]
        assert "ann" in team[0]
        found = players_of(result)
        (mate,) = (player for player in team[0] if player != "ann")
        assert (found["ann"]["left"], found[mate]["left"]) == (True, False)
        assert found["ann"]["after"] < 1500.0 < found[mate]["after"]
        losers = [found[player]["after"] for player in team[1]]
        assert found["ann"]["after"] == pytest.approx(losers[0])

    run(journal, story)


def test_gaps_between_ranks_mean_nothing(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        first = await table.report(match, {"teams": [{"rank": 5}, {"rank": 9}]})
        assert [team["rank"] for team in first["teams"]] == [1, 2]
        assert await table.report(match, WON) == first
        await table.refused("POST", f"/matches/{match}/result", LOST, 409, "result_known")

    run(journal, story)


def test_a_free_for_all_is_rated_by_all_its_ranks(journal: Journal) -> None:
    async def story(table: Table) -> None:
        body = {"teams": [{"rank": 3}, {"rank": 1}, {"rank": 2}, {"rank": 3}]}
        result = await table.play("brawl", ("ann", "ben", "cid", "dan"), body)
        after = [team["players"][0]["after"] for team in result["teams"]]
        assert after[1] > after[2] > after[0] == after[3]
        assert sum(after) == pytest.approx(6_000.0)  # Elo moves points, it does not make any
        told = (await table.ask("GET", "/queues/brawl/calibration"))["calibration"]
        assert told["log_loss"] == pytest.approx(math.log(4)) == told["baselines"]["coin"]["log_loss"]
        assert told["accuracy"] == 0.25

    run(journal, story)


def test_every_side_has_a_ladder_of_its_own(journal: Journal) -> None:
    async def story(table: Table) -> None:
        ann = {"id": "ann", "ratings": {"bw": 1600.0}}
        ben = {"id": "ben", "ratings": {"sc2": 1590.0}}
        match = await table.match("sides", ann, ben)
        view = (await table.ask("GET", f"/matches/{match}"))["match"]
        order = [team["players"][0] for team in view["teams"]]
        body = {"teams": [{"rank": 1 if player == "ann" else 2} for player in order]}
        found = players_of(await table.report(match, body))
        assert (found["ann"]["ladder"], found["ben"]["ladder"]) == ("sides/bw", "sides/sc2")
        assert (found["ann"]["before"], found["ben"]["before"]) == (1600.0, 1590.0)
        both = {"players": [{"id": "ann", "ratings": {"bw": 5.0, "sc2": 1400.0}}]}
        joined = (await table.ask("POST", "/queues/sides/tickets", both, 201))["ticket"]["players"][0]
        assert joined["ratings"] == {"bw": found["ann"]["after"], "sc2": 1400.0}
        joined = (await table.ask("POST", "/queues/sides/tickets", {"players": [{"id": "ben"}]}, 201))["ticket"]
        assert joined["players"][0]["ratings"] == {"sc2": found["ben"]["after"]}
        board = await table.ask("GET", "/queues/sides/leaderboard?side=bw")
        assert [leader["player"] for leader in board["leaders"]] == ["ann"]
        detail = await table.refused("GET", "/queues/sides/leaderboard", None, 404, "unknown_side")
        assert "use side=bw or side=sc2" in detail
        await table.refused("GET", "/queues/duel/leaderboard?side=bw", None, 404, "unknown_side")
        await table.ask("POST", "/queues/sides/season", {"keep": 0, "season": 2})
        assert (await table.rating("ann", "sides/bw"))["rating"] == 1500.0

    run(journal, story)


def test_a_backends_rating_is_a_start_and_no_more_unless_it_is_trusted(journal: Journal) -> None:
    async def story(table: Table) -> None:
        for queue, start in (("duel", 1500.0), ("trusting", 1000.0)):
            new, known = {"id": f"{queue} new", "rating": 1850}, f"{queue} plain"
            found = players_of(await table.play(queue, (new, known), LOST))
            assert (found[f"{queue} new"]["before"], found[known]["before"]) == (1850.0, start)
            body = {"players": [{"id": f"{queue} new", "rating": 1500}]}
            joined = (await table.ask("POST", f"/queues/{queue}/tickets", body, 201))["ticket"]["players"][0]
            assert joined["rating"] == (found[f"{queue} new"]["after"] if queue == "duel" else 1500.0)

    run(journal, story)


def test_a_matcher_that_reads_doubt_gets_that_of_our_ratings(journal: Journal) -> None:
    async def story(table: Table) -> None:
        found = players_of(await table.play("even", ("ann", "ben"), WON))
        for name, own in (("ann", {}), ("ben", {"profile": {"sigma": 77.0}})):
            body = {"players": [{"id": name, **own}]}
            joined = (await table.ask("POST", "/queues/even/tickets", body, 201))["ticket"]["players"][0]
            assert joined["rating"] == found[name]["after"]
            assert 0 < joined["profile"]["sigma"] < 500
            assert (joined["profile"]["sigma"] == 77.0) == bool(own)

    run(journal, story)


def test_with_sides_the_doubt_is_the_largest_among_those_that_may_be_played(journal: Journal) -> None:
    async def story(table: Table) -> None:
        for _ in range(3):
            match = await table.match("even-sides", {"id": "ann", "ratings": {"bw": 1600.0}},
                                      {"id": "ben", "ratings": {"sc2": 1590.0}})  # fmt: skip
            await table.report(match, DREW)
        other = {"id": "cleo", "ratings": {"bw": 1600.0}}
        match = await table.match("even-sides", other, {"id": "ann", "ratings": {"sc2": 1600.0}})
        await table.report(match, DREW)
        doubts = []
        for named in ({"bw": 1.0}, {"sc2": 1.0}, {"bw": 1.0, "sc2": 1.0}):
            body = {"players": [{"id": "ann", "ratings": named}]}
            joined = (await table.ask("POST", "/queues/even-sides/tickets", body, 201))["ticket"]
            doubts.append(joined["players"][0]["profile"]["sigma"])
            await table.ask("DELETE", f"/tickets/{joined['id']}", None, 204)
        assert 0 < doubts[0] < doubts[1] == doubts[2]
        own = {"players": [{"id": "ann", "ratings": {"bw": 1.0}, "profile": {"sigma": 77.0}}]}
        joined = (await table.ask("POST", "/queues/even-sides/tickets", own, 201))["ticket"]["players"][0]
        assert joined["profile"]["sigma"] == 77.0

    run(journal, story)


def test_a_join_that_is_repeated_is_answered_with_the_rating_of_the_first_time(journal: Journal) -> None:
    async def story(table: Table) -> None:
        first = await table.match("duel", "ann", "ben")
        keyed: dict[str, Any] = {"json": {"players": [{"id": "ann"}]}, "headers": {"Idempotency-Key": "k"}}
        answers = [await table.client.post("/v1/queues/long/tickets", **keyed)]
        await table.report(first, WON)
        answers.append(await table.client.post("/v1/queues/long/tickets", **keyed))
        assert answers[0].status_code == answers[1].status_code == 201
        assert answers[0].json() == answers[1].json()
        assert answers[0].json()["ticket"]["players"][0]["rating"] == 1500.0

    run(journal, story)


def test_who_has_gone_beyond_the_largest_rating_can_still_join(journal: Journal) -> None:
    async def story(table: Table) -> None:
        best = {"id": "ann", "rating": 1e6}
        found = players_of(await table.play("duel", (best, {"id": "ben", "rating": 1e6}), WON))
        assert found["ann"]["after"] > 1e6
        joined = await table.ask("POST", "/queues/duel/tickets", {"players": [{"id": "ann"}]}, 201)
        assert joined["ticket"]["players"][0]["rating"] == 1e6

    run(journal, story)


def test_a_batch_shows_ratings_too(journal: Journal) -> None:
    async def story(table: Table) -> None:
        found = players_of(await table.play("duel", ("ann", "ben"), WON))
        batch = {"tickets": [{"players": [{"id": name}]} for name in ("ann", "new", "ann")]}
        outcomes = (await table.ask("POST", "/queues/long/tickets:batch", batch))["outcomes"]
        ratings = [outcome["ticket"]["players"][0]["rating"] for outcome in outcomes[:2]]
        assert ratings == [found["ann"]["after"], 1500.0]
        assert outcomes[2]["problem"]["reason"] == "already_waiting"

    run(journal, story)


# -- corrections and seasons -------------------------------------------------------------------------------------------

GAMES = [("ann", "ben"), ("cid", "dan"), ("ann", "cid"), ("ben", "dan"), ("ann", "dan"), ("eve", "fay")]


async def played(table: Table, bodies: list[dict[str, Any]], prefix: str) -> list[dict[str, Any]]:
    """The results of the games above, by players of their own."""
    return [
        await table.play("duel", tuple(f"{prefix}{name}" for name in pair), body)
        for pair, body in zip(GAMES, bodies, strict=True)
    ]


def numbers_of(results: list[dict[str, Any]]) -> list[float]:
    return [
        p[key] for r in results for t in r["teams"] for p in t["players"] for key in ("before", "after", "deviation")
    ]


def test_a_correction_gives_what_would_have_been(journal: Journal) -> None:
    async def story(table: Table) -> None:
        wrong = await played(table, [WON, LOST, WON, DREW, LOST, WON], "x ")
        right = await played(table, [LOST, LOST, WON, DREW, LOST, WON], "y ")
        match = wrong[0]["match"]
        assert numbers_of(wrong) != numbers_of(right)
        corrected = (await table.ask("PUT", f"/matches/{match}/result", LOST))["result"]
        assert (corrected["corrections"], corrected["void"]) == (1, False)
        again = (await table.ask("PUT", f"/matches/{match}/result", LOST))["result"]
        assert again == corrected
        now = [(await table.ask("GET", f"/matches/{r['match']}/result"))["result"] for r in wrong]
        assert numbers_of(now) == numbers_of(right)
        for name in ("ann", "ben", "cid", "dan", "eve"):
            x, y = await table.rating(f"x {name}"), await table.rating(f"y {name}")
            assert [x[key] for key in ("rating", "deviation", "games")] == [
                y[key] for key in ("rating", "deviation", "games")
            ]
            told = [(await table.ask("GET", f"/players/{p} {name}/history"))["history"] for p in "xy"]
            assert [change["after"] for change in told[0]] == [change["after"] for change in told[1]]
        await table.refused("POST", f"/matches/{match}/result", WON, 409, "result_known")
        await table.report(match, LOST)

    corrections = [event for event in run(journal, story) if isinstance(event, ev.ResultCorrected)]
    assert len(corrections) == 1
    assert len(corrections[0].player) == 4  # eve and fay never met any of them


def test_a_result_that_is_annulled_never_was_and_can_count_again(journal: Journal) -> None:
    async def story(table: Table) -> None:
        first = await table.play("duel", ({"id": "ann", "rating": 1700}, "ben"), WON)
        second = await table.play("duel", ("ann", "cid"), WON)
        path = f"/matches/{first['match']}/result"
        assert (await table.ask("PUT", path, {"void": True}))["result"]["void"]
        assert (await table.rating("ben"))["games"] == 0
        assert (await table.ask("GET", "/players/ben/history"))["history"] == []
        now = (await table.ask("GET", f"/matches/{second['match']}/result"))["result"]
        assert players_of(now)["ann"]["before"] == 1700.0
        await table.refused("POST", path, WON, 409, "result_known")
        await table.ask("PUT", path, WON)
        now = (await table.ask("GET", f"/matches/{second['match']}/result"))["result"]
        assert now == second
        assert (await table.rating("ben"))["games"] == 1

    run(journal, story)


def test_a_correction_rates_by_the_rules_of_the_time_whatever_they_are_now(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    elo = config.parse("[queues.duel]\nrating = { model = 'elo', parameters = { k = 10, k_placement = 10 } }", "a.toml")
    none = config.parse("[queues.duel]\n", "b.toml")

    async def first(table: Table) -> None:
        result = await table.play("duel", ("ann", "ben"), WON)
        assert players_of(result)["ann"]["after"] == 1505.0

    async def later(table: Table) -> None:
        result = (await table.ask("PUT", "/matches/m-000000000001/result", LOST))["result"]
        assert players_of(result)["ann"]["after"] == 1495.0
        assert (await table.rating("ann"))["rating"] == 1495.0

    run(FailingSqlite(path), first, specs=elo)
    run(FailingSqlite(path), later, specs=none)


def test_a_season_pulls_ratings_towards_the_start_once(journal: Journal) -> None:
    async def story(table: Table) -> None:
        first = await table.play("duel", ({"id": "ann", "rating": 2000}, "ben"), WON)
        before = await table.rating("ann")
        season = (await table.ask("POST", "/queues/duel/season", {"keep": 0.25, "deviation": 490, "season": 2}))[
            "season"
        ]
        assert (season["season"], season["start"], season["ladder"]) == (2, 1500.0, "duel")
        again = (await table.ask("POST", "/queues/long/season", {"keep": 0.25, "deviation": 490, "season": 2}))[
            "season"
        ]
        assert again["at_ms"] == season["at_ms"]
        rating = await table.rating("ann")
        assert rating["rating"] == 1500.0 + 0.25 * (before["rating"] - 1500.0)
        assert rating["deviation"] == 490.0
        await table.refused("POST", "/queues/duel/season", {"season": 5}, 409, "season_over")
        await table.refused("POST", "/queues/duel/season", {"season": 3, "deviation": 501}, 422, "bad_season")
        second = await table.play("duel", ("ann", "ben"), LOST)
        assert second["season"] == 2
        assert players_of(second)["ann"]["before"] == rating["rating"]
        # A correction goes through the season in between.
        await table.ask("PUT", f"/matches/{first['match']}/result", {"void": True})
        now = (await table.ask("GET", f"/matches/{second['match']}/result"))["result"]
        assert players_of(now)["ann"]["before"] == 1625.0
        history = (await table.ask("GET", "/players/ann/history"))["history"]
        assert [change["season"] for change in history] == [2]

    run(journal, story)


def test_a_season_and_results_of_one_commit_see_each_other(journal: Journal) -> None:
    async def story(table: Table) -> None:
        await table.play("duel", ({"id": "ann", "rating": 1900}, "ben"), WON)
        matches = [await table.match("duel", "ann", "ben") for _ in range(2)]
        journal.reached.clear()
        journal.gate.clear()
        gate = asyncio.create_task(table.match("slow", "gate"))
        await until(journal.reached.is_set, "the gate")
        first = asyncio.create_task(table.report(matches[0], WON))
        await until(lambda: table.app.runner.depth >= 1, "the first report")
        season = asyncio.create_task(table.ask("POST", "/queues/duel/season", {"season": 2, "keep": 0.5}))
        await until(lambda: table.app.runner.depth >= 2, "the season")
        last = asyncio.create_task(table.report(matches[1], LOST))
        await until(lambda: table.app.runner.depth >= 3, "the last report")
        journal.gate.set()
        (one, _, other) = await asyncio.gather(first, season, last)
        one, other = players_of(one)["ann"], players_of(other)["ann"]
        assert other["before"] == 1500.0 + 0.5 * (one["after"] - 1500.0)
        assert (await table.rating("ann"))["rating"] == other["after"]
        gate.cancel()

    run(journal, story)


# -- reading -----------------------------------------------------------------------------------------------------------


def test_the_leaderboard_has_placed_players_by_the_rating_they_almost_surely_have(journal: Journal) -> None:
    async def story(table: Table) -> None:
        for pair in (("ann", "ben"), ("ann", "cid"), ("cid", "ben"), ("ann", "new")):
            await table.play("duel", pair, WON)
        board = await table.ask("GET", "/queues/long/leaderboard")
        assert [leader["player"] for leader in board["leaders"]] == ["ann", "cid", "ben"]
        assert [leader["place"] for leader in board["leaders"]] == [1, 2, 3]
        sure = [leader["sure"] for leader in board["leaders"]]
        assert sure == sorted(sure, reverse=True)
        for leader in board["leaders"]:
            assert leader["sure"] == leader["rating"] - 2 * leader["deviation"]
        page = await table.ask("GET", "/queues/duel/leaderboard?limit=1&offset=1")
        assert page["leaders"] == board["leaders"][1:2]
        told = (await table.ask("GET", "/queues/duel/calibration"))["calibration"]
        assert told["games"] == 4
        assert sum(one["games"] for one in told["reliability"]) == 4
        metrics = (await table.client.get("/metrics")).text
        assert 'evenmatch_results_reported_total{queue="duel"} 4.0' in metrics
        assert f'evenmatch_prediction_log_loss{{queue="duel"}} {told["log_loss"]}' in metrics

    run(journal, story)


def test_what_cannot_be_is_refused_with_its_reason(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("duel", "ann", "ben")
        path = f"/matches/{match}/result"
        bad: list[Any] = [
            {},
            [],
            {"teams": []},
            {"teams": [{}, {}]},
            {"teams": [{"rank": 1}, {"score": 1}]},
            {"teams": [{"rank": 1, "score": 1}, {"rank": 2, "score": 0}]},
            {"teams": [{"rank": 0}, {"rank": 1}]},
            {"teams": [{"rank": 1.5}, {"rank": 1}]},
            {"teams": [{"score": 1e300}, {"score": 1}]},
            {"teams": [{"rank": 1}, {"rank": 2}], "leavers": ["ann", "ann"]},
            {"teams": [{"rank": 1}, {"rank": 2}], "void": True},
        ]
        for body in bad:
            await table.refused("POST", path, body, 400, "malformed")
        for wrong, meant in (
            ({"teams": [{"rnk": 1}]}, "rank"),
            ({"team": []}, "teams"),
            ({**WON, "leaver": []}, "leavers"),
        ):
            assert f"did you mean `{meant}`?" in await table.refused("POST", path, wrong, 400, "malformed")
        assert "has 2 teams, but the result tells of 1" in await table.refused(
            "POST", path, {"teams": [{"rank": 1}]}, 422, "bad_result"
        )
        for stranger in ("eve", "nobody at all"):
            detail = await table.refused("POST", path, {**WON, "leavers": [stranger]}, 422, "bad_result")
            assert f"'{stranger}' did not play" in detail
        await table.refused("GET", path, None, 404, "unknown_result")
        await table.refused("PUT", path, WON, 404, "unknown_result")
        await table.refused("PUT", path, {"void": True, **WON}, 400, "malformed")
        for name in ("m-000000000999", "m-1", "x"):
            for method, body in (("POST", WON), ("PUT", WON), ("GET", None)):
                await table.refused(method, f"/matches/{name}/result", body, 404, "unknown_match")
        await table.refused("GET", "/players/nobody/ratings", None, 404, "unknown_player")
        await table.refused("GET", "/players/nobody/history", None, 404, "unknown_player")
        for query in ("limit=0", "limit=1001", "limit=x", "offset=-1", "offset=100001"):
            await table.refused("GET", f"/queues/duel/leaderboard?{query}", None, 400, "malformed")
        for queue in ("leaderboard", "calibration"):
            await table.refused("GET", f"/queues/nowhere/{queue}", None, 404, "unknown_queue")
        seasons: list[dict[str, Any]] = [{"keep": 2}, {"keep": "x"}, {"deviation": -1}, {"season": 1}, {"seasn": 2}]
        for given in seasons:
            season = {"season": 2, **given}
            await table.refused("POST", "/queues/duel/season", season, 400, "malformed")
        await table.refused("POST", "/queues/nowhere/season", {"season": 2}, 404, "unknown_queue")
        for without in ({}, {"keep": 0.5}):  # a repeat of such a one would start another
            detail = await table.refused("POST", "/queues/duel/season", without, 400, "malformed")
            assert "`season`: the number of the season to start, one more than the leaderboard shows" in detail
        assert "the next is 2" in await table.refused("POST", "/queues/duel/season", {"season": 3}, 409, "season_over")
        detail = await table.refused("POST", path, {"void": True}, 400, "malformed")
        assert "unknown field `void`; it belongs to another call" in detail

    assert reported(run(journal, story)) == []


def test_a_proposal_is_not_a_match_yet(journal: Journal) -> None:
    async def story(table: Table) -> None:
        for player in ("ann", "ben"):
            await table.ask("POST", "/queues/ready/tickets", {"players": [{"id": player}]}, 201)

        async def proposed() -> Any:
            return (await table.ask("GET", "/tickets/t-000000000001"))["ticket"]["proposal"]

        await until(proposed, "a proposal")
        for method, body in (("POST", WON), ("PUT", WON), ("GET", None)):
            await table.refused(method, "/matches/m-000000000001/result", body, 409, "match_not_made")
        await table.ask("POST", "/proposals/p-000000000001/decline", {"player": "ann"})
        await table.refused("POST", "/matches/m-000000000001/result", WON, 404, "unknown_match")

    run(journal, story)


def test_what_an_operator_corrects_is_noted(journal: Journal) -> None:
    async def story(table: Table) -> None:
        result = await table.play("duel", ("ann", "ben"), WON)
        await table.ask("PUT", f"/matches/{result['match']}/result", LOST)
        await table.ask("PUT", f"/matches/{result['match']}/result", {"void": True})
        await table.ask("PUT", f"/matches/{result['match']}/result", DREW | {"leavers": ["ben"]})
        await table.refused("PUT", f"/matches/{result['match']}/result", DREW | {"leavers": ["cat"]}, 422, "bad_result")
        await table.refused("PUT", "/matches/m-000000000999/result", LOST, 404, "unknown_match")
        await table.ask("POST", "/queues/duel/season", {"season": 2})
        entries = (await table.ask("GET", "/audit"))["entries"]
        assert [(entry["action"], entry["subject"], entry["detail"]) for entry in entries] == [
            ("report_result", result["match"], ""),
            ("correct_result", result["match"], "1,2 -> 2,1"),
            ("correct_result", result["match"], "2,1 -> void"),
            ("correct_result", result["match"], "void -> 1,1 (1 left)"),
            ("start_season", "duel", ""),
        ]

    run(journal, story)


def test_a_match_that_was_called_off_has_no_result(journal: Journal) -> None:
    async def story(table: Table) -> None:
        match = await table.match("long", "ann", "ben")
        await table.ask("POST", f"/matches/{match}/cancel", {"why": "the map was broken"}, 204)
        documented = (await table.client.get("/openapi.json")).json()["paths"]["/v1/matches/{match}/result"]
        for method, body in (("POST", WON), ("PUT", LOST), ("GET", None)):
            await table.refused(method, f"/matches/{match}/result", body, 409, "match_over")
            assert "match_over" in str(documented[method.lower()]["responses"]["409"]), method

    run(journal, story)


def test_ratings_and_predictions_outlive_the_server(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    seen: dict[str, Any] = {}

    async def before(table: Table) -> None:
        await table.play("duel", ("ann", "ben"), WON)
        await table.play("duel", ("ann", "ben"), WON)
        seen.update(rating=await table.rating("ann"), told=await table.ask("GET", "/queues/duel/calibration"))

    async def after(table: Table) -> None:
        assert await table.rating("ann") == seen["rating"]
        assert await table.ask("GET", "/queues/duel/calibration") == seen["told"]
        assert f"{seen['told']['calibration']['log_loss']}" in (await table.client.get("/metrics")).text
        result = await table.play("duel", ("ann", "ben"), LOST)
        assert players_of(result)["ann"]["before"] == seen["rating"]["rating"]

    run(FailingSqlite(path), before)
    run(FailingSqlite(path), after)
    with SqliteJournal(path) as journal:
        assert state_hash(recover(journal))
