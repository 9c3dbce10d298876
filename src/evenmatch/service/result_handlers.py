"""What requests about results and ratings do: values in, an `Answer` out."""

from collections.abc import Callable
from typing import Any

import msgspec

from evenmatch.domain import commands as cmd
from evenmatch.domain.ids import MATCH_PREFIX, number_of
from evenmatch.domain.refusals import Reasons, Refusal
from evenmatch.storage.ledger import Result

from . import result_bodies, result_views, results, wire
from .access import Caller
from .group import Group
from .handlers import Answer, look, problem, turned_away, unknown
from .mailbox import TaskOrder, Unavailable
from .operators import WHY_MOST, noted
from .result_bodies import CorrectionBody, ResultBody, SeasonBody
from .runner import Runner

_encode = msgspec.json.Encoder().encode


async def _task(
    runner: Runner, work: Callable[[Group], Any], wrap: Callable[[Any], Any], audit: cmd.NoteAction | None = None
) -> Answer:
    """Carry something out in the engine thread, and note it as an operator's in the same commit."""
    busy = turned_away(runner)
    if busy is not None:
        return busy
    reply = runner.reply()
    runner.put(TaskOrder(lambda group: _noted(group, work(group), audit), reply))
    answer: Any = await reply
    if isinstance(answer, Refusal | Unavailable):
        return problem(wire.problem_of(answer))
    return Answer(200, _encode(wrap(answer)))


def _noted(group: Group, done: Any, audit: cmd.NoteAction | None) -> Any:
    if audit is not None and not isinstance(done, Refusal):
        group.take(group.runner.engine.step(audit, group.now_ms))
    return done


def _shown(group: Group, result: Any) -> Any:
    return result if isinstance(result, Refusal) else result_views.result_view(group.runner.views, result)


async def post_result(runner: Runner, match: str, body: bytes, caller: Caller | None) -> Answer:
    """POST /v1/matches/{id}/result"""
    read = wire.read(ResultBody, body, result_bodies.FIELDS)
    told = read if isinstance(read, wire.Problem) else result_bodies.told(read.teams, read.leavers)
    if isinstance(told, wire.Problem):
        return problem(told)
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    return await _task(
        runner,
        lambda group: _shown(group, results.report(group, number, told)),
        lambda view: {"result": view},
        noted(caller, "report_result", match),
    )


async def put_result(runner: Runner, match: str, body: bytes, caller: Caller | None) -> Answer:
    """PUT /v1/matches/{id}/result"""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    read = wire.read(CorrectionBody, body, result_bodies.FIELDS)
    told = read if isinstance(read, wire.Problem) else result_bodies.correction(read)
    if isinstance(told, wire.Problem):
        return problem(told)

    def work(group: Group) -> Any:
        before = group.runner.book.result(number)
        now = results.correct(group, number, told)
        if before is None or isinstance(now, Refusal):
            return now
        note = noted(caller, "correct_result", match, f"{_in_short(before)} -> {_in_short(now)}"[:WHY_MOST])
        return _shown(group, _noted(group, now, note))

    return await _task(runner, work, lambda view: {"result": view})


def _in_short(result: Result) -> str:
    """Ranks in the order of the teams, and how many left: "2,1 (1 left)"; names are for what can be erased."""
    if result.void:
        return "void"
    left = f" ({len(result.leavers)} left)" if result.leavers else ""
    return ",".join(str(rank + 1) for rank in result.rank) + left


async def get_result(runner: Runner, match: str) -> Answer:
    """GET /v1/matches/{id}/result"""
    number = number_of(MATCH_PREFIX, match)
    if number is None:
        return unknown(Reasons.UNKNOWN_MATCH, "match", match)
    return await look(runner, lambda views, _: result_views.result_of(views, number), lambda view: {"result": view})


async def post_season(runner: Runner, queue: str, body: bytes, caller: Caller | None) -> Answer:
    """POST /v1/queues/{queue}/season"""
    read = wire.read(SeasonBody, body, result_bodies.FIELDS)
    if isinstance(read, wire.Problem):
        return problem(read)
    wrong = result_bodies.season_problem(read)
    if wrong is not None:
        return problem(wrong)

    def work(group: Group) -> Any:
        found = results.start_season(group, queue, read.keep, read.deviation, read.season)
        return found if isinstance(found, Refusal) else result_views.season_view(*found)

    return await _task(runner, work, lambda view: {"season": view}, noted(caller, "start_season", queue))


async def get_ratings(runner: Runner, player: str) -> Answer:
    """GET /v1/players/{id}/ratings"""
    return await look(runner, lambda views, _: result_views.ratings_of_player(views, player), lambda view: view)


async def get_history(runner: Runner, player: str, ladder: str | None, limit: int) -> Answer:
    """GET /v1/players/{id}/history"""
    return await look(
        runner, lambda views, _: result_views.history_of_player(views, player, ladder, limit), lambda view: view
    )


async def get_leaderboard(runner: Runner, queue: str, side: str | None, limit: int, offset: int) -> Answer:
    """GET /v1/queues/{queue}/leaderboard"""
    return await look(
        runner, lambda views, _: result_views.leaderboard(views, queue, side, limit, offset), lambda view: view
    )


async def get_calibration(runner: Runner, queue: str) -> Answer:
    """GET /v1/queues/{queue}/calibration"""
    return await look(
        runner, lambda views, _: result_views.calibration(views, queue), lambda view: {"calibration": view}
    )
