-- Every statement of the keeper, by name. `:name` is a parameter, `{name}` a group of states (posts.py). What
-- PostgreSQL says differently stands in postgres.sql, what SQLite does in sqlite.sql.

-- name: snapshot
-- The store's clock, its last closed tick, what all posts share; and, so that an admission need not ask
-- again for each post, the latest arrival and whether any withdrawn post may still have an heir; and, so that
-- closing a tick need not ask, the first arrival that is not erased yet and the first lockout to end.
SELECT c.time, c.wall, c.steady, c.boot, c.closed,
       s.tick, s.window_ticks, s.labels, s.personal, s.sealed, s.paused, s.policy,
       (SELECT max(arrival) FROM arrivals) AS latest,
       EXISTS (SELECT 1 FROM legacies) AS heirlooms,
       (SELECT min(arrival) FROM arrivals) AS oldest,
       (SELECT min(resumes) FROM lockouts) AS lockout,
       NULL AS now
FROM clock c, settings s

-- name: begin_clock
-- A new store: its clock.
INSERT INTO clock (one, time, wall, steady, boot, closed)
VALUES (1, :time, :wall, :steady, :boot, :closed)

-- name: begin_settings
-- A new store: its settings.
INSERT INTO settings (one, tick, window_ticks, labels, personal, sealed, policy)
VALUES (1, :tick, :window_ticks, :labels, :personal, :sealed, :policy)

-- name: now
-- The wall clock of a database that has one.
SELECT NULL AS now

-- name: await_workers
-- Nobody to wait for: in SQLite a writer is alone.
SELECT 1

-- name: shuffle
-- Nothing to do: in SQLite rows lie in the order of their random keys, and `clear_traces` moves the rest.
SELECT 1

-- name: shuffle_legacies
SELECT 1

-- name: fingerprint
SELECT fingerprint FROM settings

-- name: mark_key
-- Whoever is first.
UPDATE settings SET fingerprint = :fingerprint WHERE fingerprint IS NULL

-- name: change_settings
-- Another policy for an empty store.
UPDATE settings SET tick = :tick, window_ticks = :window_ticks, labels = :labels, policy = :policy

-- name: busy_until
-- How many posts wait, how many arrivals are not erased yet, how many withdrawn posts may have an heir, and
-- the last release there was.
SELECT (SELECT count(*) FROM posts WHERE state IN {on_its_way}) AS waiting,
       (SELECT count(*) FROM arrivals) AS arrivals,
       (SELECT count(*) FROM legacies) AS heirlooms,
       (SELECT max(release) FROM posts WHERE state = 'released') AS last_release

-- name: forget_done
-- Receipts of posts that left or were withdrawn, counted in ticks of another length.
DELETE FROM posts WHERE state IN {done}

-- name: forget_heirs
-- Another policy begins: what was drawn under the old one is not inherited.
DELETE FROM legacies

-- name: recount_parked
-- What is parked was due before now: its release, too, was counted in ticks of another length.
UPDATE posts SET release = :closed WHERE state IN {parked}

-- name: heirloom
-- A withdrawn post of the same actor on the same target, still alive: a repost takes over its tick
-- and draws. Of several the latest: nobody gains by handing in more than one.
SELECT p.id, p.release, a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM legacies l JOIN posts p ON p.id = l.id LEFT JOIN arrivals a ON a.id = p.id
WHERE l.pseudonym = :pseudonym AND (p.release IS NULL OR p.release > :closed)
ORDER BY CASE WHEN p.release IS NULL THEN 1 ELSE 0 END DESC, p.release DESC, p.id LIMIT 1

-- name: legacy
-- The place of a post that an operator has withdrawn.
SELECT sealed, target FROM legacies WHERE id = :id AND target IS NOT NULL

-- name: legacies
SELECT id, account FROM legacies WHERE account IS NOT NULL

-- name: leave_legacy
-- A withdrawn post whose release is still to come.
INSERT INTO legacies (id, pseudonym, sealed, account, target)
SELECT id, :pseudonym, :sealed, :account, :target FROM posts
WHERE id = :id AND state = 'withdrawn' AND (release IS NULL OR release > (SELECT closed FROM clock))

-- name: take_legacy
-- Whoever deletes the row has it: nobody inherits twice from the same post.
DELETE FROM legacies WHERE id = :id

-- name: bequeath_post
UPDATE posts SET release = :closed, fresh = 1 WHERE id = :id

-- name: bequeath_arrival
UPDATE arrivals SET id = :heir, shift = shift + :ticks, earliest = :earliest, latest = :latest WHERE id = :id

-- name: follows
-- Whether an earlier admitted event of the actor on another target lies within the window.
SELECT EXISTS (
    SELECT 1 FROM arrivals WHERE actor = :actor AND pseudonym <> :pseudonym AND arrival >= :since
) AS answer

-- name: declared_before
-- Whether the actor has said within the window that more would come.
SELECT EXISTS (
    SELECT 1 FROM arrivals WHERE actor = :actor AND declared = 1 AND arrival >= :since
) AS answer

-- name: insert_post
INSERT INTO posts (id, state, target, outlet, options, content, release, parent, receipt, pseudonym, body)
VALUES (:id, 'waiting', :target, :outlet, :options, :content, :release, :parent, :receipt, :pseudonym, :body)

-- name: insert_arrival
INSERT INTO arrivals (id, actor, pseudonym, arrival, declared, unbatched, batched, deadline, shift, label, period,
                      earliest, latest)
VALUES (:id, :actor, :pseudonym, :arrival, :declared, :unbatched, :batched, :deadline, :shift, :label, :period,
        :earliest, :latest)

-- name: by_receipt
-- A post, and what is still known of its arrival.
SELECT p.id, p.state, p.target, p.outlet, p.release, p.parent, p.pseudonym, p.problem, p.body,
       a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM posts p LEFT JOIN arrivals a ON a.id = p.id
WHERE p.id = :id AND p.receipt = :receipt

-- name: by_id
SELECT p.id, p.state, p.target, p.outlet, p.release, p.parent, p.pseudonym, p.problem, p.body,
       a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM posts p LEFT JOIN arrivals a ON a.id = p.id
WHERE p.id = :id

-- name: not_done
-- Every post that waits or is parked, in no order that tells anything.
SELECT p.id, p.state, p.target, p.outlet, p.release, p.parent, p.pseudonym, p.problem, p.body,
       a.arrival, a.unbatched, a.batched, a.deadline, a.shift, a.label, a.earliest, a.latest
FROM posts p LEFT JOIN arrivals a ON a.id = p.id
WHERE p.state IN {unfinished}
ORDER BY p.id

-- name: replace
UPDATE posts SET content = :content, options = :options, fresh = 1
WHERE id = :id AND state = 'waiting'

-- name: revive
-- The author puts something else into the place of a post that an operator has taken back.
UPDATE posts SET state = 'waiting', target = :target, pseudonym = :sealed, content = :content, options = :options,
                 attempts = 0, problem = NULL, fresh = 1
WHERE id = :id AND state = 'withdrawn'

-- name: arrived_as
-- The pseudonym of a post, until its arrival is erased.
SELECT pseudonym FROM arrivals WHERE id = :id

-- name: withdraw
-- The content goes; the tick and the draws stay, for labels and for a repost. While a post is in doubt it is too late,
-- until a try has shown or a person looks.
UPDATE posts SET state = 'withdrawn', content = NULL, options = NULL, target = '', pseudonym = NULL, claim = NULL,
                 until = NULL, problem = NULL, fresh = 1
WHERE id = :id AND (state = 'waiting' OR state IN {parked})

-- name: drop_parked
DELETE FROM posts WHERE id = :id AND state IN {parked}

-- name: park_children
-- One person's own store: what depends on a parked post is parked with it. Run until it changes nothing.
UPDATE posts SET state = CASE state WHEN 'in_doubt' THEN 'parked_in_doubt' ELSE 'parked' END, problem = :problem
WHERE state IN {ready} AND parent IN (SELECT p.id FROM posts p WHERE p.state IN {parked})

-- name: adopt_children
-- A post that is handed in again keeps what depends on it.
UPDATE posts SET parent = :heir, fresh = 1 WHERE parent = :id

-- name: payload
-- What a post says, until it has left or was withdrawn.
SELECT id, content, options FROM posts WHERE id = :id AND content IS NOT NULL AND options IS NOT NULL

-- name: payloads
-- What waits or is parked, some at a time, for somebody who seals it anew.
SELECT id, content, options FROM posts WHERE id > :after AND content IS NOT NULL ORDER BY id LIMIT :most

-- name: store_payload
UPDATE posts SET content = :content, options = :options WHERE id = :id

-- name: change_seal
UPDATE settings SET sealed = :sealed

-- name: change_key
UPDATE settings SET fingerprint = :fingerprint

-- name: tried
-- What was tried, or is being delivered: the place may know its public id, which its key has made.
SELECT 1 AS answer FROM posts WHERE state IN {unfinished} AND attempts > 0 LIMIT 1

-- name: own_targets
SELECT id, target FROM posts WHERE pseudonym IS NOT NULL

-- name: store_pseudonym
UPDATE posts SET pseudonym = :pseudonym WHERE id = :id

-- name: forget_pseudonyms
UPDATE posts SET pseudonym = NULL WHERE pseudonym IS NOT NULL

-- name: strip_legacies
-- What is left is the places that operators have emptied: their authors have the receipts.
UPDATE legacies SET pseudonym = NULL, sealed = NULL, account = NULL WHERE target IS NOT NULL

-- name: drop_unnamed_legacies
DELETE FROM legacies WHERE target IS NULL

-- name: unpark
-- An operator puts a parked post back: it leaves at the next chance. It was tried before: the outlet looks. What may
-- have left still may, until the next try has shown. One
-- that needs an account is due now, and not since it was parked, or an account that cannot get in would have to make
-- up for the time. Others keep their moment, which every try tells alike.
UPDATE posts SET release = CASE WHEN :anew = 1 AND release < (SELECT closed FROM clock)
                                THEN (SELECT closed FROM clock) ELSE release END,
                 state = CASE state WHEN 'parked_in_doubt' THEN 'in_doubt' ELSE 'waiting' END,
                 problem = CASE state WHEN 'parked_in_doubt' THEN NULL ELSE problem END,
                 claim = NULL, until = NULL, attempts = 1
WHERE id = :id AND state IN {parked}

-- name: label
-- Held labels, once the window has passed: a partner on another target at most the window away.
UPDATE arrivals SET label = CASE WHEN EXISTS (
    SELECT 1 FROM arrivals o
    WHERE o.actor = arrivals.actor AND o.pseudonym <> arrivals.pseudonym
      AND o.arrival BETWEEN arrivals.arrival - :window AND arrivals.arrival + :window
) THEN 1 ELSE 0 END
WHERE arrival > :labelled AND arrival <= :ripe AND label IS NULL

-- name: fix_releases
-- The releases that these labels fix: `release_ticks` (core/release.py), and then what an outage has moved. All of a tick
-- are written at once: nothing of a row tells which of them came first.
UPDATE posts SET release = fixed.release
FROM (
    SELECT due.id, due.shift + CASE WHEN due.plain > due.deadline THEN due.deadline ELSE due.plain END AS release
    FROM (
        SELECT id, shift, deadline,
               arrival + :hold + CASE label WHEN 1 THEN batched ELSE unbatched END AS plain
        FROM arrivals WHERE arrival > :labelled AND arrival <= :ripe
    ) AS due
) AS fixed
WHERE posts.id = fixed.id AND posts.release IS NULL

-- name: raise_children
-- Nothing is released before the post it depends on. Run until it changes nothing.
UPDATE posts SET release = (SELECT p.release FROM posts p WHERE p.id = posts.parent), fresh = 1
WHERE parent IS NOT NULL AND state IN {on_its_way} AND release IS NOT NULL
  AND release < (SELECT p.release FROM posts p WHERE p.id = posts.parent AND p.state IN {on_its_way})

-- name: shift_releases
-- One person's own store: everything that waits moves later by the same number of ticks.
UPDATE posts SET release = release + :ticks
WHERE release IS NOT NULL AND (state IN {on_its_way} OR state = 'withdrawn' AND release > :closed)

-- name: shift_pending
UPDATE arrivals SET shift = shift + :ticks, earliest = earliest + :ticks, latest = latest + :ticks
WHERE id IN (SELECT id FROM posts WHERE release IS NULL)

-- name: shift_lockouts
-- The clock of the whole store with it: what arrives next must not overtake what has moved.
UPDATE lockouts SET since = since + :ticks, until = until + :ticks, resumes = resumes + :ticks
WHERE resumes > :closed

-- name: lockout
-- Whether an account cannot get in.
SELECT since, until, resumes FROM lockouts WHERE account = :account

-- name: lock_out
INSERT INTO lockouts (account, since, until, resumes) VALUES (:account, :since, :until, :resumes)
ON CONFLICT (account) DO UPDATE
SET since = excluded.since, until = excluded.until, resumes = excluded.resumes

-- name: forget_lockouts
-- Nothing that arrives from now on is moved by these.
DELETE FROM lockouts WHERE resumes <= :closed

-- name: drop_lockouts
-- They were counted in ticks of another length.
DELETE FROM lockouts

-- name: waiting_at
-- What waits at one outlet, for somebody who opens the options; and whether another post stands before it.
SELECT d.id, d.release, d.options,
       EXISTS (SELECT 1 FROM posts p WHERE p.id = d.parent AND p.state IN {unfinished}) AS held_up
FROM posts d WHERE d.state IN {on_its_way} AND d.outlet = :outlet

-- name: shift_release
-- One account's outage: what waits for it moves later by the same number of ticks.
UPDATE posts SET release = release + :ticks, fresh = 1
WHERE id = :id AND state IN {on_its_way} AND release IS NOT NULL

-- name: mark_fresh
-- What waits at an outlet is written anew at the next public moment.
UPDATE posts SET fresh = 1 WHERE state IN {on_its_way} AND outlet = :outlet AND fresh = 0

-- name: shift_arrival
UPDATE arrivals SET shift = shift + :ticks, earliest = earliest + :ticks, latest = latest + :ticks
WHERE id = :id AND EXISTS (SELECT 1 FROM posts p WHERE p.id = arrivals.id AND p.release IS NULL)

-- name: shift_heirloom
UPDATE posts SET release = release + :ticks, fresh = 1 WHERE id = :id AND state = 'withdrawn' AND release > :closed

-- name: due_outlets
-- Where something is due that nobody has claimed: from one outlet to the next by the index, and not post by post.
WITH RECURSIVE busy (outlet) AS (
    SELECT (SELECT outlet FROM posts WHERE state IN {ready} AND until IS NULL AND release IS NOT NULL
            ORDER BY outlet LIMIT 1)
    UNION ALL
    SELECT (SELECT p.outlet FROM posts p
            WHERE p.state IN {ready} AND p.until IS NULL AND p.release IS NOT NULL AND p.outlet > busy.outlet
            ORDER BY p.outlet LIMIT 1)
    FROM busy WHERE busy.outlet IS NOT NULL
)
SELECT outlet FROM busy WHERE outlet IS NOT NULL AND EXISTS (
    SELECT 1 FROM posts p WHERE p.state IN {ready} AND p.until IS NULL AND p.release IS NOT NULL
    AND p.outlet = busy.outlet AND p.release <= (SELECT closed FROM clock))

-- name: first_due
-- The earliest release that has not happened, of posts that wait for no other. What may run only once and
-- has begun has happened, as far as anybody can see.
SELECT min(d.release) AS release FROM posts d
WHERE (d.state IN {ready} OR d.state IN {delivering} AND d.once = 0) AND d.release IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM posts p WHERE p.id = d.parent AND p.state IN {unfinished})

-- name: publish_overdue
-- A gateway's posts that fell due while ticks were missed appear under the tick of recovery.
WITH RECURSIVE busy (outlet) AS (
    SELECT (SELECT outlet FROM posts WHERE state IN {ready} AND until IS NULL AND release IS NOT NULL
            ORDER BY outlet LIMIT 1)
    UNION ALL
    SELECT (SELECT p.outlet FROM posts p
            WHERE p.state IN {ready} AND p.until IS NULL AND p.release IS NOT NULL AND p.outlet > busy.outlet
            ORDER BY p.outlet LIMIT 1)
    FROM busy WHERE busy.outlet IS NOT NULL
)
UPDATE posts SET release = :tick WHERE id IN (
    SELECT p.id FROM busy JOIN posts p ON p.outlet = busy.outlet
    WHERE p.state IN {ready} AND p.until IS NULL AND p.release IS NOT NULL
      AND p.release > :closed AND p.release < :tick)

-- name: spent
-- Batched events about to be erased, by actor and period.
WITH old AS MATERIALIZED (SELECT actor, period FROM arrivals WHERE arrival <= :erasable AND label = 1)
SELECT actor, period, count(*) AS batched FROM old GROUP BY actor, period

-- name: charge
INSERT INTO ledger (account, period, batched) VALUES (:account, :period, :batched)
ON CONFLICT (account, period) DO UPDATE SET batched = ledger.batched + excluded.batched

-- name: account
SELECT batched FROM ledger WHERE account = :account AND period = :period

-- name: erase
-- No label needs these any more.
DELETE FROM arrivals WHERE arrival <= :erasable

-- name: adopted
-- What an account has decided for this tick.
SELECT delayed FROM adoptions WHERE account = :account AND first_tick <= :tick
ORDER BY first_tick DESC LIMIT 1

-- name: adopt_delays
INSERT INTO adoptions (account, first_tick, delayed) VALUES (:account, :first_tick, :delayed)
ON CONFLICT (account, first_tick) DO UPDATE SET delayed = excluded.delayed

-- name: choices
-- All that an account has decided.
SELECT first_tick, delayed FROM adoptions WHERE account = :account ORDER BY first_tick

-- name: forget_ledger
DELETE FROM ledger

-- name: forget_adoptions
DELETE FROM adoptions

-- name: forget_counts
DELETE FROM ledger WHERE account = :account

-- name: forget_choices
DELETE FROM adoptions WHERE account = :account

-- name: has_arrived
-- Whether an arrival of an actor is not erased yet.
SELECT 1 AS answer FROM arrivals WHERE actor = :actor LIMIT 1

-- name: known_accounts
SELECT (SELECT count(*) FROM ledger) + (SELECT count(*) FROM adoptions) AS answer

-- name: rename_account
UPDATE ledger SET account = :new WHERE account = :old

-- name: arrivals_by_hour
-- What is about to be erased, by hours of so many ticks.
SELECT arrival / :ticks AS hour, count(*) AS arrivals FROM arrivals WHERE arrival <= :erasable GROUP BY 1

-- name: count_hour
INSERT INTO hours (hour, arrivals) VALUES (:hour, :arrivals)
ON CONFLICT (hour) DO UPDATE SET arrivals = hours.arrivals + excluded.arrivals

-- name: tell_ledger
UPDATE ledger SET told = batched WHERE told <> batched

-- name: clear_outlook
DELETE FROM outlook

-- name: look_ahead
-- What waits, by outlet and by hour of release: taken once an hour, so that nobody can watch it move.
INSERT INTO outlook (outlet, hour, posts)
SELECT outlet, coalesce(release / :ticks, 0), count(*) FROM posts WHERE state IN {on_its_way} GROUP BY 1, 2

-- name: outlook
SELECT outlet, hour, posts FROM outlook ORDER BY outlet, hour

-- name: hours
-- Hours that are over and whose arrivals are all erased.
SELECT hour, arrivals FROM hours WHERE hour < :before ORDER BY hour DESC LIMIT :most

-- name: parked
-- What a person has to look at.
SELECT id, state, target, outlet, release, attempts, problem FROM posts WHERE state IN {parked} ORDER BY release, id

-- name: pause
UPDATE settings SET paused = :paused

-- name: park_overdue
-- A store that was brought back: what was to leave by now may have left before.
UPDATE posts SET state = 'parked_in_doubt', claim = NULL, until = NULL, problem = :problem
WHERE state IN {on_its_way} AND release IS NOT NULL AND release <= :tick

-- name: forget_withdrawn
-- The life of a withdrawn post is over: nobody inherits from it any more.
DELETE FROM legacies WHERE NOT EXISTS (
    SELECT 1 FROM posts p WHERE p.id = legacies.id AND (p.release IS NULL OR p.release > :closed))

-- name: purge
-- Receipts are answered for a while after the release, and then forgotten.
DELETE FROM posts WHERE state IN {done} AND release <= :old

-- name: tick
-- The clock moves on.
UPDATE clock SET time = :time, wall = :wall, steady = :steady, boot = :boot, closed = :closed

-- name: renew
-- A worker at work keeps its claim.
UPDATE posts SET until = :until WHERE claim = :claim AND until IS NOT NULL AND state IN {delivering}

-- name: try_again
-- The time to try again has come.
UPDATE posts SET until = NULL WHERE until IS NOT NULL AND until <= :now AND state IN {ready}

-- name: return_lapsed
-- A dead worker's claims come back: nobody knows how far it had come.
UPDATE posts SET state = 'in_doubt', problem = NULL, claim = NULL, until = NULL
WHERE until IS NOT NULL AND until <= :now AND state IN {delivering} AND once = 0

-- name: park_cut_off
-- What may run only once, and was cut off, waits for a person. The claim stays: if the worker was merely slow it may
-- still tell how it ended; but not where an earlier try was in doubt already, which its word would not end.
UPDATE posts SET state = 'parked_in_doubt', until = NULL, problem = :problem,
                 claim = CASE state WHEN 'delivering' THEN claim END
WHERE until IS NOT NULL AND until <= :now AND state IN {delivering} AND once = 1

-- name: mark_parked
-- If an earlier try is in doubt, or this one, it may have left: whatever this one says.
UPDATE posts SET state = CASE WHEN :sent = 1 OR state = 'delivering_in_doubt' THEN 'parked_in_doubt' ELSE 'parked' END,
                 problem = CASE WHEN :sent = 1 OR state = 'delivering_in_doubt' THEN :doubted ELSE :problem END,
                 claim = NULL, until = NULL
WHERE id = :id AND claim = :claim AND (state IN {delivering} OR state IN {parked})

-- name: mark_retry
-- If it was sent it may have left. A try that sent nothing does not show what became of an earlier one.
UPDATE posts SET state = CASE WHEN :sent = 1 OR state = 'delivering_in_doubt' THEN 'in_doubt' ELSE 'waiting' END,
                 problem = CASE WHEN :sent = 1 OR state = 'delivering_in_doubt' THEN NULL ELSE :problem END,
                 claim = NULL, until = :until
WHERE id = :id AND claim = :claim AND state IN {delivering}

-- name: mark_locked_out
-- Nothing was sent: the try does not count. If an earlier one is in doubt, it stays so.
UPDATE posts SET state = CASE state WHEN 'delivering_in_doubt' THEN 'in_doubt' ELSE 'waiting' END,
                 problem = CASE state WHEN 'delivering_in_doubt' THEN NULL ELSE :problem END,
                 claim = NULL, until = NULL, attempts = attempts - 1
WHERE id = :id AND claim = :claim AND state IN {delivering}

-- name: under_way
-- What somebody delivers at this moment. A claim that has lapsed is a dead worker's.
SELECT id FROM posts WHERE state IN {delivering} AND until > :now
