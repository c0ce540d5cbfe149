-- Where the two draws of a post would give its label away, these ticks are told instead of them until it has one: no
-- draw is in them. NULL: the draws may be told.
ALTER TABLE arrivals ADD COLUMN earliest BIGINT;
ALTER TABLE arrivals ADD COLUMN latest BIGINT;
