-- What a run asks before each command: is the fence current, the job running, the lease alive?
SELECT cancel_requested_at IS NOT NULL FROM job
 WHERE id = %(id)s::bigint AND fence = %(fence)s::bigint AND state = 'running' AND lease_until > clock_timestamp()
