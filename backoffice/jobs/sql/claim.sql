-- Take a queued job under a new fence. Kinds that this worker does not know are left alone.
WITH claimed AS (
    UPDATE job
       SET state = 'running', fence = fence + 1, attempt = attempt + 1, owner = %(owner)s::text,
           lease_until = clock_timestamp() + lease, deadline = clock_timestamp() + max_duration,
           started_at = coalesce(started_at, clock_timestamp()),
           execution = id || '/' || (fence + 1), successor = '', code = '', event_no = event_no + 1
     WHERE id = %(id)s::bigint AND state = 'queued' AND available_at <= clock_timestamp()
       AND cancel_requested_at IS NULL AND kind = ANY(%(kinds)s::text[])
    RETURNING job.*
), noted AS (
    INSERT INTO job_event (tenant_id, job_id, seq, at, name, attempt, fence, data)
    SELECT tenant_id, id, event_no, clock_timestamp(), 'claimed', attempt, fence,
           jsonb_build_object('owner', owner, 'execution', execution)
      FROM claimed
)
SELECT claimed.*, to_jsonb(tenant) AS tenant,
       (SELECT coalesce(jsonb_object_agg(step.name, step.state), '{}') FROM job_step AS step
         WHERE step.job_id = claimed.id) AS steps
  FROM claimed JOIN tenants_tenant AS tenant ON tenant.id = claimed.tenant_id
