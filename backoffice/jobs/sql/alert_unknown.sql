-- Say once, in the job's history, that nobody here knows its kind; look again in a while.
WITH looked AS (
    UPDATE job SET dispatch_at = clock_timestamp() + %(again)s, code = 'unknown-kind',
                   event_no = event_no + CASE WHEN code = 'unknown-kind' THEN 0 ELSE 1 END
     WHERE id = %(id)s AND state = 'queued'
    RETURNING id, tenant_id, event_no, attempt, fence
)
INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
SELECT tenant_id, id, event_no, clock_timestamp(), 'unknown-kind', attempt, fence, '{}'::jsonb FROM looked
ON CONFLICT (job_id, seq) DO NOTHING
RETURNING job_id
