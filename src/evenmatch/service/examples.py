"""The examples of the API's documentation, one place for all."""

from typing import Any, Final

from evenmatch.domain.refusals import Reasons

from .wire import WireReasons, problem_type

_TICKET: Final[dict[str, Any]] = {
    "id": "t-000000000001",
    "queue": "duel",
    "status": "waiting",
    "joined_ms": 1790000000000,
    "waited_ms": 0,
    "misses": 0,
    "players": [{"id": "ann", "rating": 1520.0, "ping_ms": 31.0}],
    "attributes": {},
    "suspended": False,
    "cause": None,
    "reason": None,
    "proposal": None,
    "match": None,
}
_MATCH: Final[dict[str, Any]] = {
    "id": "m-000000000001",
    "queue": "duel",
    "wave": 3,
    "made_ms": 1790000004200,
    "teams": [
        {
            "players": ["ann"],
            "tickets": [{"id": "t-000000000001", "players": [{"id": "ann", "rating": 1520.0, "ping_ms": 31.0}]}],
        },
        {
            "players": ["ben"],
            "tickets": [{"id": "t-000000000002", "players": [{"id": "ben", "rating": 1480.0, "ping_ms": None}]}],
        },
    ],
    "standing": "over",
    "quality": 0.885,
    "cost": 1600.0,
}
_QUEUE: Final[dict[str, Any]] = {
    "name": "duel",
    "waiting": 12,
    "players_waiting": 12,
    "oldest_wait_ms": 5400,
    "wave": 87,
    "last_wave": {
        "number": 87,
        "started_ms": 1790000004000,
        "finished_ms": 1790000004002,
        "waiting": 14,
        "proposals": 1,
        "seated": 2,
        "dropped": 0,
    },
    "version": 1,
    "mode": "open",
    "spec": {
        "name": "duel",
        "format": {"teams": 2, "size": 1},
        "matcher": {"name": "first_come", "parameters": {}},
        "wave": {"every_s": 1.0, "deadline_s": 30.0, "isolate": None},
        "ready_check": {"timeout_s": 20.0},
        "ticket": {"expires_s": 600.0, "heartbeat_s": 60.0},
        "match": {"runs_s": 0.0},
        "require_equal": [],
    },
    "parameters": {},
}


def problem_example(reason: Reasons | WireReasons) -> dict[str, Any]:
    """A problem with this reason."""
    status, title = reason.value
    return {
        "type": problem_type(reason.code),
        "title": title,
        "status": status,
        "detail": "what is wrong here, and what would be right",
        "reason": reason.code,
    }


EXAMPLES: Final[dict[str, Any]] = {
    "join": {"players": [{"id": "ann", "rating": 1520, "ping_ms": 31}], "attributes": {"build": "1.4.2"}},
    "ticket": {"ticket": _TICKET},
    "ticket_proposed": {
        "ticket": _TICKET
        | {
            "status": "proposed",
            "waited_ms": 3100,
            "proposal": {"id": "p-000000000001", "deadline_ms": 1790000023100, "pending": 2},
        }
    },
    "batch": {"tickets": [{"players": [{"id": "ann", "rating": 1520}]}, {"players": [{"id": "ben", "rating": 1480}]}]},
    "batch_answer": {"outcomes": [{"ticket": _TICKET}, {"problem": problem_example(Reasons.ALREADY_WAITING)}]},
    "player": {"player": "ann"},
    "accepted": {"proposal": "p-000000000001", "player": "ann", "answer": "accepted"},
    "declined": {"proposal": "p-000000000001", "player": "ann", "answer": "declined"},
    "match": {"match": _MATCH},
    "queue": {"queue": _QUEUE},
    "queues": {"queues": [_QUEUE]},
    "change": {"players": [{"id": "ann", "ping_ms": 24}]},
    "why": {"why": "no server was free"},
    "mode": {"mode": "paused", "why": "the game is being patched"},
    "blocks": {"players": ["ben", "cat"]},
    "a_player": {
        "player": {
            "id": "ann",
            "tickets": ["t-000000000001"],
            "cooldowns": [{"queue": "ranked", "until_ms": 1790000060000, "offences": 1, "cause": "declined"}],
            "blocks": ["ben", "cat"],
        }
    },
    "deadletters": {
        "deadletters": [
            {
                "id": "a-000000000001",
                "match": "m-000000000001",
                "queue": "duel",
                "made_ms": 1790000004200,
                "tried_ms": 1790000020000,
                "attempts": 5,
                "why": "answered with status 503",
            }
        ]
    },
    "audit": {
        "entries": [
            {
                "sequence": 812,
                "at_ms": 1790000009000,
                "who": "night shift (4f1c09aa)",
                "action": "end_match",
                "subject": "m-000000000001",
                "detail": "",
            }
        ],
        "after": 812,
    },
}
