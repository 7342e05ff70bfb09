-- Wake a sleeping item before its time.
UPDATE {items} AS item
   SET snoozed_until = NULL
 WHERE item.tenant_id = %(tenant)s
   AND item.id = %(item)s
   AND item.state IN ({open})
   AND item.claim_holder_id IS NULL
   AND item.snoozed_until IS NOT NULL
RETURNING item.id, item.claim_token, NULL
