-- What these people released in the 24 hours before now, per currency. Splitting a sum over plans adds up here.
SELECT l.currency, sum(l.amount)
  FROM money_plan p
  JOIN money_planline l ON l.plan_id = p.id
 WHERE p.tenant_id = %(tenant)s
   AND p.action = %(action)s
   AND p.id <> %(plan)s
   AND p.job_id IS NOT NULL
   AND p.confirmed_at > clock_timestamp() - interval '24 hours'
   AND (p.confirmed_by_id = ANY(%(people)s) OR p.requested_by_id = ANY(%(people)s))
   AND l.state IN ('planned', 'sending', 'done', 'unknown')
 GROUP BY l.currency
