-- Give an open item to somebody, and say who held it until now: from one's own live hold ("mine"), from
-- whoever holds it under the token that was seen ("seen"), or from nobody ("free").
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS instant
), was AS (
    SELECT id, CASE WHEN lease_until > (SELECT instant FROM clock) THEN claim_holder_id END AS holder
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND id = %(item)s
       AND state IN ({open})
       AND CASE %(under)s
               WHEN 'mine' THEN claim_holder_id = %(person)s AND claim_token = %(token)s
                                AND lease_until > (SELECT instant FROM clock)
               WHEN 'seen' THEN claim_token = %(token)s
               ELSE claim_holder_id IS NULL OR lease_until <= (SELECT instant FROM clock)
           END
       FOR UPDATE
)
UPDATE {items} AS item
   SET claim_holder_id = %(to)s,
       claim_token = item.claim_token + 1,
       claimed_at = clock.instant,
       lease_until = clock.instant + %(lease)s,
       snoozed_until = NULL
  FROM was, clock
 WHERE item.id = was.id
   AND item.tenant_id = %(tenant)s
RETURNING item.id, item.claim_token, item.lease_until, was.holder
