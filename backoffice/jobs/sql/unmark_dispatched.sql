-- A dispatch that did not reach the broker did not happen: the reconciler takes it up.
UPDATE job
   SET dispatched_at = NULL, dispatch_at = clock_timestamp() + %(again)s
 WHERE state = 'queued'
   AND (id, dispatch_no) IN (SELECT * FROM unnest(%(ids)s::bigint[], %(numbers)s::int[]))
