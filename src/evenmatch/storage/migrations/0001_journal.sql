-- needs: 1
-- The journal. A database may come to hold several, a queue or a shard of one each: `journal` is the first part of every
-- key, and each has a lease of its own. Today there is one, number 1. Players are known to all of them.

-- Whose database this is. `codec` is the newest version of events and checkpoints in it.
CREATE TABLE cluster (
    single   boolean PRIMARY KEY DEFAULT true CHECK (single),
    name     text NOT NULL,
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    made     timestamptz NOT NULL DEFAULT clock_timestamp(),
    codec    integer NOT NULL
);

-- Who may write: the owner whose fence this is. `last` is the last sequence written; every commit moves it, from where
-- its writer believes it to be. `backend` and `since` are the session that keeps the lease alive. All by the database's
-- clock.
CREATE TABLE leases (
    journal smallint PRIMARY KEY,
    fence   bigint NOT NULL DEFAULT 0,
    last    bigint NOT NULL DEFAULT 0,
    holder  text NOT NULL DEFAULT '',
    backend integer NOT NULL DEFAULT 0,
    since   timestamptz,
    until   timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

INSERT INTO leases (journal) VALUES (1);

-- One row a commit: events `first_sequence` to `last_sequence`, encoded together.
CREATE TABLE commits (
    journal        smallint NOT NULL,
    first_sequence bigint NOT NULL,
    last_sequence  bigint NOT NULL,
    at_ms          bigint NOT NULL,
    schema         integer NOT NULL,
    fence          bigint NOT NULL,
    crc            bigint NOT NULL,
    body           bytea NOT NULL,
    PRIMARY KEY (journal, first_sequence)
);

-- Saved states. The newest is where a restart begins; the oldest is where a shortened journal begins.
CREATE TABLE checkpoints (
    journal  smallint NOT NULL,
    sequence bigint NOT NULL,
    hash     text NOT NULL,
    schema   integer NOT NULL,
    crc      bigint NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (journal, sequence)
);
ALTER TABLE checkpoints ALTER COLUMN body SET STORAGE EXTERNAL;

-- The bodies of large ones, whose own row has an empty body; pieces of a checkpoint that has no row do not count.
CREATE TABLE checkpoint_pieces (
    journal  smallint NOT NULL,
    sequence bigint NOT NULL,
    piece    integer NOT NULL,
    body     bytea NOT NULL,
    PRIMARY KEY (journal, sequence, piece)
);
ALTER TABLE checkpoint_pieces ALTER COLUMN body SET STORAGE EXTERNAL;

-- Who a player number stands for. Events hold numbers only.
CREATE TABLE players (
    number bigint PRIMARY KEY,
    name   text COLLATE "C" NOT NULL UNIQUE
);

-- Players whose names were erased: their numbers are never given out again.
CREATE TABLE erased (
    number bigint PRIMARY KEY,
    at_ms  bigint NOT NULL
);

-- What a ticket brought besides its players. Bodies are JSON, but text: the type would refuse some of what JSON may say.
CREATE TABLE attributes (
    journal smallint NOT NULL,
    ticket  bigint NOT NULL,
    body    text NOT NULL,
    PRIMARY KEY (journal, ticket)
);

-- Tickets and matches that have left the state, for reading.
CREATE TABLE tickets (
    journal smallint NOT NULL,
    ticket  bigint NOT NULL,
    body    text NOT NULL,
    PRIMARY KEY (journal, ticket)
);

CREATE TABLE matches (
    journal smallint NOT NULL,
    match   bigint NOT NULL,
    body    text NOT NULL,
    PRIMARY KEY (journal, match)
);

-- What operators did: the events operator_acted, by their sequence, for reading.
CREATE TABLE audit (
    journal  smallint NOT NULL,
    sequence bigint NOT NULL,
    body     text NOT NULL,
    PRIMARY KEY (journal, sequence)
);

-- The rules that every queue has had, by version. `source` is file or operator.
CREATE TABLE queue_versions (
    journal  smallint NOT NULL,
    queue    text COLLATE "C" NOT NULL,
    version  bigint NOT NULL,
    sequence bigint NOT NULL,
    at_ms    bigint NOT NULL,
    source   text NOT NULL,
    body     text NOT NULL,
    PRIMARY KEY (journal, queue, version)
);

-- Requests for game servers, a match each: pending, done, dead (given up) or dropped (the match is not played).
CREATE TABLE outbox (
    journal smallint NOT NULL,
    match   bigint NOT NULL,
    status  text NOT NULL,
    body    text NOT NULL,
    PRIMARY KEY (journal, match)
);
CREATE INDEX outbox_open ON outbox (journal, status, match) WHERE status IN ('pending', 'dead');
