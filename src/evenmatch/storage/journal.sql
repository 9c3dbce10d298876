-- The SQLite journal, schema 2. Applied once, to a new file.

-- One row a commit: events `first_sequence` to `last_sequence`, encoded together.
CREATE TABLE commits (
    first_sequence INTEGER PRIMARY KEY,
    last_sequence  INTEGER NOT NULL,
    at_ms          INTEGER NOT NULL,
    schema         INTEGER NOT NULL,
    fence          INTEGER NOT NULL,
    crc            INTEGER NOT NULL,
    body           BLOB NOT NULL
) STRICT;

-- Saved states. The newest is where a restart begins; the oldest is where a shortened journal begins.
CREATE TABLE checkpoints (
    sequence INTEGER PRIMARY KEY,
    hash     TEXT NOT NULL,
    schema   INTEGER NOT NULL,
    crc      INTEGER NOT NULL,
    body     BLOB NOT NULL
) STRICT;

-- The bodies of large ones, whose own row has an empty body; pieces of a checkpoint that has no row do not count.
CREATE TABLE IF NOT EXISTS checkpoint_pieces (
    sequence INTEGER NOT NULL,
    piece    INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (sequence, piece)
) STRICT;

-- Who a player number stands for. Events hold numbers only.
CREATE TABLE players (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- What a ticket brought besides its players.
CREATE TABLE attributes (
    ticket INTEGER PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT;

-- Tickets and matches that have left the state, for reading.
CREATE TABLE tickets (
    ticket INTEGER PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT;

CREATE TABLE matches (
    match INTEGER PRIMARY KEY,
    body  TEXT NOT NULL
) STRICT;

-- What operators did: the events operator_acted, by their sequence, for reading.
CREATE TABLE IF NOT EXISTS audit (
    sequence INTEGER PRIMARY KEY,
    body     TEXT NOT NULL
) STRICT;

-- The rules that every queue has had, by version: the events queue_opened, for reading. `source` is file or operator.
CREATE TABLE IF NOT EXISTS queue_versions (
    queue    TEXT NOT NULL,
    version  INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    source   TEXT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (queue, version)
) STRICT, WITHOUT ROWID;

-- Players whose names were erased: their numbers are never given out again.
CREATE TABLE IF NOT EXISTS erased (
    number INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL
) STRICT;

-- Requests for game servers, a match each: pending, done, dead (given up) or dropped (the match is not played).
CREATE TABLE IF NOT EXISTS outbox (
    match  INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    body   TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS outbox_open ON outbox (status, match) WHERE status IN ('pending', 'dead');

-- The owner's number; a commit whose owner has another is turned away.
CREATE TABLE owner (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    fence INTEGER NOT NULL
) STRICT;

INSERT INTO owner VALUES (1, 0);
