-- For stores that many people share.

-- Keyed hash of the whole request, where it came with a key of its own: the same request is accepted once.
ALTER TABLE posts ADD COLUMN body BYTEA;

-- 1: a store that was brought back from a backup; nothing comes in or leaves until a person says so.
ALTER TABLE settings ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;

-- Arrivals by hour, counted when they are erased. Not in one person's own store.
CREATE TABLE hours (
    hour BIGINT PRIMARY KEY,            -- in hours of whole ticks since 1970
    arrivals BIGINT NOT NULL
);

-- What waited when the last hour ended, by outlet and by hour of release.
CREATE TABLE outlook (
    outlet TEXT NOT NULL,
    hour BIGINT NOT NULL,               -- 0: not known yet
    posts BIGINT NOT NULL,
    PRIMARY KEY (outlet, hour)
);

-- Accounts that have opted in or out of delays, each from a tick on.
CREATE TABLE adoptions (
    account BYTEA NOT NULL,              -- keyed hash of the actor, as in the ledger
    first_tick BIGINT NOT NULL,
    delayed BIGINT NOT NULL,
    PRIMARY KEY (account, first_tick)
);

-- The count as it stood when the last hour ended: the count itself moves when arrivals are erased.
ALTER TABLE ledger ADD COLUMN told BIGINT NOT NULL DEFAULT 0;
