-- How far one running step has come. It may begin again after a retry; what is shown never falls.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), held AS (
    SELECT id, cancel_requested_at IS NOT NULL AS cancelling FROM job, quick
     WHERE id = %(id)s::bigint AND fence = %(fence)s::bigint AND state = 'running' AND lease_until > clock_timestamp()
)
UPDATE job_step
   SET done = greatest(done, %(done)s::bigint), total = %(total)s::bigint,
       progress = greatest(progress, least(100, CASE WHEN %(total)s::bigint > 0 THEN 100 * %(done)s::bigint / %(total)s::bigint ELSE 0 END))
  FROM held WHERE job_step.job_id = held.id AND job_step.name = %(step)s::text AND job_step.state = 'running'
RETURNING held.cancelling
