-- Wait for whoever holds the first claimable row for a moment: what comes back is free or lapsed still.
SELECT id
  FROM {items}
 WHERE tenant_id = %(tenant)s
   AND state = ANY(%(open)s)
   AND ((claim_holder_id IS NULL AND snoozed_until IS NULL) OR lease_until <= (SELECT clock_timestamp()))
 ORDER BY score DESC NULLS LAST, opened_at, id
 LIMIT 1
   FOR UPDATE
