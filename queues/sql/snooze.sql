-- Put an open item to sleep: under one's own live hold, or free and unchanged where the queue allows that.
UPDATE {items} AS item
   SET claim_holder_id = NULL, claimed_at = NULL, lease_until = NULL, snoozed_until = %(until)s
  FROM (SELECT clock_timestamp() AS instant) AS clock
 WHERE item.tenant_id = %(tenant)s
   AND item.id = %(item)s
   AND item.state IN ({open})
   AND ((item.claim_holder_id = %(person)s AND item.claim_token = %(token)s AND item.lease_until > clock.instant)
        OR (%(without)s
            AND (item.claim_holder_id IS NULL OR item.lease_until <= clock.instant)
            AND item.version = %(version)s))
RETURNING item.id, item.claim_token, NULL
