-- What happened in the queue from one instant to another, an object a quarter of an hour: how often items
-- arrived, were held, lapsed, were skipped and were decided, by whom, and how long the first hold and the
-- decision took after the arrival, in steps (a step's longest duration is 2 ^ (step / 32) seconds).
-- A hold is counted once by its token: claiming again what one holds is no new hold.
WITH events AS MATERIALIZED (
    SELECT at,
           date_bin('15 minutes', at, 'epoch') AS quarter,
           CASE WHEN act = ANY(%(decisions)s) THEN 'decided'
                WHEN act = 'item.expire' THEN 'lapsed'
                WHEN act = 'item.skip' THEN 'skipped'
                ELSE 'claimed'
           END AS what,
           CASE WHEN act = 'item.expire' THEN (data ->> 'holder')::bigint
                WHEN act = ANY(%(hands)s) THEN (data #>> '{{result,to}}')::bigint
                ELSE actor_user_id
           END AS person,
           coalesce(data #>> '{{result,token}}', 'event ' || id) AS token,
           split_part(target, ':', 2)::bigint AS item
      FROM audit_auditevent
     WHERE tenant_id = %(tenant)s
       AND at >= %(since)s
       AND at < %(before)s
       AND outcome = 'done'
       AND act = ANY(%(acts)s)
       AND (act <> 'item.undo' OR data #>> '{{result,held}}' = 'true')
       AND target LIKE %(kind)s || ':%%'
       AND split_part(target, ':', 2) ~ '^[0-9]{{1,18}}$'
), happened AS MATERIALIZED (
    SELECT quarter, what, person, token, item, at FROM events WHERE what <> 'claimed'
     UNION ALL
    SELECT * FROM (SELECT DISTINCT ON (item, token) quarter, what, person, token, item, at
                     FROM events WHERE what = 'claimed' ORDER BY item, token, at) AS holds
), arrivals AS (
    SELECT date_bin('15 minutes', loaded_at, 'epoch') AS quarter, count(*) AS number
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND loaded_at >= %(since)s
       AND loaded_at < %(before)s
     GROUP BY 1
), counts AS (
    SELECT quarter, jsonb_object_agg(what, number) AS found
      FROM (SELECT quarter, what, count(*) AS number FROM happened GROUP BY 1, 2
             UNION ALL
            SELECT quarter, 'arrived', number FROM arrivals) AS counted
     GROUP BY 1
), people AS (
    SELECT quarter, jsonb_object_agg(person, found) AS found
      FROM (SELECT quarter, person, jsonb_object_agg(what, number) AS found
              FROM (SELECT quarter, person, what, count(*) AS number
                      FROM happened WHERE person IS NOT NULL GROUP BY 1, 2, 3) AS counted
             GROUP BY 1, 2) AS each
     GROUP BY 1
), waits AS (
    SELECT quarter, jsonb_object_agg(what, found) AS found
      FROM (SELECT quarter, what, jsonb_object_agg(step, number) AS found
              FROM (SELECT happened.quarter, what, count(*) AS number,
                           ceil(32 * ln(greatest(extract(epoch FROM at - items.loaded_at)::float8, 1)) / ln(2::float8))::int
                               AS step
                      FROM happened
                      JOIN {items} AS items ON items.id = happened.item AND items.tenant_id = %(tenant)s
                     WHERE what = 'decided' OR what = 'claimed' AND token = '1'
                     GROUP BY 1, 2, 4) AS stepped
             GROUP BY 1, 2) AS each
     GROUP BY 1
)
SELECT quarter,
       jsonb_build_object('counts', counts.found,
                          'people', coalesce(people.found, '{{}}'),
                          'waits', coalesce(waits.found, '{{}}')) AS figures
  FROM counts
  LEFT JOIN people USING (quarter)
  LEFT JOIN waits USING (quarter)
