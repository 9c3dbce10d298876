"""The tables of a journal: what both stores hold, column by column, so that one can be copied to the other.

The SQL that makes them stands in journal.sql and ledger.sql, and in migrations/; a test holds both against this.
"""

from typing import Final, NamedTuple


class Table(NamedTuple):
    """A table that both stores have."""

    name: str
    columns: dict[str, str]
    """Name -> type, in PostgreSQL's words, in the order of SQLite's columns."""
    key: tuple[str, ...]
    shared: bool = False
    """It belongs to no single journal: in PostgreSQL it has no column `journal`."""


_N, _TEXT, _REAL, _BYTES = "bigint", "text", "double precision", "bytea"

COMMITS: Final = Table(
    "commits",
    {
        "first_sequence": _N,
        "last_sequence": _N,
        "at_ms": _N,
        "schema": "integer",
        "fence": _N,
        "crc": _N,
        "body": _BYTES,
    },
    ("first_sequence",),
)
CHECKPOINTS: Final = Table(
    "checkpoints", {"sequence": _N, "hash": _TEXT, "schema": "integer", "crc": _N, "body": _BYTES}, ("sequence",)
)
PIECES: Final = Table("checkpoint_pieces", {"sequence": _N, "piece": "integer", "body": _BYTES}, ("sequence", "piece"))
PLAYERS: Final = Table("players", {"number": _N, "name": _TEXT}, ("number",), shared=True)
ERASED: Final = Table("erased", {"number": _N, "at_ms": _N}, ("number",), shared=True)
ATTRIBUTES: Final = Table("attributes", {"ticket": _N, "body": _TEXT}, ("ticket",))
LAST: Final = 2**63 - 1
"""No ticket has this number or a higher one."""
TICKETS: Final = Table("tickets", {"ticket": _N, "body": _TEXT}, ("ticket",))
MATCHES: Final = Table("matches", {"match": _N, "body": _TEXT}, ("match",))
AUDIT: Final = Table("audit", {"sequence": _N, "body": _TEXT}, ("sequence",))
VERSIONS: Final = Table(
    "queue_versions",
    {"queue": _TEXT, "version": _N, "sequence": _N, "at_ms": _N, "source": _TEXT, "body": _TEXT},
    ("queue", "version"),
)
OUTBOX: Final = Table("outbox", {"match": _N, "status": _TEXT, "body": _TEXT}, ("match",))
RESULTS: Final = Table("results", {"match": _N, "sequence": _N, "ladder": _TEXT, "body": _TEXT}, ("match",))
RATINGS: Final = Table(
    "ratings",
    {
        "player": _N,
        "ladder": _TEXT,
        "mu": _REAL,
        "sigma": _REAL,
        "volatility": _REAL,
        "games": _N,
        "last_ms": _N,
        "sure": _REAL,
    },
    ("player", "ladder"),
    shared=True,
)
HISTORY: Final = Table(
    "rating_history",
    {
        "player": _N,
        "ladder": _TEXT,
        "sequence": _N,
        "match": _N,
        "at_ms": _N,
        "season": _N,
        "mu_before": _REAL,
        "sigma_before": _REAL,
        "mu": _REAL,
        "sigma": _REAL,
    },
    ("player", "sequence", "ladder"),
)
SEASONS: Final = Table(
    "seasons",
    {
        "ladder": _TEXT,
        "number": _N,
        "sequence": _N,
        "at_ms": _N,
        "keep": _REAL,
        "start": _REAL,
        "deviation": _REAL,
        "most": _REAL,
    },
    ("ladder", "number"),
    shared=True,
)
PREDICTIONS: Final = Table("predictions", {"queue": _TEXT, "body": _TEXT}, ("queue",), shared=True)

TABLES: Final = (
    *(COMMITS, CHECKPOINTS, PIECES, PLAYERS, ERASED, ATTRIBUTES, TICKETS, MATCHES, AUDIT, VERSIONS, OUTBOX),
    *(RESULTS, RATINGS, HISTORY, SEASONS, PREDICTIONS),
)
