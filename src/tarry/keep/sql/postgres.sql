-- What PostgreSQL says in its own way.

-- name: lock_admission
-- Admissions share this lock, closing a tick takes it alone: every arrival stamped up to a tick is
-- stored when the tick closes.
SELECT pg_advisory_xact_lock_shared(7461, hashtext(current_schema()))

-- name: lock_closing
SELECT pg_advisory_xact_lock(7461, hashtext(current_schema()))

-- name: lock_working
-- Workers share this lock; whoever writes posts anew takes it alone.
SELECT pg_advisory_xact_lock_shared(7463, hashtext(current_schema()))

-- name: await_workers
-- Until no worker is at a post; they all wait until the end.
SELECT pg_advisory_xact_lock(7463, hashtext(current_schema()))

-- name: shuffle
-- Call `await_workers` first. Posts that were written since the last time, and whose arrivals are gone, are written anew, together and in random
-- order, whatever columns they have. They get one transaction number, other pages, and other places for large contents:
-- an update would leave a row in its page, and whoever waited for a row that is deleted would not find the new one.
WITH old AS (
    DELETE FROM posts WHERE fresh = 1 AND NOT EXISTS (SELECT 1 FROM arrivals a WHERE a.id = posts.id)
    RETURNING posts AS post
)
INSERT INTO posts SELECT new.* FROM old, jsonb_populate_record(old.post, '{"fresh": 0}') AS new
ORDER BY gen_random_uuid()

-- name: shuffle_legacies
-- Where such a row lies would tell when its post was withdrawn.
WITH old AS (DELETE FROM legacies WHERE fresh = 1 RETURNING id, pseudonym, sealed, account, target)
INSERT INTO legacies (id, pseudonym, sealed, account, target, fresh)
SELECT id, pseudonym, sealed, account, target, 0 FROM old ORDER BY gen_random_uuid()

-- name: lock
-- Transactions that name the same thing (an actor whose posts must come one after the other) take turns; always
-- in the same order, so that nobody waits for somebody who waits for them.
SELECT pg_advisory_xact_lock(number) FROM (SELECT unnest(CAST(:numbers AS bigint[])) AS number ORDER BY 1) AS n

-- name: now
-- The database's wall clock, in microseconds.
SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS now

-- name: snapshot
-- As in queries.sql, with the database's wall clock in microseconds.
SELECT c.time, c.wall, c.steady, c.boot, c.closed,
       s.tick, s.window_ticks, s.labels, s.personal, s.sealed, s.paused, s.policy,
       (SELECT max(arrival) FROM arrivals) AS latest,
       EXISTS (SELECT 1 FROM legacies) AS heirlooms,
       (SELECT min(arrival) FROM arrivals) AS oldest,
       (SELECT min(resumes) FROM lockouts) AS lockout,
       CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS now
FROM clock c, settings s

-- name: due
-- Due posts of an outlet, in order of their ticks and at random inside one, none before the post it depends on;
-- those another worker is taking at this moment are left to it.
SELECT d.id, d.target, d.options, d.content, d.release, d.attempts + 1 AS attempts FROM posts d
WHERE d.state IN {ready} AND d.until IS NULL AND d.release IS NOT NULL
  AND d.release <= (SELECT closed FROM clock)
  AND d.outlet = :outlet AND (SELECT paused FROM settings) = 0
  AND (d.parent IS NULL OR NOT EXISTS (
      SELECT 1 FROM posts p WHERE p.id = d.parent AND p.state IN {unfinished}))
ORDER BY d.release, d.id
LIMIT :most
FOR UPDATE OF d SKIP LOCKED

-- name: claim
-- A worker takes them for a while.
UPDATE posts SET state = CASE state WHEN 'in_doubt' THEN 'delivering_in_doubt' ELSE 'delivering' END,
                 claim = :claim, until = :until, once = :once, attempts = attempts + 1
WHERE id IN (SELECT CAST(post AS bigint) FROM json_array_elements_text(CAST(:posts AS json)) AS post)

-- name: mark_published
-- All that was due and is in a feed now, which the same transaction has written: nobody else can have them.
UPDATE posts SET state = 'released', content = NULL, options = NULL, target = '', pseudonym = NULL, problem = NULL,
                 attempts = attempts + 1
WHERE id IN (SELECT CAST(post AS bigint) FROM json_array_elements_text(CAST(:posts AS json)) AS post)

-- name: mark_released
-- All that one worker has delivered. What was moved meanwhile into the future has left by now all the same.
UPDATE posts SET state = 'released', content = NULL, options = NULL, target = '', pseudonym = NULL, claim = NULL,
                 until = NULL, problem = NULL,
                 release = CASE WHEN release > (SELECT closed FROM clock) THEN (SELECT closed FROM clock)
                                ELSE release END
WHERE id IN (SELECT CAST(post AS bigint) FROM json_array_elements_text(CAST(:posts AS json)) AS post)
  AND claim = :claim AND (state IN {delivering} OR state IN {parked})

-- name: by_ids
-- Several posts at once, as by_id.
SELECT p.id, p.state, p.target, p.outlet, p.release, p.parent, p.pseudonym, p.problem, p.body,
       a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM posts p LEFT JOIN arrivals a ON a.id = p.id
WHERE p.id IN (SELECT CAST(post AS bigint) FROM json_array_elements_text(CAST(:ids AS json)) AS post)
