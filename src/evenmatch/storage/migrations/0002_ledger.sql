-- needs: 1
-- Results and ratings. Ratings and seasons belong to a ladder, whichever journal its matches are in.

-- How matches ended, by match; `sequence` is the event's, and the order in which results count.
CREATE TABLE results (
    journal  smallint NOT NULL,
    match    bigint NOT NULL,
    sequence bigint NOT NULL,
    ladder   text COLLATE "C" NOT NULL,
    body     text NOT NULL,
    PRIMARY KEY (journal, match)
);
CREATE INDEX results_in_order ON results (journal, ladder, sequence);

-- The present rating of every player on every ladder; `sure` is two deviations below it. The index is for leaderboards.
CREATE TABLE ratings (
    player     bigint NOT NULL,
    ladder     text COLLATE "C" NOT NULL,
    mu         double precision NOT NULL,
    sigma      double precision NOT NULL,
    volatility double precision NOT NULL,
    games      bigint NOT NULL,
    last_ms    bigint NOT NULL,
    sure       double precision NOT NULL,
    PRIMARY KEY (player, ladder)
);
CREATE INDEX ratings_in_order ON ratings (ladder, sure DESC, player) INCLUDE (games, mu, sigma);

-- What every result did to every rating.
CREATE TABLE rating_history (
    journal      smallint NOT NULL,
    player       bigint NOT NULL,
    ladder       text COLLATE "C" NOT NULL,
    sequence     bigint NOT NULL,
    match        bigint NOT NULL,
    at_ms        bigint NOT NULL,
    season       bigint NOT NULL,
    mu_before    double precision NOT NULL,
    sigma_before double precision NOT NULL,
    mu           double precision NOT NULL,
    sigma        double precision NOT NULL,
    PRIMARY KEY (journal, player, sequence, ladder)
);

-- Soft resets of a ladder and its sides.
CREATE TABLE seasons (
    ladder    text COLLATE "C" NOT NULL,
    number    bigint NOT NULL,
    sequence  bigint NOT NULL,
    at_ms     bigint NOT NULL,
    keep      double precision NOT NULL,
    start     double precision NOT NULL,
    deviation double precision NOT NULL,
    most      double precision NOT NULL,
    PRIMARY KEY (ladder, number)
);

-- What each queue's predictions were worth, and their calibration.
CREATE TABLE predictions (
    queue text COLLATE "C" PRIMARY KEY,
    body  text NOT NULL
);
