-- What is due, outlet by outlet: many posts that are due at a slow one are not in the way of the others.
-- (The old index goes first: that locks the table whole, and nobody waits for somebody who waits for us.)
DROP INDEX posts_due;
CREATE INDEX posts_due_at ON posts (outlet, release, id)
WHERE state IN ('waiting', 'in_doubt') AND until IS NULL AND release IS NOT NULL;
