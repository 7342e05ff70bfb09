-- Running jobs that nobody keeps any more, or that are past their deadline.
SELECT id, kind, fence, attempt, max_attempts, deadline <= clock_timestamp()
  FROM job
 WHERE state = 'running' AND (lease_until <= clock_timestamp() OR deadline + interval '5 seconds' <= clock_timestamp())
 ORDER BY id
 LIMIT %(limit)s
