-- A batch of a tenant's jobs that nobody runs, with all that hangs on them; then how many still run.
WITH old AS (
    SELECT id FROM job WHERE tenant_id = %(tenant)s AND state <> 'running' ORDER BY id LIMIT %(limit)s FOR UPDATE
), events AS (
    DELETE FROM job_event USING old WHERE job_event.job_id = old.id
), steps AS (
    DELETE FROM job_step USING old WHERE job_step.job_id = old.id
), notices AS (
    DELETE FROM job_notice USING old WHERE job_notice.job_id = old.id
), jobs AS (
    DELETE FROM job USING old WHERE job.id = old.id RETURNING job.id
)
SELECT gone.count,
       CASE WHEN gone.count < %(limit)s
            THEN (SELECT count(*) FROM job WHERE tenant_id = %(tenant)s AND state = 'running') END
  FROM (SELECT count(*) FROM jobs) AS gone
