-- End somebody's hold under the token that was seen, and say whose it was.
WITH was AS (
    SELECT id, claim_holder_id AS holder
      FROM {items}
     WHERE tenant_id = %(tenant)s
       AND id = %(item)s
       AND claim_holder_id IS NOT NULL
       AND claim_token = %(token)s
       FOR UPDATE
)
UPDATE {items} AS item
   SET claim_holder_id = NULL, claimed_at = NULL, lease_until = NULL
  FROM was
 WHERE item.id = was.id
   AND item.tenant_id = %(tenant)s
RETURNING item.id, was.holder
