"""Examples for the documentation of rules, export and erasure."""

from typing import Any, Final

from .examples import EXAMPLES

_RULES: Final[dict[str, Any]] = {
    "format": {"teams": 2, "size": 1},
    "matcher": {"name": "first_come"},
    "wave": {"every_s": 0.5, "deadline_s": 30.0},
    "ready_check": {"timeout_s": 20.0},
}
_CHANGES: Final = [{"key": "wave.every_s", "before": 1.0, "after": 0.5}]

RULES_EXAMPLES: Final[dict[str, Any]] = {
    "rules": _RULES,
    "change": {
        "change": {
            "queue": "duel",
            "version": 2,
            "previous": 1,
            "dry_run": False,
            "changes": _CHANGES,
            "cancelled": 0,
        }
    },
    "rollback": {"version": 1},
    "versions": {
        "queue": "duel",
        "version": 2,
        "versions": [
            {
                "version": 1,
                "at_ms": 1790000000000,
                "source": "file",
                "rules": _RULES | {"wave": {"every_s": 1.0, "deadline_s": 30.0}},
                "changes": [],
            },
            {"version": 2, "at_ms": 1790000100000, "source": "operator", "rules": _RULES, "changes": _CHANGES},
        ],
    },
    "export": {
        "export": {
            "id": "ann",
            "number": 1,
            "tickets": [EXAMPLES["ticket"]["ticket"]],
            "matches": [EXAMPLES["match"]["match"]],
            "results": [],
            "ratings": [],
            "history": [],
            "blocks": ["ben"],
            "cooldowns": [],
            "audit": EXAMPLES["audit"]["entries"],
        }
    },
    "erased": {
        "erased": {"shown_as": "#1", "tickets_cancelled": 1, "attributes_removed": 3, "blocks_removed": 1},
    },
}
