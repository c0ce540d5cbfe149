-- Accounts that cannot get in at the moment, all in ticks. No post refers to a row here.
CREATE TABLE lockouts (
    account BLOB PRIMARY KEY,           -- keyed hash of an account and its place; one for a whole personal store
    since INTEGER NOT NULL,             -- the first release that could not happen
    until INTEGER NOT NULL,             -- nobody knocks before it
    resumes INTEGER NOT NULL            -- what arrives before it counts from it
) WITHOUT ROWID;
