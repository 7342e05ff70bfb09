-- What stands in the queue at this moment: open items by age, held, snoozed, not scored, overdue, due within an
-- hour, the oldest. Every count walks one index and stops behind its cap. Held counts before snoozed, so that free + held + snoozed = open.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS instant
), bands (number, youngest, oldest) AS (
    SELECT number, instant - youngest, instant - oldest
      FROM clock,
           (VALUES (1, interval '-100 years', interval '1 day'),
                   (2, interval '1 day', interval '3 days'),
                   (3, interval '3 days', interval '7 days'),
                   (4, interval '7 days', interval '14 days'),
                   (5, interval '14 days', interval '30 days'),
                   (6, interval '30 days', interval '200 years')) AS band (number, youngest, oldest)
)
SELECT (SELECT array_agg((SELECT count(*)
                            FROM (SELECT 1
                                    FROM {items}
                                   WHERE tenant_id = %(tenant)s
                                     AND state = ANY(%(open)s)
                                     AND opened_at <= bands.youngest
                                     AND opened_at > bands.oldest
                                   LIMIT %(cap)s + 1) AS counted) ORDER BY number)
          FROM bands),
       (SELECT count(*)
          FROM (SELECT 1
                  FROM {items}
                 WHERE tenant_id = %(tenant)s
                   AND state = ANY(%(open)s)
                   AND claim_holder_id IS NOT NULL
                   AND lease_until > clock.instant
                 LIMIT %(cap)s + 1) AS counted),
       (SELECT count(*)
          FROM (SELECT 1
                  FROM {items}
                 WHERE tenant_id = %(tenant)s
                   AND state = ANY(%(open)s)
                   AND snoozed_until IS NOT NULL
                   AND snoozed_until > clock.instant
                   AND (lease_until IS NULL OR lease_until <= clock.instant)
                 LIMIT %(cap)s + 1) AS counted),
       (SELECT count(*)
          FROM (SELECT 1
                  FROM {items}
                 WHERE tenant_id = %(tenant)s
                   AND state = ANY(%(open)s)
                   AND score IS NULL
                 LIMIT %(cap)s + 1) AS counted),
       (SELECT count(*)
          FROM (SELECT 1
                  FROM {items}
                 WHERE tenant_id = %(tenant)s
                   AND state = ANY(%(open)s)
                   AND due_at <= clock.instant
                   -- Never false: with one bound the planner takes a third of the table for overdue and reads all of it.
                   AND due_at > clock.instant - interval '200 years'
                 LIMIT %(cap)s + 1) AS counted),
       (SELECT count(*)
          FROM (SELECT 1
                  FROM {items}
                 WHERE tenant_id = %(tenant)s
                   AND state = ANY(%(open)s)
                   AND due_at > clock.instant
                   AND due_at <= clock.instant + interval '1 hour'
                 LIMIT %(cap)s + 1) AS counted),
       (SELECT min(opened_at)
          FROM {items}
         WHERE tenant_id = %(tenant)s
           AND state = ANY(%(open)s)),
       clock.instant
  FROM clock
