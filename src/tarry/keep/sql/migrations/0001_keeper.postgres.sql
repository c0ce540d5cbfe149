-- Posts wait here until their release. A row's key is random. PostgreSQL lays rows down as they come, and
-- keeps dead ones until it vacuums: docs/keeper.md says what that tells, and for how long.
CREATE TABLE posts (
    id BIGINT PRIMARY KEY,             -- random: 63 bits of the receipt's hash
    state TEXT NOT NULL,                -- waiting, released, withdrawn or parked
    target TEXT NOT NULL,
    outlet TEXT NOT NULL,               -- the name of who delivers it
    options BYTEA,                       -- JSON for the outlet, perhaps sealed
    content BYTEA,                       -- perhaps sealed; gone after release or withdrawal
    release BIGINT,                    -- tick; unknown until the label is, unless both labels agree
    parent BIGINT,                     -- the author's own post on the same target that goes first
    receipt BYTEA NOT NULL,              -- hash of the receipt
    pseudonym BYTEA,                     -- keyed hash of (actor, target), for reposts
    claim BIGINT,                      -- who is delivering it
    until BIGINT,                      -- when the claim lapses, or when to try again (microseconds)
    once BIGINT NOT NULL DEFAULT 0,    -- 1: a delivery that was cut off is never tried again
    attempts BIGINT NOT NULL DEFAULT 0,
    problem TEXT                        -- why it is parked, for a person
);
CREATE INDEX posts_due ON posts (release, id) WHERE state = 'waiting' AND until IS NULL AND release IS NOT NULL;
CREATE INDEX posts_out ON posts (until) WHERE until IS NOT NULL;
CREATE INDEX posts_done ON posts (release) WHERE state IN ('released', 'withdrawn');
CREATE INDEX posts_withdrawn ON posts (pseudonym) WHERE state = 'withdrawn';
CREATE INDEX posts_children ON posts (parent) WHERE parent IS NOT NULL;

-- What labels need of an arrival, and nothing longer than they need it.
CREATE TABLE arrivals (
    id BIGINT PRIMARY KEY,             -- of the post
    actor BYTEA NOT NULL,                -- keyed hash
    pseudonym BYTEA NOT NULL,            -- keyed hash of (actor, target)
    arrival BIGINT NOT NULL,           -- tick
    declared BIGINT NOT NULL,          -- 1: the author said that more would come
    unbatched BIGINT NOT NULL,         -- the draws, in ticks: they never change
    batched BIGINT NOT NULL,
    deadline BIGINT,                   -- the policy's, in ticks
    shift BIGINT NOT NULL DEFAULT 0,   -- ticks missed in one person's own store
    label BIGINT,                      -- 1 batched, 0 not, NULL not known yet
    period TEXT NOT NULL                -- of the policy, for the ledger
);
CREATE INDEX arrivals_actor ON arrivals (actor, arrival);
CREATE INDEX arrivals_arrival ON arrivals (arrival);

-- Batched events by actor and policy period.
CREATE TABLE ledger (
    account BYTEA NOT NULL,              -- keyed hash of the actor, not the one in arrivals
    period TEXT NOT NULL,
    batched BIGINT NOT NULL,
    PRIMARY KEY (account, period)
);

-- One row: the store's clock at its last reading, and the last closed tick.
CREATE TABLE clock (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    time BIGINT NOT NULL,
    wall BIGINT NOT NULL,
    steady BIGINT NOT NULL,
    boot TEXT NOT NULL,
    closed BIGINT NOT NULL
);

-- One row: what all posts of the store share.
CREATE TABLE settings (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    tick TEXT NOT NULL,                 -- seconds, a fraction
    window_ticks BIGINT NOT NULL,
    labels TEXT NOT NULL,
    personal BIGINT NOT NULL,          -- 1: one person's own store
    sealed BIGINT NOT NULL,            -- 1: content is encrypted
    policy TEXT                         -- of one person's own store
);
