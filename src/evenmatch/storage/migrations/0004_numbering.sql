-- needs: 1
-- Numbers for players whom none of several owners knows yet, in one call: the lock that it takes has to come before the
-- table is looked at, so it cannot be one statement. Nothing waits for the disk: a commit that speaks of a number stands
-- behind it in the database's own log.
CREATE FUNCTION numbered(wanted text[]) RETURNS TABLE (name text, number bigint) LANGUAGE sql VOLATILE AS $$
    SELECT set_config('synchronous_commit', 'off', true);
    SELECT pg_advisory_xact_lock(1702260019, 2);
    INSERT INTO players (number, name)
        SELECT greatest((SELECT coalesce(max(p.number), 0) FROM players AS p),
                        (SELECT coalesce(max(e.number), 0) FROM erased AS e)) + row_number() OVER (), given.name
        FROM unnest(wanted) AS given (name)
        WHERE NOT EXISTS (SELECT 1 FROM players AS p WHERE p.name = given.name);
    SELECT p.name, p.number FROM players AS p WHERE p.name = ANY(wanted);
$$;
