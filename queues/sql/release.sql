-- End a hold of one's own; a lease that has ended but that nobody took over may be given back too.
UPDATE {items} AS item
   SET claim_holder_id = NULL, claimed_at = NULL, lease_until = NULL
 WHERE item.tenant_id = %(tenant)s
   AND item.id = %(item)s
   AND item.claim_holder_id = %(person)s
   AND item.claim_token = %(token)s
RETURNING item.id, item.claim_token, NULL
