-- Insert what is new to the tenant, in the order of the file; what was loaded before stays as it is.
WITH loaded AS (
    INSERT INTO queues_payout (tenant_id, natural_key, reference, state, beneficiary, account, amount, currency,
                               description, opened_at, date_missing)
    SELECT %(tenant)s, natural_key, reference, state, beneficiary, account, amount, %(currency)s,
           description, coalesce(opened_at, %(now)s), opened_at IS NULL
      FROM pg_temp.ingest_buffer
     WHERE reason = ''
     ORDER BY line
    ON CONFLICT (tenant_id, natural_key) DO NOTHING
    RETURNING id, state, date_missing
)
SELECT count(*), count(*) FILTER (WHERE state = 'credit'), count(*) FILTER (WHERE date_missing), min(id), max(id)
  FROM loaded
