-- Look at these again later.
UPDATE job SET dispatch_at = clock_timestamp() + %(again)s WHERE id = ANY(%(ids)s) AND state = 'queued'
