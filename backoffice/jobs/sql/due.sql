-- Queued jobs that the reconciler must look at now. Copies of it share them out.
SELECT id, kind, queue, dispatch_no, dispatched_at, fence, attempt, max_attempts, cancel_requested_at IS NOT NULL
  FROM job
 WHERE state = 'queued' AND dispatch_at <= clock_timestamp()
 ORDER BY dispatch_at
 LIMIT %(limit)s
   FOR UPDATE SKIP LOCKED
