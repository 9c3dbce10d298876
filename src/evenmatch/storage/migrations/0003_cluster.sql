-- needs: 1
-- Several processes on one database. A lane is what one owner at a time runs: its queues and their journal.

-- `settled`: the claims below are all there. The first lane writes none while it is the only one.
CREATE TABLE lanes (
    journal smallint PRIMARY KEY,
    name    text COLLATE "C" NOT NULL UNIQUE,
    settled boolean NOT NULL DEFAULT true
);
INSERT INTO lanes (journal, name) VALUES (1, 'main');

-- The processes. Who was not seen for a while is gone; `about` is JSON for people: version, address, what it owns.
CREATE TABLE nodes (
    node    uuid PRIMARY KEY,
    name    text NOT NULL,
    role    text NOT NULL,
    started timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen    timestamptz NOT NULL DEFAULT clock_timestamp(),
    about   text NOT NULL
) WITH (fillfactor = 50);

-- Requests for a lane's owner, from nodes that do not own it. Whoever carries one out deletes it in the same transaction
-- in which the events stand; a node that has waited too long deletes it itself, and then nobody carries it out.
CREATE TABLE inbox (
    id      uuid PRIMARY KEY,
    number  bigint GENERATED ALWAYS AS IDENTITY,
    journal smallint NOT NULL,
    node    uuid NOT NULL,
    made    timestamptz NOT NULL DEFAULT clock_timestamp(),
    body    bytea NOT NULL
);
CREATE INDEX inbox_in_order ON inbox (journal, number);

-- Their answers, for the nodes that asked; `sequence` is the last event of the commit. Old ones are swept away.
CREATE TABLE outcomes (
    id       uuid PRIMARY KEY,
    journal  smallint NOT NULL,
    node     uuid NOT NULL,
    sequence bigint NOT NULL,
    made     timestamptz NOT NULL DEFAULT clock_timestamp(),
    body     bytea NOT NULL
);
CREATE INDEX outcomes_of_node ON outcomes (node, made);
CREATE INDEX outcomes_by_age ON outcomes (made);

-- They live for a moment: to compress them costs more than it saves.
ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE outcomes ALTER COLUMN body SET STORAGE EXTERNAL;

-- Who is in an open proposal or running match, in which lane (I11). One row a player, over all lanes.
CREATE TABLE claims (
    player  bigint PRIMARY KEY,
    journal smallint NOT NULL
);
CREATE INDEX claims_of_lane ON claims (journal);

-- Why the last wave of a queue left each ticket waiting, for nodes that do not own it. No part of the journal.
CREATE TABLE reasons (
    journal smallint NOT NULL,
    queue   text COLLATE "C" NOT NULL,
    wave    bigint NOT NULL,
    body    bytea NOT NULL,
    PRIMARY KEY (journal, queue)
);

-- Queues that are split, as the file of the worker that started last has it, for nodes that have no file; body is JSON.
CREATE TABLE shards (
    queue text COLLATE "C" PRIMARY KEY,
    body  text NOT NULL
);
