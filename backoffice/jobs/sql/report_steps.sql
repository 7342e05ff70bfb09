-- Move steps, in the order told, and the job's summary together: all of them or none. A report lost in a
-- crash of the server is a step that runs again, so its commit need not wait for the disk; the
-- settlement's does, and carries it along.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), told AS MATERIALIZED (
    SELECT * FROM unnest(%(steps)s::text[], %(states)s::text[], %(settles)s::boolean[], %(events)s::text[])
                  WITH ORDINALITY AS told (step, state, settles, event, no)
), last AS MATERIALIZED (
    SELECT DISTINCT ON (step) step, state, settles FROM told ORDER BY step, no DESC
), moved AS (
    UPDATE job
       SET event_no = event_no + cardinality(%(steps)s::text[]),
           progress = greatest(progress, (
               SELECT CASE WHEN count(part.weight) > 0 THEN coalesce(max(part.weight) FILTER (WHERE part.settled), 0)
                           ELSE least(100, round(100.0 * count(*) FILTER (WHERE part.settled) / count(*))) END
                 FROM (SELECT step.weight, step.settled_at IS NOT NULL OR coalesce(last.settles, false) AS settled
                         FROM job_step AS step LEFT JOIN last ON last.step = step.name
                        WHERE step.job_id = %(id)s::bigint) AS part))
      FROM quick
     WHERE job.id = %(id)s::bigint AND job.fence = %(fence)s::bigint AND job.state = 'running' AND job.lease_until > clock_timestamp()
       AND (SELECT count(*) FROM last)
         = (SELECT count(*) FROM job_step AS step JOIN last ON last.step = step.name
             WHERE step.job_id = %(id)s::bigint AND step.settled_at IS NULL)
    RETURNING job.id, job.tenant_id, job.event_no, job.attempt, job.fence,
              job.cancel_requested_at IS NOT NULL AS cancelling
), stepped AS (
    UPDATE job_step
       SET state = last.state, attempt = moved.attempt,
           started_at = coalesce(job_step.started_at, clock_timestamp()),
           settled_at = CASE WHEN last.settles THEN clock_timestamp() END,
           progress = CASE WHEN last.state = 'succeeded' THEN 100 ELSE job_step.progress END
      FROM moved, last WHERE job_step.job_id = moved.id AND job_step.name = last.step
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no - cardinality(%(steps)s::text[]) + told.no, clock_timestamp(), told.event, attempt, fence,
           jsonb_build_object('step', told.step)
      FROM moved, told ORDER BY told.no
)
SELECT cancelling FROM moved
