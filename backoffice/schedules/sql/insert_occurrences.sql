-- Identity is (schedule, instant): an instant that is there already stays as it is.
INSERT INTO schedules_occurrence
       (tenant_id, schedule_id, scheduled_at, state, manual, live, attempts, fence, lease_owner, cursor,
        items_done, items_refused, safe_error)
SELECT tenant_id, schedule_id, scheduled_at, 'scheduled', false, false, 0, 0, '', '', 0, 0, ''
  FROM unnest(%(tenants)s::bigint[], %(schedules)s::bigint[], %(instants)s::timestamptz[])
       AS due (tenant_id, schedule_id, scheduled_at)
    ON CONFLICT (schedule_id, scheduled_at) DO NOTHING
