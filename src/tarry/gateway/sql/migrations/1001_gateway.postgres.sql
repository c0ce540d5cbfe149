-- The tables of a gateway, beside the keeper's.

-- One row: changes whenever spaces, versions or tokens do, so that servers know when to read them again.
CREATE TABLE book (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    generation BIGINT NOT NULL
);
INSERT INTO book (one, generation) VALUES (1, 1);

-- The forums that this gateway serves.
CREATE TABLE spaces (
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    circle TEXT NOT NULL,               -- spaces of one circle share their actors
    outlet TEXT NOT NULL,               -- JSON: its kind, and what it needs
    adoption TEXT NOT NULL,             -- whose posts are delayed
    is_open BIGINT NOT NULL                 -- 0: an operator has paused admission
);

-- Every policy that a space has had.
CREATE TABLE versions (
    space TEXT NOT NULL,
    version BIGINT NOT NULL,
    policy TEXT NOT NULL,               -- as in a policy file
    first_tick BIGINT NOT NULL,            -- the first arrival that it may have
    PRIMARY KEY (space, version)
);

-- Who may do what. The token itself is not stored.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,                -- random, to name it by
    hash BYTEA NOT NULL,                   -- SHA-256
    name TEXT NOT NULL,                 -- who has it, in the operator's words
    scopes TEXT NOT NULL,               -- JSON
    spaces TEXT NOT NULL,               -- JSON; an empty list: all of them
    is_revoked BIGINT NOT NULL
);

-- What has been released: the only table that the public's questions are answered from.
CREATE TABLE releases (
    space TEXT NOT NULL,
    position BIGINT NOT NULL,               -- in the order of release, from 1
    id TEXT NOT NULL UNIQUE,            -- random
    target TEXT NOT NULL,
    content BYTEA NOT NULL,
    options TEXT NOT NULL,              -- JSON
    at BIGINT NOT NULL,                     -- microseconds since 1970: of its tick
    PRIMARY KEY (space, position)
);
