-- Count the dropped records by reason, with the first line numbers of each.
SELECT reason, count(*), (array_agg(line ORDER BY line))[1:%(shown)s]
  FROM pg_temp.ingest_buffer
 WHERE reason <> ''
 GROUP BY reason
 ORDER BY count(*) DESC, reason
