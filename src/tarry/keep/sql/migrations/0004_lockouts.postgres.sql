-- Accounts that cannot get in at the moment, all in ticks. No post refers to a row here.
CREATE TABLE lockouts (
    account BYTEA PRIMARY KEY,          -- keyed hash of an account and its place; one for a whole personal store
    since BIGINT NOT NULL,              -- the first release that could not happen
    until BIGINT NOT NULL,              -- nobody knocks before it
    resumes BIGINT NOT NULL             -- what arrives before it counts from it
);
