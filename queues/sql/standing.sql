-- Say who stands in the way within the list's filter: the open items that others hold, one's own, the
-- sleeping ones, those one skipped, and those left to take; each beside the next instant that frees one.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS instant
), skipped AS MATERIALIZED (
    SELECT item, until
      FROM queues_itemskip
     WHERE tenant_id = %(tenant)s
       AND person_id = %(person)s
       AND model = %(model)s
       AND until > (SELECT instant FROM clock)
), standing AS (
    SELECT id,
           lease_until,
           snoozed_until,
           CASE WHEN lease_until > (SELECT instant FROM clock)
                THEN CASE WHEN claim_holder_id = %(person)s THEN 'mine' ELSE 'theirs' END
                WHEN claim_holder_id IS NULL AND snoozed_until > (SELECT instant FROM clock) THEN 'asleep'
                WHEN id = ANY (ARRAY(SELECT item FROM skipped)) THEN 'skipped'
                ELSE 'left' END AS place
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND state IN ({open}){narrowed}
)
SELECT count(*) FILTER (WHERE place = 'theirs') AS others,
       min(standing.lease_until) FILTER (WHERE place = 'theirs') AS next_free,
       count(*) FILTER (WHERE place = 'mine') AS mine,
       count(*) FILTER (WHERE place = 'asleep') AS asleep,
       min(standing.snoozed_until) FILTER (WHERE place = 'asleep') AS next_awake,
       count(*) FILTER (WHERE place = 'skipped') AS skipped,
       min(skipped.until) FILTER (WHERE place = 'skipped') AS next_return,
       count(*) FILTER (WHERE place = 'left') AS "left"
  FROM standing
  LEFT JOIN skipped ON skipped.item = standing.id
