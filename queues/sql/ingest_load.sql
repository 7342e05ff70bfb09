-- Insert what is new to the tenant, in the order of the file; what was loaded before stays as it is. What waits
-- for a decision is inserted with its due time, worked out once for each distinct instant of opening; a hash
-- as queues/due_times.py takes it stands beside, so that nothing works it out again.
WITH ready AS (
    SELECT *, coalesce(buffer.opened_at, %(now)s) AS opened
      FROM pg_temp.ingest_buffer AS buffer
     WHERE reason = ''
), due AS (
    SELECT *
      FROM unnest(%(starts)s::timestamptz[], %(ats)s::timestamptz[], %(reasons)s::text[]) AS due (start, due_at, clock)
), loaded AS (
    INSERT INTO queues_payout (tenant_id, natural_key, reference, state, beneficiary, account, amount, currency,
                               description, opened_at, date_missing, due_at, due_reason, due_seen)
    SELECT %(tenant)s, natural_key, reference, state, beneficiary, account, amount, %(currency)s,
           description, opened, opened_at IS NULL,
           CASE WHEN state = %(open)s THEN due_at END,
           CASE WHEN state = %(open)s THEN clock ELSE '' END,
           CASE WHEN state = %(open)s THEN hash_record_extended(ROW(%(digest)s::text, opened), 0) END
      FROM ready
      JOIN due ON due.start = ready.opened
     ORDER BY line
    ON CONFLICT (tenant_id, natural_key) DO NOTHING
    RETURNING id, state, date_missing
)
SELECT count(*), count(*) FILTER (WHERE state = 'credit'), count(*) FILTER (WHERE date_missing), min(id), max(id)
  FROM loaded
