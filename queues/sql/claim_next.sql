-- Hold the first item of the list that nobody holds and the person did not skip: the best of three
-- candidates, each by a partial index of its own (one query over "free or expired" slows down with
-- every held row before it), and none when the person holds as many as they may; their membership is
-- locked by the statement before. {narrowed} is the list's filter, compiled by queues/narrowing.py; {order} is
-- the list's order, and {aside} the same order kept off the list's index (queues/ordering.py).
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS instant
), skipped AS MATERIALIZED (
    SELECT ARRAY(SELECT item
                   FROM queues_itemskip
                  WHERE tenant_id = %(tenant)s
                    AND person_id = %(person)s
                    AND model = %(model)s
                    AND until > (SELECT instant FROM clock)) AS ids
), holding AS MATERIALIZED (
    SELECT count(*) AS items
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND claim_holder_id = %(person)s
       AND lease_until > (SELECT instant FROM clock)
), free AS (
    SELECT id, score, due_at, opened_at
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND state IN ({open})
       AND claim_holder_id IS NULL
       AND snoozed_until IS NULL
       AND id <> ALL ((SELECT ids FROM skipped)::bigint[]){narrowed}
     ORDER BY {order}
     LIMIT 1
       FOR UPDATE SKIP LOCKED
), expired AS (
    SELECT id, score, due_at, opened_at
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND state IN ({open})
       AND claim_holder_id IS NOT NULL
       AND lease_until <= (SELECT instant FROM clock)
       AND id <> ALL ((SELECT ids FROM skipped)::bigint[]){narrowed}
     -- Off the list's index: the planner would walk all of it where nothing has lapsed.
     ORDER BY {aside}
     LIMIT 1
       FOR UPDATE SKIP LOCKED
), awake AS (
    SELECT id, score, due_at, opened_at
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND state IN ({open})
       AND claim_holder_id IS NULL
       AND snoozed_until <= (SELECT instant FROM clock)
       AND id <> ALL ((SELECT ids FROM skipped)::bigint[]){narrowed}
     ORDER BY {aside}
     LIMIT 1
       FOR UPDATE SKIP LOCKED
), best AS (
    SELECT id
      FROM (TABLE free UNION ALL TABLE expired UNION ALL TABLE awake) AS candidate
     WHERE (SELECT items FROM holding) < %(max_held)s
     ORDER BY {order}
     LIMIT 1
)
UPDATE {items} AS item
   SET claim_holder_id = %(person)s,
       claim_token = item.claim_token + 1,
       claimed_at = clock.instant,
       lease_until = clock.instant + %(lease)s,
       snoozed_until = NULL
  FROM best, clock
 WHERE item.id = best.id
   AND item.tenant_id = %(tenant)s
RETURNING item.id, item.claim_token, item.lease_until
