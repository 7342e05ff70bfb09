-- Unsettled payouts by age, currency and state: how many, how much, and how old the oldest is.
-- An age is counted in days of the tenant's own calendar: the time zone is bound, like everything else.
WITH unsettled AS (
    SELECT currency,
           state,
           amount,
           %(as_of)s::date - (opened_at AT TIME ZONE %(zone)s)::date AS days
      FROM queues_payout
     WHERE tenant_id = %(tenant)s
       AND state = ANY(%(states)s)
       AND opened_at >= %(opened_from)s
       AND opened_at < %(opened_before)s
)
SELECT CASE
           WHEN days <= 7 THEN '0 to 7'
           WHEN days <= 30 THEN '8 to 30'
           WHEN days <= 90 THEN '31 to 90'
           ELSE 'over 90'
       END AS days_old,
       currency,
       state,
       count(*) AS payouts,
       sum(amount) AS total,
       max(days) AS oldest_days
  FROM unsettled
 GROUP BY 1, 2, 3
 ORDER BY min(days), currency, state
 LIMIT %(row_limit)s
