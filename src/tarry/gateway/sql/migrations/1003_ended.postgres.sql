-- Spaces that have ended: the last tick that an arrival may have had there. NULL: it goes on.
ALTER TABLE spaces ADD COLUMN ended_tick BIGINT;
