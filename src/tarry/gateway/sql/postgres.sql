-- What PostgreSQL says in its own way.

-- name: publish_rows
-- Several releases at once, as publish.
INSERT INTO releases (space, position, id, target, content, options, at)
SELECT space, position, id, target, decode(content, 'base64'), options, at
FROM json_to_recordset(CAST(:rows AS json)) AS new (
    space text, position bigint, id text, target text, content text, options text, at bigint)
ON CONFLICT (id) DO NOTHING
