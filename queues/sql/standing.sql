-- Count who stands in the way: the open items that others hold, one's own, and the sleeping ones.
SELECT count(*) FILTER (WHERE claim_holder_id <> %(person)s AND lease_until > clock.instant),
       min(lease_until) FILTER (WHERE claim_holder_id <> %(person)s AND lease_until > clock.instant),
       count(*) FILTER (WHERE claim_holder_id = %(person)s AND lease_until > clock.instant),
       count(*) FILTER (WHERE claim_holder_id IS NULL AND snoozed_until IS NOT NULL),
       count(*) FILTER (WHERE (claim_holder_id IS NULL AND snoozed_until IS NULL) OR lease_until <= clock.instant)
  FROM {items}, (SELECT clock_timestamp() AS instant) AS clock
 WHERE tenant_id = %(tenant)s
   AND state = ANY(%(open)s)
