-- One statement, one snapshot: the job this intention already names, or a new one with its queued
-- steps and its submitted event, its first dispatch ordered. No row at all: a racing submission won between the two.
WITH found AS (
    SELECT job.* FROM job
     WHERE tenant_id = %(tenant)s::bigint AND kind = %(kind)s::text AND submission_key = %(key)s::text
), made AS (
    INSERT INTO job (tenant_id, kind, submission_key, queue, arguments, requested_by_id, occurrence, replay_of_id,
                     max_attempts, lease, max_duration, available_at, dispatch_no, dispatched_at, dispatch_at,
                     created_at, event_no)
    SELECT %(tenant)s::bigint, %(kind)s::text, %(key)s::text, %(queue)s::text, %(arguments)s::jsonb,
           %(requested_by)s::bigint, %(occurrence)s::bigint, %(replay_of)s::bigint,
           %(max_attempts)s::int, %(lease)s::interval, %(max_duration)s::interval,
           clock_timestamp(), 1, clock_timestamp(), clock_timestamp() + %(grace)s::interval, clock_timestamp(), 1
     WHERE NOT EXISTS (SELECT FROM found)
    ON CONFLICT (tenant_id, kind, submission_key) DO NOTHING
    RETURNING job.*
), steps AS (
    INSERT INTO job_step (tenant_id, job_id, name, position, weight)
    SELECT made.tenant_id, made.id, step.name, step.position, step.weight
      FROM made, unnest(%(names)s::text[], %(weights)s::smallint[]) WITH ORDINALITY AS step (name, weight, position)
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, data)
    SELECT made.tenant_id, made.id, 1, clock_timestamp(), 'submitted', %(catalog)s::jsonb FROM made
)
SELECT made.*, true AS was_made FROM made
UNION ALL
SELECT found.*, false AS was_made FROM found
