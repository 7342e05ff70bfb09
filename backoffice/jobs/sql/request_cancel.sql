-- Ask a running job to stop. Asking again changes nothing.
WITH asked AS (
    UPDATE job SET cancel_requested_at = clock_timestamp(), event_no = event_no + 1
     WHERE id = %(id)s AND state = 'running' AND cancel_requested_at IS NULL
    RETURNING id, tenant_id, event_no, attempt, fence
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no, clock_timestamp(), 'cancel-requested', attempt, fence, %(data)s::jsonb FROM asked
)
SELECT id FROM asked
