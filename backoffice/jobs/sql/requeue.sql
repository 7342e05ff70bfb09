-- Give a running job back for another execution: a retry, a lost worker, an outage or a hand-over.
-- One that is to be cancelled is not given back.
-- Its commit waits for the disk, whatever stands before it in one batch.
WITH firm AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)), given AS (
    UPDATE job
       SET state = 'queued', available_at = clock_timestamp() + %(wait)s::interval, dispatch_at = clock_timestamp() + %(wait)s::interval,
           dispatched_at = NULL, owner = '', lease_until = NULL, deadline = NULL,
           attempt = CASE WHEN %(charged)s::boolean THEN attempt ELSE attempt - 1 END,
           successor = %(successor)s::text, event_no = event_no + 1
      FROM firm
     WHERE id = %(id)s::bigint AND fence = %(fence)s::bigint AND state = 'running' AND cancel_requested_at IS NULL
       AND CASE %(lease)s::text WHEN 'live' THEN lease_until > clock_timestamp()
                          WHEN 'over' THEN lease_until <= clock_timestamp()
                          ELSE true END
       AND (attempt < max_attempts OR NOT %(charged)s::boolean)
    RETURNING id, tenant_id, event_no, attempt, fence
), steps AS (
    UPDATE job_step SET state = 'queued' FROM given WHERE job_step.job_id = given.id AND job_step.state = 'running'
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no, clock_timestamp(), %(event)s::text, attempt, fence, %(data)s::jsonb FROM given
)
SELECT id FROM given
