INSERT INTO schedules_misfire (tenant_id, schedule_id, reason, count, first_at, last_at)
SELECT * FROM unnest(%(tenants)s::bigint[], %(schedules)s::bigint[], %(reasons)s::text[], %(counts)s::bigint[],
                     %(firsts)s::timestamptz[], %(lasts)s::timestamptz[])
