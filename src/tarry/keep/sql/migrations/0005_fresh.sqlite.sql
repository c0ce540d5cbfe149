-- 1: written since posts were last written anew at a public moment. Only PostgreSQL needs that: here rows lie in the
-- order of their random keys, and the column is there so that both have one set of statements.
ALTER TABLE posts ADD COLUMN fresh INTEGER NOT NULL DEFAULT 1;
