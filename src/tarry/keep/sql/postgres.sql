-- What PostgreSQL says in its own way.

-- name: lock_admission
-- Admissions share this lock, closing a tick takes it alone: every arrival stamped up to a tick is
-- stored when the tick closes.
SELECT pg_advisory_xact_lock_shared(7461, hashtext(current_schema()))

-- name: lock_close
SELECT pg_advisory_xact_lock(7461, hashtext(current_schema()))

-- name: lock_actor
-- Admissions of one actor come one after the other.
SELECT pg_advisory_xact_lock(:number)

-- name: claim
-- Due posts, in order of their ticks and at random inside one, none before the post it depends on;
-- those another worker is taking at this moment are left to it.
UPDATE posts SET claim = :claim, until = :until, once = :once, attempts = attempts + 1
WHERE id IN (
    SELECT d.id FROM posts d
    WHERE d.state = 'waiting' AND d.until IS NULL AND d.release IS NOT NULL
      AND d.release <= (SELECT closed FROM clock)
      AND d.outlet = :outlet
      AND (d.parent IS NULL OR NOT EXISTS (
          SELECT 1 FROM posts p WHERE p.id = d.parent AND p.state IN ('waiting', 'parked')))
    ORDER BY d.release, d.id
    LIMIT :most
    FOR UPDATE OF d SKIP LOCKED
)
RETURNING id, target, outlet, options, content, release, attempts

-- name: now
-- The database's wall clock, in microseconds.
SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS wall
