-- The posts of one thread, without reading all others. A row of an index holds no long name.
CREATE INDEX releases_target ON releases (space, left(target, 200), position);
