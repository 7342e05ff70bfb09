-- Of several records with one identity the first stays: paying twice is worse than asking once.
UPDATE pg_temp.ingest_buffer AS record
   SET reason = CASE WHEN record.digest = seen.digest THEN %(duplicate)s ELSE %(conflict)s END
  FROM (SELECT DISTINCT ON (natural_key) natural_key, line, digest
          FROM pg_temp.ingest_buffer
         WHERE reason = ''
         ORDER BY natural_key, line) AS seen
 WHERE record.natural_key = seen.natural_key
   AND record.line > seen.line
   AND record.reason = ''
