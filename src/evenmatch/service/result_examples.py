"""The examples of the documentation of results and ratings."""

from typing import Any, Final

EXAMPLES: Final[dict[str, Any]] = {
    "report": {"teams": [{"rank": 1}, {"rank": 2}], "leavers": []},
    "correction": {"void": True},
    "begin": {"season": 2, "keep": 0.5},
    "result": {
        "result": {
            "match": "m-000000000001",
            "queue": "duel",
            "at_ms": 1790000604200,
            "season": 1,
            "void": False,
            "corrections": 0,
            "teams": [
                {
                    "rank": 1,
                    "score": None,
                    "odds": 0.5,
                    "players": [
                        {
                            "id": "ann",
                            "left": False,
                            "ladder": "duel",
                            "before": 1500.0,
                            "after": 1658.2,
                            "deviation": 484.0,
                        }
                    ],
                },
                {
                    "rank": 2,
                    "score": None,
                    "odds": 0.5,
                    "players": [
                        {
                            "id": "ben",
                            "left": False,
                            "ladder": "duel",
                            "before": 1500.0,
                            "after": 1341.8,
                            "deviation": 484.0,
                        }
                    ],
                },
            ],
        }
    },
    "ratings": {
        "player": "ann",
        "ratings": [
            {
                "ladder": "duel",
                "rating": 1658.2,
                "deviation": 484.0,
                "sure": 690.2,
                "games": 1,
                "placed": False,
                "last_ms": 1790000604200,
            }
        ],
    },
    "history": {
        "player": "ann",
        "history": [
            {
                "ladder": "duel",
                "match": "m-000000000001",
                "at_ms": 1790000604200,
                "season": 1,
                "before": 1500.0,
                "after": 1658.2,
                "deviation": 484.0,
            }
        ],
    },
    "leaderboard": {
        "queue": "duel",
        "ladder": "duel",
        "season": 1,
        "leaders": [
            {"place": 1, "player": "ann", "rating": 1802.5, "deviation": 96.0, "sure": 1610.5, "games": 41},
        ],
    },
    "season": {
        "season": {
            "queue": "duel",
            "ladder": "duel",
            "season": 2,
            "at_ms": 1790000900000,
            "keep": 0.5,
            "start": 1500.0,
            "deviation": 250.0,
        }
    },
    "calibration": {
        "calibration": {
            "queue": "duel",
            "games": 120,
            "log_loss": 0.641,
            "accuracy": 0.63,
            "temperature": 0.82,
            "reliability": [{"low": 0.5, "high": 0.6, "games": 70, "predicted": 0.55, "won": 0.54}],
            "baselines": {
                "uncalibrated": {"log_loss": 0.655, "accuracy": 0.63},
                "coin": {"log_loss": 0.693, "accuracy": 0.5},
            },
        }
    },
}
