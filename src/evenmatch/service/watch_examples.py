"""Examples of what the dashboard's routes answer, for the documentation."""

from typing import Any, Final

FRAME: Final = """retry: 1000

id: 4711
event: frame
data: {"at_ms":1790000000000,"server":{"version":"0.1.0","ready":true},"queues":[{"queue":"duel","waiting":12}]}

"""
_WAVE_ROW: Final[dict[str, Any]] = {
    "number": 7,
    "sequence": 31,
    "started_ms": 1790000010000,
    "finished_ms": 1790000010004,
    "waiting": 3,
    "proposals": 1,
    "seated": 2,
    "dropped": 0,
    "quality": 0.93,
}
WAVES: Final[dict[str, Any]] = {"waves": [_WAVE_ROW]}
WAVE: Final[dict[str, Any]] = {
    "wave": {
        "wave": _WAVE_ROW,
        "queue": "skill",
        "seed": "4183017356372816003",
        "proposals": [
            {
                "id": "p-000000000003",
                "cost": 2.0,
                "quality": 0.93,
                "teams": [["t-000000000001"], ["t-000000000004"]],
                "details": {"distance": 2},
                "match": "m-000000000003",
                "became": "running",
            }
        ],
        "missing": None,
        "proven": True,
        "same_plan": True,
        "matcher": "buckets",
        "parameters": {"growth_s": 5},
        "snapshot": {
            "queue": "skill",
            "matcher": "buckets",
            "as_of_ms": 1790000010000,
            "waiting": 3,
            "binned": False,
            "rating": [17.0, 19.0, 30.0],
            "waited_s": [12.0, 11.0, 1.5],
            "count": [1, 1, 1],
            "players": [1, 1, 1],
            "low": [14.5, 16.5, 29.5],
            "high": [19.5, 21.5, 30.5],
            "ticket": ["t-000000000001", "t-000000000004", "t-000000000006"],
        },
        "details": {"bound": None, "optimality_gap": None},
        "trace": [{"tickets": ["t-000000000001", "t-000000000004"], "buckets": [17, 19], "ranges": [2, 2]}],
        "steps": 1,
        "reasons": [
            {
                "reason": "nobody_in_range",
                "words": "no ticket is within range that would have this one in range too",
                "count": 1,
            }
        ],
        "unmatched": [
            {
                "ticket": "t-000000000006",
                "reason": "nobody_in_range",
                "rating": 30.0,
                "waited_s": 1.5,
                "misses": 0,
            }
        ],
    }
}
HISTORY: Final[dict[str, Any]] = {
    "history": {
        "queue": "duel",
        "since_ms": 1789990000000,
        "step_s": 10,
        "points": [
            {
                "at_ms": 1790000000000,
                "depth": 12.0,
                "joins": 9,
                "matches": 4,
                "left": 1,
                "wait_p50_s": 3.1,
                "wait_p90_s": 11.7,
                "quality": 0.91,
                "gap": 42.5,
                "ready_kept": 0.94,
            }
        ],
        "gone": {"left": 1},
        "by_rating": [{"label": "1204 to 1297", "matched": 31, "p50_s": 4.1, "p90_s": 12.2}],
        "by_party": [{"label": "1", "matched": 310, "p50_s": 3.2, "p90_s": 11.9}],
        "waits_since_ms": 1789913600000,
        "waits_whole": True,
    }
}
WAITING: Final[dict[str, Any]] = {
    "waiting": {
        "queue": "squads",
        "as_of_ms": 1790000000000,
        "waiting": 31,
        "skipped": 10,
        "tickets": [
            {
                "ticket": "t-000000000017",
                "players": 2,
                "rating": 1512.5,
                "waited_s": 8.4,
                "low": 1404.1,
                "high": 1620.9,
                "ping_ms": None,
                "band": "waits",
                "overlap": None,
            }
        ],
    }
}
STORY: Final[dict[str, Any]] = {
    "story": {
        "ticket": "t-000000000001",
        "over": False,
        "sentences": [
            {
                "sequence": 3,
                "at_ms": 1790000000000,
                "type": "queued",
                "words": "It joined duel; window about 100 points at first.",
                "proposal": None,
                "match": None,
            }
        ],
        "now": "It has waited for 12 s; window by now about 124 points. The next wave is due in 1.2 s.",
    }
}
RECENT: Final[dict[str, Any]] = {
    "recent": {
        "player": "ann",
        "tickets": [
            {
                "id": "t-000000000007",
                "queue": "duel",
                "status": "waiting",
                "cause": None,
                "joined_ms": 1790000300000,
                "waited_ms": 4200,
                "players": 1,
                "match": None,
            },
            {
                "id": "t-000000000001",
                "queue": "duel",
                "status": "matched",
                "cause": None,
                "joined_ms": 1790000000000,
                "waited_ms": 3100,
                "players": 1,
                "match": "m-000000000001",
            },
        ],
        "since_ms": 0,
    }
}
