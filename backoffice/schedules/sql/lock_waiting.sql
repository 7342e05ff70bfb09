-- Schedules with occurrences that wait for their job, held so that one scheduler opens them.
SELECT s.id, s.tenant_id, s.definition
  FROM schedules_schedule AS s
 WHERE s.paused_at IS NULL
   AND EXISTS (SELECT FROM schedules_occurrence AS o
                WHERE o.schedule_id = s.id AND o.state = 'scheduled' AND NOT o.live)
 ORDER BY s.id
 LIMIT %(limit)s
   FOR UPDATE OF s SKIP LOCKED
