-- What PostgreSQL says in its own way.

-- name: publish_rows
-- Several releases at once, as publish.
INSERT INTO releases (space, position, id, target, content, options, at)
SELECT space, position, id, target, decode(content, 'base64'), options, at
FROM json_to_recordset(CAST(:rows AS json)) AS new (
    space text, position bigint, id text, target text, content text, options text, at bigint)
ON CONFLICT (id) DO NOTHING

-- name: thread
-- As in the common file, by an index that holds no long name.
SELECT position, id, target, options, at, substr(content, 1, :long) AS content, length(content) AS size FROM releases
WHERE space = :space AND left(target, 200) = left(:target, 200) AND target = :target
ORDER BY position LIMIT :most OFFSET :skipped

-- name: thread_length
SELECT count(*) AS posts FROM releases
WHERE space = :space AND left(target, 200) = left(:target, 200) AND target = :target AND position <= :position
