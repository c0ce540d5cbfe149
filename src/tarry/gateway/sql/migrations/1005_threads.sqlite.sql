-- The posts of one thread, without reading all others.
CREATE INDEX releases_target ON releases (space, target, position);
