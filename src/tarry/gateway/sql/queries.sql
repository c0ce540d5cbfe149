-- Every statement of the gateway, by name, as in the keeper's folder.

-- name: generation
SELECT generation FROM book

-- name: count_change
UPDATE book SET generation = generation + 1

-- name: spaces
SELECT name, title, circle, outlet, adoption, is_open, ended_tick FROM spaces ORDER BY name

-- name: insert_space
INSERT INTO spaces (name, title, circle, outlet, adoption, is_open)
VALUES (:name, :title, :circle, :outlet, :adoption, 1)

-- name: change_space
UPDATE spaces SET title = :title, outlet = :outlet, is_open = :is_open WHERE name = :name

-- name: versions
SELECT space, version, policy, first_tick FROM versions ORDER BY space, version

-- name: insert_version
INSERT INTO versions (space, version, policy, first_tick) VALUES (:space, :version, :policy, :first_tick)

-- name: tokens
SELECT id, hash, name, scopes, spaces FROM tokens WHERE is_revoked = 0 ORDER BY id

-- name: insert_token
INSERT INTO tokens (id, hash, name, scopes, spaces, is_revoked) VALUES (:id, :hash, :name, :scopes, :spaces, 0)

-- name: revoke_token
UPDATE tokens SET is_revoked = 1 WHERE id = :id AND is_revoked = 0

-- name: last_position
SELECT max(position) AS position FROM releases WHERE space = :space

-- name: publish
-- The same release twice changes nothing.
INSERT INTO releases (space, position, id, target, content, options, at)
VALUES (:space, :position, :id, :target, :content, :options, :at)
ON CONFLICT (id) DO NOTHING

-- name: is_released
SELECT position FROM releases WHERE space = :space AND id = :id

-- name: sizes_after
-- How long each is at most as JSON, without its options: a control character becomes six. (What stands behind the
-- content in a row is not looked at: SQLite would read the whole content on the way there.)
SELECT position, 6 * (length(content) + length(target)) + 300 AS encoded FROM releases
WHERE space = :space AND position > :position ORDER BY position LIMIT :most

-- name: sizes_latest
SELECT position, 6 * (length(content) + length(target)) + 300 AS encoded FROM releases
WHERE space = :space ORDER BY position DESC LIMIT :most

-- name: content_part
-- Some bytes of a content, counted from 1.
SELECT substr(content, :start, :length) AS content FROM releases WHERE space = :space AND position = :position

-- name: feed_after
-- Forwards from a place.
SELECT position, id, target, content, options, at FROM releases
WHERE space = :space AND position > :position ORDER BY position LIMIT :most

-- name: threads
-- The threads of a feed, those with the newest release first, each with the beginning of that release.
SELECT t.target, t.posts, r.position, r.id, r.options, r.at, substr(r.content, 1, :long) AS content,
       length(r.content) AS size
FROM (SELECT target, count(*) AS posts, max(position) AS position FROM releases WHERE space = :space
      GROUP BY target ORDER BY max(position) DESC LIMIT :most OFFSET :skipped) t
JOIN releases r ON r.space = :space AND r.position = t.position ORDER BY t.position DESC

-- name: thread_count
SELECT count(DISTINCT target) AS threads FROM releases WHERE space = :space

-- name: thread
-- The releases on one target, oldest first, each with the beginning of its content.
SELECT position, id, target, options, at, substr(content, 1, :long) AS content, length(content) AS size FROM releases
WHERE space = :space AND target = :target ORDER BY position LIMIT :most OFFSET :skipped

-- name: thread_length
-- How many releases a target has up to a position.
SELECT count(*) AS posts FROM releases WHERE space = :space AND target = :target AND position <= :position

-- name: parked_counts
SELECT outlet, count(*) AS posts FROM posts WHERE state IN {parked} GROUP BY outlet

-- name: is_busy
-- Whether anything waits or is parked in a space.
SELECT 1 AS answer FROM posts WHERE outlet = :space AND state IN {unfinished} LIMIT 1

-- name: overdue
-- The first release that is due and has not happened.
SELECT min(release) AS release FROM posts
WHERE state IN {on_its_way} AND release IS NOT NULL AND release <= (SELECT closed FROM clock)

-- name: waiting_on
-- What waits on a target of a space.
SELECT id, target, outlet, pseudonym FROM posts
WHERE state IN {unfinished} AND outlet = :space AND target = :target ORDER BY id

-- name: accounts
-- What the ledger held when the last hour ended: batched acts by account and by policy version.
SELECT account, period, told AS batched FROM ledger WHERE told > 0

-- name: last_known
-- Nothing has arrived after the later of these two: the last release that is known of any post, and the last hour
-- that had arrivals.
SELECT (SELECT max(release) FROM posts) AS release, (SELECT max(hour) FROM hours) AS hour

-- name: recount_done
-- Receipts of posts that left or were withdrawn, in ticks of another length, rounded up: they stay known.
UPDATE posts SET release = (release * CAST(:times AS bigint) + CAST(:over AS bigint) - 1) / CAST(:over AS bigint)
WHERE state IN {done}

-- name: forget_hours
-- Hours that were counted in ticks of another length.
DELETE FROM hours

-- name: move_version
UPDATE versions SET first_tick = :first_tick WHERE space = :space AND version = :version

-- name: adoptions
SELECT account, first_tick, delayed FROM adoptions ORDER BY first_tick, account

-- name: end_space
UPDATE spaces SET is_open = 0, ended_tick = :tick WHERE name = :name

-- name: last_release_of
-- The last release of a space whose receipt may still be asked for.
SELECT max(release) AS release FROM posts WHERE outlet = :space

-- name: limit_token
UPDATE tokens SET spaces = :spaces WHERE id = :id

-- name: forget_period
-- What the ledger holds of one policy version.
DELETE FROM ledger WHERE period = :period

-- name: forget_receipts
DELETE FROM posts WHERE outlet = :space AND state IN {done}

-- name: forget_releases
DELETE FROM releases WHERE space = :space

-- name: forget_versions
DELETE FROM versions WHERE space = :space

-- name: forget_space
DELETE FROM spaces WHERE name = :space

-- name: prune_feed
-- Old releases, but never the last one: the next position follows from it.
DELETE FROM releases WHERE space = :space AND position IN (
    SELECT position FROM releases
    WHERE space = :space AND at < :before
      AND position < (SELECT max(position) FROM releases WHERE space = :space)
    ORDER BY position LIMIT :most
)

-- name: prune_hours
-- Old counts of arrivals, but never the last one: a change of all policies asks when somebody came last.
DELETE FROM hours WHERE hour < :before AND hour < (SELECT max(hour) FROM hours)

-- name: prune_adoptions
-- Choices of accounts that a later choice has replaced.
DELETE FROM adoptions WHERE EXISTS (
    SELECT 1 FROM adoptions later
    WHERE later.account = adoptions.account AND later.first_tick > adoptions.first_tick
      AND later.first_tick <= :before
)

-- name: move_end
UPDATE spaces SET ended_tick = :tick WHERE name = :space
