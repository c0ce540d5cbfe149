-- What a repost inherits: one row for each withdrawn post whose release is still to come. While a post waits, its
-- own pseudonym is sealed under its receipt, which is not stored (in one person's own store it is not sealed).
CREATE TABLE legacies (
    id INTEGER PRIMARY KEY,             -- of the post
    pseudonym BLOB,                     -- keyed hash of (actor, target); NULL: not known when it was withdrawn
    sealed BLOB,                        -- the same under the receipt, where an operator has withdrawn it
    account BLOB,                       -- keyed hash of the account that it needs and of its id: no two are equal
    target TEXT,                        -- where an operator has withdrawn it: its author may use the place again
    fresh INTEGER NOT NULL DEFAULT 1    -- as in posts
);
CREATE INDEX legacies_pseudonym ON legacies (pseudonym) WHERE pseudonym IS NOT NULL;

INSERT INTO legacies (id, pseudonym)
SELECT id, pseudonym FROM posts
WHERE state = 'withdrawn' AND pseudonym IS NOT NULL AND (release IS NULL OR release > (SELECT closed FROM clock));

-- Their receipts are not known: what many people have waiting forgets whose it is.
UPDATE posts SET pseudonym = NULL
WHERE pseudonym IS NOT NULL AND (state = 'withdrawn' OR NOT EXISTS (SELECT 1 FROM settings WHERE personal = 1));
DROP INDEX posts_withdrawn;
