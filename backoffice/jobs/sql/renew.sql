-- Extend one's own live lease, and only that.
UPDATE job SET lease_until = clock_timestamp() + lease
 WHERE id = %(id)s AND fence = %(fence)s AND owner = %(owner)s AND state = 'running'
   AND lease_until > clock_timestamp()
RETURNING cancel_requested_at IS NOT NULL
