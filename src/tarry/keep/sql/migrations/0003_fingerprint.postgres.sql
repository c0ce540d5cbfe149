-- A mark of the key that this store was begun with: another one is refused. NULL: not seen yet.
ALTER TABLE settings ADD COLUMN fingerprint BYTEA;
