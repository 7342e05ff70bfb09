-- Hold one open item: it is free, or its lease has ended, or the person holds it already.
-- A live hold of one's own keeps its token and start, and is never shortened; any other is a new hold.
-- The instant is read once, so that every branch judges by the same clock.
UPDATE {items} AS item
   SET claim_holder_id = %(person)s,
       claim_token = CASE WHEN item.claim_holder_id = %(person)s AND item.lease_until > clock.instant
                          THEN item.claim_token ELSE item.claim_token + 1 END,
       claimed_at = CASE WHEN item.claim_holder_id = %(person)s AND item.lease_until > clock.instant
                         THEN item.claimed_at ELSE clock.instant END,
       lease_until = CASE WHEN item.claim_holder_id = %(person)s AND item.lease_until > clock.instant
                          THEN greatest(item.lease_until,
                                        least(clock.instant + %(lease)s, item.claimed_at + %(max_hold)s))
                          ELSE clock.instant + %(lease)s END,
       snoozed_until = NULL
  FROM (SELECT clock_timestamp() AS instant) AS clock
 WHERE item.tenant_id = %(tenant)s
   AND item.id = %(item)s
   AND item.state IN ({open})
   AND (item.claim_holder_id IS NULL
        OR item.claim_holder_id = %(person)s
        OR item.lease_until <= clock.instant)
RETURNING item.id, item.claim_token, item.lease_until
