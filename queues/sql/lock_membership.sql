-- Lock the person's membership until the transaction ends: whoever counts or adds to their holds waits here.
-- The count is a statement of its own, so that it sees what the one before in the queue has committed.
SELECT user_id
  FROM tenants_membership
 WHERE tenant_id = %(tenant)s
   AND user_id = %(person)s
   FOR NO KEY UPDATE
