"""One answer out of those of several lanes; values in, values out.

What a lane does not know (404) is no part of the answer, unless none knows it. A lane that fails makes a question fail:
half of the truth is not told as the whole. An order that some lanes carried out and others did not is answered 503 with
the lanes' numbers: each lane's part can be done again without harm.
"""

from typing import Any, Final

import msgspec

from .handlers import PROBLEM, Answer, problem
from .recent_tickets import SHOWN
from .wire import Problem, WireReasons

Told = dict[int, Answer]
"""Lane -> what it answered, in the order in which they were asked."""
Body = dict[str, Any]
_OPEN: Final = "open queues: "
_encode = msgspec.json.Encoder().encode


def is_done(answer: Answer) -> bool:
    """Has a lane done, or told, what was asked?"""
    return 200 <= answer.status < 300


def is_undone(answer: Answer) -> bool:
    """Has a lane refused or failed? One that knows nothing of it has not."""
    return not is_done(answer) and answer.status != 404


def said(answer: Answer) -> Problem | None:
    """The problem that an answer tells of."""
    return msgspec.json.decode(answer.body, type=Problem) if answer.media == PROBLEM else None


def bodies(told: Told) -> list[Body] | Answer:
    """What the lanes told that know anything; or the answer where one failed, or none knows."""
    for lane, answer in told.items():
        if is_undone(answer):
            return in_lane(lane, answer) if answer.status >= 500 else answer
    found: list[Body] = [msgspec.json.decode(answer.body) for answer in told.values() if is_done(answer)]
    return found if found else next(iter(told.values()))


def in_lane(lane: int, answer: Answer) -> Answer:
    """A failure, with the lane that it happened in."""
    failure = said(answer)
    if failure is None:
        return answer
    return problem(msgspec.structs.replace(failure, detail=f"lane {lane}: {failure.detail}"))


def undone(told: Told) -> Answer | None:
    """The answer to an order that not all lanes carried out; None = all did that had anything to do."""
    failed = {lane: answer for lane, answer in told.items() if is_undone(answer)}
    if not failed:
        return None
    if len(told) == 1 and all(answer.status < 500 for answer in failed.values()):
        return next(iter(failed.values()))  # refused for what it says, before anything was done
    why = "; ".join(f"lane {lane} did not do it ({_in_short(answer)})" for lane, answer in failed.items())
    done = [lane for lane, answer in told.items() if is_done(answer)]
    return problem(WireReasons.PARTLY_DONE.problem(f"{why}; {_who_did(done)}; ask again, doing it twice is safe"))


def _in_short(answer: Answer) -> str:
    failure = said(answer)
    return str(answer.status) if failure is None else f"{failure.reason}: {failure.detail}"


def _who_did(lanes: list[int]) -> str:
    if not lanes:
        return "no lane did"
    return f"lane{'s' if len(lanes) > 1 else ''} {', '.join(map(str, lanes))} did"


def answered(body: Body) -> Answer:
    """An answer with a body."""
    return Answer(200, _encode(body))


def hinted(answer: Answer, queues: list[str]) -> Answer:
    """The answer to an unknown queue's name, with the queues of all lanes in place of one's."""
    failure = said(answer)
    if failure is None or failure.reason != "unknown_queue" or _OPEN not in failure.detail:
        return answer
    before = failure.detail.rpartition(_OPEN)[0]
    return problem(msgspec.structs.replace(failure, detail=f"{before}{_OPEN}{', '.join(sorted(queues)) or 'none'}"))


# -- what each path tells --------------------------------------------------------------------------------------------


def all_queues(found: list[Body]) -> Body:
    """All queues, by name."""
    return {"queues": sorted(_all(found, "queues"), key=lambda queue: queue["name"])}


def all_deadletters(found: list[Body]) -> Body:
    """All dead letters, oldest match first."""
    return {"deadletters": sorted(_all(found, "deadletters"), key=lambda letter: letter["made_ms"])}


def one_player(found: list[Body]) -> Body:
    """A player."""
    return {"player": _player([body["player"] for body in found])}


def one_players_ratings(found: list[Body]) -> Body:
    """A player's ratings."""
    return found[0] | {"ratings": _ratings(_all(found, "ratings"))}


def one_players_history(found: list[Body], limit: int) -> Body:
    """A player's results, the newest first."""
    return found[0] | {"history": _newest_first(_all(found, "history"))[:limit]}


def one_players_tickets(found: list[Body]) -> Body:
    """A player's last tickets, newest first; each lane was searched since its own moment, and the latest counts."""
    parts = [body["recent"] for body in found]
    tickets = sorted(_all(parts, "tickets"), key=lambda ticket: ticket["joined_ms"], reverse=True)
    since_ms = max(part["since_ms"] for part in parts)
    return {"recent": parts[0] | {"tickets": tickets[:SHOWN], "since_ms": since_ms}}


def one_export(found: list[Body]) -> Body:
    """All that is known of a player."""
    parts = [body["export"] for body in found]
    told = {name: _all(parts, name) for name in ("tickets", "matches", "results")}
    told["ratings"] = _ratings(_all(parts, "ratings"))
    told["history"] = _newest_first(_all(parts, "history"))
    told["audit"] = sorted(_all(parts, "audit"), key=lambda entry: entry["at_ms"])
    return {"export": parts[0] | told | {name: _player(parts)[name] for name in ("blocks", "cooldowns")}}


def one_erased(found: list[Body]) -> Body:
    """A player who was forgotten: what went, over all lanes; blocks were in each of them, and count once."""
    parts = [body["erased"] for body in found]
    counts = [name for name in parts[0] if name != "shown_as"]
    told = {name: sum(part[name] for part in parts) for name in counts}
    return {"erased": parts[0] | told | {"blocks_removed": max(part["blocks_removed"] for part in parts)}}


def _all(found: list[Body], name: str) -> list[Any]:
    return [one for body in found for one in body[name]]


def _player(parts: list[Body]) -> Body:
    """Blocks count in every lane, so each has them all; tickets and cool-downs are each in one."""
    told = {name: _all(parts, name) for name in ("tickets", "cooldowns")}
    return parts[0] | told | {"blocks": sorted(set(_all(parts, "blocks")))}


def _ratings(ratings: list[Body]) -> list[Body]:
    """One a ladder: lanes that share a ladder tell the same, but only a lane whose queue has it knows who is placed."""
    by_ladder: dict[str, Body] = {}
    for rating in ratings:
        known = by_ladder.get(rating["ladder"])
        if known is None or (rating["games"], rating["placed"]) > (known["games"], known["placed"]):
            by_ladder[rating["ladder"]] = rating
    return [by_ladder[ladder] for ladder in sorted(by_ladder)]


def _newest_first(changes: list[Body]) -> list[Body]:
    return sorted(changes, key=lambda change: change["at_ms"], reverse=True)
