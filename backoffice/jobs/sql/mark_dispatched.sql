-- Number the dispatches that are about to be sent. Losing this in a crash only sends a message again,
-- so its commit need not wait for the disk.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE job
   SET dispatch_no = dispatch_no + 1, dispatched_at = clock_timestamp(), dispatch_at = clock_timestamp() + %(again)s
  FROM quick
 WHERE id = ANY(%(ids)s) AND state = 'queued'
RETURNING id, dispatch_no, queue
