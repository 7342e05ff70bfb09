-- Remember until when a person is not given an item, and forget what that person's skips have outlived.
WITH over AS (
    DELETE FROM queues_itemskip
     WHERE tenant_id = %(tenant)s AND person_id = %(person)s AND until <= clock_timestamp() AND item <> %(item)s
)
INSERT INTO queues_itemskip (tenant_id, person_id, model, item, until)
VALUES (%(tenant)s, %(person)s, %(model)s, %(item)s, clock_timestamp() + %(length)s)
ON CONFLICT (tenant_id, person_id, model, item) DO UPDATE SET until = EXCLUDED.until
RETURNING until
