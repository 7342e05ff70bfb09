-- Jobs number `first` to `last`, as they are after two seconds each, with their steps, events and notices.
-- Of the first 1,000 each state has its share; later nine in ten succeeded, and one in 10,000 waits or runs.
-- A third belongs to the bench's tenant, of those one in 50 (of the first 1,000 all) to its person.
WITH wanted AS (
    SELECT n, now() - (%(upto)s - n) * interval '2 seconds' AS at,
           CASE WHEN n <= 1000 THEN (ARRAY['queued', 'running', 'failed', 'cancelled', 'succeeded'])[1 + (n / 3) %% 5]
                WHEN n %% 10007 = 0 THEN 'queued' WHEN n %% 10009 = 0 THEN 'running'
                WHEN n %% 37 = 0 THEN 'failed' WHEN n %% 41 = 0 THEN 'cancelled' ELSE 'succeeded' END AS state
      FROM generate_series(%(first)s, %(last)s) AS n
), made AS (
    INSERT INTO job (tenant_id, kind, submission_key, queue, arguments, requested_by_id, state, progress, attempt,
                     max_attempts, fence, lease, max_duration, lease_until, deadline, dispatch_at, safe_reason, code,
                     execution, event_no, created_at, started_at, settled_at)
    SELECT CASE n %% 3 WHEN 0 THEN %(tenant)s WHEN 1 THEN %(other)s ELSE 1 END, 'probe.idle', 'bench-' || n, 'bulk',
           '{}', CASE WHEN n %% 3 = 0 AND (n <= 1000 OR n %% 50 = 0) THEN %(person)s::bigint END, state,
           CASE state WHEN 'succeeded' THEN 100 ELSE 33 END, 1, 3, 1, '30 seconds', '10 minutes',
           CASE state WHEN 'running' THEN now() + interval '1 day' END, now() + interval '1 day',
           now() + interval '1 day', CASE state WHEN 'failed' THEN 'The account is closed.' ELSE '' END,
           CASE state WHEN 'failed' THEN 'no-such-account' ELSE '' END, '', 9, at, at,
           CASE WHEN state NOT IN ('queued', 'running') THEN at + interval '1 second' END
      FROM wanted
    RETURNING id, tenant_id, requested_by_id, state, created_at, settled_at
), steps AS (
    INSERT INTO job_step (tenant_id, job_id, name, position, state, attempt, started_at, settled_at, progress)
    SELECT tenant_id, id, name, position, CASE WHEN settled_at IS NULL THEN 'queued' ELSE 'succeeded' END, 1,
           created_at, settled_at, 100
      FROM made, unnest(ARRAY['one', 'two', 'three']) WITH ORDINALITY AS step (name, position)
), told AS (
    INSERT INTO job_notice (tenant_id, person_id, job_id, at)
    SELECT tenant_id, requested_by_id, id, settled_at FROM made
     WHERE settled_at IS NOT NULL AND requested_by_id IS NOT NULL
)
INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
SELECT tenant_id, id, seq, created_at + seq * interval '0.1 second', name, 1, 1,
       CASE name WHEN 'submitted' THEN %(catalog)s::jsonb
                 WHEN 'claimed' THEN jsonb_build_object('execution', id || '/1')
                 ELSE '{}' END
  FROM made, unnest(ARRAY['submitted', 'claimed', 'step-started', 'step-succeeded', 'step-started', 'step-succeeded',
                          'step-started', 'step-succeeded', 'succeeded']) WITH ORDINALITY AS event (name, seq)
