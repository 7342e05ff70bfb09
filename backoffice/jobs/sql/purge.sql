-- Final jobs past their retention, a small batch at a time, the oldest first.
WITH old AS (
    SELECT id FROM job
     WHERE tenant_id = %(tenant)s AND settled_at < %(before)s
     ORDER BY settled_at LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED
), events AS (
    DELETE FROM job_event USING old WHERE job_event.job_id = old.id
), steps AS (
    DELETE FROM job_step USING old WHERE job_step.job_id = old.id
), notices AS (
    DELETE FROM job_notice USING old WHERE job_notice.job_id = old.id
), jobs AS (
    DELETE FROM job USING old WHERE job.id = old.id RETURNING job.id
)
SELECT count(*) FROM jobs
