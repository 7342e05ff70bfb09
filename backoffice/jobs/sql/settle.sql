-- End a job once and for all. `lease` says on what ground: the run under its live lease, the keeper of
-- the run whatever the lease, the reconciler only once the lease is over. The run's last step reports
-- come along (`report_steps`; usually none), under the same conditions, all together or not at all.
-- Its commit waits for the disk, whatever stands before it in one batch.
WITH firm AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)), told AS MATERIALIZED (
    SELECT * FROM unnest(%(steps)s::text[], %(states)s::text[], %(settles)s::boolean[], %(events)s::text[])
                  WITH ORDINALITY AS told (step, state, settles, event, no)
), last AS MATERIALIZED (
    SELECT DISTINCT ON (step) step, state, settles FROM told ORDER BY step, no DESC
), settled AS (
    UPDATE job
       SET state = %(state)s::text, settled_at = clock_timestamp(), safe_reason = %(reason)s::text, code = %(code)s::text,
           owner = '', lease_until = NULL, event_no = event_no + cardinality(%(steps)s::text[]) + 1,
           progress = CASE WHEN %(state)s::text = 'succeeded'
                           THEN greatest(progress, coalesce((SELECT max(weight) FROM job_step WHERE job_id = %(id)s::bigint), 100))
                           WHEN cardinality(%(steps)s::text[]) = 0 THEN progress
                           ELSE greatest(progress, (
                               SELECT CASE WHEN count(part.weight) > 0 THEN coalesce(max(part.weight) FILTER (WHERE part.settled), 0)
                                           ELSE least(100, round(100.0 * count(*) FILTER (WHERE part.settled) / count(*))) END
                                 FROM (SELECT step.weight, step.settled_at IS NOT NULL OR coalesce(last.settles, false) AS settled
                                         FROM job_step AS step LEFT JOIN last ON last.step = step.name
                                        WHERE step.job_id = %(id)s::bigint) AS part)) END
      FROM firm
     WHERE id = %(id)s::bigint AND state = %(was)s::text AND fence = %(fence)s::bigint
       AND CASE %(lease)s::text WHEN 'live' THEN lease_until > clock_timestamp()
                          WHEN 'over' THEN lease_until <= clock_timestamp() OR deadline <= clock_timestamp()
                          ELSE true END
       AND (NOT %(if_cancelling)s::boolean OR cancel_requested_at IS NOT NULL)
       AND (cardinality(%(steps)s::text[]) = 0
            OR (SELECT count(*) FROM last)
             = (SELECT count(*) FROM job_step AS step JOIN last ON last.step = step.name
                 WHERE step.job_id = %(id)s::bigint AND step.settled_at IS NULL))
    RETURNING id, tenant_id, event_no, attempt, fence, state, cancel_requested_at IS NOT NULL AS cancelling
), ended AS (
    SELECT step.id, settled.attempt,
           CASE WHEN last.settles THEN last.state
                WHEN coalesce(last.state, step.state) = 'running' AND settled.state = 'failed' THEN 'failed'
                ELSE 'skipped' END AS state,
           last.step IS NOT NULL AS moved
      FROM settled JOIN job_step AS step ON step.job_id = settled.id AND step.settled_at IS NULL
           LEFT JOIN last ON last.step = step.name
), steps AS (
    UPDATE job_step
       SET state = ended.state, settled_at = clock_timestamp(),
           attempt = CASE WHEN ended.moved THEN ended.attempt ELSE job_step.attempt END,
           started_at = CASE WHEN ended.moved THEN coalesce(job_step.started_at, clock_timestamp()) ELSE job_step.started_at END,
           progress = CASE WHEN ended.state = 'succeeded' THEN 100 ELSE job_step.progress END
      FROM ended WHERE job_step.id = ended.id
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no - cardinality(%(steps)s::text[]) - 1 + told.no, clock_timestamp(), told.event, attempt, fence, told.data
      FROM settled,
           (SELECT no, event, jsonb_build_object('step', step) AS data FROM told
             UNION ALL
            SELECT cardinality(%(steps)s::text[]) + 1, %(state)s::text, %(data)s::jsonb) AS told
     ORDER BY told.no
)
SELECT cancelling FROM settled
