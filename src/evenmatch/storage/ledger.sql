-- Results and ratings. Made when a journal is opened to write, in older files too.

-- How matches ended, by match; `sequence` is the event's, and the order in which results count.
CREATE TABLE IF NOT EXISTS results (
    match    INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    ladder   TEXT NOT NULL,
    body     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS results_in_order ON results (ladder, sequence);

-- The present rating of every player on every ladder; `sure` is two deviations below it. The index is what leaderboards read, and nothing else.
CREATE TABLE IF NOT EXISTS ratings (
    player     INTEGER NOT NULL,
    ladder     TEXT NOT NULL,
    mu         REAL NOT NULL,
    sigma      REAL NOT NULL,
    volatility REAL NOT NULL,
    games      INTEGER NOT NULL,
    last_ms    INTEGER NOT NULL,
    sure       REAL NOT NULL,
    PRIMARY KEY (player, ladder)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ratings_in_order ON ratings (ladder, sure DESC, player, games, mu, sigma);

-- What every result did to every rating.
CREATE TABLE IF NOT EXISTS rating_history (
    player       INTEGER NOT NULL,
    ladder       TEXT NOT NULL,
    sequence     INTEGER NOT NULL,
    match        INTEGER NOT NULL,
    at_ms        INTEGER NOT NULL,
    season       INTEGER NOT NULL,
    mu_before    REAL NOT NULL,
    sigma_before REAL NOT NULL,
    mu           REAL NOT NULL,
    sigma        REAL NOT NULL,
    PRIMARY KEY (player, sequence, ladder)
) STRICT, WITHOUT ROWID;

-- Soft resets of a ladder and its sides.
CREATE TABLE IF NOT EXISTS seasons (
    ladder    TEXT NOT NULL,
    number    INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    keep      REAL NOT NULL,
    start     REAL NOT NULL,
    deviation REAL NOT NULL,
    most      REAL NOT NULL,
    PRIMARY KEY (ladder, number)
) STRICT, WITHOUT ROWID;

-- What each queue's predictions were worth, and their calibration.
CREATE TABLE IF NOT EXISTS predictions (
    queue TEXT PRIMARY KEY,
    body  TEXT NOT NULL
) STRICT;
