-- The schedules that are due, held until the transaction ends; what another scheduler holds is left to it.
SELECT id, tenant_id, definition, timing, cursor
  FROM schedules_schedule
 WHERE next_at <= %(now)s AND paused_at IS NULL AND retired_at IS NULL
 ORDER BY next_at
 LIMIT %(limit)s
   FOR UPDATE SKIP LOCKED
