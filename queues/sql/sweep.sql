-- Free expired holds and wake what was put aside until now, a few at a time; what somebody works on is passed by.
WITH due AS (
    SELECT id, claim_holder_id IS NOT NULL AS held
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND state = ANY(%(open)s)
       AND (claim_holder_id IS NOT NULL AND lease_until <= clock_timestamp()
            OR snoozed_until <= clock_timestamp())
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED
)
UPDATE {items} AS item
   SET claim_holder_id = NULL, claimed_at = NULL, lease_until = NULL, snoozed_until = NULL
  FROM due
 WHERE item.id = due.id
RETURNING item.id, due.held
