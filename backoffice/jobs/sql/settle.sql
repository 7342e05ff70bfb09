-- End a job once and for all. `lease` says on what ground: the run under its live lease, the keeper of
-- the run whatever the lease, the reconciler only once the lease is over.
-- Its commit waits for the disk, whatever stands before it in one batch.
WITH firm AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)), settled AS (
    UPDATE job
       SET state = %(state)s::text, settled_at = clock_timestamp(), safe_reason = %(reason)s::text, code = %(code)s::text,
           owner = '', lease_until = NULL, event_no = event_no + 1,
           progress = CASE WHEN %(state)s::text = 'succeeded'
                           THEN greatest(progress, coalesce((SELECT max(weight) FROM job_step WHERE job_id = %(id)s::bigint), 100))
                           ELSE progress END
      FROM firm
     WHERE id = %(id)s::bigint AND state = %(was)s::text AND fence = %(fence)s::bigint
       AND CASE %(lease)s::text WHEN 'live' THEN lease_until > clock_timestamp()
                          WHEN 'over' THEN lease_until <= clock_timestamp() OR deadline <= clock_timestamp()
                          ELSE true END
       AND (NOT %(if_cancelling)s::boolean OR cancel_requested_at IS NOT NULL)
    RETURNING id, tenant_id, event_no, attempt, fence, state
), steps AS (
    UPDATE job_step
       SET state = CASE WHEN job_step.state = 'running' AND settled.state = 'failed' THEN 'failed' ELSE 'skipped' END,
           settled_at = clock_timestamp()
      FROM settled WHERE job_step.job_id = settled.id AND job_step.settled_at IS NULL
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no, clock_timestamp(), state, attempt, fence, %(data)s::jsonb FROM settled
)
SELECT id FROM settled
