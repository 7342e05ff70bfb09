-- Move one step and the job's summary together. A report lost in a crash of the server is a step that
-- runs again, so its commit need not wait for the disk; the settlement's does, and carries it along.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), moved AS (
    UPDATE job
       SET event_no = event_no + 1,
           progress = greatest(progress, (
               SELECT CASE WHEN count(part.weight) > 0 THEN coalesce(max(part.weight) FILTER (WHERE part.settled), 0)
                           ELSE least(100, round(100.0 * count(*) FILTER (WHERE part.settled) / count(*))) END
                 FROM (SELECT step.weight,
                              step.settled_at IS NOT NULL OR (step.name = %(step)s::text AND %(settles)s::boolean) AS settled
                         FROM job_step AS step WHERE step.job_id = %(id)s::bigint) AS part))
      FROM quick
     WHERE job.id = %(id)s::bigint AND job.fence = %(fence)s::bigint AND job.state = 'running' AND job.lease_until > clock_timestamp()
       AND EXISTS (SELECT FROM job_step AS step
                    WHERE step.job_id = %(id)s::bigint AND step.name = %(step)s::text AND step.settled_at IS NULL)
    RETURNING job.id, job.tenant_id, job.event_no, job.attempt, job.fence,
              job.cancel_requested_at IS NOT NULL AS cancelling
), stepped AS (
    UPDATE job_step
       SET state = %(state)s::text, attempt = moved.attempt,
           started_at = coalesce(job_step.started_at, clock_timestamp()),
           settled_at = CASE WHEN %(settles)s::boolean THEN clock_timestamp() END,
           progress = CASE WHEN %(state)s::text = 'succeeded' THEN 100 ELSE job_step.progress END
      FROM moved WHERE job_step.job_id = moved.id AND job_step.name = %(step)s::text
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no, clock_timestamp(), %(event)s::text, attempt, fence, jsonb_build_object('step', %(step)s::text)
      FROM moved
)
SELECT cancelling FROM moved
