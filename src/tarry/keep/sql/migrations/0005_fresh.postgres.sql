-- 1: written since posts were last written anew at a public moment. PostgreSQL lays rows down as they come, each with
-- the number of its transaction: that would tell the order of arrivals long after these are erased.
ALTER TABLE posts ADD COLUMN fresh BIGINT NOT NULL DEFAULT 1;
CREATE INDEX posts_fresh ON posts (id) WHERE fresh = 1;
