-- Extend a live hold of one's own, never past the longest hold.
UPDATE {items} AS item
   SET lease_until = greatest(item.lease_until, least(clock.instant + %(lease)s, item.claimed_at + %(max_hold)s))
  FROM (SELECT clock_timestamp() AS instant) AS clock
 WHERE item.tenant_id = %(tenant)s
   AND item.id = %(item)s
   AND item.claim_holder_id = %(person)s
   AND item.claim_token = %(token)s
   AND item.lease_until > clock.instant
RETURNING item.id, item.claim_token, item.lease_until
