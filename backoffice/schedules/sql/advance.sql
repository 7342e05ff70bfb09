-- The cursor only moves forward, whatever clock a scheduler that slept brings along.
UPDATE schedules_schedule AS s
   SET cursor = greatest(s.cursor, moved.cursor),
       next_at = moved.next_at,
       enumerated = s.enumerated + moved.enumerated,
       materialised = s.materialised + moved.materialised,
       skipped = s.skipped + moved.enumerated - moved.materialised
  FROM unnest(%(schedules)s::bigint[], %(cursors)s::timestamptz[], %(nexts)s::timestamptz[],
              %(enumerated)s::bigint[], %(materialised)s::bigint[])
       AS moved (id, cursor, next_at, enumerated, materialised)
 WHERE s.id = moved.id
