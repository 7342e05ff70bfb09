-- Extend one's own live lease, and only that.
UPDATE job SET lease_until = clock_timestamp() + lease
 WHERE id = %(id)s::bigint AND fence = %(fence)s::bigint AND owner = %(owner)s::text AND state = 'running'
   AND lease_until > clock_timestamp()
RETURNING cancel_requested_at IS NOT NULL
