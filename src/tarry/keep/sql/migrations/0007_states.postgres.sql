-- The state of a post says by itself whether somebody delivers it, and whether it may have left (states.py). Until now
-- the first was told by its claim, and the second by its tries, its problem, or words in it.
UPDATE posts SET state = 'parked_in_doubt'
WHERE state = 'parked' AND (position('may have left' IN problem) > 0
                          OR position('may or may not have' IN problem) > 0);
UPDATE posts SET state = CASE WHEN claim IS NULL THEN 'in_doubt'
                              WHEN attempts > 1 AND problem IS NULL THEN 'delivering_in_doubt'
                              ELSE 'delivering' END
WHERE state = 'waiting' AND (claim IS NOT NULL OR attempts > 0 AND problem IS NULL);

DROP INDEX posts_due;
CREATE INDEX posts_due ON posts (release, id)
WHERE state IN ('waiting', 'in_doubt') AND until IS NULL AND release IS NOT NULL;
