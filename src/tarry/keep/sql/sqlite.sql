-- What SQLite says in its own way.

-- name: due
-- Due posts of an outlet, in order of their ticks and at random inside one, none before the post it depends on.
SELECT d.id, d.target, d.options, d.content, d.release, d.attempts + 1 AS attempts FROM posts d
WHERE d.state IN {ready} AND d.until IS NULL AND d.release IS NOT NULL
  AND d.release <= (SELECT closed FROM clock)
  AND d.outlet = :outlet AND (SELECT paused FROM settings) = 0
  AND (d.parent IS NULL OR NOT EXISTS (
      SELECT 1 FROM posts p WHERE p.id = d.parent AND p.state IN {unfinished}))
ORDER BY d.release, d.id
LIMIT :most

-- name: claim
-- A worker takes them for a while.
UPDATE posts SET state = CASE state WHEN 'in_doubt' THEN 'delivering_in_doubt' ELSE 'delivering' END,
                 claim = :claim, until = :until, once = :once, attempts = attempts + 1
WHERE id IN (SELECT value FROM json_each(:posts))

-- name: mark_published
-- All that was due and is in a feed now, which the same transaction has written: nobody else can have them.
UPDATE posts SET state = 'released', content = NULL, options = NULL, target = '', pseudonym = NULL, problem = NULL,
                 attempts = attempts + 1
WHERE id IN (SELECT value FROM json_each(:posts))

-- name: mark_released
-- All that one worker has delivered. What was moved meanwhile into the future has left by now all the same.
UPDATE posts SET state = 'released', content = NULL, options = NULL, target = '', pseudonym = NULL, claim = NULL,
                 until = NULL, problem = NULL,
                 release = CASE WHEN release > (SELECT closed FROM clock) THEN (SELECT closed FROM clock)
                                ELSE release END
WHERE id IN (SELECT value FROM json_each(:posts))
  AND claim = :claim AND (state IN {delivering} OR state IN {parked})

-- name: by_ids
-- Several posts at once, as by_id.
SELECT p.id, p.state, p.target, p.outlet, p.release, p.parent, p.pseudonym, p.problem, p.body,
       a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM posts p LEFT JOIN arrivals a ON a.id = p.id
WHERE p.id IN (SELECT value FROM json_each(:ids))
