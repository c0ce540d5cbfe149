-- Posts wait here until their release. A row's key is random, and the rows lie in its order: no column tells
-- when a post arrived, or in which order posts did. (Long contents overflow to pages laid as they come.)
CREATE TABLE posts (
    id INTEGER PRIMARY KEY,             -- random: 63 bits of the receipt's hash
    state TEXT NOT NULL,                -- waiting, released, withdrawn or parked
    target TEXT NOT NULL,
    outlet TEXT NOT NULL,               -- the name of who delivers it
    options BLOB,                       -- JSON for the outlet, perhaps sealed
    content BLOB,                       -- perhaps sealed; gone after release or withdrawal
    release INTEGER,                    -- tick; unknown until the label is, unless both labels agree
    parent INTEGER,                     -- the author's own post on the same target that goes first
    receipt BLOB NOT NULL,              -- hash of the receipt
    pseudonym BLOB,                     -- keyed hash of (actor, target), for reposts
    claim INTEGER,                      -- who is delivering it
    until INTEGER,                      -- when the claim lapses, or when to try again (microseconds)
    once INTEGER NOT NULL DEFAULT 0,    -- 1: a delivery that was cut off is never tried again
    attempts INTEGER NOT NULL DEFAULT 0,
    problem TEXT                        -- why it is parked, for a person
);
CREATE INDEX posts_due ON posts (release, id) WHERE state = 'waiting' AND until IS NULL AND release IS NOT NULL;
CREATE INDEX posts_out ON posts (until) WHERE until IS NOT NULL;
CREATE INDEX posts_done ON posts (release) WHERE state IN ('released', 'withdrawn');
CREATE INDEX posts_withdrawn ON posts (pseudonym) WHERE state = 'withdrawn';
CREATE INDEX posts_children ON posts (parent) WHERE parent IS NOT NULL;

-- What labels need of an arrival, and nothing longer than they need it.
CREATE TABLE arrivals (
    id INTEGER PRIMARY KEY,             -- of the post
    actor BLOB NOT NULL,                -- keyed hash
    pseudonym BLOB NOT NULL,            -- keyed hash of (actor, target)
    arrival INTEGER NOT NULL,           -- tick
    declared INTEGER NOT NULL,          -- 1: the author said that more would come
    unbatched INTEGER NOT NULL,         -- the draws, in ticks: they never change
    batched INTEGER NOT NULL,
    deadline INTEGER,                   -- the policy's, in ticks
    shift INTEGER NOT NULL DEFAULT 0,   -- ticks missed in one person's own store
    label INTEGER,                      -- 1 batched, 0 not, NULL not known yet
    period TEXT NOT NULL                -- of the policy, for the ledger
);
CREATE INDEX arrivals_actor ON arrivals (actor, arrival);
CREATE INDEX arrivals_arrival ON arrivals (arrival);

-- Batched events by actor and policy period.
CREATE TABLE ledger (
    account BLOB NOT NULL,              -- keyed hash of the actor, not the one in arrivals
    period TEXT NOT NULL,
    batched INTEGER NOT NULL,
    PRIMARY KEY (account, period)
) WITHOUT ROWID;

-- One row: the store's clock at its last reading, and the last closed tick.
CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    time INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    steady INTEGER NOT NULL,
    boot TEXT NOT NULL,
    closed INTEGER NOT NULL
);

-- One row: what all posts of the store share.
CREATE TABLE settings (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    tick TEXT NOT NULL,                 -- seconds, a fraction
    window_ticks INTEGER NOT NULL,
    labels TEXT NOT NULL,
    personal INTEGER NOT NULL,          -- 1: one person's own store
    sealed INTEGER NOT NULL,            -- 1: content is encrypted
    policy TEXT                         -- of one person's own store
);
