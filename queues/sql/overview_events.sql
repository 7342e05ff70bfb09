-- What happened in the queue within the window, from the latest audit events of the tenant, at most %(cap)s:
-- per person how often they held, skipped and decided; the percentiles of the time from arrival to the
-- first hold and to the decision; how many holds lapsed.
WITH latest AS MATERIALIZED (
    SELECT id, at, act, outcome, target, actor_user_id
      FROM audit_auditevent
     WHERE tenant_id = %(tenant)s
     ORDER BY id DESC
     LIMIT %(cap)s
), happened AS MATERIALIZED (
    SELECT at, actor_user_id,
           CASE WHEN act = ANY(%(decisions)s) THEN 'decided'
                WHEN act IN ('item.claim', 'item.claim-next') THEN 'claimed'
                WHEN act = 'item.expire' THEN 'lapsed'
                WHEN act = 'item.skip' THEN 'skipped'
           END AS what,
           split_part(target, ':', 2)::bigint AS item
      FROM latest
     WHERE at > %(since)s
       AND outcome = 'done'
       AND target LIKE %(kind)s || ':%%'
       AND split_part(target, ':', 2) ~ '^[0-9]{{1,18}}$'
), waits AS (
    SELECT what, extract(epoch FROM min(at) - max(items.loaded_at)) AS seconds
      FROM happened
      JOIN {items} AS items ON items.id = happened.item AND items.tenant_id = %(tenant)s
     WHERE what IN ('claimed', 'decided')
     GROUP BY what, item
)
SELECT (SELECT coalesce(json_object_agg(what, number), '{{}}')
          FROM (SELECT what, count(*) AS number FROM happened WHERE what IS NOT NULL GROUP BY what) AS counted),
       (SELECT coalesce(json_object_agg(what, parts), '{{}}')
          FROM (SELECT what, percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY seconds) AS parts
                  FROM waits GROUP BY what) AS measured),
       (SELECT coalesce(json_agg(json_build_array(actor_user_id, claimed, skipped, decided)), '[]')
          FROM (SELECT actor_user_id,
                       count(*) FILTER (WHERE what = 'claimed') AS claimed,
                       count(*) FILTER (WHERE what = 'skipped') AS skipped,
                       count(*) FILTER (WHERE what = 'decided') AS decided
                  FROM happened
                 WHERE actor_user_id IS NOT NULL AND what IS NOT NULL
                 GROUP BY actor_user_id) AS worked),
       (SELECT coalesce(json_object_agg(extract(epoch FROM hour)::bigint, number), '{{}}')
          FROM (SELECT date_trunc('hour', at, %(zone)s) AS hour, count(*) AS number
                  FROM happened WHERE what = 'decided' GROUP BY 1) AS by_hour),
       (SELECT CASE WHEN count(*) >= %(cap)s AND min(at) > %(since)s THEN min(at) END FROM latest)
