-- Ask all running jobs of a tenant to stop.
WITH asked AS (
    UPDATE job SET cancel_requested_at = clock_timestamp(), event_no = event_no + 1
     WHERE tenant_id = %(tenant)s AND state = 'running' AND cancel_requested_at IS NULL
    RETURNING id, tenant_id, event_no, attempt, fence
)
INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
SELECT tenant_id, id, event_no, clock_timestamp(), 'cancel-requested', attempt, fence, '{"by": "tenant-deletion"}' FROM asked
